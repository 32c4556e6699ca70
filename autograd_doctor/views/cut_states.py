"""States that are handed from step to step of a window without their graph: nothing learns over more than one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from autograd_doctor.findings import Location
from autograd_doctor.operations import RECURRENT
from autograd_doctor.tape import Op, Tape, Value, behind, numbers_in

_CUTS = ("data", "detach", "detach_")
_MOST_DIMS = 2
"""Of a state: a row for each sample. Memories of whole segments have a place for each token as well."""
_LEAST_STEPS = 4


@dataclass(frozen=True)
class CutState:
    """Steps of a window after each of which the state was cut, and the parameters that make the next one of it."""

    steps: int
    parameters: list[int]


def cut_states(tape: Tape) -> Iterator[tuple[Location | None, CutState]]:
    """The lines that cut one, where the loss hears of the steps, and nothing else leads from one to the next."""
    heard = set(behind(tape.roots))
    lines: dict[Location | None, list[Op]] = {}
    for op in tape.named(*_CUTS):
        if op.values and op.values[0].learns and op.output is not op.values[0]:
            lines.setdefault(op.location, []).append(op)
    for location, cuts in lines.items():
        states = [cut.values[0] for cut in cuts]
        whole = len(cuts) >= _LEAST_STEPS and all(_is_state(state, heard) for state in states)
        if whole and all(_hands_on(*pair) for pair in pairwise(cuts)) and len({_made(state) for state in states}) == 1:
            yield location, CutState(len(cuts), numbers_in(states[-1].connected))


def _made(state: Value) -> tuple[object, ...]:
    """By what, and of which parameters: layers that are trained one by one have others each."""
    by = state.by
    return (by.name, by.location, state.connected) if by is not None else ()


def _is_state(value: Value, heard: set[Op]) -> bool:
    """Whether it is what one step made, and the loss hears of it by way of layers only.

    What is compared as it is, is a prediction that the next one starts from. Recurrent layers go over a part of a
    window themselves: what is cut between two of them truncates.
    """
    if value.by not in heard or value.by is None or value.by.name in RECURRENT or len(value.shape) > _MOST_DIMS:
        return False
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            if use.name in _CUTS or use not in heard or any(each.is_parameter for each in use.values):
                continue
            if not all(output.shape for output in use.outputs):
                return False
            pending += use.outputs
    return True


def _hands_on(cut: Op, next_cut: Op) -> bool:
    """Whether the next state was computed from this one as it was cut, and has no graph to the step before."""
    state = next_cut.values[0]
    before, made = cut.values[0].by, state.by
    if before is None or made is None:
        return False
    live = behind([state])
    if any(op.number <= before.number for op in live):
        return False
    alike = [op for op in live if (op.name, op.location) == (made.name, made.location)]
    return len(alike) == 1 and any(_takes(op, cut.output) for op in live)


def _takes(op: Op, value: Value) -> bool:
    """Whether it works on a value, or on what one operation made of it, such as a mask."""
    return any(each is value or (each.by is not None and value in each.by.values) for each in op.plain)
