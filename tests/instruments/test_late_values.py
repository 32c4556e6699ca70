"""Values that come later: by a device of whose tensors nobody waits for one. Here all tensors are said to be such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from autograd_doctor.instruments.spine import late_values as module
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.reading.transfers import Transfer
from tests.inventing import Invented, inventing


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_remote", lambda tensor: True)


def ask(run: Invented, found: list[Any], *values: float) -> None:
    def then(answers: Sequence[Any]) -> None:
        found.append(list(answers))

    run.find(LateValues).ask(run.find(Course), [torch.tensor(value) for value in values], then)


def backward(run: Invented) -> None:
    with run.backward(torch.ones(())):
        pass


def test_what_lies_on_the_cpu_is_answered_at_once() -> None:
    found: list[Any] = []
    with inventing(LateValues, Course) as run:
        ask(run, found, 1.0, 2.0)
        ask(run, found)
        assert found == [[1.0, 2.0], []]


def test_others_are_answered_together_when_a_backward_begins(far_away: None) -> None:
    found: list[Any] = []
    with inventing(LateValues, Course) as run:
        for number in range(module._SENT_TOGETHER):
            backward(run)
            assert found == []
            ask(run, found, float(number))
        ask(run, found)
        backward(run)
        assert found == [[float(number)] for number in range(module._SENT_TOGETHER)]
    assert found[-1] == []


def test_what_is_left_is_answered_at_the_end_in_order(far_away: None) -> None:
    found: list[Any] = []
    with inventing(LateValues, Course) as run:
        ask(run, found, 1.0)
        ask(run, found)
        ask(run, found, 2.0, 3.0)
        assert found == []
        run.find(LateValues).finish()
        ask(run, found, 4.0)
        assert found == [[1.0], [], [2.0, 3.0], [4.0]]


def test_what_fails_is_the_failure_of_whoever_asked(far_away: None) -> None:
    found: list[Any] = []
    run = Invented()
    run.session.attach([LateValues, Course])

    def fail(values: Sequence[Any]) -> None:
        raise ValueError("no")

    run.find(LateValues).ask(run.find(Course), [torch.ones(())], fail)
    ask(run, found, 1.0)
    run.session.close()
    assert [(each.instrument, each.look) for each in run.failures] == [("course", "answered")]
    assert found == [[1.0]]


def test_a_load_holds_tensors_of_all_kinds() -> None:
    given = [
        torch.tensor(2.5, dtype=torch.float64),
        torch.tensor([True, False]),
        torch.tensor([[1, 2], [3, 4]]),
        torch.tensor(1.5, dtype=torch.bfloat16),
        torch.arange(6.0)[::2],
    ]
    transfer = Transfer(given)
    assert transfer.arrived
    found = transfer.values()
    assert [each.tolist() if isinstance(each, torch.Tensor) else each for each in found] == [
        *(2.5, [True, False], [[1, 2], [3, 4]], 1.5, [0.0, 2.0, 4.0])
    ]
    assert Transfer([]).values() == []
