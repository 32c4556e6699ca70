"""Whether the samples of a batch depend on one another in a module, tried on a copy of it, and what mixes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from autograd_doctor.reading.functional_modes import draws_numbers
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.operation_kinds import Kind, classify
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import TOLERANCE, Undecided, alone, apart, fresh

_MOST_RECORDED = 4000
"""Operations of one call."""


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
    """What a call computed: for each operation, and for each module, the values that belong to one sample.

    paired: the places of operations to which each pair of samples was given.
    """

    operations: list[tuple[str, Place | None, list[torch.Tensor]]] = field(default_factory=list)
    paired: set[int] = field(default_factory=set)
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
        first, again = (_called(module, args, kwargs, row, samples) for _ in range(2))
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
            return _blamed(first, other, change)
    elsewhere = _called(module, *same, 0, samples)
    change = _difference(_values(other), _values(elsewhere))
    if change <= TOLERANCE:
        return None
    if any(_difference(other.whole, _called(module, *same, row, samples, seed).whole) > 0 for seed in (1, 2)):
        return None  # each place gets noise of its own
    return _blamed(other, elsewhere, change)._replace(by_position=True)


def _called(module: nn.Module, args: Any, kwargs: Any, row: int, samples: int, seed: int = 0) -> _Call:
    call = _Call()
    hooks = [inner.register_forward_hook(_noting(call, path, row, samples)) for path, inner in modules_in(module)]
    try:
        with alone(seed), _Recording(call, row, samples):
            output = module(*fresh(args), **fresh(kwargs))
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


class _Recording(TorchFunctionMode):
    """Notes operations, at lines of the module that is tried: one of torch's own has none, and where it is tried is
    no such line."""

    def __init__(self, call: _Call, row: int, samples: int) -> None:
        super().__init__()
        self._call, self._row, self._samples = call, row, samples
        self._outside = place()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        kind, name = classify(func)
        if kind is Kind.OPERATION and len(self._call.operations) < _MOST_RECORDED:
            rows = list(_rows(tensors_in([result]), self._row, self._samples))
            where = place()
            if _are_pairs([tuple(each.shape) for each in args if isinstance(each, torch.Tensor)], self._samples):
                self._call.paired.add(len(self._call.operations))
            self._call.operations.append((name, where if where != self._outside else None, rows))
        return result


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
    for (name, _, rows), (twice, _, noisy), (now, _, others) in zip(
        first.operations, redrawn.operations, other.operations, strict=False
    ):
        if not name == twice == now or draws_numbers(name) or _difference(rows, noisy) > 0:
            return False
        if TOLERANCE < _difference(rows, others) < float("inf"):  # rows of a choice are none of the samples'
            return True
    return False


def _blamed(first: _Call, other: _Call, change: float) -> Mixed:
    """The first module and the first operation that made a difference."""
    operation: tuple[str, Place | None] = ("", None)
    pairs = False
    for number, ((name, at, rows), (again, where, others)) in enumerate(
        zip(first.operations, other.operations, strict=False)
    ):
        if (name, at) != (again, where):  # it goes another way, as where it iterates until all of a batch are done
            break
        if _difference(rows, others) > TOLERANCE:
            operation, pairs = (name, at), number in first.paired
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
