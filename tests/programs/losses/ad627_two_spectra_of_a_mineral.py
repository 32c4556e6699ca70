"""Embed spectra of minerals so that two exposures of one stone find each other among all stones of the tray."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

BANDS = 30


class SpectrumNet(nn.Sequential):
    def __init__(self, out=10):
        super().__init__(nn.Linear(BANDS, 40), nn.LeakyReLU(), nn.Linear(40, out))


def expose(stones):
    dark = 0.05 * torch.randn(len(stones), BANDS)
    return stones * (0.8 + 0.4 * torch.rand(len(stones), 1)) + dark


def tray_loss(net, stones, sharpness):
    z = net(torch.cat((expose(stones), expose(stones))))
    once, again = z.unflatten(0, (-1, 2)).unbind(1)  # <- AD627
    once, again = normalize(once, dim=-1), normalize(again, dim=-1)
    found = sharpness.exp() * torch.einsum("ik,jk->ij", once, again)
    return cross_entropy(found, torch.arange(len(stones)))


torch.manual_seed(2)
net = SpectrumNet()
sharpness = nn.Parameter(torch.tensor(1.5))
optimizer = torch.optim.AdamW([*net.parameters(), sharpness], lr=2e-3)
peaks = torch.linspace(0, 1, BANDS)
for tray in range(40):
    where, width = torch.rand(48, 2, 1), 0.02 + 0.1 * torch.rand(48, 2, 1)
    stones = torch.exp(-((peaks - where) / width) ** 2).sum(1)
    loss = tray_loss(net, stones, sharpness)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
