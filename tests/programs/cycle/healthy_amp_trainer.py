# guards: AD107
"""A trainer with optional mixed precision."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class TrainConfig:
    steps: int = 40
    batch_size: int = 48
    lr: float = 1e-2
    use_amp: bool = True


class AmpTrainer:
    def __init__(self, model, cfg):
        self.model = model
        self.cfg = cfg
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler("cpu", enabled=cfg.use_amp, init_scale=256.0)
        self.loss_fn = nn.HuberLoss()

    def step(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.cfg.use_amp):
            pred = self.model(x)
        loss = self.loss_fn(pred.float(), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def fit(self):
        for i in range(self.cfg.steps):
            x = torch.rand(self.cfg.batch_size, 4) * 2 - 1
            y = (x[:, :1] * x[:, 1:2] + x[:, 2:3].abs()) - 0.5
            loss = self.step(x, y)
            if i % 10 == 0:
                print(f"{i:4d} {loss:.4f}")


torch.manual_seed(11)
AmpTrainer(nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 1)), TrainConfig()).fit()
