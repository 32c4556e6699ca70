import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Conv1d(1, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(16, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05)

    def step(self, batch, train):
        signal, answer = batch
        loss = nn.functional.mse_loss(self.net(signal), answer)  # expect: AD211
        if train:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def fit(self, loaders, epochs):
        for _ in range(epochs):
            for phase in ("train", "val"):
                losses = [self.step(batch, phase == "train") for batch in loaders[phase]]
                print(phase, sum(losses) / len(losses))


torch.manual_seed(1)
s = torch.randn(120, 1, 16)
a = s.mean(2)
loaders = {
    "train": DataLoader(TensorDataset(s[:90], a[:90]), batch_size=15, shuffle=True),
    "val": DataLoader(TensorDataset(s[90:], a[90:]), batch_size=15),
}
Trainer().fit(loaders, 6)
