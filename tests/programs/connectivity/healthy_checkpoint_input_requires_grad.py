# guards: AD220 AD509
# hinted: AD802
"""Reentrant activation checkpointing: the full-batch input requires grad so that the segments are differentiated."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Deep(nn.Module):
    def __init__(self, d=12, w=32, segments=3):
        super().__init__()
        self.inp = nn.Linear(d, w)
        self.segments = nn.ModuleList(nn.Sequential(nn.Linear(w, w), nn.GELU(), nn.Linear(w, w)) for _ in range(segments))
        self.out = nn.Linear(w, 1)

    def forward(self, x):
        x = checkpoint(self.inp, x, use_reentrant=True)
        for s in self.segments:
            x = x + checkpoint(s, x, use_reentrant=True)
        return self.out(x)


torch.manual_seed(0)
X = torch.randn(128, 12)
Y = X[:, :1] * X[:, 1:2] + X[:, 2:3]
X.requires_grad_(True)
model = Deep()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(30):
    loss = nn.functional.mse_loss(model(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        print(step + 1, loss.item())
