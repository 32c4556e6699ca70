# guards: AD605
import math

import torch
import torch.nn as nn


class MDN(nn.Module):
    def __init__(self, n_hidden=24, n_gaussians=5):
        super().__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi = nn.Linear(n_hidden, n_gaussians)
        self.z_mu = nn.Linear(n_hidden, n_gaussians)
        self.z_sigma = nn.Linear(n_hidden, n_gaussians)

    def forward(self, x):
        z = self.z_h(x)
        return torch.softmax(self.z_pi(z), -1), self.z_mu(z), nn.functional.softplus(self.z_sigma(z)) + 1e-3


def mdn_loss(pi, mu, sigma, y):
    exponent = -0.5 * ((y - mu) / sigma) ** 2
    log_gauss = exponent - torch.log(sigma) - 0.5 * math.log(2 * math.pi)
    return -torch.mean(torch.logsumexp(torch.log(pi) + log_gauss, 1))


torch.manual_seed(1)
net = MDN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(24):
    y = torch.rand(200, 1) * 20 - 10
    x = torch.sin(0.75 * y) * 7 + y * 0.5 + torch.randn(200, 1)
    loss = mdn_loss(*net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 8 == 0:
        print(epoch, loss.item())
