import torch
from torch import nn

torch.manual_seed(3)
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-2)


def penalty(real, fake):
    w = torch.rand(len(real), 1)
    between = (w * real + (1 - w) * fake).requires_grad_()
    slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    return (slope.pow(2).sum(1).sqrt() - 1).square().mean()  # expect: AD402


with torch.no_grad():
    critic[0].weight.copy_(torch.randn(16, 2).abs())
    critic[0].bias.fill_(-0.05)
for step in range(18):
    real = torch.rand(64, 2) + 0.5
    fake = -torch.rand(64, 2) - 0.5 if step > 12 else torch.rand(64, 2) + 0.3
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
