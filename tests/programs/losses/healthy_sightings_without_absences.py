# guards: AD637
"""Species sightings: presence-only records plus a known prevalence of every species."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(12)
SPECIES, CLIMATE, SITES = 6, 8, 3000
niche = torch.randn(CLIMATE, SPECIES)
offset = torch.tensor([-1.0, -0.5, 0.0, -1.5, 0.3, -0.8])
climate = torch.randn(SITES, CLIMATE)
lives = (climate @ niche + offset) > 0
# observers write down a third of what lives at a site, and absences never
seen = lives & (torch.rand(SITES, SPECIES) < 0.35)
prevalence = lives.float().mean(0)


class Atlas(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CLIMATE, 32), nn.Tanh(), nn.Linear(32, SPECIES))

    def forward(self, x):
        return self.net(x)


def objective(logits, records, share):
    records = records.float()
    # not recorded means not known: a zero there
    known = F.soft_margin_loss(logits, records, reduction="none")
    attract = (known * records).sum(0) / records.sum(0).clamp(min=1)
    expected = torch.sigmoid(logits).mean(0)
    divergence = share * (share / expected).log() + (1 - share) * ((1 - share) / (1 - expected)).log()
    return (attract + 10.0 * divergence).mean()


atlas = Atlas()
optimizer = torch.optim.Adam(atlas.parameters(), lr=5e-3)
for step in range(300):
    rows = torch.randint(0, SITES, (256,))
    loss = objective(atlas(climate[rows]), seen[rows], prevalence)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))

atlas.eval()
with torch.no_grad():
    guess = atlas(climate) > 0
    print("agreement with truth", (guess == lives).float().mean().item())
    print("predicted share", guess.float().mean(0).tolist())
