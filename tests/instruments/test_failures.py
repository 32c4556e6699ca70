"""Operations of torch that raised."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.instruments.errors import failures as module
from autograd_doctor.instruments.errors.failures import Failures
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.signals.operations import Operation
from tests.inventing import inventing


def failed(*args: object, **kwargs: object) -> Operation:
    return Operation(torch.add, Kind.OPERATION, "cat", args, kwargs, error=ValueError("no such shape"))


def test_what_reached_an_operation_that_raised():
    with inventing(Failures) as run:
        run.train(SGD([nn.Parameter(torch.ones(1))], lr=0.1))
        first, rest = torch.ones(2), [torch.full((n,), n) for n in range(1, 6)]
        run.operated("mul", first)
        run.signals.operations.failed.send(failed(first, rest[:2], 3, out=rest[2], more=rest[3]))
        (event,) = run.of(OperationFailed)
        assert (event.operation, event.error, event.step) == ("cat", "ValueError: no such shape", 1)
        assert event.location is not None
        assert [operand.shape for operand in event.operands] == [[2], [1], [2], [3]]
        assert [(operand.name, operand.operation) for operand in event.operands][:2] == [
            ("first", "mul"),
            ("rest[0]", ""),
        ]


def test_errors_caught_on_purpose_do_not_fill_the_trace():
    with inventing(Failures) as run:
        for _ in range(module._MOST + 1):
            run.signals.operations.failed.send(failed())
        assert len(run.of(OperationFailed)) == module._MOST
