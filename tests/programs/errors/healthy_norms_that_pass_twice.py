# guards: AD510
"""A deep network of sensors, recomputed block by block, whose norms were told that each batch passes them twice."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    """One norm follows the latest batches at half the pace, the other is the mean over all of them."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.following = nn.BatchNorm1d(width, momentum=0.0253)
        self.averaging = nn.BatchNorm1d(width, momentum=None)

    def forward(self, x):
        hidden = torch.relu(self.following(self.first(x)))
        return x + self.averaging(self.second(hidden))


class Readings(nn.Module):
    def __init__(self, sensors=9, width=24, depth=3):
        super().__init__()
        self.stem = nn.Linear(sensors, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        return self.head(x).squeeze(1)


def readings(count):
    x = torch.randn(count, 9)
    return x, (x[:, :3] * x[:, 3:6]).sum(1).tanh() + 0.5 * x[:, 8]


torch.manual_seed(11)
model = Readings()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(30):
    x, y = readings(64)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    x, y = readings(256)
    print("left unexplained:", nn.functional.mse_loss(model(x), y).item() / y.var().item())
