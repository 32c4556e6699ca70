# guards: AD116 AD303
import copy

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.hidden = nn.Linear(2, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


torch.manual_seed(1)
models = [Net() for _ in range(4)]
params, buffers = stack_module_state(models)
params = {k: v.detach() for k, v in params.items()}
skeleton = copy.deepcopy(models[0]).to("meta")


def loss_of(p, b, x, y):
    return nn.functional.mse_loss(functional_call(skeleton, (p, b), (x,)), y)


step = vmap(grad_and_value(loss_of), in_dims=(0, 0, None, None))
first = {k: torch.zeros_like(v) for k, v in params.items()}
second = {k: torch.zeros_like(v) for k, v in params.items()}
x = torch.rand(256, 2) * 4 - 2
y = (x[:, :1] * x[:, 1:]).sin()
for it in range(1, 121):
    pick = torch.randint(0, 256, (64,))
    g, losses = step(params, buffers, x[pick], y[pick])
    for k in params:
        first[k] = 0.9 * first[k] + 0.1 * g[k]
        second[k] = 0.999 * second[k] + 0.001 * g[k] ** 2
        m, v = first[k] / (1 - 0.9**it), second[k] / (1 - 0.999**it)
        params[k] = params[k] - 0.01 * m / (v.sqrt() + 1e-8)
    if it % 40 == 0:
        print(it, losses.tolist())
