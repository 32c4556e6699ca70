# guards: AD218
"""A star's spectrum by importance sampling: the proposal is kept near its prior and what it draws is weighted."""

import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence


class Proposal(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(12, 4)

    def forward(self, spectrum):
        mean, log_scale = self.net(spectrum).chunk(2, -1)
        return Independent(Normal(mean, log_scale.clamp(-3, 1).exp()), 1)


def main():
    torch.manual_seed(5)
    lines = torch.randn(2, 12)
    decoder = nn.Sequential(nn.Linear(2, 24), nn.GELU(), nn.Linear(24, 12))
    proposal = Proposal()
    prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
    optimizer = torch.optim.AdamW([*decoder.parameters(), *proposal.parameters()], lr=5e-3)
    for step in range(40):
        spectrum = torch.randn(32, 2) @ lines + 0.3 * torch.randn(32, 12)
        q = proposal(spectrum)
        z = q.sample((16,))
        fits = Independent(Normal(decoder(z), 0.5), 1).log_prob(spectrum)
        weights = (fits.detach() + prior.log_prob(z) - q.log_prob(z).detach()).softmax(0)
        loss = -(weights * fits).sum(0).mean() + kl_divergence(q, prior).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


main()
