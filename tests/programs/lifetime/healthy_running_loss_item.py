# guards: AD302
"""The classic `running_loss += loss.item()`."""
import torch
import torch.nn as nn


class TCN(nn.Module):
    """Two dilated convolutions over time."""

    def __init__(self, ch=12):
        super().__init__()
        self.a = nn.Conv1d(1, ch, 3, dilation=1, padding=2)
        self.b = nn.Conv1d(ch, ch, 3, dilation=2, padding=4)
        self.head = nn.Conv1d(ch, 1, 1)

    def forward(self, x):
        n = x.size(2)
        x = torch.relu(self.a(x)[..., :n])
        x = torch.relu(self.b(x)[..., :n])
        return self.head(x)


torch.manual_seed(0)
model = TCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()

running_loss = 0.0
for i in range(40):
    noise = torch.randn(16, 1, 40)
    smooth = (noise[..., :-2] + noise[..., 1:-1] + noise[..., 2:]) / 3
    inputs, targets = noise[..., :-2], smooth[..., :]
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    optimizer.step()
    running_loss += loss.item()
    if i % 20 == 19:
        print("[%3d] loss: %.3f" % (i + 1, running_loss / (i + 1)))
