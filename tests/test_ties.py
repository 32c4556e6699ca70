"""What reading a data set uses that would not be the same thing in a worker."""

from __future__ import annotations

import io
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from torch.utils.data import Dataset, Subset

from autograd_doctor.reading.ties import changed, live_source, state_of

LEVEL = 0.0
x = 0.0
"""A variable of the module; data sets read an attribute of that name from their samples."""


class Held(Dataset[Any]):
    """Reads by a function, from what it is given."""

    noise = 0.0

    def __init__(self, of: Callable[[Any], Any], **held: Any) -> None:
        self._of = of
        self.unused = 0
        self.held = SimpleNamespace(**held)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return self._of(self.held), self.noise, self.held


class Around(Dataset[float]):
    """Reads a variable of the module, and an attribute of its samples that bears the name of another."""

    def __getitem__(self, index: int) -> float:
        return SimpleNamespace(x=1).x + LEVEL


def _around(told: Any) -> Dataset[Any]:
    class Inner(Dataset[Any]):
        def __getitem__(self, index: int) -> Any:
            return told

    return Inner()


def _changed(dataset: Any, change: Callable[[], Any]) -> str:
    before = state_of(dataset)
    assert changed(before, state_of(dataset)) == ""
    change()
    return changed(before, state_of(dataset))


def _step(model: torch.nn.Module) -> None:
    with torch.no_grad():
        next(model.parameters()).add_(1.0)


def _read(of: Any) -> Any:
    return of


@pytest.mark.parametrize(
    ("held", "change"),
    [
        ({"level": 0}, lambda held: setattr(held, "level", 1)),
        ({"log": []}, lambda held: held.log.append(1)),
        ({"cache": {}}, lambda held: held.cache.update(a=1)),
        ({"table": torch.zeros(2)}, lambda held: held.table.add_(1)),
        ({"table": numpy.zeros(2)}, lambda held: held.table.fill(1)),
        ({"model": torch.nn.Linear(2, 2)}, lambda held: _step(held.model)),
        ({"draws": random.Random(0)}, lambda held: held.draws.random()),
        ({"draws": torch.Generator()}, lambda held: torch.rand(1, generator=held.draws)),
        ({"draws": numpy.random.default_rng(0)}, lambda held: held.draws.random()),
        ({"other": Held(_read, level=0)}, lambda held: setattr(held.other.held, "level", 1)),
    ],
    ids=["number", "log", "cache", "tensor", "array", "model", "random", "generator", "numpy", "data set"],
)
def test_what_changes_between_two_looks_is_named(held: dict[str, Any], change: Callable[[Any], Any]) -> None:
    dataset = Held(_read, **held)
    assert _changed(dataset, lambda: change(dataset.held)) == "held"


def test_attributes_of_classes_and_variables_of_the_module_and_around_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _changed(Held(_read), lambda: monkeypatch.setattr(Held, "noise", 1.0)) == "noise"
    assert _changed(Subset(Around(), [0]), lambda: monkeypatch.setitem(globals(), "LEVEL", 1.0)) == "LEVEL"
    told = [1]
    assert _changed(_around(told), lambda: told.append(2)) == "told"


def test_what_reading_does_not_use_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = Held(_read)
    assert _changed(dataset, lambda: setattr(dataset, "unused", 1)) == ""
    assert _changed(Around(), lambda: monkeypatch.setitem(globals(), "x", 1.0)) == ""


class Touchy(list[int]):
    """Whoever looks at it by its own methods is noticed."""

    def __iter__(self) -> Iterator[int]:
        raise AssertionError

    def __len__(self) -> int:
        raise AssertionError


def test_nothing_of_the_program_runs_when_it_is_looked_at() -> None:
    touchy = Touchy([1])
    assert _changed(_around(touchy), lambda: touchy.append(2)) == "told"
    assert live_source(_around(touchy)) == ""


def _generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (Path(os.devnull).open, "TextIOWrapper"),
        (lambda: socket.socket(), "socket"),
        (lambda: _generator(), "generator"),
        (lambda: {"inside": [iter([1])]}, "list_iterator"),
        (lambda: threading.Lock(), "lock"),
    ],
    ids=["file", "socket", "generator", "iterator", "lock"],
)
def test_what_processes_cannot_share_is_named(held: Callable[[], Any], kind: str) -> None:
    source = held()
    assert live_source(_around(source)) == f"`told`, a `{kind}`"
    assert live_source(Subset(_around(source), [0])) == f"`told`, a `{kind}`"
    if hasattr(source, "close"):
        source.close()


@pytest.mark.parametrize(
    "held",
    [torch.ones(3), io.BytesIO(b"a"), [1, "a"], numpy.ones(3), torch.nn.Linear(2, 2), lambda: open],
    ids=["tensor", "bytes", "list", "array", "module", "function"],
)
def test_what_workers_may_have_a_copy_of_is_no_source(held: Any) -> None:
    assert live_source(_around(held)) == ""
