"""A classifier and a confidence critic, each with its optimizer, in a trainer that logs both losses."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
        self.critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizers = [torch.optim.Adam(part.parameters(), lr=3e-3) for part in (self.net, self.critic)]
        self.log = []

    def losses(self, x, y):
        logits = self.net(x)
        right = (logits.argmax(1) == y).float()
        confidence = self.critic(logits.detach().softmax(1)).squeeze(1)
        return {"net": F.cross_entropy(logits, y), "critic": F.binary_cross_entropy_with_logits(confidence, right)}

    def step(self, x, y):
        losses = self.losses(x, y)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        losses["net"].backward()
        for optimizer in self.optimizers:
            optimizer.step()  # expect: AD103
        self.log.append({name: float(loss) for name, loss in losses.items()})


torch.manual_seed(0)
trainer = Trainer()
prototypes = 2 * torch.randn(4, 8)
for _ in range(20):
    y = torch.randint(0, 4, (48,))
    trainer.step(prototypes[y] + torch.randn(48, 8), y)
print(trainer.log[-1])
