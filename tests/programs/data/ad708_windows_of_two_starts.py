"""A muscle's current, and in which phase of a stride each moment lies: windows begin where two draws say."""
import torch
from torch import nn

WINDOW = 40


class Strides(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(2, 16, batch_first=True), nn.Linear(16, 3)

    def forward(self, current):
        return self.head(self.gru(current)[0])


def window(series):
    start = torch.randint(0, series.shape[1] - WINDOW, (series.shape[0], 1))
    places = start + torch.arange(WINDOW)
    if series.dim() == 2:
        return series.gather(1, places)
    return series[torch.arange(len(series))[:, None], places]


torch.manual_seed(1)
phase = (torch.arange(120) / 20 + 3 * torch.rand(64, 1)).long() % 3
current = torch.stack([phase.float(), -phase.float()], 2) + 0.3 * torch.randn(64, 120, 2)
model = Strides()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(24):
    rows = torch.randint(0, 64, (16,))
    inputs, labels = window(current[rows]), window(phase[rows])  # expect: AD708
    scores = model(inputs)
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
