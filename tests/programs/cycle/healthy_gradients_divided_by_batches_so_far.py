# guards: AD114
"""Accumulation until enough tokens, then torch._foreach_mul_ of the gradients by 1/k."""

import torch
from torch import nn

torch.manual_seed(0)


class FairOptimizer:
    def __init__(self, params, lr):
        self.params = list(params)
        self.inner = torch.optim.Adam(self.params, lr=lr)

    def multiply_grads(self, c):
        torch._foreach_mul_([p.grad for p in self.params if p.grad is not None], c)

    def step(self):
        self.inner.step()

    def zero_grad(self):
        self.inner.zero_grad()


lm = nn.ModuleDict({"emb": nn.Embedding(15, 16), "rnn": nn.GRU(16, 32, batch_first=True), "out": nn.Linear(32, 15)})
opt = FairOptimizer(lm.parameters(), 5e-3)
waiting, tokens = 0, 0
for it in range(90):
    n, length = int(torch.randint(2, 8, ())), int(torch.randint(4, 12, ()))
    seq = (torch.randint(0, 15, (n, 1)) + 2 * torch.arange(length)) % 15
    out = lm["out"](lm["rnn"](lm["emb"](seq[:, :-1]))[0])
    loss = nn.functional.cross_entropy(out.transpose(1, 2), seq[:, 1:])
    loss.backward()
    waiting, tokens = waiting + 1, tokens + seq[:, 1:].numel()
    if tokens >= 100:
        opt.multiply_grads(1 / waiting)
        opt.step()
        opt.zero_grad()
        waiting = tokens = 0
print(loss.item())
