import torch
from torch import nn


def build(width):
    layers = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))
    for weight in layers.parameters():
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight)
    return layers


def restart(state):
    state["model"] = build(32)


torch.manual_seed(0)
state = {"model": build(32)}
opt = torch.optim.Adam(state["model"].parameters(), lr=1e-2)  # <- AD205
restart(state)
x = torch.randn(128, 4)
y = x.sum(1, keepdim=True)
for i in range(20):
    loss = (state["model"](x) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
