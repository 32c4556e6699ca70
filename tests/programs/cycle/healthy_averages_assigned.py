# guards: AD121
"""Averages of weights that are assigned: a shadow whose decay rises, a running mean as one vector, a sum that is divided
at the end, and the way that the weights have gone."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(56, 2))
shadow = {name: weight.detach().clone() for name, weight in model.named_parameters()}
begin = parameters_to_vector(model.parameters()).detach()
mean, total, way, last = begin.clone(), torch.zeros_like(begin), torch.zeros_like(begin), begin.clone()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(32, 1, 16)
    loss = nn.functional.cross_entropy(model(x), (x.sum((1, 2)) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay = min(0.95, (1 + step) / (10 + step))
    for name, weight in model.named_parameters():
        shadow[name] = shadow[name] - (1 - decay) * (shadow[name] - weight.detach())
    flat = parameters_to_vector(model.parameters()).detach()
    mean = mean + (flat - mean) / (step + 2)
    total = total + flat
    way = 0.9 * way + (flat - last)
    last = flat
    print(
        f"from the start {(flat - begin).norm():.3f}, from the mean {(flat - mean).norm():.3f}, speed {way.norm():.3f}"
    )
vector_to_parameters(total / 30, model.parameters())
model.load_state_dict(shadow)
