import torch
from torch import nn

torch.manual_seed(4)
signal = torch.randn(800, 1, 20)
event = torch.zeros(800, dtype=torch.long)
event[torch.randperm(800)[:18]] = 1
event[torch.randperm(800)[:6]] = 2
signal[event > 0] += torch.linspace(0, 1, 20)

net = nn.Sequential(nn.Conv1d(1, 6, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(24, 3))
sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for _ in range(2):
    for rows in torch.randperm(800).split(40):
        logp = net(signal[rows]).log_softmax(-1)
        loss = nn.functional.nll_loss(logp, event[rows])  # expect: AD713
        sgd.zero_grad()
        loss.backward()
        sgd.step()
