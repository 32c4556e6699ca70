"""What the axes of a tensor stand for, followed through operations by shapes and strides alone.

An axis consists of atoms, which are whole axes of an earlier tensor or parts of them: the outer ones come first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, count
from math import prod
from operator import mul
from typing import Literal, NamedTuple

import torch

Role = Literal["", "samples", "channels", "features"]
How = Literal["permuted", "samples", "channels", "merged", "split"]
_KEYS = count()


@dataclass(frozen=True, slots=True)
class Atom:
    """An axis as something made it, or a part of one."""

    key: int
    size: int
    role: Role = ""


Axis = tuple[Atom, ...]
Axes = tuple[Axis, ...]


def fresh(size: int, role: Role = "") -> Axis:
    """An axis that was made just now."""
    return (Atom(next(_KEYS), size, role),)


def fresh_axes(tensor: torch.Tensor) -> Axes:
    return tuple(fresh(size) for size in tensor.shape)


def reshaped(axes: Axes, shape: Sequence[int]) -> Axes:
    """The axes of a tensor that holds the same values in the same order under another shape.

    An axis that takes a part of an atom cuts it; what does not come out even is of no known meaning.
    """
    left = deque(atom for axis in axes for atom in axis if atom.size > 1)
    return tuple(_taken(left, size) for size in shape)


def _taken(left: deque[Atom], size: int) -> Axis:
    """Take atoms off until they are of this size together."""
    taken: list[Atom] = []
    missing = size
    while missing > 1 and left:
        atom = left.popleft()
        if missing % atom.size == 0:
            taken.append(atom)
            missing //= atom.size
        elif atom.size % missing == 0:
            taken.append(Atom(next(_KEYS), missing))
            left.appendleft(Atom(next(_KEYS), atom.size // missing))
            missing = 1
        else:
            left.clear()  # from here on nothing is known
            return fresh(size)
    return tuple(taken) if missing == 1 else fresh(size)


def moved(axes: Axes, source: torch.Tensor, view: torch.Tensor) -> Axes | None:
    """The axes of a view that turns, cuts or leaves out some, told by strides; None if these do not tell."""
    if view._base is None or view.untyped_storage().data_ptr() != source.untyped_storage().data_ptr():
        return None
    known = {stride: axis for axis, stride, size in zip(axes, source.stride(), source.shape, strict=True) if size > 1}
    if len(known) < sum(size > 1 for size in source.shape):
        return None
    strides = dict(zip(source.stride(), source.shape, strict=True))
    found = []
    for size, stride in zip(view.shape, view.stride(), strict=True):
        axis = known.get(stride, ()) if size > 1 else ()
        is_features = len(axis) == 1 and axis[0].role == "features"
        whole = bool(axis) and strides.get(stride) == size
        found.append(axis if whole else fresh(size, "features" if is_features else ""))
    return tuple(found)


class Mixture(NamedTuple):
    """An axis got a size without the values that belong to it."""

    how: How
    size: int


def mixture(axes: Axes, before: Sequence[int], after: Sequence[int]) -> Mixture | None:
    """Whether a new shape gives some axis the size of another one, and other values than its own."""
    result = reshaped(axes, after)
    whole = {axis[0] for axis in axes if len(axis) == 1 and axis[0].size > 1}
    lost = [atom for atom in whole if (atom,) not in result]
    exchanged = _exchanged(before, after)
    if exchanged and {atom.size for atom in lost}.issuperset(exchanged):
        return None if _may_fold_heads(axes, before, after) else Mixture("permuted", exchanged[0])
    for atom in lost if len(after) > 1 else ():
        position = -1 if atom.role == "channels" else 0
        if (
            atom.role in ("samples", "channels")
            and after[position] == atom.size
            and not whole.issuperset(result[position])
        ):
            return Mixture(atom.role, atom.size)
    return _out_of_order(axes, before, after) if lost and before[0] == after[0] else None


def are_cut(axes: Axes, before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether the rows of a table were cut into shorter ones, each with values of one row alone."""
    (wide, now) = ([size for size in shape if size > 1] for shape in (before, after))
    return len(wide) == len(now) == 2 and before[0] == wide[0] == axes[0][0].size and wide[1] % now[1] == 0


def _may_fold_heads(axes: Axes, before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether features may be cut into heads that join the axis before, as many in each as that axis has."""
    is_features = len(axes[-1]) == 1 and axes[-1][0].role == "features"
    return is_features and list(after) == [*before[:-2], before[-1], before[-2]] and before[-1] % before[-2] == 0


def _out_of_order(axes: Axes, before: Sequence[int], after: Sequence[int]) -> Mixture | None:
    """Axes below the first that are merged, or one that is split, as only another order of them would allow."""
    if not all(len(axis) == 1 for axis, size in zip(axes, before, strict=True) if size > 1):
        return None
    wide, now = ([size for size in shape[1:] if size > 1] for shape in (before, after))
    if _fit(wide, now) and not _fit_in_order(wide, now):
        return Mixture("merged", now[0])
    if _fit(now, wide) and not _fit_in_order(now, wide):
        return Mixture("split", now[0])
    return None


def _fit(parts: Sequence[int], merged: Sequence[int]) -> bool:
    """Whether axes of these sizes, in whatever order, can be merged to axes of those."""
    if not merged or len(parts) <= len(merged):
        return sorted(parts) == sorted(merged)
    for chosen in (each for many in range(1, len(parts) + 1) for each in combinations(range(len(parts)), many)):
        rest = [size for position, size in enumerate(parts) if position not in chosen]
        if prod(parts[position] for position in chosen) == merged[0] and _fit(rest, merged[1:]):
            return True
    return False


def _fit_in_order(parts: Sequence[int], merged: Sequence[int]) -> bool:
    """Whether they can be in the order that they have; a part may be cut where an axis begins with it."""
    ends = list(accumulate(parts, mul))
    begin = 1
    for end in accumulate(merged, mul):
        inner = max((each for each in ends if each < end), default=1)
        outer = next(each for each in ends if each >= end)
        is_cut = end != outer and (begin < inner or end % inner or outer % end)
        if is_cut:
            return False
        begin = end
    return True


def _exchanged(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The sizes that changed their places, if both shapes have the same ones, but for those of 1."""
    wide, now = ([size for size in shape if size > 1] for shape in (before, after))
    return [b for a, b in zip(wide, now, strict=True) if a != b] if sorted(wide) == sorted(now) else []
