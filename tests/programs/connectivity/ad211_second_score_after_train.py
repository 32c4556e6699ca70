"""A helper goes back to train mode at its end, and the second score after it is made with dropout."""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Dropout(0.4), nn.Linear(24, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
parts = [torch.randn(size, 7) for size in (64, 32, 32)]
x, valid, test = [(part, part.sum(1, keepdim=True)) for part in parts]


def score(inputs, targets):
    with torch.inference_mode():
        error = nn.functional.l1_loss(network(inputs), targets).item()  # expect: AD211
    network.train()
    return error


for epoch in range(4):
    for start in range(0, 64, 16):
        optimizer.zero_grad()
        nn.functional.l1_loss(network(x[0][start : start + 16]), x[1][start : start + 16]).backward()
        optimizer.step()
    network.eval()
    print("valid", score(*valid), "test", score(*test))
