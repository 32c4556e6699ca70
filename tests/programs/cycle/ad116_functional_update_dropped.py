import torch
from torch import nn
from torch.func import functional_call, grad_and_value


def loss(parameters, x):
    return nn.functional.mse_loss(functional_call(model, parameters, (x,)), x.sum(1, keepdim=True))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
parameters = {name: p.detach() for name, p in model.named_parameters()}
for step in range(12):
    gradients, value = grad_and_value(loss)(parameters, torch.randn(32, 4))
    updated = {name: p - 0.05 * gradients[name] for name, p in parameters.items()}  # expect: AD116
    print(step, value.item(), len(updated))
