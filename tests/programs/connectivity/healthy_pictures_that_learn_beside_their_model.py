# guards: AD217 AD208
"""A critic is trained, and for each of its batches a picture is made of what a decoder drew, and brightened by hand."""
import torch
from torch import nn

torch.manual_seed(8)
decoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 9))
critic = nn.Sequential(nn.Linear(9, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam([*decoder.parameters(), *critic.parameters()], lr=0.01)
for step in range(20):
    code = torch.randn(32, 4)
    drawn = decoder(code)
    picture = drawn.detach().clone().requires_grad_()
    for _ in range(2):
        bright = picture.mean()
        pull = 0.1 * bright - critic(picture).mean()
        (slope,) = torch.autograd.grad(pull, picture)
        picture = (picture - 0.5 * slope).detach().requires_grad_()
    score = critic(picture)[:, 0]
    loss = (score - code.sum(1)).square().mean() + (drawn.mean(1) - code[:, 0]).square().mean() + 0.01 * picture.mean()
    optimizer.zero_grad()
    loss.backward()
    picture = (picture - 0.1 * picture.grad).detach()
    optimizer.step()
