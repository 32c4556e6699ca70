# guards: AD205 AD204
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, weight_norm

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x @ torch.randn(8, 3)).argmax(1)


def train(model, lr, steps=15):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for _ in range(steps):
        rows = torch.randint(0, len(x), (32,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()


model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))
train(model, 0.1)
weight_norm(model[0])
orthogonal(model[2])
train(model, 0.05)
parametrize.remove_parametrizations(model[0], "weight")
parametrize.remove_parametrizations(model[2], "weight")
train(model, 0.02)
