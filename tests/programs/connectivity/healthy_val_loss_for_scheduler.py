# guards: AD219 AD209
"""Validation loss computed with a graph in every epoch and given to ReduceLROnPlateau and to early stopping."""
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(0)
x, w = torch.randn(300, 8), torch.randn(8, 1)
y = torch.sin(0.4 * x @ w) + 0.1 * torch.randn(300, 1)
x_tr, y_tr, x_va, y_va = x[:240], y[:240], x[240:], y[240:]
net = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
sched = ReduceLROnPlateau(opt, factor=0.5, patience=4)
best = None
for epoch in range(30):
    opt.zero_grad()
    train_loss = (net(x_tr) - y_tr).pow(2).mean()
    train_loss.backward()
    opt.step()
    val_loss = (net(x_va) - y_va).pow(2).mean()
    sched.step(val_loss.item())
    if best is None or val_loss < best:
        best = val_loss.detach()
    if epoch % 10 == 9:
        print(epoch + 1, train_loss.item(), "best val", best.item(), "lr", opt.param_groups[0]["lr"])
