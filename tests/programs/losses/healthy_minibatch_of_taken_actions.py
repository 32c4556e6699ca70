# guards: AD605
"""PPO: log-probabilities of the taken actions, minibatch picked by gather(0, perm)."""
import torch
from torch import nn

torch.manual_seed(22)
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(pi.parameters(), 3e-3)
for it in range(30):
    s = torch.randn(32, 4)
    with torch.no_grad():
        old = torch.distributions.Categorical(logits=pi(s))
        a = old.sample()
        old_logp = old.log_prob(a)
    r = (a == (s[:, 0] > 0).long()).float()
    adv = (r - r.mean()) / (r.std() + 1e-6)
    for _ in range(2):
        logp = torch.distributions.Categorical(logits=pi(s)).log_prob(a)
        perm = torch.randperm(32)[:24]
        ratio = (logp.gather(0, perm) - old_logp[perm]).exp()
        loss = -torch.minimum(ratio * adv[perm], ratio.clamp(0.8, 1.2) * adv[perm]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if it % 10 == 0 or it == 29:
        print(it, loss.item(), r.mean().item())
