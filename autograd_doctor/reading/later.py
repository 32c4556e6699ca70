"""Sequences of tokens whose targets are the tokens that follow, or these very ones, and what a module looks at.

Tried on a copy: what it returns for earlier positions must stay as it is when the last token is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.reading.call_copies import CopiedCall
from autograd_doctor.reading.module_tree import modules_in, parameters_in
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.recorded_calls import Given, Listening, Recording
from autograd_doctor.reading.tensor_facts import at_home, near, read_together, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import TOLERANCE, Undecided, alone, apart

_FURTHEST = 2
"""Positions by which targets may be ahead: one in a language model, two if something shifted them twice."""
_LEAST = 8
"""Tokens that are compared: fewer agree by chance."""
_MOST_MET = 2**22
"""Numbers of what goes into operations with parameters."""
_SHORTEST, _LONGEST = 4, 4096
"""Places of a series."""
_ALIKE = 0.99
_MASKED = 0.7
"""Of the places that are chosen, BERT masks 80 %, and puts other tokens into some of the rest (arXiv:1810.04805)."""

Compared = Callable[[CopiedCall], torch.Tensor]
"""Makes a call, and gives what a loss compares of all that it computes."""


class Shift(NamedTuple):
    """Targets are the tokens so many positions further along a dimension."""

    dim: int
    ahead: int


def is_tokens(tensor: torch.Tensor) -> bool:
    """Whether it may be a batch of sequences of tokens: whole numbers, not all below 2 as those of a mask are."""
    if not readable(tensor) or tensor.dtype not in (torch.int32, torch.int64):
        return False
    if tensor.dim() != 2 or min(tensor.shape) < 1:
        return False
    if max(tensor.shape) <= _FURTHEST + 1:
        return False
    low, high = read_together(at_home(tensor).aminmax())
    return bool(high > 1 and low >= 0)


def shift_of(tokens: torch.Tensor, target: torch.Tensor) -> Shift | None:
    """By how much the targets of a loss are ahead of the tokens; None if they are not, or it cannot be told.

    tokens: of shape (batch, time) or (time, batch). target: of the same shape, one shorter in time, or either in one
    dimension. Negative targets stand for none.
    """
    found = {
        Shift(dim, ahead) for dim in (0, 1) for ahead in range(_FURTHEST + 1) if _is_ahead(tokens, target, dim, ahead)
    }
    return found.pop() if len(found) == 1 and not any(shift.ahead == 0 for shift in found) else None


def _is_ahead(tokens: torch.Tensor, target: torch.Tensor, dim: int, ahead: int) -> bool:
    shorter = list(tokens.shape)
    shorter[dim] -= 1
    shape = next((each for each in (list(tokens.shape), shorter) if target.numel() == each[0] * each[1]), None)
    if shape is None or (target.dim() > 1 and list(target.shape) != shape):
        return False
    wanted = target.reshape(shape)
    count = min(shape[dim], tokens.shape[dim] - ahead)
    if count < 1:
        return False
    wanted, later = wanted.narrow(dim, 0, count), tokens.narrow(dim, ahead, count)
    counts = wanted >= 0
    return int(counts.sum()) >= _LEAST and float((wanted == later)[counts].double().mean()) >= _ALIKE


def is_answer(tokens: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether the targets of a loss are the tokens themselves, but for those that stand for none."""
    if target.numel() != tokens.numel() or (target.dim() > 1 and target.shape != tokens.shape):
        return False
    wanted = target.reshape(tokens.shape)
    counts = wanted >= 0
    return int(counts.sum()) >= _LEAST and float((wanted == tokens)[counts].double().mean()) >= _ALIKE


def mask_of(tokens: torch.Tensor, target: torch.Tensor) -> int | None:
    """The token that was put into places of which the targets do not count, and into no other; None if there is none.

    tokens: of shape (batch, time), which the targets are, where they count. Places behind the last that counts in a
    sequence, or before the first, are not looked at: they may be filled up.
    """
    counts = target.reshape(tokens.shape) >= 0
    inside = ~counts & (counts.cumsum(1) > 0) & (counts.flip(1).cumsum(1).flip(1) > 0)
    left_out = tokens[inside]
    if len(left_out) < _LEAST:
        return None
    mask = int(left_out.mode().values)
    is_mask = float((left_out == mask).double().mean()) >= _MASKED and not bool((tokens[counts] == mask).any())
    return mask if is_mask else None


def is_series(tensor: torch.Tensor) -> bool:
    """Whether it may be a batch of series of numbers, of shape (batch, time) or (batch, time, features)."""
    is_plain = tensor.is_floating_point() and not tensor.requires_grad and readable(tensor)
    return is_plain and tensor.dim() in (2, 3) and tensor.shape[0] > 1 and _SHORTEST <= tensor.shape[1] <= _LONGEST


