"""Judging a custom `autograd.Function` on inputs of our own: does its backward agree with difference quotients?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch.autograd import gradcheck, gradgradcheck

Apply = Callable[..., Any]
_STEPS = (1e-6, 1e-4)
_MOST_ELEMENTS = (160, 512)


@dataclass(frozen=True)
class Verdict:
    """What came out; `input` counts from 0, `expected` is the difference quotient, `found` what backward returned."""

    verdict: Literal["right", "wrong", "surrogate", "not judged"]
    reason: str = ""
    input: int | None = None
    error: float | None = None
    expected: float | None = None
    found: float | None = None


class OutOfTime(Exception):
    """Judging took longer than it may."""


class Patience:
    """How long a function may take: seconds of computing, so that a busy machine changes no verdict, and ten times as
    many by the clock, so that a function that sleeps ends, too."""

    def __init__(self, seconds: float) -> None:
        self._computing = time.process_time() + seconds
        self._waiting = time.monotonic() + 10 * seconds

    @property
    def is_over(self) -> bool:
        return time.process_time() > self._computing or time.monotonic() > self._waiting


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

    `reliable` leaves out entries where the forward has a kink or computes too coarsely to tell.
    """

    returned: torch.Tensor
    measured: torch.Tensor
    reliable: torch.Tensor

    @property
    def wrong(self) -> torch.Tensor:
        return self.reliable & ~near(self.returned, self.measured)

    @property
    def flat(self) -> bool:
        """Whether the forward does not respond to this input at all."""
        return not bool(self.measured[self.reliable].any())


