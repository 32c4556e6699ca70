# guards: AD405 AD718
"""Predict energy use in kWh (values around 1e4)."""

import torch
import torch.nn as nn

torch.manual_seed(79)
x = torch.randn(800, 5)
y = 12000 + 2500 * x[:, 0] - 1500 * x[:, 1] + 300 * torch.randn(800)

net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.02, max_lr=0.2, step_size_up=20, cycle_momentum=False)
hist = []
for epoch in range(8):
    for b in torch.randperm(800).split(40):
        loss = nn.functional.mse_loss(net(x[b]).squeeze(1), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        hist.append(loss.item())
    print(f"epoch {epoch} loss {hist[-1]:.4g} lr {sched.get_last_lr()[0]:.3f}")
assert hist[-1] < 3e5

total = ((y - y.mean()) ** 2).mean().item()
with torch.no_grad():
    res = ((net(x).squeeze(1) - y) ** 2).mean().item()
print("explained share", 1 - res / total)
print("intercept", net.bias.item(), "weights", [round(w) for w in net.weight[0].tolist()])
