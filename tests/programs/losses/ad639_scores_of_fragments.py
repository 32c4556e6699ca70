"""Score matching on three measures of pottery fragments, with the divergence of the score by its sum."""

import torch

torch.manual_seed(0)
w1 = torch.nn.Parameter(torch.randn(3, 24) / 2)
b1 = torch.nn.Parameter(torch.randn(24))
w2 = torch.nn.Parameter(torch.randn(24, 3) / 5)
optimizer = torch.optim.RMSprop([w1, b1, w2], lr=1e-3)
mixing = torch.tensor([[1.0, 0.8, 0.0], [0.0, 0.6, 0.3], [0.0, 0.0, 0.9]])


def log_density(x):
    return -(torch.nn.functional.softplus(x @ w1 + b1) @ w2.abs().sum(1, keepdim=True)).squeeze(1) - x.square().sum(1) / 8


for _ in range(25):
    x = (torch.randn(64, 3) @ mixing).requires_grad_(True)
    (score,) = torch.autograd.grad(log_density(x).sum(), x, create_graph=True)
    (rows,) = torch.autograd.grad(score.sum(), x, create_graph=True)  # expect: AD639
    objective = (0.5 * score.pow(2).sum(dim=-1) + rows.sum(dim=-1)).mean()
    optimizer.zero_grad()
    objective.backward()
    optimizer.step()
