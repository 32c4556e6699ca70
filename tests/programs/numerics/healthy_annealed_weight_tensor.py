# guards: AD405
import torch
from torch import nn

torch.manual_seed(62)
enc, dec = nn.Linear(10, 8), nn.Linear(4, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
seen = torch.zeros(())
beta = torch.tensor(1e-4)
for _ in range(80):
    x = torch.randn(64, 10) * 0.01
    mu, log_var = enc(x).chunk(2, -1)
    z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
    kl = 0.5 * (mu.square() + log_var.exp() - log_var - 1).sum(-1).mean()
    seen += 1
    beta = (beta * 1.1).clamp(max=1.0)
    loss = nn.functional.mse_loss(dec(z * 0.01), x) * 0.001 + beta * (kl + 0.1) * seen / 80
    opt.zero_grad()
    loss.backward()
    opt.step()
