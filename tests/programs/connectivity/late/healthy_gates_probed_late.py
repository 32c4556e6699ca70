# guards: AD204
"""A gate of one on each channel is a probe: its gradients are summed up late in training, to prune channels after it."""

import torch
from torch import nn
from torch.nn import functional as F


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.gate = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.relu(self.conv(x)) * self.gate[:, None]


torch.manual_seed(0)
net = nn.Sequential(Gated(6), Gated(6), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(6, 3))
gates = [layer.gate for layer in net if isinstance(layer, Gated)]
weights = [p for p in net.parameters() if all(p is not gate for gate in gates)]
optimizer = torch.optim.SGD(weights, lr=0.05, momentum=0.9)
score = torch.zeros(2, 6)
for step in range(60):
    labels = torch.randint(0, 3, (32,))
    signals = torch.randn(32, 6, 10) + F.one_hot(labels, 6)[:, :, None]
    loss = F.cross_entropy(net(signals), labels)
    net.zero_grad()
    loss.backward()
    if step >= 40:
        score += torch.stack([gate.grad.abs() for gate in gates])
    optimizer.step()
print(loss.item(), score.flatten().topk(4, largest=False).indices.tolist())
