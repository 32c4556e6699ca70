# guards: AD507
"""Sensors that move together: the gradient of the first layer goes through the inverse covariance of its inputs."""

import torch
from torch import nn


class NaturalLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, damping):
        ctx.save_for_backward(x, weight)
        ctx.damping = damping
        return x @ weight.T + bias

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        covariance = x.T @ x / len(x) + ctx.damping * torch.eye(x.shape[1], dtype=x.dtype)
        towards_weight = torch.cholesky_solve((gradient.T @ x).T, torch.linalg.cholesky(covariance)).T
        return gradient @ weight, towards_weight, gradient.sum(0), None


class Natural(nn.Module):
    def __init__(self, inputs, outputs, damping):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.damping = damping

    def forward(self, x):
        return NaturalLinear.apply(x, self.weight, self.bias, self.damping)


torch.manual_seed(3)
mixing = torch.randn(9, 9)
model = nn.Sequential(Natural(9, 24, damping=0.3), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(30):
    sources = torch.randn(64, 9)
    loss = nn.functional.mse_loss(model(sources @ mixing), sources[:, :1].sin() + sources[:, 1:2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
