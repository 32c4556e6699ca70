import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR


class Trainer:
    def __init__(self, net, epochs, per_epoch):
        self.net, self.epochs, self.per_epoch = net, epochs, per_epoch
        self.optim = torch.optim.Adam(net.parameters(), lr=1e-4, betas=(0.9, 0.99))
        self.sched = OneCycleLR(self.optim, max_lr=1e-2, epochs=epochs, steps_per_epoch=per_epoch)  # <- AD118
        self.history = []

    def batch(self):
        x = torch.rand(40, 5)
        return x, (x[:, :1] > x[:, 1:2]).float()

    def train(self):
        for _ in range(self.epochs):
            running = 0.0
            for _ in range(self.per_epoch):
                x, y = self.batch()
                loss = nn.functional.binary_cross_entropy_with_logits(self.net(x), y)
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
                running += loss.item()
            self.history.append((running / self.per_epoch, self.sched.get_last_lr()[0]))
        return self.history


torch.manual_seed(0)
print(Trainer(nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 1)), 4, 6).train())
