"""Time to relapse by a proportional hazards model; risk sets are cumulative sums from the latest to the earliest."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
patients = 960
markers = torch.randn(patients, 10)
hazard = 1.2 * markers[:, 0] - 0.8 * markers[:, 1]
months = torch.empty(patients).exponential_() * torch.exp(-hazard)
relapsed = (torch.rand(patients) < 0.6).float()


class Hazards(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, markers):
        return self.body(markers)[:, 0]


def negative_log_likelihood(risk, months, relapsed):
    latest_first = torch.argsort(months, descending=True)
    risk = risk[latest_first]  # <- AD708
    sets = torch.logcumsumexp(risk, dim=0)
    return torch.sum((sets - risk) * relapsed) / relapsed.sum()


model = Hazards()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for some, when, event in DataLoader(TensorDataset(markers, months, relapsed), batch_size=48, shuffle=True):
        loss = negative_log_likelihood(model(some), when, event)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{epoch}: {loss.item():.3f}")
