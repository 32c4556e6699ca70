"""A sparse autoencoder whose penalty begins when the reconstruction has settled."""

import torch
from torch import nn, optim

torch.manual_seed(11)


class Sparse(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.encode = nn.Linear(inputs, hidden)
        self.decode = nn.Linear(hidden, inputs)
        self.activity = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.encode(x))
        self.activity = h.detach().abs().mean()
        return self.decode(h)


net = Sparse(12, 24)
opt = optim.Adam(net.parameters(), lr=3e-3)
data = torch.randn(256, 4) @ torch.randn(4, 12)

for epoch in range(12):
    for batch in data[torch.randperm(256)].split(32):
        loss = (net(batch) - batch).square().mean()
        if epoch >= 7:
            loss = loss + 0.05 * net.activity  # expect: AD216
        opt.zero_grad()
        loss.backward()
        opt.step()
