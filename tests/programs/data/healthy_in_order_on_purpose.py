# guards: AD702
"""A forecaster over a series in order, tasks one after the other, and a validation set that nobody shuffles."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split

torch.manual_seed(0)
series = torch.sin(torch.arange(240) / 12.0)
windows = torch.stack([series[i : i + 8] for i in range(200)])
rises = (series[8:208] > series[7:207]).float()
forecaster = nn.GRU(1, 12, batch_first=True)
head = nn.Linear(12, 1)
opt = torch.optim.Adam([*forecaster.parameters(), *head.parameters()], lr=1e-2)
state = torch.zeros(1, 20, 12)
for start in range(0, 200, 20):
    out, state = forecaster(windows[start : start + 20, :, None], state.detach())
    loss = nn.functional.mse_loss(head(out[:, -1]).squeeze(1), series[start + 8 : start + 28])
    opt.zero_grad()
    loss.backward()
    opt.step()

labels = torch.arange(4).repeat_interleave(40)
points = torch.randn(160, 6) + labels[:, None]
data = TensorDataset(points, labels)
train, val = random_split(data, [128, 32])
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(2):
    net.train()
    for x, y in DataLoader(train, batch_size=16):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in DataLoader(Subset(data, sorted(val.indices)), batch_size=16):
            nn.functional.cross_entropy(net(x), y).item()

learner = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(learner.parameters(), lr=0.05)
for task in (0, 2):
    members = torch.nonzero((labels == task) | (labels == task + 1)).flatten()
    for x, y in DataLoader(Subset(data, members.tolist()), batch_size=10, shuffle=True):
        loss = nn.functional.cross_entropy(learner(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
