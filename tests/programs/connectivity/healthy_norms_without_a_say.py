# guards: AD214
# hinted: AD214
"""A regressor whose norms only whiten: scales and shifts stay one and zero, and the layers around them learn it all."""
import torch
from torch import nn


class Whitened(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in sizes[1:-1])
        self.norms.requires_grad_(False)

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = nn.functional.silu(norm(layer(x)))
        return self.layers[-1](x)


torch.manual_seed(9)
model = Whitened([5, 32, 32, 1])
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for step in range(30):
    x = 3 * torch.rand(64, 5)
    loss = nn.functional.mse_loss(model(x), (x[:, :1] * x[:, 1:2]).sqrt())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    x = 3 * torch.rand(200, 5)
    print(nn.functional.mse_loss(model(x), (x[:, :1] * x[:, 1:2]).sqrt()).item())
