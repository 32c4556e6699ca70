import torch
import torch.nn.functional as F
from torch import nn


class SlotAttention(nn.Module):
    def __init__(self, slots=3, width=16):
        super().__init__()
        self.start = nn.Parameter(torch.randn(slots, width))
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.update = nn.GRUCell(width, width)

    def forward(self, x):
        slots = self.start.expand(len(x), -1, -1)
        for _ in range(2):
            weights = torch.einsum("bid,bjd->bij", self.q(slots), self.k(x)).softmax(dim=1) + 1e-8
            weights = weights / weights.sum(dim=2, keepdim=True)
            read = torch.einsum("bij,bjd->bid", weights, self.v(x))
            slots = self.update(read.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
        return slots


class SoftExperts(nn.Module):
    def __init__(self, experts=4, width=16):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.weight = nn.Parameter(torch.randn(experts, width, width) / width**0.5)

    def forward(self, x):
        gates = self.gate(x).softmax(dim=-1)
        each = torch.einsum("bnd,edf->bnef", x, self.weight)
        return torch.einsum("bne,bnef->bnf", gates, each)


class LinearAttention(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        context = torch.einsum("bhnd,bhne->bhde", k.softmax(dim=-2), v)
        return torch.einsum("bhnd,bhde->bhne", q.softmax(dim=-1), context).transpose(1, 2).reshape(b, n, d)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 16)
        self.attend, self.experts, self.slots = LinearAttention(), SoftExperts(), SlotAttention()
        self.norm, self.pool, self.head = nn.LayerNorm(16), nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, x):
        h = self.inp(x)
        h = self.norm(h + self.attend(h))
        h = h + self.experts(h)
        clusters = self.pool(h).softmax(dim=-1).transpose(1, 2) @ h
        return self.head(torch.cat([self.slots(h), clusters], dim=1)).mean(dim=(1, 2))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    x = torch.randn(24, 9, 6)
    loss = F.mse_loss(model(x), x[:, :, :2].amax(dim=1).sum(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
