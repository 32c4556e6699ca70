"""Whether the samples of a batch depend on one another in a module, tried on a copy of it, and what mixes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.reading.functional_modes import draws_numbers
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.places import Place
from autograd_doctor.reading.recorded_calls import Given, Recording
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import TOLERANCE, Undecided, alone, apart, fresh


class Mixed(NamedTuple):
    """What depends on other samples: by how much, the path of the innermost module, the first operation and its place.

    axes: of the input of that module. output: the shape of the first output. by_position: it depends on the place of a
    sample in its batch, whatever the others are. pairs: the operation was given the samples twice, along axes of their
    own, so that each pair of them meets.
    """

    change: float
    path: str
    operation: str
    place: Place | None
    axes: int
    output: list[int]
    by_position: bool = False
    pairs: bool = False


@dataclass
class _Call:
    """What a call computed: for each operation, and for each module, the values that belong to one sample."""

    operations: list[Given] = field(default_factory=list)
    modules: list[tuple[str, int, list[torch.Tensor], list[torch.Tensor]]] = field(default_factory=list)
    outputs: list[torch.Tensor] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    whole: list[torch.Tensor] = field(default_factory=list)
    """The outputs with all their samples."""


def tried(module: nn.Module, args: Any, kwargs: Any, samples: int) -> Mixed | None:
    """Call a copy with a batch, and with batches in which one sample stands in for all others; None if it stays alone.

    The last sample and one in the middle are watched: what runs along the batch may go one way only. Where all samples
    are the same one, all must get the same. A difference counts only if other random numbers make none, or where
    samples mix ahead of them.
    """
    for row in sorted({samples // 2, samples - 1}):
        first = _called(module, args, kwargs, row, samples)
        again = _called(module, args, kwargs, row, samples, noted=False)
        if _difference(first.whole, again.whole) > 0:
            raise Undecided("its result differs from call to call")
        if not first.outputs:
            raise Undecided("its output does not have one sample for each of its inputs")
        same = _repeated(args, row, samples), _repeated(kwargs, row, samples)
        other = _called(module, *same, row, samples)
        change = _difference(first.outputs, other.outputs)
        if change == float("inf"):
            raise Undecided("the shapes of its outputs depend on the values of its inputs")
        if change > TOLERANCE:
            redrawn = _called(module, args, kwargs, row, samples, seed=1)
            if _difference(first.whole, redrawn.whole) > 0 and not _differs_before_noise(first, redrawn, other):
                raise Undecided("its result depends on random numbers")
            return _blamed(first, other, change, samples)
    elsewhere = _called(module, *same, 0, samples)
    change = _difference(_values(other), _values(elsewhere))
    if change <= TOLERANCE:
        return None
    redraws = (_called(module, *same, row, samples, seed, noted=False) for seed in (1, 2))
    if any(_difference(other.whole, redrawn.whole) > 0 for redrawn in redraws):
        return None  # each place gets noise of its own
    return _blamed(other, elsewhere, change, samples)._replace(by_position=True)


def _called(
    module: nn.Module, args: Any, kwargs: Any, row: int, samples: int, seed: int = 0, *, noted: bool = True
) -> _Call:
    """noted: also what is inside. Hooks and mode are there in any case: torch takes another way without them."""
    call = _Call()
    notes = ((_noting(call, path, row, samples) if noted else _passing, inner) for path, inner in modules_in(module))
    hooks = [inner.register_forward_hook(note) for note, inner in notes]
    try:
        recording = Recording((lambda results: list(_rows(results, row, samples))) if noted else None)
        with alone(seed), recording:
            output = module(*fresh(args), **fresh(kwargs))
        call.operations = recording.operations
    finally:
        for hook in hooks:
            hook.remove()
    results = tensors_in([output], EVERYTHING)
    call.outputs = list(_rows(results, row, samples))
    call.whole = [result.detach().clone() for result in results if _has(result, samples)]
    call.shape = next((list(result.shape) for result in results if _has(result, samples)), [])
    return call


def _noting(call: _Call, path: str, row: int, samples: int) -> Any:
    def note(module: nn.Module, args: Any, output: Any) -> None:
        given = tensors_in([args], EVERYTHING)
        inside, outside = list(_rows(given, row, samples)), list(_rows(tensors_in([output], EVERYTHING), row, samples))
        call.modules.append((path, given[0].dim() if given else 0, inside, outside))

    return note


def _passing(module: nn.Module, args: Any, output: Any) -> None:
    """Note nothing."""


def _are_pairs(shapes: list[tuple[int, ...]], samples: int) -> bool:
    """Whether one operand has the samples along the first axis and a 1 in the second, and the other has them the other
    way round. A column and a row without an axis for it meet so by mistake."""
    if len(shapes) != 2 or len(shapes[0]) != len(shapes[1]):
        return False
    return {shape[:2] for shape in shapes} == {(samples, 1), (1, samples)}


def _rows(tensors: list[torch.Tensor], row: int, samples: int) -> Iterator[torch.Tensor]:
    """Copies of the values of one sample, of tensors with one row for each."""
    for tensor in tensors:
        if _has(tensor, samples):
            yield tensor.detach()[row].clone()


def _has(tensor: torch.Tensor, samples: int) -> bool:
    if type(tensor) not in (torch.Tensor, nn.Parameter) or tensor.layout is not torch.strided or tensor.is_nested:
        return False
    return tensor.dim() > 0 and tensor.shape[0] == samples


def part_of(value: Any, samples: int, few: int) -> Any:
    """What is given of the first few samples."""
    if isinstance(value, torch.Tensor):
        return value[:few] if _has(value, samples) else value
    if type(value) in (list, tuple) and len(value) == samples and all(type(each) in (int, float) for each in value):
        return value[:few]
    if type(value) in (list, tuple):
        return type(value)(part_of(each, samples, few) for each in value)
    return {key: part_of(each, samples, few) for key, each in value.items()} if type(value) is dict else value


def _repeated(value: Any, row: int, samples: int) -> Any:
    """The same with each row the one; numbers in a list, such as lengths, are rows as well."""
    if isinstance(value, torch.Tensor):
        return value[row : row + 1].expand_as(value).clone() if _has(value, samples) else value
    if type(value) in (list, tuple) and len(value) == samples and all(type(each) in (int, float) for each in value):
        return type(value)([value[row]] * samples)
    if type(value) in (list, tuple):
        return type(value)(_repeated(each, row, samples) for each in value)
    if type(value) is dict:
        return {key: _repeated(each, row, samples) for key, each in value.items()}
    return value


def _values(call: _Call) -> list[torch.Tensor]:
    """Without whole numbers: the places of samples themselves are returned as labels of a contrastive loss."""
    return [output for output in call.outputs if output.is_floating_point()]


def _difference(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    """The largest relative difference; infinite where they are not alike, 0 where there are no numbers to compare."""
    if [each.shape for each in some] != [each.shape for each in others]:
        return float("inf")
    return max((apart(a, b) for a, b in zip(some, others, strict=True)), default=0.0)


def _differs_before_noise(first: _Call, redrawn: _Call, other: _Call) -> bool:
    """Whether other samples make a difference to an operation ahead of all that draws random numbers, or depends on
    some."""
    for one, noisy, changed in zip(first.operations, redrawn.operations, other.operations, strict=False):
        if not one.name == noisy.name == changed.name or draws_numbers(one.name):
            return False
        if _difference(one.values, noisy.values) > 0:
            return False
        if TOLERANCE < _difference(one.values, changed.values) < float("inf"):  # rows of a choice are no samples'
            return True
    return False


def _blamed(first: _Call, other: _Call, change: float, samples: int) -> Mixed:
    """The first module and the first operation that made a difference."""
    operation: tuple[str, Place | None] = ("", None)
    pairs = False
    for one, now in zip(first.operations, other.operations, strict=False):
        if (one.name, one.place) != (
            now.name,
            now.place,
        ):  # it iterates until all are done, say
            break
        if _difference(one.values, now.values) > TOLERANCE:
            operation, pairs = (one.name, one.place), _are_pairs(one.shapes, samples)
            break
    mixing = (
        (path, axes)
        for (path, axes, inside, outside), (_, _, inside_now, outside_now) in zip(
            first.modules, other.modules, strict=False
        )
        if _difference(outside, outside_now) > TOLERANCE >= _difference(inside, inside_now)
    )
    path, axes = next(mixing, ("", 0))
    return Mixed(change, path, *operation, axes, first.shape, pairs=pairs)
