# guards: AD216 AD206
"""Transfer with L2-SP in two phases: while the backbone is frozen its penalty is a constant, after unfreezing it pulls."""
import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(9, 32), nn.Tanh())
start = copy.deepcopy(backbone).requires_grad_(False)
head = nn.Linear(32, 4)
x = torch.randn(320, 9)
y = (x @ torch.randn(9, 4)).argmax(1)


def l2_sp():
    drift = sum((p - q).pow(2).sum() for p, q in zip(backbone.parameters(), start.parameters()))
    size = sum(p.pow(2).sum() for p in backbone.parameters())
    return 1e-2 * drift + 1e-4 * size + 1e-3 * head.weight.pow(2).sum()


def run_phase(name, params, lr, epochs):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for _ in range(epochs):
        for i in torch.randperm(320).split(64):
            loss = F.cross_entropy(head(backbone(x[i])), y[i]) + l2_sp()
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(name, loss.item())


backbone.requires_grad_(False)
run_phase("head", head.parameters(), 1e-2, 4)
backbone.requires_grad_(True)
run_phase("all", [*backbone.parameters(), *head.parameters()], 5e-3, 4)
