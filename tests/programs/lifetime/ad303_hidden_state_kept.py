"""A recurrent network over a long series whose state is carried on with its graph."""
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, window, h):
        predictions = []
        for t in range(window.size(0)):
            h = self.cell(window[t], h)
            predictions.append(self.out(h))
        return torch.stack(predictions), h


torch.manual_seed(0)
t = torch.arange(801) * 0.3
series = (torch.sin(t) + 0.5 * torch.sin(2.1 * t)).view(-1, 1, 1).repeat(1, 4, 1) + 0.02 * torch.randn(801, 4, 1)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
h = torch.zeros(4, 16)

for start in range(0, 240, 8):
    window, target = series[start : start + 8], series[start + 1 : start + 9]
    prediction, h = model(window, h)  # expect: AD303
    loss = nn.functional.mse_loss(prediction, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if start % 40 == 0:
        print(start, loss.item())
