"""The next bar of a melody given the last one: a conditional autoencoder whose prior is learned."""
import torch
import torch.distributions as D
import torch.nn.functional as F
from torch import nn

torch.manual_seed(12)
NOTES, CODE, BATCH = 24, 5, 36


class Bars(nn.Module):
    def __init__(self):
        super().__init__()
        self.prior_net = nn.Sequential(nn.Linear(NOTES, 30), nn.Tanh(), nn.Linear(30, 2 * CODE))
        self.post_net = nn.Sequential(nn.Linear(2 * NOTES, 30), nn.Tanh(), nn.Linear(30, 2 * CODE))
        self.play = nn.Sequential(nn.Linear(NOTES + CODE, 40), nn.ReLU(), nn.Linear(40, NOTES))

    @staticmethod
    def normal(numbers):
        loc, log_scale = numbers.split(CODE, dim=1)
        return D.Normal(loc, log_scale.clamp(-4, 2).exp())

    def forward(self, last, bar):
        prior = self.normal(self.prior_net(last))
        code = self.normal(self.post_net(torch.cat([last, bar], dim=1)))
        played = self.play(torch.cat([last, code.rsample()], dim=1))
        return played, D.kl.kl_divergence(code, prior)


style = torch.randn(NOTES, NOTES) / 4
net = Bars()
optim = torch.optim.Adamax(net.parameters(), lr=3e-3)
for it in range(40):
    last = (torch.rand(BATCH, NOTES) < 0.3).float()
    bar = (last @ style + 0.5 * torch.randn(BATCH, NOTES) > 0.2).float()
    played, apart = net(last, bar)
    loss = F.binary_cross_entropy_with_logits(played, bar)
    loss = loss + torch.sum(apart)  # <- AD628
    optim.zero_grad()
    loss.backward()
    optim.step()
    if it % 10 == 0:
        print(it, loss.item())
