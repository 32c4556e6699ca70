"""All elements that a custom `autograd.Function` met, of which a few were judged: where else its gradient is wrong.

A backward may be right for small inputs and wrong for large ones, or for those of one sign. Whether there are such is
seen at any size, by moving all elements at once; halving those that move leads to one of them, and what is cut out
around it can be judged as any few elements are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from autograd_doctor.reading.derivatives import Verdict, copies_of, judge
from autograd_doctor.reading.directional import DIRECTIONS, Gradients, gradients
from autograd_doctor.reading.finite_differences import Case

_MOST_LOOKS = 8
"""Elements to judge around: at kinks of the forward both sides may be right."""
_SIZES = (24, 12, 6, 4, 2)
"""To which the shortest dimension is cut: larger than for a first look, for what is right is to stand beside it."""


def judge_elsewhere(case: Case) -> Verdict | None:
    """The verdict on a few of all elements, around one where the gradient is wrong; None where none is.

    case: uncut.
    """
    for index, element in _off(case):
        position = case.wanted[index]
        place = torch.unravel_index(torch.tensor(element, device="cpu"), case.arguments[position].shape)
        few = copies_of(case.arguments, _SIZES, _places(case.arguments[position], place))
        verdict = judge(replace(case, arguments=few)) if few is not None else None
        if verdict is not None and verdict.verdict in ("wrong", "differs", "surrogate"):
            return verdict
    return None


def _places(tensor: torch.Tensor, place: Sequence[torch.Tensor]) -> dict[int, set[int]]:
    """By the size of a dimension, the indices that an element has in those of this size."""
    found: dict[int, set[int]] = {}
    for size, at in zip(tensor.shape, place, strict=True):
        found.setdefault(size, set()).add(int(at))
    return found


def _off(case: Case) -> Iterator[tuple[int, int]]:
    """Leaves, and elements of theirs, the moving of which does other things to the outputs than the gradient says."""
    leaves = case.leaves()
    left = [(leaf.detach() != 0).to(leaf.dtype) for leaf in leaves]  # many are exactly 0 where a forward has its kink
    for number in range(DIRECTIONS + _MOST_LOOKS):
        index, element = _one_off(gradients(case, leaves), left) or (None, None)
        if index is not None and element is not None:
            left[index].reshape(-1)[element] = 0
            yield index, element
        elif number >= DIRECTIONS - 1:
            return


def _one_off(found: Gradients, left: Sequence[torch.Tensor]) -> tuple[int, int] | None:
    for index, elements in enumerate(left):
        moved = torch.randn_like(elements) * elements
        if found.off_by(index, moved) > 0:
            return index, _narrowed(found, index, moved)
    return None


def _narrowed(found: Gradients, index: int, moved: torch.Tensor) -> int:
    """The element to which halving leads, on the side that is off by more."""
    elements = moved.reshape(-1).nonzero().flatten()
    while elements.numel() > 1:
        halves = elements.tensor_split(2)
        off = []
        for half in halves:
            part = torch.zeros_like(moved).reshape(-1)
            part[half] = moved.reshape(-1)[half]
            off.append(found.off_by(index, part.reshape(moved.shape)))
        elements = halves[off.index(max(off))]
    return int(elements[0])
