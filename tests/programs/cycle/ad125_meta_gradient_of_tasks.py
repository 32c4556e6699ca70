"""MAML on sines: the gradient of the start is summed over tasks, and each task clips what all before it have left."""

import math

import torch
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(1)
learner = torch.nn.Sequential(torch.nn.Linear(1, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1))
outer = torch.optim.Adam(learner.parameters(), lr=1e-2)


def adapted(xs, ys):
    weights = dict(learner.named_parameters())
    error = F.mse_loss(functional_call(learner, weights, (xs,)), ys)
    slopes = torch.autograd.grad(error, list(weights.values()), create_graph=True)
    return {name: weight - 0.05 * slope for (name, weight), slope in zip(weights.items(), slopes)}


for iteration in range(15):
    outer.zero_grad()
    for task in range(5):
        height, phase = 1 + 4 * torch.rand(1), math.pi * torch.rand(1)
        xs = 10 * torch.rand(20, 1) - 5
        ys = height * torch.sin(xs + phase)
        fast = adapted(xs[:10], ys[:10])
        (F.mse_loss(functional_call(learner, fast, (xs[10:],)), ys[10:]) / 5).backward()
        clip_grad_norm_(learner.parameters(), 0.25)  # expect: AD125
    outer.step()
