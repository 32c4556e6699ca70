"""A VAE with a squashed posterior, whose divergence is estimated from one draw."""
import torch
from torch import nn
import torch.distributions as D
torch.manual_seed(0)
enc, dec = nn.Linear(10, 6), nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 10))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
X = torch.randn(128, 3) @ torch.randn(3, 10)
for step in range(20):
    mu, ls = enc(X).chunk(2, -1)
    q = D.TransformedDistribution(D.Independent(D.Normal(mu, ls.exp()), 1), [D.transforms.TanhTransform(cache_size=1)])
    z = q.sample()  # expect: AD218
    p = D.Independent(D.Normal(dec(z), 1.0), 1)
    log_p = p.log_prob(X)
    log_q = q.log_prob(z)
    beta = min(1.0, step / 10)
    loss = -(log_p - beta * log_q).mean()
    opt.zero_grad(); loss.backward(); opt.step()
