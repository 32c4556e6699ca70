"""A student on two views of sensor rows, and a teacher that follows it, kept in bfloat16 to save memory."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(12, 48), nn.SiLU(), nn.Linear(48, 8))
teacher = copy.deepcopy(student).to(torch.bfloat16).requires_grad_(False)
predict = nn.Linear(8, 8)
optimizer = torch.optim.Adam([*student.parameters(), *predict.parameters()], lr=0.02)
rows = torch.randn(512, 12) @ torch.randn(12, 12)


def follow(momentum: float = 0.999) -> None:
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.mul_(momentum).add_(fast, alpha=1 - momentum)  # expect: AD121


for step in range(30):
    batch = rows[torch.randint(512, (64,))]
    one, other = batch + 0.1 * torch.randn_like(batch), batch + 0.1 * torch.randn_like(batch)
    with torch.no_grad():
        target = teacher(other.bfloat16()).float()
    loss = nn.functional.mse_loss(predict(student(one)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow()
print(f"{loss.item():.3f}")
