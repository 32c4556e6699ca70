# guards: AD126
"""Norms are folded into the layers before them when the model is first evaluated: it is trained no more."""
import torch
from torch import nn

torch.manual_seed(8)


class Layer(nn.Module):
    def __init__(self, ins, outs):
        super().__init__()
        self.linear = nn.Linear(ins, outs)
        self.norm = nn.BatchNorm1d(outs)
        self.folded = False

    def eval(self):
        return self.train(False)

    def train(self, mode=True):
        super().train(mode)
        if not mode and not self.folded:
            factor = self.norm.weight.data / (self.norm.running_var + self.norm.eps).sqrt()
            self.linear.weight.data *= factor[:, None]
            self.linear.bias.data = (self.linear.bias.data - self.norm.running_mean) * factor + self.norm.bias.data
            self.folded = True
        return self

    def forward(self, x):
        x = self.linear(x)
        return torch.relu(x if self.folded else self.norm(x))


model = nn.Sequential(Layer(5, 24), Layer(24, 24), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(384, 5)
y = (x[:, 0] > 0).long() + (x[:, 1] * x[:, 2] > 0).long()
for epoch in range(3):
    for rows in torch.randperm(320).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    print((model(x[320:]).argmax(1) == y[320:]).float().mean().item())
