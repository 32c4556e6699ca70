"""Parameters that are slices of what an optimizer holds."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.subjects import ValuesShared
from autograd_doctor.instruments.connectivity import shared_storages as module
from autograd_doctor.instruments.connectivity.shared_storages import SharedStorages
from tests.inventing import Invented, inventing


def sliced(run: Invented, whole: torch.Tensor, first: int) -> nn.Parameter:
    part = nn.Parameter(whole.data[first : first + 2])
    run.number(part)
    return part


def test_slices_of_a_vector_that_is_stepped_are_told_once() -> None:
    whole, other = nn.Parameter(torch.ones(6)), nn.Parameter(torch.ones(2))
    with inventing(SharedStorages) as run:
        held = [sliced(run, whole, 0), other]
        mine, theirs = sliced(run, whole, 2), sliced(run, torch.ones(4), 0)
        run.number(other)
        vector = whole.data[:5].requires_grad_()
        optimizers = [SGD([other, held[0]], lr=0.1), SGD([vector], lr=0.1)]
        for _ in range(3):
            for optimizer in optimizers:
                run.train(optimizer)
        outside = sliced(run, whole, 4)
        run.train(optimizers[1])
        assert [(event.parameter, event.optimizer) for event in run.of(ValuesShared)] == [(run.number(mine), 1)]
        assert theirs.grad is outside.grad is None


def test_first_steps_are_looked_at() -> None:
    whole = nn.Parameter(torch.ones(6))
    with inventing(SharedStorages) as run:
        optimizer, parts = SGD([whole], lr=0.1), []
        for _ in range(module._LOOKS + 1):
            parts.append(sliced(run, whole, 0))
            run.train(optimizer)
        assert len(run.of(ValuesShared)) == module._LOOKS
