# guards: AD220
"""A handwritten optimizer class holds the leaves: a Gaussian process fit of kernel log-parameters by momentum."""
import math

import torch


class Momentum:
    def __init__(self, tensors, lr, beta=0.8):
        self.tensors, self.lr, self.beta = list(tensors), lr, beta
        self.v = [torch.zeros_like(t) for t in self.tensors]

    def zero_grad(self):
        for t in self.tensors:
            t.grad = None

    @torch.no_grad()
    def step(self):
        for t, v in zip(self.tensors, self.v):
            v.mul_(self.beta).add_(t.grad)
            t.sub_(self.lr * v)


torch.manual_seed(0)
x = torch.sort(torch.rand(40) * 6).values
y = torch.sin(x) + 0.15 * torch.randn(40)
log_len = torch.tensor(math.log(3.0), requires_grad=True)
log_amp = torch.tensor(0.0, requires_grad=True)
log_noise = torch.tensor(0.0, requires_grad=True)
opt = Momentum([log_len, log_amp, log_noise], lr=2e-3)
for it in range(40):
    sq = (x[:, None] - x[None]).pow(2)
    K = (2 * log_amp).exp() * torch.exp(-0.5 * sq / (2 * log_len).exp()) + (2 * log_noise).exp() * torch.eye(40)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y[:, None], L).squeeze(1)
    nll = 0.5 * y @ alpha + L.diagonal().log().sum() + 20 * math.log(2 * math.pi)
    opt.zero_grad()
    nll.backward()
    opt.step()
    if it % 10 == 9:
        print(it + 1, nll.item(), log_len.exp().item(), log_noise.exp().item())
