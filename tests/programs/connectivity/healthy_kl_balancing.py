# guards: AD216
"""Latent world model with KL balancing as in Dreamer: posterior and prior are each detached in one half of the KL."""
import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence


def dist(stats):
    mean, raw = stats.chunk(2, -1)
    return Independent(Normal(mean, nn.functional.softplus(raw) + 0.1), 1)


def sg(d):
    return Independent(Normal(d.mean.detach(), d.base_dist.scale.detach()), 1)


class WorldModel(nn.Module):
    def __init__(self, obs=6, act=2, z=4, h=24):
        super().__init__()
        self.cell = nn.GRUCell(z + act, h)
        self.prior = nn.Linear(h, 2 * z)
        self.post = nn.Linear(h + obs, 2 * z)
        self.dec = nn.Sequential(nn.Linear(h + z, 32), nn.ELU(), nn.Linear(32, obs))
        self.h, self.z = h, z

    def forward(self, obs, act, balance=0.8):
        b = obs.shape[1]
        h, z = obs.new_zeros(b, self.h), obs.new_zeros(b, self.z)
        recon, kl = 0.0, 0.0
        for o, a in zip(obs, act):
            h = self.cell(torch.cat([z, a], -1), h)
            prior, post = dist(self.prior(h)), dist(self.post(torch.cat([h, o], -1)))
            z = post.rsample()
            recon = recon + (self.dec(torch.cat([h, z], -1)) - o).pow(2).sum(-1).mean()
            kl = kl + balance * kl_divergence(sg(post), prior).mean() + (1 - balance) * kl_divergence(post, sg(prior)).mean()
        return recon / len(obs), kl / len(obs)


torch.manual_seed(0)
model, B, C = WorldModel(), torch.randn(2, 6), torch.randn(6, 6) * 0.2
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(25):
    act = torch.randn(6, 32, 2)
    o, obs = torch.zeros(32, 6), []
    for a in act:
        o = torch.tanh(o @ C + a @ B)
        obs.append(o)
    recon, kl = model(torch.stack(obs), act)
    loss = recon + 0.3 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, recon.item(), kl.item())
