"""Recurrent forecaster: a smoothness penalty on the stored hidden states (kept as .detach()) is stacked with the other terms (AD216)."""
import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden)
        self.out = nn.Linear(hidden, 1)
        self.hidden = hidden
        self.trace = []

    def forward(self, series):
        h = series.new_zeros(series.size(0), self.hidden)
        self.trace = []
        preds = []
        for t in range(series.size(1) - 1):
            h = self.cell(series[:, t:t + 1], h)
            self.trace.append(h.detach())
            preds.append(self.out(h))
        return torch.cat(preds, 1)


class Experiment:
    def __init__(self):
        self.model = Forecaster()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def data(self, n=32, T=16):
        phase = torch.rand(n, 1) * 6.28
        return torch.sin(phase + 0.5 * torch.arange(T)) + 0.02 * torch.randn(n, T)

    def objectives(self, series):
        pred = self.model(series)
        target = series[:, 1:]
        states = torch.stack(self.model.trace, 1)
        mse = nn.functional.mse_loss(pred, target)
        trend = nn.functional.smooth_l1_loss(pred.diff(dim=1), target.diff(dim=1))
        smooth = states.diff(dim=1).pow(2).mean()
        return mse, trend, smooth

    def run(self, steps=25):
        for i in range(steps):
            loss = torch.stack(self.objectives(self.data())).mean()  # expect: AD216
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if i % 8 == 0:
                print("step", i, "loss", loss.item())


torch.manual_seed(0)
Experiment().run()
