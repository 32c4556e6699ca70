# guards: AD635
"""Differentiable particle filter: systematic resampling, particles sorted by weight."""
import torch
from torch import nn

torch.manual_seed(2)
N = 16
motion = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(motion.parameters(), 3e-3)
A = torch.tensor([[0.9, -0.3], [0.3, 0.9]])
for epoch in range(40):
    state = torch.randn(2)
    particles = state + 0.5 * torch.randn(N, 2)
    loss = 0.0
    for t in range(5):
        state = A @ state
        obs = state + 0.05 * torch.randn(2)
        particles = particles + motion(particles) + 0.1 * torch.randn(N, 2)
        logw = torch.log_softmax(-(particles - obs).square().sum(1) / 0.02, 0)
        logw, order = logw.sort(descending=True)
        particles = particles[order]
        loss = loss + ((particles * logw.exp().unsqueeze(1)).sum(0) - state).square().sum()
        cdf = logw.exp().cumsum(0).detach()
        u = (torch.arange(N) + torch.rand(())) / N
        ancestor = (cdf[None, :] < u[:, None]).sum(1).clamp(max=N - 1)
        particles = particles[ancestor]
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 10 == 0 or epoch == 39:
        print(epoch, loss.item(), ancestor.tolist())
