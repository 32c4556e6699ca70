# guards: AD704
"""A headset that cancels noise: a filter hears the reference microphone, and what is left of the noise at the ear is to
be silence, which the data set gives as the target."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
outside = torch.randn(240, 1, 80)
shell = torch.tensor([[[0.1, -0.3, 0.6, 0.2, 0.0]]])
at_ear = nn.functional.conv1d(outside, shell, padding=2) + 0.02 * torch.randn(240, 1, 80)
recordings = DataLoader(TensorDataset(outside, at_ear, torch.zeros(240, 1, 80)), batch_size=24, shuffle=True)


class Canceller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Conv1d(1, 1, 7, padding=3)

    def forward(self, reference: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return noise - self.filter(reference)


canceller = Canceller()
optimizer = torch.optim.Adam(canceller.parameters(), lr=1e-2)
for epoch in range(8):
    for reference, noise, silence in recordings:
        loss = nn.functional.mse_loss(canceller(reference, noise), silence)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
