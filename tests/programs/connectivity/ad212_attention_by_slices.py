"""Graph attention on sliced parameters; the test after the first epoch switches gradients off and never on again."""

import torch
import torch.nn.functional as F
from torch import nn


class GraphAttention(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.W = nn.Parameter(torch.randn(features, hidden) / features**0.5)
        self.a = nn.Parameter(torch.randn(2 * hidden, 1) / hidden**0.5)

    def forward(self, x: torch.Tensor, adjacent: torch.Tensor) -> torch.Tensor:
        h = x @ self.W
        scores = F.leaky_relu(h @ self.a[: self.hidden, :] + (h @ self.a[self.hidden :, :]).mT)
        return torch.softmax(scores.masked_fill(~adjacent, -1e9), dim=-1) @ h


def test(model, x, adjacent, labels):
    torch.set_grad_enabled(False)  # expect: AD212
    return (model(x, adjacent).argmax(1) == labels).float().mean().item()


torch.manual_seed(0)
nodes = 24
x, labels = torch.randn(nodes, 6), torch.randint(0, 3, (nodes,))
adjacent = (torch.rand(nodes, nodes) < 0.3) | torch.eye(nodes, dtype=torch.bool)
model = GraphAttention(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, adjacent), labels)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), test(model, x, adjacent, labels))
