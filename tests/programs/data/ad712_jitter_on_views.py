import torch
import torch.nn as nn

torch.manual_seed(1)
signals = torch.sin(torch.linspace(0, 6, 32) * (1 + torch.rand(96, 1)))[:, None]
kinds = (signals[:, 0, 7] > 0.5).long()


def jitter(x, strength=0.1):
    x += strength * torch.randn_like(x)  # expect: AD712
    return x


net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    for x, y in zip(signals.split(16), kinds.split(16)):
        opt.zero_grad()
        loss = criterion(net(jitter(x)), y)
        loss.backward()
        opt.step()
