# guards: AD216 AD113
"""Two losses each with a backward of its own; the displayed total is one plus a detached copy of the other."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(12, 24)
        self.cls = nn.Linear(24, 3)
        self.dec = nn.Linear(24, 12)

    def forward(self, x):
        z = torch.tanh(self.embed(x))
        return self.cls(z), self.dec(z)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
W = torch.randn(12, 3)
ema = None

for step in range(30):
    x = torch.randn(64, 12)
    y = (x @ W).argmax(1)
    logits, rec = net(x)
    loss_cls = F.cross_entropy(logits, y)
    loss_rec = F.mse_loss(rec, x)

    opt.zero_grad()
    loss_rec.backward(retain_graph=True)
    loss_cls.backward()
    opt.step()

    total = loss_cls + loss_rec.detach()
    ema = total.item() if ema is None else 0.9 * ema + 0.1 * total.item()
    if step % 10 == 9:
        print(f"step {step + 1}: total {(loss_rec + loss_cls.detach()).item():.4f} (ema {ema:.4f})")
