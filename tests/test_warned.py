"""Warnings of torch: shown where they would be shown without us, once, and told of at the program's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from autograd_doctor.signals import Signals
from autograd_doctor.signals.warned import Warned
from tests.harness import check_program


def raises(*failed: object) -> None:
    raise AssertionError(failed)


@contextmanager
def listening(*, operations: bool) -> Iterator[tuple[Signals, list[Warned]]]:
    heard: list[Warned] = []
    signals = Signals(raises)
    signals.warned.shown.connect(heard.append, owner="test")
    if operations:
        signals.operations.ended.connect(lambda operation: None, owner="test")
    try:
        yield signals, heard
    finally:
        for signal in (signals.warned.shown, signals.operations.ended):
            for listener in list(signal.listeners):
                signal.disconnect(listener.handle)


def drop() -> None:
    """A function of torch in Python that warns its caller, here a module of torch."""
    nn.Dropout2d()(torch.ones(2, 2))


def slope() -> None:
    """A function of torch in C."""
    _ = (torch.ones(2, requires_grad=True) * 2).grad


def places(warn: Callable[[], None], *, operations: bool) -> list[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as shown, listening(operations=operations):
        warnings.simplefilter("always")
        warn()
    return [(warning.filename, warning.lineno) for warning in shown]


@pytest.mark.parametrize("warn", [drop, slope])
def test_a_warning_is_put_down_to_the_caller_that_there_is_without_us(warn: Callable[[], None]) -> None:
    (alone,) = places(warn, operations=False)
    assert places(warn, operations=True) == [alone]
    assert "autograd_doctor/" not in alone[0]


@pytest.mark.needs_torch("2.5", "warnings of `dropout2d` that name its caller")
def test_what_was_shown_for_us_is_not_shown_once_more_without_us() -> None:
    with warnings.catch_warnings(record=True) as shown, listening(operations=True) as (signals, heard):
        warnings.simplefilter("always")
        drop()
        signals.operations.rest("test")
        drop()
        assert len(shown) == len(heard) == 1
        drop()
        assert len(shown) == 2
        signals.operations.resume("test")


def test_a_warning_of_the_programs_own_goes_its_way() -> None:
    with warnings.catch_warnings(record=True) as shown, listening(operations=True) as (_, heard):
        warnings.simplefilter("always")
        warnings.warn("mine", stacklevel=1)
    assert [str(warning.message) for warning in shown] == ["mine"]
    assert [(each.text, each.category, each.path) for each in heard] == [("mine", UserWarning, __file__)]


def test_what_our_own_looks_provoke_is_not_shown() -> None:
    with warnings.catch_warnings(record=True) as shown, listening(operations=True) as (signals, heard):
        warnings.simplefilter("always")
        with signals.guard.looking():
            torch.ones(1).std()
    assert list(shown) == heard == []


def test_the_report_tells_of_each_warning_of_torch_once_at_the_programs_line() -> None:
    report = check_program("""
import warnings
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout2d(0.1), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(30):
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warnings.warn("mine")
""")
    told = [note for note in report.notes if "torch warned" in note]
    assert len(told) == 1
    assert "train.py:10: dropout2d: Received a 2-D input" in told[0]
    assert not any("mine" in note for note in report.notes)
    assert report.exit_code == 0