def shares_ahead(series: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
    """How many of the targets, one for each place of a series, are the values one place further on, and how many those
    there: two shares, left where the series is; None where they cannot be.

    series: of shape (batch, time) or (batch, time, features); target: the same, or without a last axis of one feature.
    """
    if target.numel() != series.numel() or target.shape[:2] != series.shape[:2]:
        return None
    if not readable(target):
        return None
    if target.device != series.device:
        series, target = near(series), near(target)
        if target.device != series.device:
            return None
    wanted = target.reshape(series.shape)
    ahead = (wanted[:, :-1] == series[:, 1:]).double().mean()
    same = (wanted == series).double().mean()
    return torch.stack([ahead, same])


def follows(shares: Sequence[float]) -> bool:
    """Whether targets with such shares are the values of a series one place further on."""
    ahead, same = shares
    return ahead >= _ALIKE > 2 * same


class Ahead(NamedTuple):
    """What looked at the last token: by how much earlier outputs changed, the innermost module, and the line of the
    first operation that did, or that calls the module."""

    change: float
    path: str
    place: Place | None


@dataclass
class _Call:
    """Of a call of the module, and of each module inside: what belongs to all positions but the last.

    summaries: tensors without a time axis that modules returned.
    """

    outputs: list[torch.Tensor] = field(default_factory=list)
    inner: list[tuple[str, Place | None, list[torch.Tensor], list[torch.Tensor]]] = field(default_factory=list)
    summaries: list[torch.Tensor] = field(default_factory=list)


def looks_ahead(call: CopiedCall, tokens: torch.Tensor, dim: int) -> Ahead | None:
    """Call a copy with sequences, and with others in their last places; None if earlier positions do not notice.

    tokens: the one of the arguments that holds the sequences; time runs along `dim`. Raises `Undecided` where the copy
    makes a summary of each sequence, as an autoencoder does: that may be meant to know all of it.
    """
    first, again = (_called(call, tokens.shape, dim) for _ in range(2))
    if not first.outputs or _difference(first.outputs, again.outputs) > 0:
        raise Undecided("its result for a position cannot be identified, or differs from call to call")
    with _changed(tokens, dim, tokens.shape[dim] - 1):
        other = _called(call, tokens.shape, dim)
    change = _least_difference(first.outputs, other.outputs)
    if change <= TOLERANCE:
        return None
    if _difference(first.outputs, _called(call, tokens.shape, dim, seed=1).outputs) > 0:
        raise Undecided("its result for a position depends on random numbers")
    if _difference(first.summaries, other.summaries) > TOLERANCE:
        raise Undecided("it summarises each sequence")
    blamed = (
        (path, where)
        for (path, where, given, returned), (_, _, given_now, returned_now) in zip(
            first.inner, other.inner, strict=False
        )
        if _difference(returned, returned_now) > TOLERANCE >= _difference(given, given_now)
    )
    path, where = next(blamed, ("", None))
    by_operation = _operations(call, tokens.shape[dim])
    with _changed(tokens, dim, tokens.shape[dim] - 1):
        looking = _operations(call, tokens.shape[dim])
    return Ahead(change, path, _first_apart(by_operation, looking) or where)


def reads_on(call: CopiedCall, tokens: torch.Tensor) -> bool:
    """Whether a copy reads sequences from the first to the last place: what it returns for a place depends on the token
    there and on earlier ones, and on none behind.

    Time runs along either dimension; along the other one, of samples, nothing flows. Raises `Undecided`.
    """

    called = partial(_by_place, call, tokens.shape)
    before = called(1)
    if not before or _difference(before, called(1, seed=1)) > 0:
        raise Undecided("its result for a position cannot be identified, or differs from call to call")
    alongs = {1: before, 0: [each.transpose(0, 1) for each in before]}
    return any(_reads_along(called, alongs[dim], tokens, dim) for dim in alongs if tokens.shape[dim] > 2)


def sees_itself(call: CopiedCall, tokens: torch.Tensor) -> bool:
    """Whether what a copy returns for a place depends on the token there, in each of the sequences. Raises `Undecided`.

    Tried in the first place and in the middle, in training mode: what a model leaves out of its input there is hidden.
    """

    called = partial(_by_place, call, tokens.shape, 1)
    call.module.train()
    before = called()
    if not before or _difference(before, called()) > 0:
        raise Undecided("its result for a position cannot be identified, or differs from call to call")
    for position in (0, tokens.shape[1] // 2):
        own = tokens[:, position].clone()
        with _changed(tokens, 1, position):
            changed = tokens[:, position] != own
            after = called()
        rows = [(a[position][changed], b[position][changed]) for a, b in zip(before, after, strict=True)]
        if not any(all(apart(x, y) > TOLERANCE for x, y in zip(a, b, strict=True)) for a, b in rows):
            return False
    return True


def reads_backwards(call: CopiedCall, series: torch.Tensor) -> float:
    """By how much what a copy returns for earlier places of a series changes with its last values, if what it returns
    for later ones does not change with the first values at all; 0 for any other copy. Raises `Undecided`.
    """

    called = partial(_by_place, call, series.shape[:2], 1)
    before = called()
    if len(before) != 1 or _difference(before, called(seed=1)) > 0:
        raise Undecided("its result for a position cannot be identified, or differs from call to call")
    with _changed(series, 1, series.shape[1] - 1):
        by_last = called()
    with _changed(series, 1, 0):
        by_first = called()
    later = _difference([each[1:] for each in before], [each[1:] for each in by_first])
    earlier = _difference([each[:-1] for each in before], [each[:-1] for each in by_last])
    return earlier if later == 0 and earlier > TOLERANCE else 0.0


def heeds(call: CopiedCall, tokens: torch.Tensor) -> bool:
    """Whether what a copy returns for some place depends on these tokens of what it is given. Raises `Undecided`."""

    return _heeds_place(partial(_by_place, call, tokens.shape, 1), tokens, 1, 0)


def heeds_end(call: CopiedCall, series: torch.Tensor, dim: int, compared: Compared) -> bool:
    """Whether what is compared of all that a copy returns depends on the last place of a series. Raises `Undecided`."""

    def called() -> list[torch.Tensor]:
        with alone():
            return [compared(call).detach().clone()]

    return _heeds_place(called, series, dim, series.shape[dim] - 1)


def end_comes_through(call: CopiedCall, series: torch.Tensor, dim: int) -> bool:
    """Whether the last place of a series comes to parameters of a copy as no random numbers have changed it: one that
    is made noisy, dropped or swapped before cannot be copied. Raises `Undecided`.

    Looked at is what goes, without having met a parameter, into an operation with what has.
    """
    for _, parameter in parameters_in(call.module):
        parameter.requires_grad_(parameter.is_floating_point())
    before, other = _met_by_parameters(call, 0), _met_by_parameters(call, 1)
    with _changed(series, dim, series.shape[dim] - 1):
        after = _met_by_parameters(call, 0)
    if not [each.shape for each in before] == [each.shape for each in other] == [each.shape for each in after]:
        raise Undecided("what it computes differs from call to call")
    changed = [a != b for a, b in zip(before, after, strict=True)]
    return any(
        bool(where.any()) and torch.equal(a[where], b[where])
        for where, a, b in zip(changed, before, other, strict=True)
    )


def _met_by_parameters(call: CopiedCall, seed: int) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []

    def began(name: str, where: Place | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = tensors_in((*args, *kwargs.values()))
        plain = [each for each in given if not each.requires_grad]
        if len(plain) < len(given):
            found.extend(each.clone() for each in plain)
        if sum(each.numel() for each in found) > _MOST_MET:
            raise Undecided("too much data meets its parameters")

    with alone(seed), Listening(began):
        call.made()
    return found


def _heeds_place(called: Callable[[], list[torch.Tensor]], series: torch.Tensor, dim: int, place: int) -> bool:
    before = called()
    if _difference(before, called()) > 0:
        raise Undecided("its result differs from call to call")
    with _changed(series, dim, place):
        after = called()
    return _difference(before, after) > TOLERANCE


def _reads_along(
    called: Callable[[int], list[torch.Tensor]], before: list[torch.Tensor], tokens: torch.Tensor, dim: int
) -> bool:
    def change(now: list[torch.Tensor], first: int, last: int) -> float:
        return _difference([each[first:last] for each in before], [each[first:last] for each in now])

    end = tokens.shape[dim] - 1
    with _changed(tokens, dim, end):
        by_last = called(dim)
    if change(by_last, 0, end) > TOLERANCE:
        return False
    with _changed(tokens, dim, 0):
        by_first = called(dim)
    return min(change(by_last, end, end + 1), change(by_first, 1, end + 1)) > TOLERANCE


@contextmanager
def _changed(tokens: torch.Tensor, dim: int, position: int) -> Iterator[None]:
    before = tokens.clone()
    tokens.select(dim, position).copy_(_others(tokens, dim, position))
    try:
        yield
    finally:
        tokens.copy_(before)


def _others(tokens: torch.Tensor, dim: int, position: int) -> torch.Tensor:
    """For a place, tokens that the sequences hold at another one, some of them not those that are there."""
    own = tokens.select(dim, position)
    for elsewhere in range(tokens.shape[dim]):
        others = tokens.select(dim, elsewhere).clone()
        if bool((others != own).any()):
            return others
    raise Undecided("its sequences have only one token")


def _by_place(call: CopiedCall, shape: torch.Size, dim: int, seed: int = 0) -> list[torch.Tensor]:
    """What a copy returns for each place."""
    with alone(seed):
        output = call.made()
    return [each.clone() for each in _by_time(tensors_in([output], EVERYTHING), shape, dim)]


def _called(call: CopiedCall, shape: torch.Size, dim: int, seed: int = 0) -> _Call:
    noted = _Call()
    outside = place()
    inside = modules_in(call.module)
    hooks = [inner.register_forward_hook(_noting(noted, path, shape, dim, outside)) for path, inner in inside]
    try:
        with alone(seed):
            output = call.made()
    finally:
        for hook in hooks:
            hook.remove()
    noted.outputs = list(_earlier(tensors_in([output], EVERYTHING), shape, dim))
    return noted


def _operations(call: CopiedCall, length: int) -> list[Given]:
    """What they give of all places but the last of so many."""
    recording = Recording(
        lambda results: [part for each in results if (part := _without_last(each, length)) is not None]
    )
    with alone(), recording:
        call.made()
    return recording.operations


def _without_last(tensor: torch.Tensor, length: int) -> torch.Tensor | None:
    """What belongs to all places but the last, in weights of both those that look and those looked at; None without
    one."""
    axes = [axis for axis, size in enumerate(tensor.shape) if size == length]
    if not axes or not tensor.is_floating_point():
        return None
    are_weights = axes[-2:] == [tensor.dim() - 2, tensor.dim() - 1]
    for axis in axes[-2:] if are_weights else axes[-1:]:
        tensor = tensor.narrow(axis, 0, length - 1)
    return tensor.detach().clone()


def _first_apart(some: list[Given], others: list[Given]) -> Place | None:
    """The line of the first operation that gives earlier places something else; None where they part before."""
    for one, other in zip(some, others, strict=False):
        if one.name != other.name or [each.shape for each in one.values] != [each.shape for each in other.values]:
            return None
        if one.place is not None and _difference(one.values, other.values) > TOLERANCE:
            return one.place
    return None


def _noting(call: _Call, path: str, shape: torch.Size, dim: int, outside: Place | None) -> Callable[..., None]:
    def note(module: nn.Module, args: Any, output: Any) -> None:
        returned = tensors_in([output], EVERYTHING)
        returned = returned[:1] if isinstance(module, nn.RNNBase) else returned  # the others are its last states
        where = place()
        given = list(_earlier(tensors_in([args], EVERYTHING), shape, dim))
        call.inner.append((path, where if where != outside else None, given, list(_earlier(returned, shape, dim))))
        call.summaries += (each.clone() for each in returned if _is_summary(each, shape, dim))

    return note


def _earlier(tensors: list[torch.Tensor], shape: torch.Size, dim: int) -> Iterator[torch.Tensor]:
    """Copies of what belongs to all positions but the last, of tensors with a value or more for each token."""
    for by_time in _by_time(tensors, shape, dim):
        yield by_time[:-1].clone()


def _by_time(tensors: list[torch.Tensor], shape: torch.Size, dim: int) -> Iterator[torch.Tensor]:
    """Tensors with a value or more for each token, the positions first."""
    for tensor in tensors:
        flat = tensor.dim() == 2 and tensor.shape[0] == shape.numel()
        whole = tensor.reshape(*shape, -1) if flat else tensor
        for axes in (tuple(shape), tuple(reversed(shape))):
            if tuple(whole.shape[:2]) == axes and whole.is_floating_point():
                along = dim if axes == tuple(shape) else 1 - dim
                yield whole.movedim(along, 0)
                break


def _is_summary(tensor: torch.Tensor, shape: torch.Size, dim: int) -> bool:
    """Whether it has values for each sequence, and no axis for time."""
    batch, time = shape[1 - dim], shape[dim]
    return batch in tensor.shape and time not in tensor.shape and tensor.shape[0] != shape.numel()


def _least_difference(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    """Of several outputs that which changed least: a model that reads both ways returns one for each."""
    return min((_difference([a], [b]) for a, b in zip(some, others, strict=True)), default=0.0)


def _difference(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    if [each.shape for each in some] != [each.shape for each in others]:
        raise Undecided("the shapes of its results depend on the tokens")
    return max((apart(a, b) for a, b in zip(some, others, strict=True)), default=0.0)
