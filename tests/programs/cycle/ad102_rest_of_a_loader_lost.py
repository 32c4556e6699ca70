import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EVERY = 2
signals = torch.randn(60, 1, 12)
loader = DataLoader(TensorDataset(signals, signals.mean((1, 2)).gt(0).long()), batch_size=12, shuffle=True)


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(40, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def epoch(self):
        self.model.zero_grad()  # expect: AD102
        waiting = 0
        for signal, label in loader:
            (nn.functional.cross_entropy(self.model(signal), label) / EVERY).backward()
            waiting += 1
            if waiting == EVERY:
                self.optimizer.step()
                self.model.zero_grad()
                waiting = 0


trainer = Trainer()
for _ in range(4):
    trainer.epoch()
