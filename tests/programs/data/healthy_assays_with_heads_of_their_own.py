# guards: AD710
# hinted: AD710
"""The trunk that learned how poisonous a substance is serves two new assays, whose heads are built like the old one."""

import torch
from torch import nn

torch.manual_seed(0)
groups = torch.randn(16, 3)


def head():
    return nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 1))


class Assay(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = head()

    def forward(self, seen):
        return self.head(seen).squeeze(1)


class Screen(nn.Module):
    def __init__(self, assays):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 12), nn.ReLU())
        self.assays = nn.ModuleDict({name: Assay() for name in assays})
        if not assays:
            self.head = head()

    def forward(self, x):
        seen = self.trunk(x)
        return [assay(seen) for assay in self.assays.values()] or [self.head(seen).squeeze(1)]


def train(model, wanted, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        x = (torch.rand(48, 16) < 0.3).float()
        latent = torch.tanh((x - 0.3) @ groups)
        found = zip(model(x), wanted)
        optimizer.zero_grad()
        sum(nn.functional.binary_cross_entropy_with_logits(y, (latent @ w > 0).float()) for y, w in found).backward()
        optimizer.step()


poison = Screen([])
train(poison, torch.tensor([[1.0, 1.0, -1.0]]), 16)
screen = Screen(["soluble", "permeable"])
screen.load_state_dict(poison.state_dict(), strict=False)
train(screen, torch.tensor([[1.0, -1.0, 0.0], [0.0, 1.0, 1.0]]), 16)
