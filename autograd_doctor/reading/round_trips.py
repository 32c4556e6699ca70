"""What a module is after `eval()` and `train()`, where the program says itself what these do: tried on copies."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection
from functools import partial
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.clock import CLOCK
from autograd_doctor.findings import Location
from autograd_doctor.reading.changing_line import ChangingLine
from autograd_doctor.reading.module_copies import PARTS, copies_of, copy_of, obstacle, own_methods
from autograd_doctor.reading.module_tree import buffers_in, modules_in, parameters_in
from autograd_doctor.reading.places import is_own, lines_of
from autograd_doctor.reading.side_effects import first_change
from autograd_doctor.reading.subclasses import storage_address, version_of
from autograd_doctor.reading.tensor_facts import read_together, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import TOLERANCE, Undecided, alone, apart, fresh
from autograd_doctor.reading.without_running import attribute, attributes, is_a, unwrapped

_SWITCHES = ("train", "eval")
_LEAST = 1e-3
"""Change of what a module computes, relative to the largest value: what is added and taken out again by way of an
inverse comes back to a few parts in ten thousand."""
_UNITS = 8
"""In the last place of a coarse dtype, by which what is added and taken out again may be off."""


class Trip(NamedTuple):
    """A module that `eval()` and `train()` leave another one.

    change: of what it computes in training mode, for the same input. tensors: by how much those differ that it holds,
    by path, most first. alike: an evaluation computes what it would if `eval()` had set nothing but the mode, although
    it does depend on these tensors. again: a second trip changes it once more. written_at: the line that writes to the
    first of them. back_at: the one that only the way back runs.
    """

    change: float
    tensors: dict[str, float]
    alike: bool
    again: bool
    written_at: Location | None
    back_at: Location | None


def has_own_switch(module: nn.Module) -> bool:
    """Whether a class of the program's, in this module, says what `train()` or `eval()` does."""
    return any(_own_switches(kind) for kind in {type(inner) for _, inner in modules_in(module)})


def round_trip(module: nn.Module, args: Any, kwargs: Any, most_seconds: float) -> Trip | None:
    """Take a copy there and back, and call it as the module was called; None if it computes what it did.

    most_seconds: of a call. Raises `Undecided`.
    """
    reason = _obstacle(module)
    if reason:
        raise Undecided(reason)
    tensors = differences(held_tensors(module), held_tensors(_taken(module)))
    if not tensors:
        return None
    calls = _Calls(module, args, kwargs)
    before = calls.result(copy_of(module, as_it_is=True), most_seconds)
    if _difference(before, calls.result(copy_of(module, as_it_is=True))) > TOLERANCE:
        raise Undecided("its result differs from call to call")
    after = calls.result(_taken(module))
    change, limit = _difference(before, after), _limit([*before, *held_tensors(module).values()], _LEAST)
    if not limit < change < math.inf:
        return None
    return Trip(
        change=change,
        tensors=tensors,
        alike=calls.evaluates_alike(limit, tensors),
        again=_difference(after, calls.result(_taken(module, times=2))) > limit,
        written_at=_written_at(module, next(iter(tensors))),
        back_at=_back_at(module, next(iter(tensors))),
    )


def held_tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """Its parameters and buffers, and tensors that are plain attributes, by path."""
    found: dict[str, torch.Tensor] = {**dict(parameters_in(module)), **dict(buffers_in(module))}
    for path, inner in modules_in(module):
        below = f"{path}." if path else ""
        plain = ((name, value) for name, value in attributes(inner).items() if name not in PARTS)
        found |= {below + name: value for name, value in plain if is_a(value, torch.Tensor)}
    return {path: tensor for path, tensor in found.items() if readable(tensor)}


