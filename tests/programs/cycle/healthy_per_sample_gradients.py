# guards: AD103 AD102
"""Clipped per-sample gradients from `torch.func`, averaged and put into `.grad`."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap


def make_loss(model):
    def loss(params, x, y):
        pred = functional_call(model, params, (x.unsqueeze(0),))
        return nn.functional.mse_loss(pred.squeeze(0), y)

    return loss


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    params = {k: v.detach() for k, v in model.named_parameters()}
    step = vmap(grad_and_value(make_loss(model)), in_dims=(None, 0, 0))
    x = torch.randn(200, 5)
    y = x.prod(-1, keepdim=True)
    opt = torch.optim.SGD(list(model.parameters()), lr=0.05)
    for k in range(20):
        idx = torch.randint(0, 200, (32,))
        grads, losses = step(params, x[idx], y[idx])
        for name, p in model.named_parameters():
            g = grads[name]
            norm = g.flatten(1).norm(dim=1).clamp(min=1.0)
            p.grad = (g / norm.view(-1, *[1] * (g.dim() - 1))).mean(0)
        opt.step()
        if k % 5 == 0:
            print(k, losses.mean().item())


main()
