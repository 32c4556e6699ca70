"""AD605: take a softmax, or the sum of a mixture, over the dimension that counts."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.losses import LossComputed, Shaping, WeightsApart
from autograd_doctor.fixing.called_layers import built, called, is_method
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.operations import DROPOUTS, MOVES
from autograd_doctor.tape import Value, source_of

_LAYERS = frozenset({"Softmax", "LogSoftmax", "Softmin"})
_FUNCTIONS = frozenset({"softmax", "log_softmax", "softmin", "logsumexp"})


def candidates(case: Case) -> Iterator[Candidate]:
    """Write the dimension where the softmax is called, or where its layer is built."""
    here, dim = case.here(), _wanted(case)
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None or dim is None:
        return
    layer, editing = built(here, call, _LAYERS), Editing(here)
    if layer is not None:
        _write(here, editing, layer, 0, dim)
        yield case.candidate(f"build `{here.code(layer)}` with `dim={dim}`", editing)
    elif called(call) in _FUNCTIONS:
        _write(here, editing, call, 0 if is_method(here, call) else 1, dim)
        yield case.candidate(f"call `{here.code(call.func)}` with `dim={dim}`", editing)


def _write(here: Source, editing: Editing, call: cst.Call, position: int, dim: int) -> None:
    given = here.argument(call, position, "dim")
    if given is not None:
        editing.replace(given.value, str(dim))
    else:
        editing.give(call, "dim", str(dim))


def _wanted(case: Case) -> int | None:
    """The dimension that the loss takes for the classes, or that the weighted sum runs over."""
    place = case.finding.location
    for event in case.trace.of(WeightsApart):
        if event.over and case.begins_at(event.location, place):
            return event.softmax.dim
        if not event.over and case.begins_at(event.softmax.location, place):
            return _summed(case, event)
    found = {
        _of_classes(softmax, event)
        for event in case.trace.of(LossComputed)
        for softmax in _softmaxes(event)
        if case.begins_at(softmax.location, place)
    }
    return found.pop() if len(found) == 1 else None


def _softmaxes(event: LossComputed) -> Iterator[Shaping]:
    shaping = event.prediction.shaping
    while shaping is not None:
        yield shaping
        shaping = shaping.behind


def _of_classes(softmax: Shaping, event: LossComputed) -> int | None:
    """That of the loss, where it got the very result; else the only one with as many values as there are classes."""
    shape, last = softmax.shape, len(softmax.shape) - 1
    if event.class_dim is None:
        return last if len(shape) == 2 else None
    if shape == event.prediction.facts.shape:
        return event.class_dim
    alike = [dim for dim, size in enumerate(shape) if size == event.prediction.facts.shape[event.class_dim]]
    return -1 if alike == [last] else alike[0] if len(alike) == 1 else None


def _summed(case: Case, event: WeightsApart) -> int | None:
    """The dimension of the weights that a product of matrices sums up over."""
    ops = [op for tape in case.trace.tapes for op in tape.ops if op.location == event.location]
    factors = {index for op in ops for index, value in enumerate(op.values[:2]) if _holds(value, event.softmax)}
    if len(factors) != 1:
        return None
    (factor,) = factors
    return _of_equation(case, event, factor) if event.operation == "einsum" else (-1, -2)[factor]


def _holds(value: Value, softmax: Shaping) -> bool:
    made = source_of(value, MOVES | DROPOUTS).by
    return made is not None and made.name == softmax.operation and made.location == softmax.location


def _of_equation(case: Case, event: WeightsApart, factor: int) -> int | None:
    """Of the letters that the equation gives to the weights, the only one that is not in the result."""
    place = next(
        (each.location for each in case.finding.related if case.begins_at(event.location, each.location)), None
    )
    there = case.source(place)
    call = there.at(place, cst.Call) if there is not None else None
    equation = call.args[0].value if call is not None and call.args else None
    if not isinstance(equation, cst.SimpleString) or not isinstance(equation.evaluated_value, str):
        return None
    left, _, result = equation.evaluated_value.replace(" ", "").partition("->")
    letters = left.split(",")[factor]
    gone = [number for number, letter in enumerate(letters) if letter not in result]
    return gone[0] - len(letters) if len(gone) == 1 else None


FIXER = Fixer(codes=("AD605",), candidates=candidates, of_operation=True)
