import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")


class MultiHead(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(size, size, bias=False) for _ in range(3))
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(size, size)

    def forward(self, x):
        n, t, d = x.size()
        split = lambda y: y.view(n, t, self.heads, d // self.heads).permute(0, 2, 1, 3)
        q, k, v = split(self.to_q(x)), split(self.to_k(x)), split(self.to_v(x))
        energy = torch.matmul(q, k.permute(0, 1, 3, 2)) / (d // self.heads) ** 0.5
        attention = self.dropout(F.softmax(energy))  # <- AD605
        return self.out(torch.matmul(attention, v).permute(0, 2, 1, 3).contiguous().view(n, t, d))


class Sorter(nn.Module):
    def __init__(self, symbols=8, size=32):
        super().__init__()
        self.embed = nn.Embedding(symbols, size)
        self.position = nn.Parameter(0.02 * torch.randn(12, size))
        self.attend, self.norm = MultiHead(size, 4), nn.LayerNorm(size)
        self.scores = nn.Linear(size, symbols)

    def forward(self, x):
        h = self.embed(x) + self.position
        return self.scores(self.norm(h + self.attend(h)))


torch.manual_seed(2)
net = Sorter()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(60):
    x = torch.randint(0, 8, (32, 12))
    loss = F.cross_entropy(net(x).transpose(1, 2), x.sort(dim=1).values)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
