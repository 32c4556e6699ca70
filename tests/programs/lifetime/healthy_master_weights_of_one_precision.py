# guards: AD310
"""Master weights in float32 of a model that is in float32 already, as is chosen by a flag."""
import torch
from torch import nn
torch.manual_seed(0)
dtype = torch.float32
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(dtype)
masters = [p.detach().float().requires_grad_() for p in model.parameters()]
optimizer = torch.optim.SGD(masters, lr=0.05)
for step in range(14):
    x = torch.randn(16, 8, dtype=dtype)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    for p in model.parameters():
        p.grad = None
    loss.backward()
    for m, p in zip(masters, model.parameters()):
        m.grad = p.grad.float()
    optimizer.step()
    with torch.no_grad():
        for m, p in zip(masters, model.parameters()):
            p.copy_(m)
