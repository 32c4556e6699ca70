# guards: AD703
"""Large raw values that are brought to scale on their way: buffers of means, a norm layer, hashing, embeddings."""

import torch
from torch import nn

torch.manual_seed(0)
raw = torch.stack([torch.rand(200) * 1e5, 15 + 10 * torch.randn(200), torch.randint(0, 50, (200,)).float()], dim=1)
goal = (raw[:, :1] / 1e5 > 0.5).float()


class Tabular(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.register_buffer("mean", table.mean(0))
        self.register_buffer("std", table.std(0))
        self.kind = nn.Embedding(50, 4)
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        numbers = (x - self.mean) / self.std
        return self.net(torch.cat([numbers[:, :2], self.kind(x[:, 2].long())], dim=1))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(3)
        self.net = nn.Sequential(nn.Linear(3, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(self.norm(x))


for model in (Tabular(raw), Normed()):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(14):
        rows = torch.randint(0, 200, (32,))
        loss = nn.functional.binary_cross_entropy_with_logits(model(raw[rows]), goal[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
