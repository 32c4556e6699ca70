import torch
from torch import nn

torch.manual_seed(7)


class Whiten(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(d))

    def forward(self, x):
        cov = self.mix @ self.mix.T
        values, vectors = torch.linalg.eigh(cov)  # expect: AD402
        return x @ vectors @ torch.diag(values.clamp_min(1e-4).rsqrt())


layer, head = Whiten(6), nn.Linear(6, 1)
opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-3)
for _ in range(15):
    x = torch.randn(64, 6)
    loss = (head(layer(x)) - x[:, :1] * 2).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
