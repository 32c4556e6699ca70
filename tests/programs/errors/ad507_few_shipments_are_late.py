"""Delays of shipments, most of which are small: the error grows in proportion beyond a day, and its hand-written
gradient has forgotten the factor there."""
import torch
from torch import nn


class Delay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, error, patience):
        ctx.save_for_backward(error)
        ctx.patience = patience
        within = error.abs() <= patience
        return torch.where(within, error.square(), patience * (2 * error.abs() - patience)).sum()

    @staticmethod
    def backward(ctx, upstream):  # expect: AD507
        (error,) = ctx.saved_tensors
        within = error.abs() <= ctx.patience
        return upstream * torch.where(within, 2 * error, error.sign()), None


class Route(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.Sequential(nn.Linear(5, 20), nn.Softplus(), nn.Linear(20, 1))

    def forward(self, parcel):
        return self.stages(parcel).squeeze(1)


def shipments(count):
    parcel = torch.rand(count, 5)
    days = 0.3 * parcel.sum(1)
    days[11::23] += 6
    return parcel, days


torch.manual_seed(5)
parcel, days = shipments(240)
route = Route()
planner = torch.optim.Adagrad(route.parameters(), lr=0.01)
for chunk in range(24):
    some = torch.arange(10 * (chunk % 6), 10 * (chunk % 6) + 180)
    planner.zero_grad()
    cost = Delay.apply(route(parcel[some]) - days[some], 2.5) / len(some)
    cost.backward()
    planner.step()
