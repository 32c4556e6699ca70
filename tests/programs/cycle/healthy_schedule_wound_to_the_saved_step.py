# guards: AD119
"""The file has no schedule, but the step: the new schedule begins there, by `last_epoch` or by as many steps."""

import io

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR


def build():
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(model, optimizer, schedule, steps):
    for _ in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x[:, :2].sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def saved(model, optimizer):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 6}, buffer)
    buffer.seek(0)
    return buffer


def falls(step):
    return 0.97**step


torch.manual_seed(0)
for way in ("last_epoch", "steps"):
    model, optimizer = build()
    train(model, optimizer, LambdaLR(optimizer, falls), 6)
    file = saved(model, optimizer)
    model, optimizer = build()
    state = torch.load(file)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if way == "last_epoch":
        schedule = LambdaLR(optimizer, falls, last_epoch=state["step"] - 1)
    else:
        schedule = CosineAnnealingLR(optimizer, 20)
        for _ in range(state["step"]):
            optimizer.step()
            schedule.step()
    train(model, optimizer, schedule, 6)
