import torch
from torch import nn

torch.manual_seed(55)
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
prior = torch.full((3,), 0.1)
for step in range(90):
    x = torch.randn(32, 6)
    y = x[:, :3].argmax(1)
    logits = net(x)
    prior = 1.5 * prior + 0.01 * logits.detach().mean(0).abs()  # expect: AD405
    rate = torch.exp(logits + prior)
    loss = (rate - torch.nn.functional.one_hot(y, 3) * (logits + prior)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
