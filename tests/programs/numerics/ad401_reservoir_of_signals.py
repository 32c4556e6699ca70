import torch
from torch import nn


class Reservoir(nn.Module):
    """Reads a signal into a state that decays on its own, or so its author thinks."""

    def __init__(self, inputs, units):
        super().__init__()
        self.recurrent = nn.Parameter(torch.randn(units, units) / units**0.5 * 1.9)
        self.input = nn.Linear(inputs, units)
        self.readout = nn.Linear(units, 1)

    def forward(self, signal):
        state = signal.new_zeros(len(signal), self.recurrent.shape[0])
        for moment in signal.unbind(dim=1):
            state = self.input(moment) + torch.mm(state, self.recurrent)  # <- AD401
        return self.readout(state).squeeze(1)


torch.manual_seed(5)
model = Reservoir(3, 48)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for length in [12] * 5 + [200] * 2:
    signal = torch.randn(8, length, 3)
    wanted = signal[:, -5:].mean(dim=(1, 2))
    loss = (model(signal) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
