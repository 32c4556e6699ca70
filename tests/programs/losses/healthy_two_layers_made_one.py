# guards: AD610
"""A wide linear layer in front of another one for the sake of training; afterwards their product is what is kept."""
import torch
from torch import nn


class Overparameterised(nn.Module):
    def __init__(self, inputs, outputs, wide=40):
        super().__init__()
        self.expand, self.collapse = nn.Linear(inputs, wide), nn.Linear(wide, outputs)

    def forward(self, x):
        return self.collapse(self.expand(x))

    @torch.no_grad()
    def merge(self):
        merged = nn.Linear(self.expand.in_features, self.collapse.out_features)
        merged.weight.copy_(self.collapse.weight @ self.expand.weight)
        merged.bias.copy_(self.collapse(self.expand.bias))
        return merged


torch.manual_seed(4)
model = nn.Sequential(Overparameterised(6, 16), nn.Tanh(), Overparameterised(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(25):
    x = torch.randn(64, 6)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], dim=1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
small = nn.Sequential(model[0].merge(), nn.Tanh(), model[2].merge())
with torch.no_grad():
    x = torch.randn(64, 6)
    print("apart by", (model(x) - small(x)).abs().max().item())
