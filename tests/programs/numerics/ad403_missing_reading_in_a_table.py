import torch
from torch.func import grad, vmap

torch.manual_seed(2)
theta = torch.zeros(4)
readings = torch.randn(120, 4)
readings[77, 2] = float("nan")
level = readings.nan_to_num() @ torch.tensor([1.0, -2.0, 0.5, 3.0])


def error(theta, row, target):
    return (row @ theta - target) ** 2


each = vmap(grad(error), in_dims=(None, 0, 0))
for sweep in range(5):
    for rows in torch.arange(120).split(30):
        gradients = each(theta, readings[rows], level[rows])  # <- AD403
        theta -= 0.02 * gradients.mean(0)
    print(sweep, theta)
