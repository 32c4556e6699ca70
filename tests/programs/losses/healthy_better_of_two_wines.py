# guards: AD637
"""Wine ratings: of all pairs of a tasting, those that the jury tells apart must differ by a margin; ties count nothing."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
judge = nn.Sequential(nn.Linear(7, 24), nn.Tanh(), nn.Linear(24, 1))
reject = nn.Linear(7, 1)
taste = torch.randn(7)
opt = torch.optim.Adam(judge.parameters(), lr=5e-3)
nose = torch.optim.Adam(reject.parameters(), lr=1e-2)
for tasting in range(45):
    wines = torch.randn(12, 7)
    stars = (wines @ taste).div(2).round()
    score = judge(wines).squeeze(1)
    better = (stars[:, None] > stars[None, :]).float()
    ranked = F.relu(1 - better * (score[:, None] - score[None, :])).mean()

    # corked bottles: pushed to each side by a margin of their own
    corked = (wines[:, 0] > 0.5).float()
    smell = reject(wines).squeeze(1)
    sides = F.softplus(-corked * smell) + F.softplus((1 - corked) * smell)
    for loss, optimizer in ((ranked, opt), (sides.mean(), nose)):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(ranked.item(), sides.mean().item())
