"""A surrogate of a simulation: the warm-up and decay are planned in batches, and moved on after each pass over them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def simulate(count, seed):
    g = torch.Generator().manual_seed(seed)
    design = torch.rand(count, 5, generator=g)
    drag = (3 * design[:, 0]).sin() + design[:, 1] * design[:, 2] + 0.1 * torch.randn(count, generator=g)
    return TensorDataset(design, drag[:, None])


class Trainer:
    def __init__(self, epochs=6):
        self.epochs = epochs
        self.loader = DataLoader(simulate(512, 3), batch_size=16, shuffle=True)
        self.net = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=3e-3)
        planned = epochs * len(self.loader)
        warm = torch.optim.lr_scheduler.LinearLR(self.optimizer, start_factor=0.01, total_iters=planned // 10)
        decay = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=planned - planned // 10)
        self.schedule = torch.optim.lr_scheduler.SequentialLR(self.optimizer, [warm, decay], [planned // 10])

    def train(self):
        for _ in range(self.epochs):
            for design, drag in self.loader:
                loss = nn.functional.mse_loss(self.net(design), drag)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.schedule.step()  # expect: AD115


def main():
    torch.manual_seed(0)
    Trainer().train()


main()
