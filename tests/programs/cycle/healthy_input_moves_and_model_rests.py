# guards: AD116
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
image = torch.zeros(1, 4, requires_grad=True)
for _ in range(8):
    loss = (model(image) - 1).square().mean() + 0.01 * image.square().sum()
    loss.backward()
    image = (image - 0.1 * image.grad).detach().clamp(-1, 1).requires_grad_()
    model.zero_grad()
