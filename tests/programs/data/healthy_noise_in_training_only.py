# guards: AD720 AD706
"""Training with jittered inputs; the scaler is of the training part; the fit to the training part is reported each epoch (clean)."""
import torch
from torch import nn

torch.manual_seed(0)
raw = 4 + 2 * torch.randn(400, 5)
y = (raw[:, 0] + raw[:, 1] > 8).long()
tr, va = raw[:300], raw[300:]
mu, sd = tr.mean(0), tr.std(0)
xtr, xva, ytr, yva = (tr - mu) / sd, (va - mu) / sd, y[:300], y[300:]
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 5e-3)


@torch.no_grad()
def accuracy(x, y):
    net.eval()
    return sum((net(a).argmax(1) == b).sum().item() for a, b in zip(x.split(100), y.split(100))) / len(x)


for epoch in range(10):
    net.train()
    for rows in torch.randperm(300).split(50):
        x = xtr[rows] + 0.1 * torch.randn(len(rows), 5)
        loss = nn.functional.cross_entropy(net(x), ytr[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, "train", accuracy(xtr, ytr))
print("held out", accuracy(xva, yva))
