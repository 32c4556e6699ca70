"""Fine-tuning in a class, with a flag on the part that is meant to stay as it was loaded."""

import io

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(3, 12, 3, padding=1), nn.Conv1d(12, 12, 3, padding=1)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stack = Stack()
        self.head = nn.Linear(12, classes)

    def forward(self, x):
        return self.head(self.stack(x).mean(-1))


def waves(count, classes):
    kind = torch.randint(0, classes, (count,))
    time = torch.linspace(0, 6, 24)
    base = torch.sin(time[None] * (kind[:, None] + 1.0))
    return torch.stack([base, base.roll(1, 1), base ** 2], 1) + 0.1 * torch.randn(count, 3, 24), kind


torch.manual_seed(0)
store = io.BytesIO()
torch.save(Net(6).stack.state_dict(), store)
store.seek(0)
net = Net(4)
net.stack.load_state_dict(torch.load(store))
net.stack.requires_grad = False  # <- AD222
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(30):
    x, kind = waves(32, 4)
    loss = nn.functional.cross_entropy(net(x), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
