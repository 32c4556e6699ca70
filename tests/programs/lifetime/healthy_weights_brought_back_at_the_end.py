# guards: AD310
"""Weights that get their values back in the end: of copies, of a swap by storage, of a flat buffer, of what was scaled,
and of a mirror that is the weights themselves, written to and read from in the same breath."""
import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(48, 6)
wanted = inputs.sin().sum(1, keepdim=True)


def trained(model, after_each):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for number, rows in enumerate(torch.randperm(48).split(8)):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs[rows]), wanted[rows]).backward()
        optimizer.step()
        with torch.no_grad():
            after_each(model, number)


kept = []


def keep_copies(model, number):
    if number == 2:
        kept[:] = [weight.detach().cpu().clone() for weight in model.parameters()]


copied = nn.Linear(6, 1)
trained(copied, keep_copies)
with torch.no_grad():
    for weight, value in zip(copied.parameters(), kept):
        weight.copy_(value)


class Swap:
    """Trades storages, and may be told to trade them back when they never were."""

    def __init__(self, model):
        self.own = [weight.data for weight in model.parameters()]
        self.mean = [weight.detach().clone() for weight in model.parameters()]

    def back(self, model):
        for weight, value in zip(model.parameters(), self.own):
            weight.data = value

    def __call__(self, model, number):
        for mean, weight in zip(self.mean, model.parameters()):
            mean.lerp_(weight, 0.2)
        if number >= 3:
            for weight, mean in zip(model.parameters(), self.mean):
                weight.data = mean
            print(nn.functional.mse_loss(model(inputs), wanted).item())
        self.back(model)


swapped = nn.Linear(6, 1)
swap = Swap(swapped)
trained(swapped, swap)
swap.back(swapped)

flat = 0.1 * torch.randn(7)
parts = [flat[:6].view(1, 6), flat[6:]]
shared = nn.Linear(6, 1)
for weight, part in zip(shared.parameters(), parts):
    weight.data = part
trained(shared, lambda model, number: flat.mul_(0.999))
for weight, part in zip(shared.parameters(), parts):
    weight.data = part

scaled = nn.Linear(6, 1)
trained(scaled, lambda model, number: None)
with torch.no_grad():
    views = [weight.detach() for weight in scaled.parameters()]
    for view, weight in zip(views, scaled.parameters()):
        weight.copy_(view.mul_(0.9))

moved = nn.Linear(6, 1)
handles = [weight.detach() for weight in moved.parameters()]
trained(moved, lambda model, number: [handle.clamp_(-1, 1) for handle in handles])
for weight in moved.parameters():
    weight.data = weight.data.to("cpu").contiguous()
