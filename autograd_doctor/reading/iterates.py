"""Forwards that repeat one step, such as towards a fixed point, and backwards that go through the last ones alone.

Of a fixed point, the derivative through one application leaves out the inverse of a Jacobian: a cheap estimator, and so
is that through a few. It is measured: the forward runs again with its inputs moved, while what its loop had computed
until the last rounds is held at what it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from autograd_doctor.reading.finite_differences import Case, Slopes, against, near
from autograd_doctor.reading.places import Place, place

_ROUNDS = 4
"""An operation that runs as often, at one place, is repeated."""

_LAST = (1, 0, 2, 3)
"""Of how many rounds the derivative is tried; that of none is the derivative of what follows the loop."""

_MOST_CALLS = 5_000
_MOST_LIKE_OUTPUT = 2


class _Call(NamedTuple):
    """An operation at its place, and a copy of what it gave, or wrote into one of its arguments."""

    site: tuple[Any, Place | None]
    value: Any
    in_place: bool


class _Noting(TorchFunctionMode):
    """Notes each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[_Call] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if len(self.calls) < _MOST_CALLS:
            changed = _changed(result, args)
            in_place = any(changed is arg for arg in args)
            value = changed.detach().clone() if isinstance(changed, torch.Tensor) else changed
            self.calls.append(_Call((func, place()), value, in_place))
        return result


class _Holding(TorchFunctionMode):
    """Has operations give again what they gave before, whatever they are given now.

    kept: what the operation numbered `keep` gave.
    """

    def __init__(self, held: Mapping[int, _Call], keep: int | None) -> None:
        super().__init__()
        self._held = held
        self._keep = keep
        self._number = -1
        self.kept: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._number += 1
        call = self._held.get(self._number)
        if call is not None and not call.in_place:
            return call.value.clone() if isinstance(call.value, torch.Tensor) else call.value
        result = func(*args, **(kwargs or {}))
        if call is not None and isinstance(call.value, torch.Tensor):
            _changed(result, args).copy_(call.value)
        if self._number == self._keep:
            self.kept = result
        return result


def _changed(result: Any, args: Sequence[Any]) -> Any:
    """What an operation gave; what it wrote to, if it gives nothing, such as an assignment to elements."""
    return args[0] if result is None and args else result


def held_slopes(case: Case, leaves: Sequence[torch.Tensor], slopes: Sequence[Slopes]) -> Iterator[list[Slopes]]:
    """What was returned, against the derivatives through the last rounds of the loop of the forward, if it has one.

    Take them within `trials.alone`: the forward runs under a function mode.
    """
    calls, output = _noted(case, leaves)
    for last, held in _held(calls):
        for instead in [None, *(_like(calls, held, output) if last == 1 else ())]:
            partial = _holding(case, held, instead)
            yield [against(slope.returned, partial, leaves, i) for i, slope in enumerate(slopes)]


def _noted(case: Case, leaves: Sequence[torch.Tensor]) -> tuple[list[_Call], torch.Tensor]:
    noting = _Noting()

    def apply(*arguments: Any) -> Any:
        with noting:
            return case.apply(*arguments)

    output = replace(case, apply=apply).values(leaves)
    return noting.calls, output


def _held(calls: Sequence[_Call]) -> Iterator[tuple[int, dict[int, _Call]]]:
    """For each number of last rounds, what the rounds before had computed, and on what any of them turned."""
    by_site: defaultdict[Any, list[int]] = defaultdict(list)
    for number, call in enumerate(calls):
        by_site[call.site].append(number)
    repeated = sorted(n for numbers in by_site.values() if len(numbers) >= _ROUNDS for n in numbers)
    ends = by_site[calls[repeated[-1]].site] if repeated else []
    turned_on = {n: calls[n] for n in repeated if type(calls[n].value) in (bool, int, float)}
    for last in _LAST if ends and len(calls) < _MOST_CALLS else ():
        end = ends[-1 - last]
        yield last, {n: calls[n] for n in repeated if n <= end} | turned_on


def _like(calls: Sequence[_Call], held: Mapping[int, _Call], output: torch.Tensor) -> list[int]:
    """Operations of the last round that gave what came out in the end: of a step that is damped, the one undamped."""
    found = []
    for number in [n for n in range(len(calls)) if n not in held]:
        value = calls[number].value
        fits = isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() == output.numel()
        if fits and bool(near(value.reshape(-1), output).all()) and not torch.equal(value.reshape(-1), output):
            found.append(number)
    return found[-_MOST_LIKE_OUTPUT:]


def _holding(case: Case, held: Mapping[int, _Call], instead: int | None) -> Case:
    """The same call with what its loop had computed held; `instead`: the operation whose result is its output."""

    def apply(*arguments: Any) -> Any:
        holding = _Holding(held, instead)
        with holding:
            result = case.apply(*arguments)
        return result if instead is None else holding.kept

    return replace(case, apply=apply)
