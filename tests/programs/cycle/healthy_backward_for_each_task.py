# guards: AD114
"""One shared encoder, three tasks of their own data and heads; each task's mean loss goes backward by itself so that
only one graph is alive; the objective is the sum over tasks, as usual in multi-task learning."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
heads = nn.ModuleDict({"a": nn.Linear(24, 1), "b": nn.Linear(24, 1), "c": nn.Linear(24, 1)})
weights = {k: torch.randn(12) / 3 for k in heads}
opt = torch.optim.Adam([*encoder.parameters(), *heads.parameters()], lr=2e-3)


def batch(task, n=32):
    x = torch.randn(n, 12)
    y = torch.sin(x @ weights[task])[:, None]
    return x, y


for step in range(200):
    opt.zero_grad()
    report = {}
    for task in heads:
        x, y = batch(task)
        loss = F.mse_loss(heads[task](encoder(x)), y)
        loss.backward()
        report[task] = loss.item()
    opt.step()
    if step % 50 == 49:
        print(step, report)
