# guards: AD206
"""All weights as one vector, which an optimizer steps and `vector_to_parameters` writes back."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
flat = parameters_to_vector(model.parameters()).detach().clone()
optimizer = torch.optim.SGD([flat], lr=0.05, momentum=0.9)
for step in range(40):
    x = torch.randn(64, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True).tanh())
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    flat.grad = parameters_to_vector(gradients)
    optimizer.step()
    vector_to_parameters(flat, model.parameters())
