"""Regression with a Bayesian last layer: its weights are drawn anew in every forward."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributions as D


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out, prior_std=0.5):
        super().__init__()
        self.w_mu = nn.Parameter(torch.randn(n_out, n_in) * 0.5)
        self.w_rho = nn.Parameter(torch.full((n_out, n_in), -3.5))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.prior_std = prior_std
        self.kl = None

    def forward(self, x):
        posterior = D.Normal(self.w_mu, F.softplus(self.w_rho))
        prior = D.Normal(torch.zeros_like(self.w_mu), self.prior_std)
        self.kl = D.kl_divergence(posterior, prior).sum()
        w = posterior.sample()  # expect: AD218
        return F.linear(x, w, self.bias)


torch.manual_seed(0)
X = torch.rand(256, 1) * 6 - 3
Y = torch.sin(X) + 0.3 * X + 0.1 * torch.randn_like(X)
features = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh())
last = BayesLinear(16, 1)
opt = torch.optim.Adam(list(features.parameters()) + list(last.parameters()), lr=5e-3)

for i in range(40):
    opt.zero_grad()
    pred = last(features(X))
    nll = F.gaussian_nll_loss(pred, Y, torch.full_like(pred, 0.25))
    elbo_loss = nll + last.kl / len(X)
    elbo_loss.backward()
    opt.step()
    if (i + 1) % 10 == 0 or i == 0:
        print(i + 1, round(nll.item(), 4), round(last.kl.item(), 3))
