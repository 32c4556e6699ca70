"""Residual net with a learnable scale per block kept in a Python list, so model.parameters() misses them (AD220)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ScaledResNet(nn.Module):
    def __init__(self, dim=24, depth=3):
        super().__init__()
        self.inp = nn.Linear(6, dim)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(depth)])
        self.scales = [torch.full((dim,), 0.1, requires_grad=True) for _ in range(depth)]  # expect: AD220
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.inp(x)
        for block, scale in zip(self.blocks, self.scales):
            x = x + scale * block(x)
        return self.out(x).squeeze(-1)


torch.manual_seed(0)
inputs = torch.randn(512, 6)
targets = inputs[:, 0] * inputs[:, 1] + inputs[:, 2:].sum(1)
loader = DataLoader(TensorDataset(inputs, targets), batch_size=64, shuffle=True)
model = ScaledResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
mse = nn.MSELoss()
for epoch in range(4):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = mse(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    print(f"epoch {epoch} mse {total / len(inputs):.4f}")
