"""Whether a custom function may be called again: decided from what its names stand for, not from the names."""

from __future__ import annotations

import math
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograd_doctor.reading.side_effects import first_change, side_effect

LOG: list[Any] = []
TABLE = {"gain": 2.0}
BYTES: deque[int] = deque(maxlen=3)
WEIGHTS = torch.ones(3)
SETTINGS = SimpleNamespace(gain=2.0, log=LOG)
calls = 0


class Meter:
    def __init__(self) -> None:
        self.total = 0.0

    def add(self, value: float) -> None:
        self.total += value

    def append(self, value: float) -> float:
        """Changes nothing, whatever it is called."""
        return value * 2


METER = Meter()


def note(x: Any) -> None:
    LOG.append(x)


def put(where: list[Any], x: Any) -> None:
    where.append(x)


def gain(x: Any) -> Any:
    return x * TABLE.get("gain", 1.0)


def appends(ctx: Any, x: Any) -> Any:
    LOG.append(1)
    return x


def appends_by_another_name(ctx: Any, x: Any) -> Any:
    log = SETTINGS.log
    log.append(1)
    return x


def stores_item(ctx: Any, x: Any) -> Any:
    TABLE["last"] = 1.0
    return x


def stores_attribute(ctx: Any, x: Any) -> Any:
    SETTINGS.gain = 3.0
    return x


def counts(ctx: Any, x: Any) -> Any:
    global calls
    calls += 1
    return x


def calls_a_helper(ctx: Any, x: Any) -> Any:
    note(1)
    return x


def hands_to_a_helper(ctx: Any, x: Any) -> Any:
    put(LOG, 1)
    return x


def calls_a_method(ctx: Any, x: Any) -> Any:
    METER.add(1.0)
    return x


def changes_a_tensor(ctx: Any, x: Any) -> Any:
    WEIGHTS.add_(1)
    return x


def writes_a_file(ctx: Any, x: Any) -> Any:
    write = open
    write("/tmp/never", "w")
    return x


def rotates(ctx: Any, x: Any) -> Any:
    BYTES.rotate()
    return x


def enclosing() -> Any:
    seen: list[Any] = []

    def keeps(ctx: Any, x: Any) -> Any:
        seen.append(1)
        return x

    return keeps


def own_list(ctx: Any, x: Any) -> Any:
    parts = []
    parts.append(x)
    parts.extend([x for part in parts])
    ctx.shapes = {}
    ctx.shapes.update(x=1)
    return torch.stack(parts)


def reads(ctx: Any, x: Any) -> Any:
    import cmath

    LOG.count(1)
    gains = TABLE.get("gain"), SETTINGS.gain, BYTES.index
    return gain(x) * WEIGHTS.sum() * math.pi * cmath.e * len(gains)


LISTS = [[1], [2]]
TABLES = {"a": [1]}


class Noting(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        LOG.append(x)
        return x


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


def applies_one_that_changes(ctx: Any, x: Any) -> Any:
    return Noting.apply(x)  # type: ignore[no-untyped-call]


def applies_one_that_does_not(ctx: Any, x: Any) -> Any:
    return Doubling.apply(x)  # type: ignore[no-untyped-call]


def reads_entries(ctx: Any, x: Any) -> Any:
    return x * LISTS[0].count(1) * TABLES["a"].index(1)


def reading_enclosed() -> Any:
    seen = [1]

    def forward(ctx: Any, x: Any) -> Any:
        return x * seen.count(1)

    return forward


def calls_what_only_sounds_like_it(ctx: Any, x: Any) -> Any:
    return METER.append(x)


def helper_with_its_own_list(ctx: Any, x: Any) -> Any:
    put([], x)
    return x


def as_function(forward: Any) -> type:
    return type("Custom", (torch.autograd.Function,), {"forward": staticmethod(forward)})


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (appends, "it changes `LOG`"),
        (appends_by_another_name, "it changes `log`"),
        (stores_item, "it changes `TABLE`"),
        (stores_attribute, "it changes `SETTINGS`"),
        (counts, "it assigns to `calls`"),
        (calls_a_helper, "it changes `LOG`"),
        (hands_to_a_helper, "it changes `where`"),
        (calls_a_method, "it changes `self`"),
        (changes_a_tensor, "it changes `WEIGHTS`"),
        (writes_a_file, "it calls `write`"),
        (rotates, "it changes `BYTES`"),
        (enclosing(), "it changes `seen`"),
        (applies_one_that_changes, "it changes `LOG`"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_changes_outside_are_found(forward: Any, says: str) -> None:
    assert side_effect(as_function(forward)) == says


@pytest.mark.parametrize(
    "forward",
    [
        own_list,
        reads,
        reads_entries,
        reading_enclosed(),
        applies_one_that_does_not,
        calls_what_only_sounds_like_it,
        helper_with_its_own_list,
    ],
)
def test_reading_and_what_is_its_own_change_nothing(forward: Any) -> None:
    assert side_effect(as_function(forward)) == ""


def test_source_that_cannot_be_read_is_said() -> None:
    namespace: dict[str, Any] = {}
    exec("def forward(ctx, x): return x", namespace)
    assert side_effect(as_function(namespace["forward"])) == "its source cannot be read"


def test_looking_runs_nothing_of_the_program() -> None:
    class Trap:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("ran")

        @property
        def gain(self) -> Any:
            raise AssertionError("ran")

        __eq__ = __bool__ = __len__ = __iter__ = __getattr__  # type: ignore[assignment]
        __hash__ = None  # type: ignore[assignment]

    trap = Trap()

    def forward(ctx: Any, x: Any) -> Any:
        return x * trap.gain * trap.missing[0]

    assert side_effect(as_function(forward)) == ""


class Holder:
    def __init__(self) -> None:
        self.plain = lambda x: x * TABLE["gain"]
        self.noting = lambda x: LOG.append(x) or x  # type: ignore[func-returns-value]


def test_the_statement_that_keeps_a_lambda_is_not_part_of_it() -> None:
    holder = Holder()
    assert first_change(holder.plain) == ""  # type: ignore[arg-type]
    assert "LOG" in first_change(holder.noting)  # type: ignore[arg-type]
