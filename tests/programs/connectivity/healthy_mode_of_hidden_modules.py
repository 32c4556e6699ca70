# guards: AD211
"""Modules that a model does not register: the mode is handed on, set by the program, or makes no difference to them."""

import torch
from torch import nn


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 1)
        self.handed_on = [nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.2))]
        self.__dict__["noisy"] = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.2))
        self.plain = [nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.0))]

    def everything(self):
        return [
            *self.head.parameters(),
            *(w for m in self.hidden() for w in m.parameters()),
        ]

    def hidden(self):
        return [self.handed_on[0], self.noisy, self.plain[0]]

    def train(self, mode=True):
        super().train(mode)
        self.handed_on[0].train(mode)
        return self

    def forward(self, x):
        return self.head(sum(part(x) for part in self.hidden()))


torch.manual_seed(0)
model = Halves()
model.noisy.train()
optimizer = torch.optim.Adam(model.everything(), 1e-2)
held_out = torch.randn(64, 6)
for _ in range(3):
    model.train()
    for _ in range(4):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(
            nn.functional.mse_loss(
                model(held_out), held_out.sum(1, keepdim=True)
            ).item()
        )
