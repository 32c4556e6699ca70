import copy

import torch
import torch.nn.functional as F
from torch import nn


class Views(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class Bootstrap:
    def __init__(self, every):
        self.pupil = Views()
        self.guide = copy.deepcopy(self.pupil)
        self.guess = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.rule = torch.optim.AdamW([*self.pupil.parameters(), *self.guess.parameters()], lr=2e-3)
        self.turns, self.every = 0, every

    def aims(self, x):
        with torch.inference_mode():
            return self.guide(x)  # <- AD224

    def turn(self, x):
        one, other = (x + 0.2 * torch.randn_like(x) for _ in range(2))
        aim = self.aims(other).clone()
        loss = 2 - 2 * F.cosine_similarity(self.guess(self.pupil(one)), aim).mean()
        self.rule.zero_grad(set_to_none=True)
        loss.backward()
        self.rule.step()
        self.turns += 1
        if self.turns % self.every == 0:
            self.guide = self.pupil
        return loss.item()


torch.manual_seed(6)
bootstrap = Bootstrap(every=9)
for _ in range(26):
    last = bootstrap.turn(torch.randn(32, 10))
print(last)
