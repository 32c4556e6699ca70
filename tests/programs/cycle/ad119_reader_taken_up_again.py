"""A reader of digits is stopped and taken up again: its file has model and optimizer, and no word of the schedule."""

import os
import tempfile

import torch
from torch import nn
from torch.nn import functional

STEPS_IN_ALL, STOP = 30, 18
FOLDER = tempfile.mkdtemp()


def build():
    model = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=STEPS_IN_ALL)
    return model, optimizer, schedule


def train(model, optimizer, schedule, steps):
    for _ in range(steps):
        labels = torch.randint(0, 5, (32,))
        pictures = functional.one_hot(labels, 5).float().repeat(1, 4) + 0.5 * torch.randn(32, 20)
        loss = functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


torch.manual_seed(0)
first = build()
train(*first, STOP)
path = os.path.join(FOLDER, "reader.pt")
torch.save({"net": first[0].state_dict(), "adam": first[1].state_dict(), "step": STOP}, path)

model, optimizer, schedule = build()
saved = torch.load(path)
model.load_state_dict(saved["net"])
optimizer.load_state_dict(saved["adam"])  # expect: AD119
train(model, optimizer, schedule, STEPS_IN_ALL - STOP)
