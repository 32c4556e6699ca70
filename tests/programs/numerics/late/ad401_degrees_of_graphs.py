"""Graph convolution for node classes on random community graphs (dense adjacency)."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(85)


def graph(n=40, p_in=0.5, p_out=0.03):
    y = torch.randint(0, 3, (n,))
    p = torch.where(y[:, None] == y[None], p_in, p_out)
    a = (torch.rand(n, n) < p).float().triu(1)
    return a + a.t(), y


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(8, 32), nn.Linear(32, 3)

    def propagate(self, a, h):
        inv = a.sum(1).pow(-0.5)  # expect: AD401
        return inv[:, None] * (a @ (inv[:, None] * h))

    def forward(self, a, x):
        h = F.relu(self.l1(self.propagate(a, x)))
        return self.l2(self.propagate(a, h))


means = torch.randn(3, 8)
net = GCN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(120):
    a, y = graph(p_in=0.5 * 0.98**step)
    x = means[y] + 1.5 * torch.randn(len(y), 8)
    z = net(a, x)
    loss = F.cross_entropy(z, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 12 == 0:
        print(step, f"{loss.item():.4f} {(z.argmax(1) == y).float().mean():.2f}")
