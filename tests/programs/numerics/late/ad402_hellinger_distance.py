"""Match predicted word histograms with the Hellinger distance."""

import torch
import torch.nn as nn

torch.manual_seed(31)
VOC = 25
proto = torch.rand(5, VOC) ** 3 + 1e-3
proto = proto / proto.sum(1, keepdim=True)


def docs(n=32):
    k = torch.randint(0, 5, (n,))
    counts = torch.stack([torch.bincount(torch.multinomial(proto[j], 60, replacement=True), minlength=VOC) for j in k])
    x = nn.functional.one_hot(k, 5).float() + 0.2 * torch.randn(n, 5)
    return x, counts / 60.0


def hellinger(p, q, keep):
    p = p * keep
    q = q * keep
    rp = torch.pow(p, 0.5)  # expect: AD402
    return ((rp - q.sqrt()) ** 2).sum(1).mean()


model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, VOC), nn.Softmax(dim=1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
WARMUP = 40
for step in range(90):
    x, q = docs()
    keep = torch.ones_like(q)
    if step >= WARMUP:
        keep = (torch.rand_like(q) < 0.9).float()
    loss = hellinger(model(x), q, keep)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, "hellinger^2", round(loss.item(), 4))
print("done", loss.item())
