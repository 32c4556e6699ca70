# guards: AD219
"""Switch-style experts whose auxiliary loss is built in every forward, added in training and ignored in the evaluation pass."""
import torch
from torch import nn
import torch.nn.functional as F


class SwitchFFN(nn.Module):
    def __init__(self, d=16, n=3):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
        self.n = n

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        p, idx = probs.max(-1)
        y = torch.zeros_like(x)
        for i, e in enumerate(self.experts):
            sel = idx == i
            y[sel] = torch.tanh(e(x[sel])) * p[sel].unsqueeze(-1)
        load = F.one_hot(idx, self.n).float().mean(0)
        aux = self.n * (load * probs.mean(0)).sum()
        return x + y, aux


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.i, self.ffn, self.o = nn.Linear(6, 16), SwitchFFN(), nn.Linear(16, 2)

    def forward(self, x):
        h, aux = self.ffn(self.i(x))
        return self.o(h), aux


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(30):
    x = torch.randn(96, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    logits, aux = net(x)
    loss = F.cross_entropy(logits, y) + 0.05 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    x = torch.randn(96, 6)
    logits, _ = net(x)
    acc = (logits.argmax(1) == (x[:, 0] * x[:, 1] > 0)).float().mean()
    if step % 10 == 9:
        print(step + 1, loss.item(), acc.item())
