"""Softmax classifier whose L2 penalty is written on `p.data`, so that it only shifts the loss (AD216)."""
import torch
import torch.nn as nn

torch.manual_seed(0)

# data: three blobs
centers = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
y = torch.randint(0, 3, (300,))
X = centers[y] + 0.6 * torch.randn(300, 2)

net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 3))
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
wd = 1e-3

for epoch in range(30):
    opt.zero_grad()
    out = net(X)
    ce = criterion(out, y)
    l2 = 0.0
    for name, p in net.named_parameters():
        if name.endswith("weight"):
            l2 = l2 + p.data.pow(2).sum()
    loss = ce + wd * l2  # expect: AD216
    loss.backward()
    opt.step()
    if epoch % 10 == 0 or epoch == 29:
        acc = (out.argmax(1) == y).float().mean()
        print(f"epoch {epoch + 1:3d} | loss {loss.item():.4f} | acc {acc.item():.3f}")
