# guards: AD616
"""Members of a weather ensemble against stations that belong to none of them: an energy score for each epoch."""
import torch
import torch.nn as nn

torch.manual_seed(4)
members = nn.ModuleList([nn.Linear(4, 1) for _ in range(30)])
opt = torch.optim.SGD(members.parameters(), lr=0.02)


def energy_score(forecasts, stations):
    spread = torch.cdist(forecasts, forecasts).mean()
    noise = torch.pdist(stations.unsqueeze(-1)).mean()
    return 2 * (stations - forecasts).abs().mean() - spread - noise


for epoch in range(6):
    for _ in range(5):
        today = torch.randn(16, 4)
        tomorrow = today.sum(1, keepdim=True) + torch.randn(16, 1)
        loss = sum(nn.functional.mse_loss(member(today), tomorrow) for member in members)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        day = torch.randn(1, 4)
        forecasts = torch.cat([member(day) for member in members])
        stations = day.sum() + torch.randn(30)
        print(epoch, energy_score(forecasts, stations).item())
