# guards: AD102 AD201 AD214
"""DINO: teacher by momentum, centring, sharpening, several crops, last layer rests for the first epoch."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 8))
        self.last = nn.utils.parametrizations.weight_norm(nn.Linear(8, 12, bias=False))
        self.last.parametrizations.weight.original0.data.fill_(1)
        self.last.parametrizations.weight.original0.requires_grad = False

    def forward(self, x):
        return self.last(F.normalize(self.mlp(x), dim=-1))


class DINOLoss(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, student, teacher):
        t = ((teacher - self.center) / 0.04).softmax(-1).detach().chunk(2)
        s = (student / 0.1).chunk(4)
        total, n = 0, 0
        for i, q in enumerate(t):
            for j, p in enumerate(s):
                if i == j:
                    continue
                total = total + torch.sum(-q * F.log_softmax(p, dim=-1), dim=-1).mean()
                n += 1
        self.update(teacher)
        return total / n

    @torch.no_grad()
    def update(self, teacher):
        self.center = self.center * 0.9 + teacher.mean(0, keepdim=True) * 0.1


def cancel_last_layer(epoch, model):
    if epoch >= 1:
        return
    for n, p in model.named_parameters():
        if "last" in n:
            p.grad = None


torch.manual_seed(0)
student = nn.Sequential(nn.Linear(10, 16), nn.GELU(), nn.Dropout(0.1), Head())
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
crit = DINOLoss(12)
opt = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=1e-3)
for epoch in range(3):
    for it in range(3):
        x = torch.randn(8, 10)
        views = [x + 0.2 * torch.randn_like(x) for _ in range(4)]
        teach = teacher(torch.cat(views[:2]))
        loss = crit(student(torch.cat(views)), teach)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 3.0)
        cancel_last_layer(epoch, student)
        opt.step()
        with torch.no_grad():
            for a, b in zip(student.parameters(), teacher.parameters()):
                b.data.mul_(0.99).add_((1 - 0.99) * a.detach().data)
    print(epoch, loss.item())
