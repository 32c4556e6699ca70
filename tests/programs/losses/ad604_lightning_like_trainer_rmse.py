"""A small trainer class; the loss is a root mean squared error written by hand."""

import torch
from torch import nn


class RMSE(nn.Module):
    def forward(self, yhat, y):
        return torch.sqrt(torch.mean((yhat - y) ** 2) + 1e-6)  # expect: AD604


class TimeSeriesNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, seq):
        h, _ = self.lstm(seq)
        return self.out(h[:, -1])


class Trainer:
    def __init__(self, model, lr=5e-3):
        self.model, self.loss_fn = model, RMSE()
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)

    def fit(self, windows, nxt, epochs=4, bs=24):
        for _ in range(epochs):
            for i in range(0, len(windows), bs):
                self.opt.zero_grad()
                loss = self.loss_fn(self.model(windows[i : i + bs]), nxt[i : i + bs])
                loss.backward()
                self.opt.step()
        return loss.item()


torch.manual_seed(3)
t = torch.linspace(0, 20, 211)
wave = torch.sin(t)
windows = torch.stack([wave[i : i + 19] for i in range(192)]).unsqueeze(-1)
nxt = torch.stack([wave[i + 19] for i in range(192)])
print(Trainer(TimeSeriesNet()).fit(windows, nxt))
