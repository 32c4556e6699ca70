# guards: AD407 AD408
import torch
import torch.nn as nn

torch.manual_seed(84)
depth, width = 11, 64
layers = [nn.Linear(8, width), nn.ReLU()]
for _ in range(depth - 2):
    layers += [nn.Linear(width, width), nn.ReLU()]
layers.append(nn.Linear(width, 3))
net = nn.Sequential(*layers)

centres = torch.randn(6, 8) * 1.5


def batch(n=64):
    k = torch.randint(0, 6, (n,))
    return centres[k] + 0.4 * torch.randn(n, 8), k % 3


opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.3)
history = []
for step in range(250):
    x, y = batch()
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
    if step % 25 == 0:
        w = sum(p.norm() ** 2 for p in net.parameters()).sqrt().item()
        print(step, f"{loss.item():.4f} |w| {w:.2f}")
print("last 20:", sum(history[-20:]) / 20)
assert sum(history[-20:]) / 20 < 0.3
