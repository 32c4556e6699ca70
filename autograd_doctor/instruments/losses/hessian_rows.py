"""Second derivatives of several columns at once, in which the mixed ones are added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.autograd.function import BackwardCFunction

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import HessianRowsSummed
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import PICKS, SCALING, TAKES, TOTALS
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.tensor_facts import read_together, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import GRAD, Op, Value, behind

_PICKED = PICKS | TAKES | {"chunk", "narrow", "select", "split", "tensor_split", "unbind"}
_MOST_NODES = 2_000
"""Two more backwards are run through the graph: those of a small network cost milliseconds."""
_MOST_NUMBERS = 2**20
_MOST_TRIED = 2
"""Calls at a line to try: what is mixed there is so in all of them."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The sums of rows that a call gave, and the share of what is mixed. where: the line of the call, and what called
    the function that it is in."""

    places: tuple[Place, ...]
    mixed: float


class HessianRows(LossQuery):
    """Looks, in steps that are looked at closely, at `grad(…, create_graph=True)` of what is a gradient by the same.

    Whether derivatives of a column by other coordinates are there is found out by the gradients of two columns, where
    nobody can notice: not where the program has hooks or custom functions.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (HessianRowsSummed,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._hooked = False
        self._rows: dict[Op, _Rows] = {}
        self._tried: dict[tuple[Place, ...], list[int]] = {}
        self._lines: set[Place] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.hooks.on_tensor, self._hook_registered)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _hook_registered(self, tensor: torch.Tensor) -> None:
        self._hooked = True

    def _step_taken(self, course: Course) -> None:
        self._rows.clear()

    def _backward_ended(self, call: BackwardCall) -> None:
        """The tape has heard of it before."""
        if call.kind != "grad" or not call.create_graph or call.error is not None:
            return
        places = stack()
        slope = self._slope(call)
        if slope is None or not _is_of_ones(call):
            self._lines.update(places[-1:])
        elif places and self._may_try(places[-2:]):
            mixed = _mixed(slope, call.inputs[0])
            (result,) = self._tape.values(call.result[:1])
            if mixed > 0 and result.by is not None:
                self._rows[result.by] = _Rows(places[-2:], mixed)

    def _slope(self, call: BackwardCall) -> torch.Tensor | None:
        """The gradient of several columns that all of is differentiated again, by what it was taken by."""
        given = call.inputs[0] if len(call.inputs) == len(call.roots) == 1 else None
        if not isinstance(given, torch.Tensor):
            return None
        root, by = map(self._tape.value, (call.roots[0], given))
        columns = root.by.values[0] if root.by is not None and root.by.name == "sum" else root
        slope = tensor_of(columns) if _is_gradient_of_columns(columns, by) else None
        if slope is None or not readable(slope):
            return None
        if self._hooked or not _is_quiet(call):
            self.limited("gradient hooks, custom functions or large graphs kept second derivatives from being tried")
            return None
        return slope

    def _may_try(self, places: tuple[Place, ...]) -> bool:
        steps = self._tried.setdefault(places, [])
        if self._course.steps in steps or len(steps) >= _MOST_TRIED:
            return False
        steps.append(self._course.steps)
        return True

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots) if self._rows else ():
            rows = self._rows.pop(op, None)
            use = next(_uses(op.output), None) if rows is not None else None
            if rows is not None and use is not None:
                self._tell(rows, op, use)

    def _tell(self, rows: _Rows, op: Op, use: Op) -> None:
        """A line that took other derivatives as well is a helper's: then it is the line that called it."""
        taken = rows.places[-1]
        is_shared = taken in self._lines and len(rows.places) > 1
        self.emit(
            HessianRowsSummed(
                step=self._course.steps,
                location=locate(rows.places[-2] if is_shared else taken),
                taken_at=locate(taken),
                used_at=use.location,
                used=use.called,
                shape=list(op.output.shape),
                mixed=rows.mixed,
            )
        )


def _is_gradient_of_columns(value: Value, by: Value) -> bool:
    """Whether it is the gradient by data of several columns, as it was given."""
    first = value.by
    if first is None or first.name != GRAD or first.operands[0] is not by or by.values:
        return False
    return len(value.shape) > 1 and value.shape[-1] > 1 and value.count <= _MOST_NUMBERS


def _is_of_ones(call: BackwardCall) -> bool:
    seeds = [seed for seed in call.seeds if isinstance(seed, torch.Tensor)]
    return all(map(readable, seeds)) and not any(read_together([(seed.detach() != 1).any() for seed in seeds]))


def _is_quiet(call: BackwardCall) -> bool:
    nodes = nodes_of(call.roots, call.inputs)
    return len(nodes) <= _MOST_NODES and not any(isinstance(node, BackwardCFunction) for node in nodes)


def _mixed(slope: torch.Tensor, given: torch.Tensor) -> float:
    """The largest derivative of a column by other coordinates, as a share of the largest by its own."""
    own, other = 0.0, 0.0
    for column in (0, slope.shape[-1] - 1):
        of_column = torch.zeros_like(slope)
        of_column[..., column] = 1
        (found,) = torch.autograd.grad(slope, given, of_column, retain_graph=True, allow_unused=True)
        if found is not None:
            sizes = found.abs().reshape(-1, found.shape[-1]).amax(0)
            by_itself = sizes[column].clone()
            sizes[column] = 0
            here, there = read_together([by_itself, sizes.amax()])
            own, other = max(own, here), max(other, there)
    return other / own if own > 0 else 0.0


def _uses(rows: Value) -> Iterator[Op]:
    """Where columns of it are picked, or summed up, also after it is weighed."""
    for use in rows.uses:
        if use.name in SCALING | {"neg"} and len(use.values) == 1:
            yield from _uses(use.output)
        elif use.name in _PICKED | TOTALS and use.outputs and use.output.shape[-1:] != rows.shape[-1:]:
            yield use
