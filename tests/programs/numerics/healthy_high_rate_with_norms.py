# guards: AD412 AD405
import torch
import torch.nn as nn

torch.manual_seed(81)
C = torch.randn(5, 20) * 3


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return C[y] + torch.randn(n, 20), y


net = nn.Sequential(
    nn.Linear(20, 48, bias=False),
    nn.BatchNorm1d(48),
    nn.ReLU(),
    nn.Linear(48, 48, bias=False),
    nn.BatchNorm1d(48),
    nn.ReLU(),
    nn.Linear(48, 5),
)
opt = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.5, total_steps=200, div_factor=100)
for step in range(200):
    x, y = batch()
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 20 == 0:
        conf = out.softmax(1).max(1).values.mean().item()
        print(step, f"{loss.item():.5f} confidence {conf:.4f} |w| {net[0].weight.norm().item():.2f}")

net.eval()
x, y = batch(400)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
