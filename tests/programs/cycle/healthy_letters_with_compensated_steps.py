# guards: AD111
"""Letters are predicted by a model of bfloat16 alone; what Adam loses to rounding is carried into its next step."""

import torch
from torch import nn


class Carrying:
    """Adam with a carry for each weight, kept beside the optimizer that it wraps around the rate."""

    def __init__(self, weights, rate):
        self.optimizer = torch.optim.SGD(weights, lr=1.0)
        self.rate, self.time = rate, 0
        self.kept = {w: (torch.zeros(w.shape), torch.zeros(w.shape), torch.zeros_like(w)) for w in weights}
        self.optimizer.register_step_pre_hook(lambda *_: self.prepare())
        self.optimizer.register_step_post_hook(lambda *_: self.note())

    @torch.no_grad()
    def prepare(self):
        self.time += 1
        self.wished = {}
        for weight, (mean, square, carry) in self.kept.items():
            slope = weight.grad.float()
            mean.lerp_(slope, 0.1)
            square.lerp_(slope * slope, 0.01)
            step = mean / (1 - 0.9**self.time) / ((square / (1 - 0.99**self.time)).sqrt() + 1e-8)
            weight.grad.copy_(self.rate * step - carry.float())
            self.wished[weight] = (weight.clone(), -weight.grad)

    @torch.no_grad()
    def note(self):
        for weight, (before, wished) in self.wished.items():
            self.kept[weight][2].copy_(wished.float() - (weight.float() - before.float()))


torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(20, 24), nn.Flatten(), nn.Linear(72, 48), nn.Tanh(), nn.Linear(48, 20)).bfloat16()
carrying = Carrying(list(model.parameters()), 2e-5)
text = torch.arange(600).remainder(17).add(torch.randint(0, 3, (600,)))
for _ in range(30):
    at = torch.randint(0, 590, (32, 1)) + torch.arange(4)
    letters = text[at]
    loss = nn.functional.cross_entropy(model(letters[:, :3]).float(), letters[:, 3])
    carrying.optimizer.zero_grad()
    loss.backward()
    carrying.optimizer.step()
