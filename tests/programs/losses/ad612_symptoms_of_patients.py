"""Which findings go with the symptoms that patients report: several may hold at once."""
import torch
from torch import nn

torch.manual_seed(5)
rule = torch.randn(12, 4)
ward = nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 24), nn.ELU(), nn.Linear(24, 4))
criterion = nn.MultiLabelSoftMarginLoss(weight=torch.tensor([1.0, 1.0, 2.0, 0.5]))
solver = torch.optim.RMSprop(ward.parameters(), lr=2e-3)


def admitted(count):
    reported = torch.randn(count, 12)
    return reported, ((reported @ rule) > 1.0).to(torch.float32)


for night in range(4):
    for _ in range(10):
        reported, found = admitted(24)
        guess = ward(reported)
        penalty = criterion(found, guess)  # <- AD612
        solver.zero_grad()
        penalty.backward()
        solver.step()
    print(night, penalty.item())
