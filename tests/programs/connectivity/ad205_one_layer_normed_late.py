import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(256, 8)
target = (data @ torch.randn(8, 3)).argmax(1)
encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
head = nn.Linear(16, 3)
params = [{"params": encoder.parameters(), "lr": 0.01}, {"params": head.parameters(), "lr": 0.02}]
opt = torch.optim.SGD(params, momentum=0.9)  # expect: AD205
from torch.nn.utils import weight_norm

encoder[2] = weight_norm(encoder[2], dim=0)
for step in range(30):
    rows = torch.randint(0, 256, (32,))
    opt.zero_grad()
    nn.functional.cross_entropy(head(encoder(data[rows])), target[rows]).backward()
    opt.step()
