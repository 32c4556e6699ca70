# guards: AD216
"""Bayesian regression by variational inference: the spread of the noise has a uniform prior, as in the books."""

import torch
from torch import nn
from torch.distributions import Normal, Uniform

torch.manual_seed(0)
x = torch.randn(120, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3 * torch.randn(120)


class Guide(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_width = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.full((4,), -2.0))

    def draw(self):
        over = Normal(self.mean, self.log_width.exp())
        z = over.rsample()
        return z, over.log_prob(z).sum()


guide, priors = Guide(), {"weight": Normal(torch.zeros(3), 1.0), "spread": Uniform(0.0, 10.0)}
optimizer = torch.optim.Adam(guide.parameters(), lr=0.03)
for step in range(80):
    z, log_q = guide.draw()
    weight, spread = z[:3], 10 * torch.sigmoid(z[3])
    jacobian = torch.log(spread * (1 - spread / 10))
    log_p = priors["weight"].log_prob(weight).sum() + priors["spread"].log_prob(spread).sum()
    log_p = log_p + Normal(x @ weight, spread).log_prob(y).sum() + jacobian
    loss = log_q - log_p
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.1f}")
