# guards: AD121
"""Two students teach one another by a teacher that is the moving average of both, half from each."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
rule = torch.randn(8, 3)


def student():
    return nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Linear(40, 3))


left, right = student(), student()
right.load_state_dict(left.state_dict())
teacher = copy.deepcopy(left).requires_grad_(False)
optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=3e-3)
KEEP = 0.9
for step in range(60):
    labelled, plain = torch.randn(16, 8), torch.randn(48, 8)
    kinds = (labelled @ rule).argmax(1)
    with torch.no_grad():
        soft = teacher(plain).softmax(1)
    loss = torch.zeros(())
    for each in (left, right):
        noisy = labelled + 0.1 * torch.randn_like(labelled)
        agreed = F.mse_loss(each(F.dropout(plain, 0.2)).softmax(1), soft)
        loss = loss + F.cross_entropy(each(noisy), kinds) + 0.5 * agreed
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, a, b in zip(teacher.parameters(), left.parameters(), right.parameters()):
            kept.mul_(KEEP).add_(a, alpha=(1 - KEEP) / 2).add_(b, alpha=(1 - KEEP) / 2)
