"""Sets of samples that were scaled by themselves: whether what was taken out of two of them is alike."""

from __future__ import annotations

import pytest
import torch

from autograd_doctor.instruments.data.own_scales import OwnScales, _Scaling
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.signals.operations import Operation
from tests.inventing import Invented, inventing


def scaling(mean: float, deviation: float, fields: int = 4) -> _Scaling:
    return _Scaling(torch.full((fields,), mean), torch.full((fields,), deviation))


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (scaling(5.0, 2.0), True),
        (scaling(8.0, 4.0), True),
        (scaling(5.0, 7.0), False),
        (scaling(5.0, 0.5), False),
        (scaling(12.0, 2.0), False),
        (scaling(12.0, 7.0), False),
        (scaling(50.0, 9.0, fields=1), True),
    ],
    ids=["the same", "another sample", "larger units", "smaller units", "another zero", "both", "not comparable"],
)
def test_what_was_taken_out_of_two_sets(other: _Scaling, alike: bool) -> None:
    assert scaling(5.0, 2.0).is_like(other) is alike
    assert other.is_like(scaling(5.0, 2.0)) is alike


def ended(run: Invented, name: str, result: torch.Tensor, *args: object) -> torch.Tensor:
    operation = Operation(torch.sub, Kind.OPERATION, name, args, {}, True, result)
    run.signals.operations.began.send(operation)
    run.signals.operations.ended.send(operation)
    return result


@pytest.mark.parametrize("learned", [False, True])
def test_a_scaling_is_known_by_the_rows_that_it_made(learned: bool) -> None:
    data = torch.randn(30, 3)
    mean, deviation = data.mean(0), data.std(0).requires_grad_(learned)
    with inventing(OwnScales) as run:
        own = run.find(OwnScales)
        centred = ended(run, "sub", data - mean, data, mean)
        scaled = ended(run, "div", centred / deviation, centred, deviation)
        ended(run, "div", data / deviation, data, deviation)
        found = own._scaling_of(set(row_keys(scaled.detach()) or ()))
        assert own._scaling_of(set(row_keys(data / 7) or ())) is None
    if learned:
        assert found is None
    else:
        assert found is not None
        assert (found.mean.tolist(), found.deviation.tolist()) == (mean.double().tolist(), deviation.double().tolist())
