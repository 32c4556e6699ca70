"""Sequences of different lengths that were filled up to the same one, and where they hold the filling."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_doctor.reading.tensor_facts import at_home, readable

_MOST_ELEMENTS = 2**20


class Padding(NamedTuple):
    """Which positions of a batch are filled up. mask: two axes, one of them `time`; value: what is held there.

    ends: of sequences of whole numbers, the last ones before the filling.
    """

    mask: torch.Tensor
    value: float
    time: int
    ends: torch.Tensor | None


def padding_of(tensor: torch.Tensor) -> Padding | None:
    """What the sequences of a batch are filled up with at their ends; None if they are not, or it cannot be told.

    tensor: of whole numbers, (batch, time) or (time, batch); or of features, with an axis more, filled up with zeros.
    Padding is one value that stands nowhere but at the ends, two positions or more, and not as long in each sequence.
    """
    if not readable(tensor) or not 0 < tensor.numel() <= _MOST_ELEMENTS:
        return None
    if tensor.dim() == 3 and tensor.is_floating_point():
        candidates = [at_home((tensor == 0).all(dim=2))] * 2
        values = [0.0, 0.0]
    elif tensor.dim() == 2 and tensor.dtype in (torch.int32, torch.int64):
        near = at_home(tensor)
        values = [float(near.select(dim, -1).mode().values) for dim in (0, 1)]
        candidates = [near == value for value in values]
    else:
        return None
    for dim, (mask, value) in enumerate(zip(candidates, values, strict=True)):
        if _is_at_the_ends(mask, dim):
            return Padding(mask, value, dim, _last(near, mask, dim) if tensor.dim() == 2 else None)
    return None


def _is_at_the_ends(filled: torch.Tensor, dim: int) -> bool:
    """Whether each run goes on to the end, some are longer than one, and not all are of one length."""
    length, runs = filled.shape[dim], filled.sum(dim)
    low, high = int(runs.min()), int(runs.max())
    if high < 2 or low == high or high == length:
        return False
    ended = filled.narrow(dim, 0, length - 1) & ~filled.narrow(dim, 1, length - 1)
    return not bool(ended.any())


def _last(values: torch.Tensor, filled: torch.Tensor, dim: int) -> torch.Tensor:
    """Of each sequence, the value at its last position that is not filled up."""
    return values.gather(dim, (~filled).sum(dim, keepdim=True) - 1)


class PaddedRows(NamedTuple):
    """Targets of the positions of sequences, beside which of these are filled up."""

    padding: Padding
    mask: torch.Tensor
    targets: torch.Tensor

    @property
    def padded(self) -> torch.Tensor:
        return self.targets[self.mask]

    def all_end_with(self, value: int) -> bool:
        """Whether each sequence is to be followed by this, once at least, and nothing before marks its end.

        targets: what comes next, or the sequences themselves, of which one that fills all positions ends with these.
        """
        ends, time = self.padding.ends, self.padding.time
        if ends is None or ends.unique().numel() == 1:
            return False
        last = _last(self.targets, self.mask, time)
        return bool((last == value).all()) or torch.equal(last, ends)


def padded_targets(padding: Padding, target: torch.Tensor) -> PaddedRows | None:
    """The targets of these sequences; None where they cannot belong to them.

    target: one for each position, in as many axes or in one, or for all positions but the first or the last.
    """
    mask = padding.mask
    shapes = {each.shape: each for each in (mask, mask[:-1], mask[:, :-1])}
    fitting = [
        each
        for shape, each in shapes.items()
        if target.shape == shape or (target.dim() == 1 and target.numel() == each.numel())
    ]
    if len(fitting) != 1:
        return None
    return PaddedRows(padding, fitting[0], at_home(target).reshape(fitting[0].shape))