def near(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Equal to a hundredth, or to a thousandth of the largest entry."""
    size = torch.maximum(left.abs(), right.abs())
    largest = float(size.max()) if size.numel() else 0.0
    return (left - right).abs() <= 0.01 * size + 1e-3 * largest


def judge(case: Case, by_design: str) -> Verdict:
    """First derivatives. `by_design` is a word in the source that marks a surrogate gradient, if there is one."""
    leaves = case.leaves()
    if not torch.equal(case.values(leaves), case.values(leaves)):
        return Verdict("not judged", "it gives another result each time")
    if not any(out.requires_grad for out in case.run(*leaves)):
        return Verdict("not judged", "it has no differentiable output")
    if gradcheck(case.run, leaves, raise_exception=False, check_undefined_grad=False):
        return Verdict("right")
    slopes = [_slopes(case, leaves, index) for index in range(len(leaves))]
    wrong = [index for index, slope in enumerate(slopes) if bool(slope.wrong.any())]
    if not wrong:
        unclear = not all(bool(slope.reliable.any()) for slope in slopes)
        return Verdict("not judged", "its forward is too coarse to measure") if unclear else Verdict("right")
    surrogate = _surrogate(case, leaves, slopes, wrong, by_design)
    return surrogate or _worst(slopes, wrong, case.wanted)


def judge_twice(case: Case) -> Verdict:
    """Second derivatives, of a function whose first ones are right."""
    if gradgradcheck(case.run, case.leaves(), raise_exception=False, atol=1e-4, rtol=1e-2):
        return Verdict("right")
    return Verdict("wrong", "its backward does not agree with difference quotients of itself")


def _surrogate(
    case: Case, leaves: Sequence[torch.Tensor], slopes: Sequence[Slopes], wrong: Sequence[int], by_design: str
) -> Verdict | None:
    """Gradients that differ on purpose."""
    if any(slopes[index].flat for index in wrong):
        return Verdict("surrogate", "its forward is piecewise constant")
    outputs = case.run(*leaves)
    if all(any(out.shape == leaves[i].shape and torch.equal(out, leaves[i]) for out in outputs) for i in wrong):
        return Verdict("surrogate", "its forward is the identity, its gradient is changed on purpose")
    return Verdict("surrogate", f"its source speaks of `{by_design}`") if by_design else None


def _worst(slopes: Sequence[Slopes], wrong: Sequence[int], wanted: Sequence[int]) -> Verdict:
    index = max(wrong, key=lambda i: float(_errors(slopes[i]).max()))
    errors = _errors(slopes[index])
    at = int(errors.argmax())
    verdict = Verdict(
        "wrong",
        input=wanted[index],
        error=float(errors.reshape(-1)[at]),
        expected=float(slopes[index].measured.reshape(-1)[at]),
        found=float(slopes[index].returned.reshape(-1)[at]),
    )
    return replace(verdict, reason=_swapped(slopes, wrong, wanted) or _scaled(slopes[index]))


def _errors(slope: Slopes) -> torch.Tensor:
    return (slope.returned - slope.measured).abs() * slope.wrong


def _swapped(slopes: Sequence[Slopes], wrong: Sequence[int], wanted: Sequence[int]) -> str:
    for left in wrong:
        for right in wrong:
            fits = left < right and slopes[left].returned.shape == slopes[right].measured.shape
            if fits and _agree(slopes[left], slopes[right]) and _agree(slopes[right], slopes[left]):
                return f"the gradients of inputs {wanted[left] + 1} and {wanted[right] + 1} are swapped"
    return ""


def _agree(returned: Slopes, measured: Slopes) -> bool:
    return bool(near(returned.returned, measured.measured)[measured.reliable].all())


def _scaled(slope: Slopes) -> str:
    """Whether all of the gradient is off by one factor."""
    size = float((slope.measured**2 * slope.reliable).sum())
    factor = float((slope.returned * slope.measured * slope.reliable).sum()) / size if size else 0.0
    if factor and bool(near(slope.returned, factor * slope.measured)[slope.reliable].all()):
        return f"all of it is {factor:.4g} times the derivative"
    return ""


# ----------------------------------------------------------------------------------------------------------- measuring


def _slopes(case: Case, leaves: Sequence[torch.Tensor], index: int) -> Slopes:
    returned = _returned(case, leaves, index)
    here = case.values(leaves)
    fine, coarse = (_quotients(case, leaves, index, here, step) for step in _STEPS)
    smooth = near(*fine) & near(*coarse)
    measured = (fine[0] + fine[1]) / 2
    return Slopes(returned, measured, smooth & near(measured, (coarse[0] + coarse[1]) / 2))


def _returned(case: Case, leaves: Sequence[torch.Tensor], index: int) -> torch.Tensor:
    """The rows of the Jacobian, each from a forward of its own, because some functions free what they saved."""
    rows = []
    outputs = case.run(*leaves)
    for which, output in enumerate(outputs):
        for element in range(output.numel()):
            fresh = case.run(*leaves)[which]
            incoming = torch.zeros_like(fresh).reshape(-1)
            incoming[element] = 1
            rows.append(_row(fresh, incoming.reshape(fresh.shape), leaves[index]))
    return torch.stack(rows)


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


# --------------------------------------------------------------------------------------------------------- cutting down


def small_copies(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """The arguments with their tensors copied, cut to a few elements and in float64; None if they are too large.

    Equal sizes stay equal and different ones different, so that what fitted together still does.
    """
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    for smallest in (6, 4, 2):
        sizes = _smaller({size for tensor in tensors for size in tensor.shape}, smallest)
        cut = [tensor[tuple(slice(0, sizes[size]) for size in tensor.shape)] for tensor in tensors]
        if sum(tensor.numel() for tensor in cut) <= _MOST_ELEMENTS[0]:
            return _with_copies(arguments, cut)
    return None


def whole_copies(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """The same, uncut, for functions that insist on their shapes; None if the tensors are too large."""
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    fits = sum(tensor.numel() for tensor in tensors) <= _MOST_ELEMENTS[1]
    return _with_copies(arguments, tensors) if fits else None


def _smaller(sizes: set[int], smallest: int) -> dict[int, int]:
    ranked = sorted(size for size in sizes if size > 1)
    return {0: 0, 1: 1, **{size: min(size, smallest + rank) for rank, size in enumerate(ranked)}}


def _with_copies(arguments: Sequence[Any], tensors: Sequence[torch.Tensor]) -> tuple[Any, ...]:
    copies = iter(_copy(tensor) for tensor in tensors)
    return tuple(next(copies) if isinstance(value, torch.Tensor) else value for value in arguments)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    values = tensor.detach()
    return values.to(torch.float64, copy=True) if values.is_floating_point() else values.clone()
