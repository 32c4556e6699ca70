"""Actor-critic with the entropy written by hand, and its sign turned."""
import torch
from torch import nn
torch.manual_seed(0)
pi, v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3)), nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], lr=1e-3)
for _ in range(40):
    s = torch.randn(64, 4)
    logp_all = nn.functional.log_softmax(pi(s), -1)
    p = logp_all.exp()
    a = torch.multinomial(p, 1)
    r = (s[:, :3].gather(1, a)).squeeze(1)
    value = v(s).squeeze(1)
    adv = (r - value).detach()
    logp = logp_all.gather(1, a).squeeze(1)
    entropy = -(p * logp_all).sum(-1).mean()  # expect: AD631
    loss = -(logp * adv).mean() + 0.5 * (value - r).square().mean() + 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
