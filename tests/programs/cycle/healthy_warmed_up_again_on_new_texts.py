# guards: AD119
"""Continued pretraining: weights and moments come from the file, and the rate is warmed up anew to a lower peak."""

import io
import math

import torch
from torch import nn


def schedule(optimizer, steps, warm):
    def factor(step):
        return (step + 1) / warm if step < warm else 0.55 + 0.45 * math.cos(math.pi * (step - warm) / (steps - warm))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def train(model, optimizer, scheduler, steps, shift):
    for _ in range(steps):
        letters = torch.randint(0, 16, (32, 5))
        loss = nn.functional.cross_entropy(model(letters), (letters[:, -1] + shift) % 16)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


def build():
    model = nn.Sequential(nn.Embedding(16, 12), nn.Flatten(), nn.Linear(60, 16))
    return model, torch.optim.AdamW(model.parameters(), lr=4e-3)


torch.manual_seed(0)
model, optimizer = build()
scheduler = schedule(optimizer, 15, 3)
train(model, optimizer, scheduler, 15, 0)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "opt": optimizer.state_dict(), "sched": scheduler.state_dict()}, file)

file.seek(0)
kept = torch.load(file)
model, optimizer = build()
model.load_state_dict(kept["model"])
optimizer.load_state_dict(kept["opt"])
for group in optimizer.param_groups:
    group["lr"] = group["initial_lr"] = 2e-3
train(model, optimizer, schedule(optimizer, 25, 8), 25, 1)
