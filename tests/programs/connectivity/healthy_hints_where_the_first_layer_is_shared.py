# guards: AD224
"""A student that uses the frozen embedding of its teacher: the hints of all layers include the one that they share."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
embedding = nn.Embedding(30, 16).requires_grad_(False)
teacher = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)]).requires_grad_(False)
student = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)])
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)


def states(layers, tokens):
    found = [embedding(tokens).mean(1)]
    for layer in layers:
        found.append(torch.tanh(layer(found[-1])))
    return found


for _ in range(30):
    tokens = torch.randint(0, 30, (24, 6))
    pairs = zip(states(student, tokens), states(teacher, tokens), strict=True)
    loss = sum(F.mse_loss(own, wanted) for own, wanted in pairs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
