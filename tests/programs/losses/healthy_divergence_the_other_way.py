# guards: AD612 AD603
"""A student is drawn to the modes of a teacher: the divergence the other way round, whose second part learns."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 8)
teacher = nn.Linear(8, 5).requires_grad_(False)
student = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 5))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for epoch in range(6):
    for rows in x.split(20):
        log_q = torch.log_softmax(teacher(rows), 1)
        loss = nn.functional.kl_div(log_q, student(rows).softmax(1), reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
