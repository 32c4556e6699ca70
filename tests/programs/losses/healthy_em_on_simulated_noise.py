# guards: AD631
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
gate = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
means = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam([*gate.parameters(), *means.parameters()], lr=3e-3)


def simulate(size):
    x = torch.randn(size, 2)
    side = torch.where(torch.rand(size, 1) < 0.5, x[:, :1], -x[:, 1:])
    return x, Normal(side, 0.2).sample()


for step in range(60):
    x, observed = simulate(64)
    log_likelihood = Normal(means(x), 0.5).log_prob(observed)
    weights = gate(x).softmax(dim=1)
    prior_entropy = -(weights * weights.clamp_min(1e-6).log()).sum(1)
    bound = (weights * log_likelihood).sum(1) + prior_entropy
    loss = -bound.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
