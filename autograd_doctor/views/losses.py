"""Loss functions behind backwards that train something, and what is true of what reached them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autograd_doctor.events.losses import LossComputed, LossOperand, Shaping
from autograd_doctor.findings import Location, Related
from autograd_doctor.operations import CONVOLUTIONS, DISTANCES, MULTIPLICATIONS, PICKS, STATES
from autograd_doctor.operations import SIGMOIDS as SIGMOIDS
from autograd_doctor.operations import SOFTMAXES as SOFTMAXES
from autograd_doctor.trace import Trace

_ROUNDING = 0.01
"""Sums of probabilities are this close to one in half precision, and nothing else is by accident, row for row."""

SQUASHING = SIGMOIDS | {"hardtanh", "relu", "relu6", "softsign", "tanh"}
CLAMPS = frozenset({"clamp", "clamp_max", "clamp_min"})
CONFINING = SQUASHING | CLAMPS | STATES
"""What gives values of a limited range, the states of recurrent layers among it."""
LAYERS = frozenset({
    *CONVOLUTIONS, "addmm", "baddbmm", "bilinear", "bmm", "einsum", "elu", "embedding", "gelu", "leaky_relu", "linear",
    "matmul", "__matmul__", "mm", "silu",
})  # fmt: skip
"""Operations that give scores of any size."""
SQUARED = DISTANCES
"""Losses that compare by value, with the differences that those written by hand begin with."""
WEIGHTED = MULTIPLICATIONS
"""Products with which a cross entropy written by hand begins."""
PICKED = PICKS
"""Choices of one class for each row, with which others begin."""

_FILLED_UP = {
    "embedding": "the embedding has what they are padded with as its `padding_idx`",
    "pad_sequence": "they are padded here",
    "filling up": "they are filled up to the longest here",
    "pad_packed_sequence": "they are unpacked with their lengths here",
}


def trains(trace: Trace, backward: int | None) -> bool:
    """Whether a backward reached parameters that learn."""
    ran = trace.backwards.get(backward) if backward is not None else None
    return ran is not None and bool(set(ran.reached) - trace.frozen)


def descends(trace: Trace, backward: int | None) -> bool:
    """Whether an optimizer goes against the gradients of a backward. What the program does by itself may climb."""
    ran = trace.backwards.get(backward) if backward is not None else None
    return ran is not None and bool(trace.optimized.intersection(ran.reached) - trace.frozen - trace.moved_by_hand)


def faulty_losses(
    trace: Trace,
    *operations: str,
    where: Callable[[LossComputed], bool],
    blamed: Callable[[LossComputed], Shaping | None] = lambda event: None,
) -> Iterator[list[LossComputed]]:
    """Losses that train something and of which this is true, by their lines, or by the line of what is to blame.

    Where it is not true of every loss at a line that was looked at, made in the same way, it is an accident.
    """
    lines: dict[tuple[Location | None, Location | None], list[LossComputed]] = {}
    for event in trace.of(LossComputed):
        if event.operation in operations and trains(trace, event.backward):
            shaping = event.prediction.shaping
            lines.setdefault((event.location, shaping.location if shaping else None), []).append(event)
    causes: dict[Location | None, list[LossComputed]] = {}
    for events in lines.values():
        if all(map(where, events)):
            cause = blamed(events[0])
            causes.setdefault(cause.location if cause is not None else events[0].location, []).extend(events)
    yield from causes.values()


def are_probabilities(operand: LossOperand) -> bool:
    """Whether every row holds values from 0 to 1 that sum to one."""
    low, sums = operand.facts.low, operand.sums
    return low is not None and low >= 0 and bool(sums) and _is(sums, 1.0)


def are_log_probabilities(operand: LossOperand) -> bool:
    """Whether the exponentials of every row sum to one."""
    return bool(operand.log_sums) and _is(operand.log_sums, 0.0)


def are_exchanged(event: LossComputed) -> bool:
    """Whether a divergence got log-probabilities where it takes probabilities, and numbers that are none the other way
    round; by what made them, where a first step has spoiled the values."""
    given, wanted = event.prediction, event.target
    low, high = given.facts.low, given.facts.high
    is_positive = low is not None and high is not None and 0 <= low < high
    are_no_logarithms = is_positive and not given.facts.requires_grad
    has_probabilities = are_probabilities(given) or _is_made_by(given, *SOFTMAXES)
    has_logarithms = are_log_probabilities(wanted) or _is_made_by(wanted, "log_softmax")
    takes_probabilities = event.operation == "kl_div" and not event.log_target
    learns = wanted.facts.requires_grad
    return takes_probabilities and learns and has_logarithms and (has_probabilities or are_no_logarithms)


def _is_made_by(operand: LossOperand, *operations: str) -> bool:
    return operand.shaping is not None and operand.shaping.operation in operations


def _is(pair: list[float], value: float) -> bool:
    return all(abs(each - value) <= _ROUNDING for each in pair)


def sum_to_one(pair: list[float]) -> bool:
    return bool(pair) and _is(pair, 1.0)


def classes(event: LossComputed) -> int:
    """How many classes a loss function takes its prediction to have."""
    shape = event.prediction.facts.shape
    return shape[event.class_dim] if event.class_dim is not None else 1


def chain(shaping: Shaping | None) -> list[str]:
    """The operations that shaped a tensor, the last first."""
    found = []
    while shaping is not None:
        found.append(shaping.operation)
        shaping = shaping.behind
    return found


def elsewhere(text: str, location: Location | None, *others: Location | None) -> tuple[Related, ...]:
    """A second place of a finding, unless it is one that is named already."""
    return (Related(text, location),) if location is not None and location not in others else ()


def filled_up_at(declared: str, location: Location | None, *others: Location | None) -> tuple[Related, ...]:
    """Where sequences were said to be filled up at the end."""
    return elsewhere(_FILLED_UP[declared], location, *others)


def named(operand: LossOperand, otherwise: str) -> str:
    """The variable that held an operand, or else what it is."""
    return f"`{operand.facts.name}`" if operand.facts.name else otherwise
