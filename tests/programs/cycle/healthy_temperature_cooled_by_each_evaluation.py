# guards: AD126
"""A mixture of experts whose gate becomes harder with each evaluation, and whose norms stay as they are."""
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, ins, experts=4):
        super().__init__()
        self.scale = nn.utils.parametrizations.spectral_norm(nn.Linear(ins, 16))
        self.norm = nn.BatchNorm1d(16)
        self.gate = nn.Linear(16, experts)
        self.experts = nn.Linear(16, experts)
        self.register_buffer("temperature", torch.tensor(2.0))

    def train(self, mode=True):
        super().train(mode)
        if not mode:
            self.temperature.mul_(0.7)
        self.norm.eval()
        return self

    def forward(self, x):
        x = torch.relu(self.norm(self.scale(x)))
        return ((self.gate(x) / self.temperature).softmax(1) * self.experts(x)).sum(1)


torch.manual_seed(21)
x = torch.randn(320, 4)
y = torch.where(x[:, 0] > 0, x[:, 1], -x[:, 1])
model = Mixture(4)
model.norm.eval()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(256).split(32):
        loss = (model(x[rows]) - y[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x[256:]) - y[256:]).square().mean().item())
