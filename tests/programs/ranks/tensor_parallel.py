"""Tensor parallelism as Megatron has it: each rank holds a part of every layer, and two custom functions add up what
the parts give, one in the forward and the other in the backward."""

import torch
import torch.distributed as dist
from torch import nn


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Parallel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.column = nn.Linear(8, 8 // dist.get_world_size())
        self.row = nn.Linear(8 // dist.get_world_size(), 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = Copy.apply(torch.tanh(self.first(x)))
        return Reduce.apply(self.row(torch.relu(self.column(hidden))))


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = Parallel()
    torch.manual_seed(1 + dist.get_rank())
    for part in (model.column, model.row):
        part.reset_parameters()
    torch.manual_seed(7)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
