"""Difference quotients of a custom `autograd.Function`, beside what its backward returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch

from autograd_doctor.clock import CLOCK

Apply = Callable[..., Any]

_STEPS = (1e-6, 1e-4)
"""Widths of the quotients: the one that `gradcheck` uses by default, and a coarser one that must agree with it."""

_RELATIVE, _OF_LARGEST = 1e-2, 1e-3
"""How far apart slopes may be: the error of a quotient of the coarser width over inputs of ordinary size, with room."""

_WAITING = 10
"""How many times longer a function may take by the clock than by computing."""


class OutOfTime(Exception):
    """Judging took longer than it may."""


class Patience:
    """How long a function may take: seconds of computing, so that a busy machine changes no verdict, and several times
    as many by the clock, so that a function that sleeps ends, too."""

    def __init__(self, seconds: float) -> None:
        self._computing = CLOCK.process_time() + seconds
        self._waiting = CLOCK.monotonic() + _WAITING * seconds

    @property
    def is_over(self) -> bool:
        return CLOCK.process_time() > self._computing or CLOCK.monotonic() > self._waiting


@dataclass(frozen=True)
class Case:
    """One call, copied: tensors are ours, in float64, and cut; `wanted` are the positions that require a gradient."""

    apply: Apply
    arguments: tuple[Any, ...]
    wanted: tuple[int, ...]
    patience: Patience

    def leaves(self) -> list[torch.Tensor]:
        return [self.arguments[position].clone().requires_grad_() for position in self.wanted]

    def run(self, *leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The differentiable outputs for these leaves; clones protect them from functions that work in place."""
        if self.patience.is_over:
            raise OutOfTime
        arguments = [value.clone() if isinstance(value, torch.Tensor) else value for value in self.arguments]
        for position, leaf in zip(self.wanted, leaves, strict=True):
            arguments[position] = leaf.clone()
        result = self.apply(*arguments)
        outputs = result if isinstance(result, tuple | list) else (result,)
        return tuple(out for out in outputs if isinstance(out, torch.Tensor) and out.is_floating_point())

    def values(self, leaves: Sequence[torch.Tensor]) -> torch.Tensor:
        """All outputs in one row."""
        with torch.no_grad():
            return torch.cat([out.reshape(-1).double() for out in self.run(*leaves)])


@dataclass(frozen=True)
class Slopes:
    """Rows are outputs, columns the elements of one input: what backward returned, and the difference quotients.

    `reliable` leaves out entries where the forward has a kink or computes too coarsely to tell; `blocks` are the rows
    of each output. `in_pairs`: both entries of a pair in a symmetric matrix are their mean.
    """

    returned: torch.Tensor
    measured: torch.Tensor
    reliable: torch.Tensor
    blocks: tuple[slice, ...]
    in_pairs: bool = False

    @property
    def wrong(self) -> torch.Tensor:
        return self.reliable & ~near(self.returned, self.measured)


def near(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Equal to a hundredth, or to a thousandth of the largest entry that both have.

    A jump is large on one side only: it must not make all others look alike.
    """
    size = torch.maximum(left.abs(), right.abs())
    largest = float(torch.minimum(left.abs(), right.abs()).max()) if size.numel() else 0.0
    return (left - right).abs() <= _RELATIVE * size + _OF_LARGEST * largest


def slopes(case: Case, leaves: Sequence[torch.Tensor], index: int) -> Slopes:
    """The slopes of all outputs with respect to one leaf."""
    return _of_symmetric(against(jacobian(case, leaves, index), case, leaves, index), leaves[index])


def _of_symmetric(found: Slopes, leaf: torch.Tensor) -> Slopes:
    """Of a forward that reads one triangle of a symmetric matrix: what both do together, which is all that counts."""
    is_square = leaf.dim() > 1 and leaf.shape[-1] == leaf.shape[-2] > 1
    if not is_square or not torch.allclose(leaf, leaf.mT):
        return found
    measured, reliable = (each.reshape(-1, *leaf.shape) for each in (found.measured, found.reliable))
    if bool(measured.tril(-1).any()) == bool(measured.triu(1).any()):
        return found
    returned, measured = (paired(each, leaf) for each in (found.returned, found.measured))
    return Slopes(returned, measured, (reliable & reliable.mT).reshape(measured.shape), found.blocks, in_pairs=True)


def paired(rows: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    matrices = rows.reshape(-1, *leaf.shape)
    return ((matrices + matrices.mT) / 2).reshape(rows.shape)


def against(returned: torch.Tensor, case: Case, leaves: Sequence[torch.Tensor], index: int) -> Slopes:
    """What was returned for one leaf, beside the difference quotients of a call."""
    here = case.values(leaves)
    fine, coarse = (_quotients(case, leaves, index, here, step) for step in _STEPS)
    smooth = near(*fine) & near(*coarse)
    measured = (fine[0] + fine[1]) / 2
    reliable = smooth & near(measured, (coarse[0] + coarse[1]) / 2)
    return Slopes(returned, measured, reliable, _blocks(case.run(*leaves)))


def jacobian(case: Case, leaves: Sequence[torch.Tensor], index: int, incoming: float = 1.0) -> torch.Tensor:
    """What backward returns, a row for each element of the outputs, per unit of the gradient that comes in.

    Each row is from a forward of its own, because some functions free what they saved.
    """
    rows = []
    outputs = case.run(*leaves)
    for which, output in enumerate(outputs):
        for element in range(output.numel()):
            fresh = case.run(*leaves)[which]
            arriving = torch.zeros_like(fresh).reshape(-1)
            arriving[element] = incoming
            rows.append(_row(fresh, arriving.reshape(fresh.shape), leaves[index]) / incoming)
    return torch.stack(rows)


def _blocks(outputs: Sequence[torch.Tensor]) -> tuple[slice, ...]:
    ends = list(accumulate(out.numel() for out in outputs))
    return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def _row(output: torch.Tensor, incoming: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    if not output.requires_grad:
        return leaf.new_zeros(leaf.numel())
    (gradient,) = torch.autograd.grad(output, leaf, incoming, allow_unused=True)
    return leaf.new_zeros(leaf.numel()) if gradient is None else gradient.reshape(-1).double()


def _quotients(
    case: Case, leaves: Sequence[torch.Tensor], index: int, here: torch.Tensor, step: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """One-sided difference quotients, to the right and to the left: they disagree at a kink."""
    right, left = [], []
    moved = [leaf.detach().clone() for leaf in leaves]
    flat = moved[index].reshape(-1)
    for element in range(flat.numel()):
        value = float(flat[element])
        width = step * max(1.0, abs(value))
        flat[element] = value + width
        right.append((case.values(moved) - here) / width)
        flat[element] = value - width
        left.append((here - case.values(moved)) / width)
        flat[element] = value
    return torch.stack(right, dim=1), torch.stack(left, dim=1)
