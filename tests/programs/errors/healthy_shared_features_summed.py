# guards: AD504
"""Two task losses over one encoder, summed before one backward."""
import torch
from torch import nn


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.sign = nn.Linear(32, 1)
        self.size = nn.Linear(32, 1)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def training_step(self, x):
        total = x.sum(1, keepdim=True)
        features = self.model.encoder(x)
        sign_loss = nn.functional.binary_cross_entropy_with_logits(self.model.sign(features), (total > 0).float())
        size_loss = nn.functional.mse_loss(self.model.size(features), total.abs().tanh())
        self.optimizer.zero_grad()
        (sign_loss + 0.5 * size_loss).backward()
        self.optimizer.step()
        return sign_loss.item(), size_loss.item()

    def run(self, steps):
        for step in range(steps):
            losses = self.training_step(torch.randn(64, 6))
            if step % 10 == 0:
                print(step, losses)


torch.manual_seed(0)
Trainer(TwoTasks()).run(30)
