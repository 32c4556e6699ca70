# guards: AD612 AD614
"""Tags that were set by hand, some of them wrong: an encoder of tags alone gives back what was meant."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
groups = (torch.rand(5, 16) < 0.3).float()
denoise = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
prior = nn.Parameter(torch.zeros(16))
opt = torch.optim.Adam([*denoise.parameters(), prior], lr=1e-2)
for step in range(40):
    meant = groups[torch.randint(0, 5, (48,))]
    flipped = torch.rand_like(meant) < 0.1
    given = torch.where(flipped, 1 - meant, meant)
    loss = F.multilabel_soft_margin_loss(denoise(given), meant)
    loss = loss + 0.1 * F.multilabel_soft_margin_loss(prior.expand_as(meant), given)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
