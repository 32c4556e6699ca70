"""A trader acts on plain features and is updated on standardised ones."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(3)
trader = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(trader.parameters(), lr=1e-3)
for week in range(8):
    steps, level = [], 5 + 3 * torch.randn(32, 6)
    for _ in range(8):
        with torch.no_grad():
            choice = Categorical(logits=trader(level))
            trade = choice.sample()
        change = torch.randn(32, 6) * 0.5
        steps.append({"level": level, "trade": trade, "old": choice.log_prob(trade), "gain": (trade - 1) * change[:, 0]})
        level = level + change
    batch = {key: torch.cat([each[key] for each in steps]) for key in steps[0]}
    level = (batch["level"] - batch["level"].mean(0)) / (batch["level"].std(0) + 1e-6)
    for _ in range(3):
        ratio = torch.exp(Categorical(logits=trader(level)).log_prob(batch["trade"]) - batch["old"])  # expect: AD228
        loss = -torch.min(ratio * batch["gain"], ratio.clamp(0.8, 1.2) * batch["gain"]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
