# guards: AD401
"""Graph attention on sparse random graphs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(86)


def graph(n=40, p_in=0.3, p_out=0.01):
    y = torch.randint(0, 3, (n,))
    p = torch.where(y[:, None] == y[None], p_in, p_out)
    a = (torch.rand(n, n) < p).float().triu(1)
    return a + a.t(), y


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(8, 32), nn.Linear(32, 3)
        self.src, self.dst = nn.Linear(32, 1), nn.Linear(32, 1)

    def degree_norm(self, a, h):
        inv = a.sum(1).pow(-0.5)
        inv = inv.masked_fill(torch.isinf(inv), 0.0)
        return inv[:, None] * (a @ (inv[:, None] * h))

    def forward(self, a, x):
        h = F.relu(self.l1(x) + self.l1(self.degree_norm(a, x)))
        e = F.leaky_relu(self.src(h) + self.dst(h).t(), 0.2)
        e = e.masked_fill(a + torch.eye(len(a)) == 0, float("-inf"))
        return self.l2(e.softmax(1) @ h)


means = torch.randn(3, 8)
net = GNN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
alone = 0
for step in range(120):
    a, y = graph()
    alone += int((a.sum(1) == 0).sum())
    x = means[y] + 1.0 * torch.randn(len(y), 8)
    z = net(a, x)
    loss = F.cross_entropy(z, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 12 == 0:
        print(step, f"{loss.item():.4f} {(z.argmax(1) == y).float().mean():.2f} lone nodes so far {alone}")
