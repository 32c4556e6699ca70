# guards: AD116
import torch
from torch.func import grad, vmap

torch.manual_seed(0)


def init(sizes):
    return [(torch.randn(m, n) * (2 / m) ** 0.5, torch.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])]


def predict(params, x):
    for w, b in params[:-1]:
        x = torch.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return ((predict(params, x) - y) ** 2).sum()


params = init([3, 64, 1])
inputs = torch.randn(512, 3)
targets = inputs.prod(1, keepdim=True)
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))
for step in range(200):
    idx = torch.randint(0, 512, (64,))
    grads = per_sample(params, inputs[idx], targets[idx])
    for (w, b), (gw, gb) in zip(params, grads):
        norm = (gw.flatten(1).square().sum(1) + gb.square().sum(1)).sqrt()
        scale = 1.0 / norm.clamp(min=1.0)
        w -= 0.05 * (gw * scale[:, None, None]).mean(0)
        b -= 0.05 * (gb * scale[:, None]).mean(0)
    if step % 20 == 0:
        print(float(loss(params, inputs, targets)) / 512)
