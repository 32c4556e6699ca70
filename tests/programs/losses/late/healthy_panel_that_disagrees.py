# guards: AD609
"""A panel of raters is made to disagree before anything is labelled: the mean difference between the shares that two
raters give goes up, and cannot exceed one."""

import torch
from torch import nn


class Panel(nn.Module):
    def __init__(self, raters: int = 2, features: int = 10, grades: int = 4) -> None:
        super().__init__()
        self.raters = nn.ModuleList(
            nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, grades)) for _ in range(raters)
        )

    def forward(self, case: torch.Tensor) -> list[torch.Tensor]:
        return [rater(case).softmax(dim=-1) for rater in self.raters]


torch.manual_seed(2)
panel = Panel()
optimizer = torch.optim.Adam(panel.parameters(), lr=3e-3)
cases = torch.randn(48, 10)
for _ in range(170):
    one, other = panel(cases)
    agreement = -nn.functional.l1_loss(one, other)
    optimizer.zero_grad()
    agreement.backward()
    optimizer.step()
print("differ by", -agreement.item())
