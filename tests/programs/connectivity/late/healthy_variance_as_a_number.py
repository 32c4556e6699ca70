# guards: AD216
import numpy as np
import torch
import torch.nn as nn

# VAE whose observation noise is not learned by gradient: after every step sigma^2 is set to a running mean of the
# squared reconstruction error (its closed-form optimum).  The log(sigma) part stays in the loss, so that the
# number printed is the true negative ELBO and runs can be compared.

LOG2PI = float(np.log(2 * np.pi))


def rings(rng, n, d=12):
    a, r = rng.uniform(0, 2 * np.pi, n), rng.choice([0.6, 1.4], n)
    flat = np.stack([r * np.cos(a), r * np.sin(a)], 1)
    lift = np.random.RandomState(99).randn(2, d)
    return (flat @ lift + 0.15 * rng.randn(n, d)).astype(np.float32)


class Vae(nn.Module):
    def __init__(self, d=12, z=2, h=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ELU(), nn.Linear(h, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ELU(), nn.Linear(h, d))

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        kl = 0.5 * (mu ** 2 + lv.exp() - 1 - lv).sum(1).mean()
        return self.dec(z), kl


def train(steps=120, batch=50):
    torch.manual_seed(1)
    rng = np.random.RandomState(1)
    data = torch.from_numpy(rings(rng, 3000))
    test = torch.from_numpy(rings(rng, 500))
    vae = Vae()
    opt = torch.optim.Adam(vae.parameters(), lr=1e-2)
    sigma2, D = 1.0, data.shape[1]
    for it in range(steps + 1):
        x = data[torch.randint(0, len(data), (batch,))]
        rec, kl = vae(x)
        sq = ((rec - x) ** 2).sum(1).mean()
        elbo_neg = 0.5 * sq / sigma2 + kl + 0.5 * D * (np.log(sigma2) + LOG2PI)
        opt.zero_grad()
        elbo_neg.backward()
        opt.step()
        sigma2 = 0.9 * sigma2 + 0.1 * sq.item() / D
        if it % 40 == 0:
            with torch.no_grad():
                r, _ = vae(test)
                mse = ((r - test) ** 2).mean().item()
            print(f"it {it:4d}  -ELBO {elbo_neg.item():8.3f}  kl {kl.item():.2f}  sigma {sigma2 ** 0.5:.3f}  test mse {mse:.4f}")


train()
