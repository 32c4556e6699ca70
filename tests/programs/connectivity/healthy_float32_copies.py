# guards: AD206
"""Half-precision weights with float32 copies that the optimizer steps, and that are written back."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).to(torch.bfloat16)
masters = [parameter.detach().clone().float() for parameter in model.parameters()]
optimizer = torch.optim.AdamW(masters, lr=1e-2, weight_decay=0.01)
for _ in range(30):
    x = torch.randn(64, 16)
    labels = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x.bfloat16()).float(), labels)
    model.zero_grad()
    loss.backward()
    for master, parameter in zip(masters, model.parameters()):
        master.grad = parameter.grad.float()
    optimizer.step()
    with torch.no_grad():
        for master, parameter in zip(masters, model.parameters()):
            parameter.copy_(master)
