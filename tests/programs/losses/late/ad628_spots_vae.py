import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader

torch.manual_seed(0)


def spots(n):
    centre = torch.rand(n, 2, 1, 1) * 8 + 2
    rows, columns = torch.arange(12.0)[:, None], torch.arange(12.0)
    return (-((rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2) / 6).exp()


class Inference(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU())
        self.loc, self.scale = nn.Linear(64, latent), nn.Linear(64, latent)

    def forward(self, x):
        h = self.trunk(x)
        return Normal(self.loc(h), nn.functional.softplus(self.scale(h)) + 1e-4)


q = Inference()
p = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 144), nn.Unflatten(1, (12, 12)))
prior = Normal(torch.zeros(3), torch.ones(3))
opt = torch.optim.Adam([*q.parameters(), *p.parameters()], lr=2e-3)
for epoch in range(10):
    for x in DataLoader(spots(128), batch_size=4, shuffle=True):
        posterior = q(x)
        error = nn.functional.mse_loss(p(posterior.rsample()), x)
        rate = kl_divergence(posterior, prior).sum(-1).mean()
        loss = error + rate  # <- AD628
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, error.item(), rate.item())
