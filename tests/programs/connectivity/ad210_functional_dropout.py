"""A graph network with functional dropout; the test at the end of each epoch leaves the model in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn


class GCN(nn.Module):
    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(features, hidden), nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor, adjacent: torch.Tensor) -> torch.Tensor:
        h = F.relu(adjacent @ self.first(x))
        h = F.dropout(h, 0.5, training=self.training)
        return F.log_softmax(adjacent @ self.second(h), dim=1)


def train_epoch(model, optimizer, x, adjacent, labels):
    optimizer.zero_grad()
    loss = F.nll_loss(model(x, adjacent), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def test(model, x, adjacent, labels):
    model.eval()  # expect: AD210
    with torch.no_grad():
        return (model(x, adjacent).argmax(1) == labels).float().mean().item()


torch.manual_seed(0)
x, labels = torch.randn(30, 8), torch.randint(0, 3, (30,))
adjacent = ((torch.rand(30, 30) < 0.2).float() + torch.eye(30)).softmax(1)
model = GCN(8, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
model.train()
for epoch in range(10):
    loss = train_epoch(model, optimizer, x, adjacent, labels)
    print(epoch, loss, test(model, x, adjacent, labels))
