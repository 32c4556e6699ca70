# guards: AD218
"""VAE with rsample() in training; sample() draws from the posterior and the prior for the displayed metrics only."""
import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 6))
        self.dec = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 16))
        self.register_buffer("zero", torch.zeros(3))

    def posterior(self, x):
        m, s = self.enc(x).chunk(2, -1)
        return Independent(Normal(m, nn.functional.softplus(s) + 1e-3), 1)

    def prior(self):
        return Independent(Normal(self.zero, torch.ones_like(self.zero)), 1)

    def elbo(self, x):
        q = self.posterior(x)
        z = q.rsample()
        rec = -(self.dec(z) - x).pow(2).sum(-1)
        # reconstruction from a fresh draw, shown in the log
        check = (self.dec(q.sample()) - x).pow(2).sum(-1).mean()
        return (rec - kl_divergence(q, self.prior())).mean(), check


torch.manual_seed(0)
basis, model = torch.randn(3, 16), VAE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    x = torch.randn(64, 3) @ basis
    elbo, check = model.elbo(x)
    loss = -elbo
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        with torch.no_grad():
            generated = model.dec(model.prior().sample((200,)))
        print(step + 1, loss.item(), check.item(), "spread", generated.std().item(), "data", x.std().item())
