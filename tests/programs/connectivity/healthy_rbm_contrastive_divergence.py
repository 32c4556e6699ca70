# guards: AD216
"""RBM trained by CD-k on the free energy; the negative chain is detached and the loss is F(v) - F(v_k)."""
import torch
from torch import nn
import torch.nn.functional as F


class RBM(nn.Module):
    def __init__(self, n_vis=25, n_hid=20, k=2):
        super().__init__()
        self.W = nn.Parameter(torch.randn(n_hid, n_vis) * 1e-2)
        self.v_bias = nn.Parameter(torch.zeros(n_vis))
        self.h_bias = nn.Parameter(torch.zeros(n_hid))
        self.k = k

    def gibbs(self, v):
        h = torch.bernoulli(torch.sigmoid(F.linear(v, self.W, self.h_bias)))
        return torch.bernoulli(torch.sigmoid(F.linear(h, self.W.t(), self.v_bias)))

    def forward(self, v):
        vk = v
        for _ in range(self.k):
            vk = self.gibbs(vk)
        return v, vk.detach()

    def free_energy(self, v):
        return (-v.mv(self.v_bias) - F.softplus(F.linear(v, self.W, self.h_bias)).sum(1)).mean()


torch.manual_seed(0)
patterns = (torch.rand(4, 25) > 0.5).float()
rbm = RBM()
train_op = torch.optim.SGD(rbm.parameters(), lr=0.1)
for epoch in range(5):
    errs = []
    for _ in range(8):
        flip = (torch.rand(32, 25) < 0.05).float()
        v = (patterns[torch.randint(0, 4, (32,))] - flip).abs()
        v0, vk = rbm(v)
        loss = rbm.free_energy(v0) - rbm.free_energy(vk)
        train_op.zero_grad()
        loss.backward()
        train_op.step()
        errs.append((v0 - vk).abs().mean().item())
    print("epoch", epoch, "reconstruction error", sum(errs) / len(errs))