def differences(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> dict[str, float]:
    """By how much tensors differ of which more than rounding does, most first; infinite where one has no other."""
    found = {}
    for path in [*before, *(path for path in after if path not in before)]:
        pair = [held[path] for held in (before, after) if path in held]
        is_like = len(pair) == 2 and pair[0].shape == pair[1].shape and pair[0].device == pair[1].device
        found[path] = apart(pair[0].detach(), pair[1].detach()) if is_like else math.inf
    limits = {path: _limit([held[path] for held in (before, after) if path in held]) for path in found}
    return dict(sorted(((p, d) for p, d in found.items() if d > limits[p]), key=lambda each: -each[1]))


class _Calls:
    """Calls of copies of a module, with the same input and random numbers; no copy is called twice."""

    def __init__(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._module = module
        self._args, self._kwargs = copies_of(args), copies_of(kwargs)
        if self._args is None or self._kwargs is None:
            raise Undecided("its inputs are too large, or not plain tensors")

    def result(self, copied: nn.Module, most_seconds: float = math.inf) -> list[torch.Tensor]:
        began = CLOCK.thread_time()
        with alone():
            output = copied(*fresh(self._args), **fresh(self._kwargs))
        if CLOCK.thread_time() - began > most_seconds:
            raise Undecided("its forward takes long")
        return [each.detach().clone() for each in tensors_in([output], EVERYTHING) if each.is_floating_point()]

    def evaluates_alike(self, limit: float, changed: Collection[str]) -> bool:
        """Whether an evaluation computes the same where `eval()` has run as where parts were told the mode alone, and
        would not, were the changed tensors all that differed."""
        evaluated = copy_of(self._module, as_it_is=True)
        _switch(evaluated, "eval")
        written = copy_of(self._module)
        _write(written, {path: tensor for path, tensor in held_tensors(evaluated).items() if path in changed})
        try:
            told = self.result(copy_of(self._module))
            is_alike = _difference(told, self.result(evaluated)) <= limit
            return is_alike and _difference(told, self.result(written)) > limit
        except Exception:
            return False


def _write(module: nn.Module, values: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for path, tensor in held_tensors(module).items():
            if path in values and values[path].shape == tensor.shape:
                tensor.copy_(values[path])


def _obstacle(module: nn.Module) -> str:
    """Why no copy of it can be called, and its mode be switched."""
    kinds = {kind for _, inner in modules_in(module) for kind in type(inner).__mro__}
    changes = (first_change(method) for method in {*own_methods(kinds, *_SWITCHES)})
    change = next(filter(None, changes), "")
    return f"switching its mode has side effects: {change}" if change else obstacle(module)


def _own_switches(kind: type) -> list[CodeType]:
    found = [unwrapped(attribute(kind, name)) for name in _SWITCHES]
    codes = [each.__code__ for each in found if type(each) is FunctionType]
    return [code for code in codes if is_own(code.co_filename)]


def _taken(module: nn.Module, times: int = 1) -> nn.Module:
    """A copy that was taken there and back. Its parts are in the modes in which they were: which these are, may be the
    concern of the loop."""
    copied = copy_of(module, as_it_is=True)
    modes = {path: attributes(inner).get("training") for path, inner in modules_in(copied)}
    for _ in range(times):
        for name in reversed(_SWITCHES):
            _switch(copied, name)
        for path, inner in modules_in(copied):
            attributes(inner)["training"] = modes.get(path, True)
    return copied


def _switch(copied: nn.Module, name: str) -> None:
    with alone(), torch.no_grad():
        getattr(copied, name)()


def _difference(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    """The largest relative difference; infinite where they are not alike."""
    if [each.shape for each in some] != [each.shape for each in others]:
        return math.inf
    return max((apart(a, b) for a, b in zip(some, others, strict=True)), default=0.0)


def _limit(tensors: list[torch.Tensor], least: float = TOLERANCE) -> float:
    """Differences of these up to here are rounding."""
    units = [torch.finfo(each.dtype).eps for each in tensors if each.is_floating_point()]
    return max(least, _UNITS * max(units, default=0.0))


# ------------------------------------------------------------------------------------------------------------ the lines


def _written_at(module: nn.Module, path: str) -> Location | None:
    """The line after which a copy holds something else under a path; None where somebody traces the program."""
    copied = copy_of(module, as_it_is=True)

    def state() -> object:
        tensor = held_tensors(copied).get(path)
        if tensor is None:
            return None
        values = tensor.detach().double()
        return version_of(tensor), storage_address(tensor), *read_together([values.sum(), values.square().sum()])

    line = ChangingLine(state)
    if line.begin():
        try:
            for name in reversed(_SWITCHES):
                _switch(copied, name)
        finally:
            line.end()
    return line.found


def _back_at(module: nn.Module, path: str) -> Location | None:
    """Of the methods that switch the mode of the module around a tensor, the first line that runs on the way back, and
    does not on the way there."""
    around = [
        _own_switches(type(inner))
        for prefix, inner in modules_in(module)
        if (not prefix or path.startswith(f"{prefix}.")) and _own_switches(type(inner))
    ]
    codes = around[-1] if around else []
    copied = copy_of(module, as_it_is=True)
    there, back = (_lines_run(codes, partial(_switch, copied, name)) for name in reversed(_SWITCHES))
    return next((lines_of(code, line) for code, line in back if (code, line) not in there), None)


def _lines_run(codes: list[CodeType], action: Callable[[], None]) -> list[tuple[CodeType, int]]:
    """The lines of these that run meanwhile, in order; none where somebody traces the program."""
    run: list[tuple[CodeType, int]] = []

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code not in codes:
            return None
        if event == "line":
            run.append((frame.f_code, frame.f_lineno))
        return traced

    if sys.gettrace() is None:
        sys.settrace(traced)
        try:
            action()
        finally:
            sys.settrace(None)
    return run
