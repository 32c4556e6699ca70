# guards: AD215
"""Weight norm, spectral norm, orthogonal and positive weights, cached while the loss is computed."""

import torch
import torch.nn.utils.parametrize as parametrize
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


class Positive(nn.Module):
    def forward(self, w):
        return nn.functional.softplus(w)


class Monotone(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = weight_norm(nn.Linear(4, 16))
        self.b = spectral_norm(nn.Linear(16, 16))
        self.c = orthogonal(nn.Linear(16, 16, bias=False))
        self.d = nn.Linear(16, 1)
        parametrize.register_parametrization(self.d, "weight", Positive())

    def forward(self, x):
        h = self.a(x).relu()
        return self.d(h + self.c(self.b(h).tanh()))


torch.manual_seed(0)
model = Monotone()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(256, 4)
y = x.sum(-1, keepdim=True).exp().clamp(max=9)
for epoch in range(4):
    for k in torch.randperm(256).split(32):
        opt.zero_grad()
        with parametrize.cached():
            loss = nn.functional.mse_loss(model(x[k]), y[k])
            loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x), y).item())
    model.train()
