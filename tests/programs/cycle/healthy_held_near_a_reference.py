# guards: AD121
# hinted: AD121
"""L2-SP: fine-tuning draws the weights a little to those of the pretrained model, from which it distils as well."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
reference = copy.deepcopy(model).requires_grad_(False).eval()
weights, anchors = list(model.parameters()), list(reference.parameters())
optimizer = torch.optim.Adam(weights, lr=3e-3)
for _ in range(8):
    x = torch.randn(32, 6)
    with torch.no_grad():
        before = reference(x)
    out = model(x)
    loss = nn.functional.mse_loss(out, x.sum(1, keepdim=True)) + 0.1 * nn.functional.mse_loss(out, before)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        torch._foreach_lerp_(weights, anchors, 0.01)
