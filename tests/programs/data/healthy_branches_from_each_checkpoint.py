# guards: AD722
"""Checkpoints of one run, listed once: their average is trained on, and a short decay branches off from each of them."""

import re
import tempfile
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def train(steps):
    for _ in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for step in (5, 10, 20):
        train(5)
        torch.save(model.state_dict(), folder / f"stable{step}.pt")
    states = [torch.load(path) for path in sorted(folder.glob("stable*.pt"))]
    model.load_state_dict({key: sum(state[key] for state in states) / len(states) for key in states[0]})
    train(5)
    for path in sorted(folder.glob("stable*.pt"), key=lambda path: -int(re.findall(r"\d+", path.name)[0])):
        model.load_state_dict(torch.load(path))
        train(3)
