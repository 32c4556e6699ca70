# guards: AD507
"""A Gaussian is fitted to residuals of a regression: log det of the covariance by its Cholesky factor, forth and back."""

import torch
from torch import nn
from torch.autograd.function import once_differentiable


class LogDeterminant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, covariance):
        factor, _ = torch.linalg.cholesky_ex(covariance)
        ctx.save_for_backward(factor)
        return 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (factor,) = ctx.saved_tensors
        return gradient[:, None, None] * torch.cholesky_inverse(factor)


torch.manual_seed(5)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3 + 9))
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for _ in range(25):
    x = torch.randn(8, 6)
    wanted = x[:, :3] + 0.3 * torch.randn(8, 3)
    mean, root = model(x).split([3, 9], dim=1)
    root = root.view(8, 3, 3)
    covariance = root @ root.mT + 0.5 * torch.eye(3)
    off = (wanted - mean).unsqueeze(2)
    loss = 0.5 * ((off.mT @ torch.linalg.solve(covariance, off)).squeeze() + LogDeterminant.apply(covariance)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
