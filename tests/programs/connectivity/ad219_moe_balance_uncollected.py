"""Mixture of experts: every layer stores a load-balancing loss which the training loop never collects (AD219)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MoELayer(nn.Module):
    def __init__(self, dim, n_experts=4):
        super().__init__()
        self.router = nn.Linear(dim, n_experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(n_experts))
        self.n_experts = n_experts
        self.balance_loss = None

    def forward(self, x):
        gates = self.router(x).softmax(-1)
        top = gates.argmax(-1)
        load = F.one_hot(top, self.n_experts).float().mean(0)
        self.balance_loss = self.n_experts * (load * gates.mean(0)).sum()  # expect: AD219
        out = torch.stack([e(x) for e in self.experts], dim=-1)
        return x + (out * gates.unsqueeze(-2)).sum(-1)


class Model(nn.Module):
    def __init__(self, dim=16, classes=6):
        super().__init__()
        self.inp = nn.Linear(8, dim)
        self.moe = MoELayer(dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        return self.out(self.norm(self.moe(self.inp(x))))


def run():
    torch.manual_seed(0)
    protos = 1.5 * torch.randn(6, 8)
    model = Model()
    optim = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(30):
        y = torch.randint(6, (96,))
        x = protos[y] + torch.randn(96, 8)
        loss = F.cross_entropy(model(x), y)
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
        if step % 10 == 0:
            print(f"step {step:02d} loss {loss.item():.4f}")


run()
