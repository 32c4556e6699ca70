# guards: AD111
"""Leaves and stems: a bfloat16 model is computed with, float32 masters are stepped, and only gradients come back."""
import copy

import torch
from torch import nn


class Masters:
    def __init__(self, model, rate):
        self.model = model
        self.full = copy.deepcopy(model).float()
        self.optimizer = torch.optim.Adam(self.full.parameters(), lr=rate)

    def step(self):
        for mine, low in zip(self.full.parameters(), self.model.parameters()):
            mine.grad = low.grad.float()
            low.grad = None
        self.optimizer.step()
        with torch.no_grad():
            for mine, low in zip(self.full.parameters(), self.model.parameters()):
                low.copy_(mine)

    def save(self):
        return {name: weight.bfloat16() for name, weight in self.full.state_dict().items()}


torch.manual_seed(2)
masters = Masters(nn.Sequential(nn.Linear(9, 40), nn.GELU(), nn.Linear(40, 3)).bfloat16(), 1e-4)
for step in range(48):
    leaf = torch.randn(80, 9)
    kind = leaf[:, :3].argmax(1)
    loss = nn.functional.cross_entropy(masters.model(leaf.bfloat16()).float(), kind)
    loss.backward()
    masters.step()
    if step == 23:
        masters.full.load_state_dict(masters.save())
