"""A variational recurrent network on random walks."""
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
torch.manual_seed(0)
class VRNN(nn.Module):
    def __init__(s, x=4, z=2, h=16):
        super().__init__()
        s.enc, s.prior, s.dec, s.rnn = nn.Linear(x + h, 2 * z), nn.Linear(h, 2 * z), nn.Linear(z + h, x), nn.GRUCell(x + z, h)
        s.h = h
    def forward(s, xs):
        h = torch.zeros(xs.size(1), s.h); loss = 0
        for x in xs:
            m, l = s.enc(torch.cat([x, h], 1)).chunk(2, 1)
            q = Normal(m, nn.functional.softplus(l) + 1e-3)
            pm, pl = s.prior(h).chunk(2, 1)
            p = Normal(pm, nn.functional.softplus(pl) + 1e-3)
            z = q.sample()  # expect: AD218
            x_hat = s.dec(torch.cat([z, h], 1))
            loss = loss + (x_hat - x).pow(2).sum(1).mean() + kl_divergence(q, p).sum(1).mean()
            h = s.rnn(torch.cat([x, z], 1), h)
        return loss / len(xs)
m = VRNN(); opt = torch.optim.Adam(m.parameters(), 1e-2)
for i in range(15):
    xs = torch.randn(6, 32, 4).cumsum(0)
    opt.zero_grad(); l = m(xs); l.backward(); opt.step()
