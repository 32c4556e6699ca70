# guards: AD204
# hinted: AD204
"""A new adapter in front of a regressor whose weights come out of a file, under other names: `.data` of each is set."""

import io

import torch
from torch import nn

torch.manual_seed(0)
file = io.BytesIO()
torch.save(
    {"w1": torch.randn(24, 8) / 3, "b1": torch.zeros(24), "w2": torch.randn(1, 24) / 5, "b2": torch.ones(1)}, file
)
file.seek(0)

regressor = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 1))
state = torch.load(file)
for layer, number in ((regressor[0], 1), (regressor[2], 2)):
    layer.weight.data = state[f"w{number}"]
    layer.bias.data.copy_(state[f"b{number}"])

adapter = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 8))
sgd = torch.optim.SGD(adapter.parameters(), lr=0.05)
for _ in range(30):
    rows = torch.randn(32, 5)
    loss = (regressor(adapter(rows)).squeeze(1) - rows.prod(1)).square().mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
