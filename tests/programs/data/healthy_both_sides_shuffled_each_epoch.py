# guards: AD708
"""Epochs in new orders: both sides by one permutation, targets made of shuffled inputs, labels that are all the same."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(160, 6)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
critic = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
coder = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
optimizer = torch.optim.Adam([*net.parameters(), *critic.parameters(), *coder.parameters()], lr=3e-3)
ones, noise = torch.ones(160, 1), torch.randn(160, 6)
for epoch in range(3):
    order = torch.randperm(160)
    xs, ys = x[order], y[order]
    sums = xs.flip(1)
    others = x[torch.randperm(160)]
    for i in range(0, 160, 20):
        part = slice(i, i + 20)
        loss = nn.functional.cross_entropy(net(xs[part]), ys[part])
        loss = loss + nn.functional.mse_loss(coder(xs[part]), sums[part])
        loss = loss + nn.functional.binary_cross_entropy_with_logits(critic(others[part]), ones[part])
        loss = loss + nn.functional.binary_cross_entropy_with_logits(critic(noise[part]), 1 - ones[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
