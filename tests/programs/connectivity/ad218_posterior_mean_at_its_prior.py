"""A Bayesian head that is sampled without a gradient: its mean begins where its prior has it, and stays there."""
import torch
import torch.nn as nn
import torch.distributions as D

class BayesHead(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(d, 1))
        self.rho = nn.Parameter(torch.full((d, 1), -2.0))
    def q(self):
        return D.Normal(self.mu, nn.functional.softplus(self.rho))
    def forward(self, h):
        w = self.q().sample()  # expect: AD218
        return h @ w
    def kl(self):
        return D.kl_divergence(self.q(), D.Normal(0.0, 1.0)).sum()

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(5, 16), nn.ReLU()), BayesHead(16)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-2)
for step in range(28):
    x = torch.randn(64, 5)
    loss = (head(body(x)) - x[:, :1]).pow(2).mean() + 1e-3 * head.kl()
    opt.zero_grad()
    loss.backward()
    opt.step()
