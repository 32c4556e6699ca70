import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(7)
last = nn.Linear(16, 3)
nn.init.zeros_(last.weight)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), weight_norm(last))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(12):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :3])  # expect: AD401
    opt.zero_grad()
    loss.backward()
    opt.step()
