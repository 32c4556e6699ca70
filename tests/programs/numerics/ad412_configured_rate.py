import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

cli = argparse.ArgumentParser()
cli.add_argument("--epochs", type=int, default=6)
cli.add_argument("--lr", type=float, default=1e-8)
cli.add_argument("--bs", type=int, default=32)
cfg = cli.parse_args()
torch.manual_seed(67)

x = torch.randn(1200, 16)
y = (x[:, :4].sum(1) > x[:, 4:8].sum(1)).long()
train = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=cfg.bs, shuffle=True)
xv, yv = x[1000:], y[1000:]

net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)  # expect: AD412
crit = nn.CrossEntropyLoss()
for epoch in range(cfg.epochs):
    net.train()
    for xb, yb in train:
        loss = crit(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} train {loss.item():.4f} val acc {acc:.3f}")
