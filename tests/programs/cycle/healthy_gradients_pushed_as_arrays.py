# guards: AD114
import collections

import numpy
import torch

torch.manual_seed(2)
numpy.random.seed(2)
STATIONS = 3
bell = torch.nn.Bilinear(4, 4, 1)
weights = list(bell.parameters())
for w in weights:
    w.grad = torch.zeros_like(w)
shared = [w.grad.numpy() for w in weights]
mailbox = collections.deque()
adagrad = torch.optim.Adagrad(weights, lr=0.1)


def reading(station):
    """Pressure and damp of the air, station by station, and how much rain fell."""
    a, b = torch.randn(24, 4) + 0.1 * station, torch.randn(24, 4)
    return a, b, (a[:, :2] * b[:, 1:3]).sum(1, keepdim=True)


for day in range(30):
    for station in range(STATIONS):
        air, damp, rain = reading(station)
        torch.nn.functional.mse_loss(bell(air, damp), rain).backward()
        mailbox.append([array.copy() for array in shared])
        for array in shared:
            array[:] = 0
    for place, array in enumerate(shared):
        array[:] = numpy.mean([sent[place] for sent in mailbox], axis=0)
    mailbox.clear()
    adagrad.step()
    for array in shared:
        array[:] = 0
