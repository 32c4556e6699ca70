# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=3e-3)
for step in range(60):
    items = torch.randn(32, 6, 4)
    relevance = (items[..., 0] > 0.5).float()
    scores = scorer(items).squeeze(2)
    taken, total, gain, entropy = torch.zeros(32, 6, dtype=torch.bool), 0.0, torch.zeros(32), 0.0
    for rank in range(3):
        choice = Categorical(logits=scores.masked_fill(taken, -1e9))
        picked = choice.sample()
        total = total + choice.log_prob(picked)
        entropy = entropy + choice.entropy()
        gain += relevance.gather(1, picked[:, None]).squeeze(1) / (rank + 1)
        taken = taken.scatter(1, picked[:, None], True)
    objective = (total * (gain - gain.mean())).mean() + 0.005 * entropy.mean()
    loss = -objective
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
