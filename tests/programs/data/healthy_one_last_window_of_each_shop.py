# guards: AD706
"""Sales of many shops: each is asked for once, for the days after all that was trained on. And days of one rhythm."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WEEKS, AHEAD = 28, 7
torch.manual_seed(5)
level = torch.rand(40, 1) * 5 + 1
sales = level * (1 + 0.3 * torch.sin(torch.arange(112) * 2 * torch.pi / 7)) + 0.2 * torch.randn(40, 112)
past, ahead = [], []
for end in range(WEEKS, 112 - 2 * AHEAD + 1, 3):
    past.append(sales[:, end - WEEKS : end])
    ahead.append(sales[:, end : end + AHEAD])
train = DataLoader(TensorDataset(torch.cat(past), torch.cat(ahead)), batch_size=64, shuffle=True)
test = DataLoader(TensorDataset(sales[:, -WEEKS - AHEAD : -AHEAD], sales[:, -AHEAD:]), batch_size=40)

tide = torch.sin((torch.arange(400) % 24) * torch.pi / 12)
moments = tide.unfold(0, 20, 1)
parts = torch.randperm(len(moments)).split([300, len(moments) - 300])
by_tide = [DataLoader(TensorDataset(moments[part][:, :16], moments[part][:, 16:]), batch_size=27) for part in parts]

shop, sea = nn.Linear(WEEKS, AHEAD), nn.Linear(16, 4)
optimizer = torch.optim.Adam([*shop.parameters(), *sea.parameters()], lr=1e-2)
for epoch in range(3):
    for model, batches in ((shop, train), (sea, by_tide[0])):
        for before, after in batches:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(before), after).backward()
            optimizer.step()
    with torch.no_grad():
        for model, batches in ((shop, test), (sea, by_tide[1])):
            print(epoch, max(nn.functional.mse_loss(model(before), after).item() for before, after in batches))
