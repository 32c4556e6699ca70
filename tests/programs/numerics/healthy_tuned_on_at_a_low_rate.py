# guards: AD412
"""A translator's last layers go on from a state, at a rate that a long schedule has left, and are clipped hard."""

import io

import torch
from torch import nn


def build(rate):
    model = nn.Sequential(nn.Embedding(30, 16), nn.Flatten(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 30))
    return model, torch.optim.AdamW(model.parameters(), lr=rate)


def train(model, optimizer, steps):
    for _ in range(steps):
        tokens = torch.randint(30, (64, 4))
        scores = model(tokens)
        loss = nn.functional.cross_entropy(scores, tokens[:, 0], reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()


torch.manual_seed(0)
model, optimizer = build(1e-3)
train(model, optimizer, 12)
file = io.BytesIO()
torch.save((model.state_dict(), optimizer.state_dict()), file)
file.seek(0)
weights, state = torch.load(file)
model, optimizer = build(1e-3)
model.load_state_dict(weights)
optimizer.load_state_dict(state)
for group in optimizer.param_groups:
    group["lr"] = 1e-8
train(model, optimizer, 20)
