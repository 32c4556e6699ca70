"""Attention with a scale that was to be learned, kept as a plain tensor: `parameters()` does not find it."""
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.scale = torch.ones(1, requires_grad=True)

    def forward(self, x):
        return torch.softmax(self.query(x) @ x.transpose(1, 2) * self.scale, -1) @ x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention(6)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        return self.out(self.attention(x).mean(1))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # expect: AD204
for _ in range(12):
    x = torch.randn(4, 5, 6)
    loss = (model(x) - x.mean((1, 2)).unsqueeze(1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
