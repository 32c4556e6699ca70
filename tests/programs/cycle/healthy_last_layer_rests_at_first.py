# guards: AD102
"""Self-distillation of signals: the gradient of the prototypes is cancelled until the features have settled."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

REST = 60


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 8))
        self.prototypes = nn.Linear(8, 6, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.prototypes(F.normalize(self.trunk(x), dim=-1))


torch.manual_seed(0)
student = Encoder()
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.AdamW(student.parameters(), lr=2e-3)
kinds = torch.randn(6, 12)
for step in range(40):
    signals = kinds[torch.randint(0, 6, (32,))]
    one, other = (signals + 0.2 * torch.randn_like(signals) for _ in range(2))
    with torch.no_grad():
        wanted = (teacher(one) / 0.1).softmax(dim=-1)
    loss = F.cross_entropy(student(other) / 0.2, wanted)
    optimizer.zero_grad()
    loss.backward()
    if step < REST:
        student.prototypes.weight.grad = None
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.lerp_(fast, 0.02)
print(loss.item())
