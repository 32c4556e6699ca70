"""Judging a custom `autograd.Function` on inputs of our own: does its backward agree with difference quotients?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from torch.autograd import gradcheck, gradgradcheck

from autograd_doctor.reading.directional import DIRECTIONS, gradients
from autograd_doctor.reading.estimators import estimated
from autograd_doctor.reading.finite_differences import Case, Slopes, slopes
from autograd_doctor.reading.held import doubled
from autograd_doctor.reading.iterates import held_slopes
from autograd_doctor.reading.slips import factor_of, slip
from autograd_doctor.reading.surrogate_gradients import STAIRS, jumps, purpose
from autograd_doctor.reading.trials import alone

_MOST_CUT, _MOST_WHOLE = 160, 512
"""Elements of all inputs together: each costs four forwards; a cut function is judged in a tenth of a second."""
_SMALLEST = (6, 4, 2)
"""Sizes to which the shortest dimension is cut, one after the other, until the inputs are small enough."""
_ROWS = 2
_SECOND_ABSOLUTE, _SECOND_RELATIVE = 1e-4, 1e-2
"""Tolerances of `gradgradcheck`: its quotients of a backward are coarser than those of a forward."""


_FINE_STEPS, _STEP = 8, 1e-5
_PARTIAL = "the derivative through the last rounds of the forward's loop"

_COARSE, _BENT = 1e-9, 1e-4
"""A smooth forward bends by the square of the step; one that bends by more than these parts of its values and of its
rise computes more coarsely than in float64."""


@dataclass(frozen=True)
class Verdict:
    """What came out; `input` counts from 0, `expected` is the difference quotient, `found` what backward returned.

    "wrong" where `reason` says by what a mistake shows, "differs" where it may be an estimator. `hands_on`: positions
    of inputs that get a gradient as it came in.
    """

    verdict: Literal["right", "wrong", "differs", "surrogate", "not judged"]
    reason: str = ""
    input: int | None = None
    error: float | None = None
    expected: float | None = None
    found: float | None = None
    hands_on: tuple[int, ...] = ()


def judge(case: Case) -> Verdict:
    """First derivatives."""
    leaves = case.leaves()
    if not torch.equal(case.values(leaves), case.values(leaves)):
        return Verdict("not judged", "its result differs from call to call")
    if not any(out.requires_grad for out in case.run(*leaves)):
        return Verdict("not judged", "it has no differentiable output")
    if gradcheck(case.run, leaves, raise_exception=False, check_undefined_grad=False):
        return Verdict("right")
    found = [slopes(case, leaves, index) for index in range(len(leaves))]
    wrong = [index for index, slope in enumerate(found) if bool(slope.wrong.any())]
    if not wrong:
        unclear = not all(bool(slope.reliable.any()) for slope in found)
        return Verdict("not judged", "its forward is too imprecise to measure") if unclear else Verdict("right")
    if reason := purpose(case, leaves, found, wrong):
        return Verdict("surrogate", reason)
    if reason := next(filter(None, (_uneven(case, leaves, index, found[index]) for index in wrong)), ""):
        return Verdict("not judged", reason)
    if reason := estimated(case, leaves, found, wrong):
        return Verdict("surrogate", reason)
    with alone():
        is_partial, mistake = _through_last_rounds(case, leaves, found, wrong)
    if is_partial:
        return Verdict("surrogate", f"it is only {_PARTIAL}")
    elsewhere = partial(_slopes_elsewhere, case)
    mistake = mistake or slip([leaf.shape for leaf in leaves], found, wrong, case.wanted, elsewhere)
    is_scaled = any(factor_of(found[index]) or not found[index].returned.any() for index in wrong)
    if not is_scaled and jumps(case, leaves, found, wrong) >= (STAIRS if mistake else 1):
        return Verdict("surrogate", "its forward jumps")
    return _worst(found, wrong, case.wanted, mistake)


def _slopes_elsewhere(case: Case) -> list[list[Slopes]]:
    """All slopes, with other values of all floating inputs, in turn: of another size, spread, shifted, negated."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for move in _MOVES:
        changed = [move(each, generator) if _floats(each) else each for each in case.arguments]
        elsewhere = replace(case, arguments=tuple(changed))
        with contextlib.suppress(Exception):  # a function may be defined for some values only
            leaves = elsewhere.leaves()
            if bool(elsewhere.values(leaves).isfinite().all()):
                found.append([slopes(elsewhere, leaves, index) for index in range(len(leaves))])
    return found


def _floats(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _spread_out(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each element by a factor of its own; a symmetric matrix stays one."""
    factors = 0.75 + 0.5 * torch.rand(tensor.shape, generator=generator, dtype=tensor.dtype).to(tensor.device)
    if tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2] and torch.equal(tensor, tensor.mT):
        factors = (factors + factors.mT) / 2
    return tensor * factors


_MOVES: tuple[Callable[[torch.Tensor, torch.Generator], torch.Tensor], ...] = (
    lambda tensor, _: 1.375 * tensor,
    _spread_out,
    lambda tensor, _: tensor + 0.25,
    lambda tensor, _: -tensor,
)


def _through_last_rounds(
    case: Case, leaves: Sequence[torch.Tensor], found: Sequence[Slopes], wrong: Sequence[int]
) -> tuple[bool, str]:
    """Whether it is the derivative of a part of the forward's loop, and what else is wrong with it if it is no more."""
    mistakes = []
    for within in held_slopes(case, leaves, found):
        still_wrong = [index for index in wrong if bool(within[index].wrong.any())]
        is_explained = any(bool(within[index].returned.any()) for index in set(wrong) - set(still_wrong))
        if not still_wrong and is_explained:
            return True, ""
        mistake = slip([leaf.shape for leaf in leaves], within, still_wrong, case.wanted) if still_wrong else ""
        if mistake or is_explained:
            mistakes.append(f"apart from {_PARTIAL}, {mistake or 'the gradient of some inputs differs'}")
    return False, next(iter(mistakes), "")


def hands_on(case: Case) -> tuple[int, ...]:
    """The positions of inputs for which backward returns the gradient of the first output as it came in."""
    leaves = case.leaves()
    output = case.run(*leaves)[0]
    incoming = torch.linspace(1, 2, output.numel(), dtype=output.dtype, device=output.device).reshape(output.shape)
    returned = torch.autograd.grad(output, leaves, incoming, allow_unused=True) if output.requires_grad else ()
    pairs = zip(case.wanted, returned, strict=False)
    return tuple(position for position, each in pairs if each is not None and each.equal(incoming))


def judge_twice(case: Case) -> Verdict:
    """Second derivatives, of a function whose first ones are right."""
    if gradgradcheck(case.run, case.leaves(), raise_exception=False, atol=_SECOND_ABSOLUTE, rtol=_SECOND_RELATIVE):
        return Verdict("right")
    return Verdict("wrong", "its backward does not agree with its own finite differences")


def agrees_along(case: Case) -> bool:
    """Whether gradients agree with the forward along a few directions, each through one input: cheap at any size."""
    leaves = case.leaves()
    tried = (gradients(case, leaves) for _ in range(DIRECTIONS))
    return all(found.off_by(i, torch.randn_like(leaf)) <= 0 for found in tried for i, leaf in enumerate(leaves))


def _worst(found: Sequence[Slopes], wrong: Sequence[int], wanted: Sequence[int], mistake: str) -> Verdict:
    index = max(wrong, key=lambda i: float(_errors(found[i]).max()))
    errors = _errors(found[index])
    at = int(errors.argmax())
    return Verdict(
        "wrong" if mistake else "differs",
        reason=mistake or f"its direction agrees with that of the derivative to {_cosine(found[index]):.2f} (cosine)",
        input=wanted[index],
        error=float(errors.reshape(-1)[at]),
        expected=float(found[index].measured.reshape(-1)[at]),
        found=float(found[index].returned.reshape(-1)[at]),
    )


def _cosine(slope: Slopes) -> float:
    returned, measured = slope.returned * slope.reliable, slope.measured * slope.reliable
    return float((returned * measured).sum() / (returned.norm() * measured.norm()))


def _uneven(case: Case, leaves: Sequence[torch.Tensor], index: int, slope: Slopes) -> str:
    """How it shows that an output climbs unevenly where its slope was found to be wrong: in stairs, as of a lower
    precision, or otherwise, as eigenvectors do whose eigenvalues are nearly the same; "" where it climbs evenly."""
    row, column = divmod(int(_errors(slope).argmax()), slope.wrong.shape[1])
    values = []
    for step in range(_FINE_STEPS):
        moved = [leaf.detach().clone() for leaf in leaves]
        flat = moved[index].reshape(-1)
        flat[column] += step * _STEP * max(1.0, abs(float(flat[column])))
        values.append(case.values(moved)[row])
    climbed = torch.stack(values)
    bends = climbed[2:] - 2 * climbed[1:-1] + climbed[:-2]
    if bends.abs().max() <= _COARSE * climbed.abs().max() + _BENT * climbed.diff().abs().max():
        return ""
    is_rounded = climbed.dtype is torch.float64 and bool((climbed.float() == climbed).all())
    if is_rounded:
        return "it computes in lower precision than its inputs have"
    return "its output changes too unevenly there to measure a slope"


def _errors(slope: Slopes) -> torch.Tensor:
    return (slope.returned - slope.measured).abs() * slope.wrong


# --------------------------------------------------------------------------------------------------------- cutting down


def small_copies(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """The arguments with their tensors copied, cut to a few elements and in float64; None if they are too large.

    Equal sizes stay equal and different ones different, so that what fitted together still does. Whole numbers that may
    count what was cut off, as the ends of edges count the rows of a table, count what is left instead.
    """
    return copies_of(arguments, _SMALLEST, {})


def copies_of(
    arguments: Sequence[Any], smallest: Sequence[int], places: Mapping[int, Set[int]]
) -> tuple[Any, ...] | None:
    """The same, cut to the first of these sizes that makes few elements; of a dimension that `places` knows by its
    size, with these indices and others from all over it."""
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    for least in smallest:
        sizes = _smaller({size for tensor in tensors for size in tensor.shape}, least)
        kept = {size: _spread(size, few, places[size]) for size, few in sizes.items() if size in places}
        cut = [_selected(tensor, sizes, kept) for tensor in tensors]
        if sum(tensor.numel() for tensor in cut) <= _MOST_CUT:
            return _with_copies(arguments, _renumbered(tensors, cut))
    return None


def _renumbered(tensors: Sequence[torch.Tensor], cut: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Keeps the order of numbers. They count the shortest dimension that they fit in, and so fit in the others, too."""
    pairs = list(zip(tensors, cut, strict=True))
    floating = [(each.shape, small.shape) for each, small in pairs if _floats(each)]
    left = {size: few for before, after in floating for size, few in zip(before, after, strict=True)}
    return [_scaled(small, int(each.max()), left) if _counts(each) else small for each, small in pairs]


def _counts(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int32, torch.int64) and tensor.numel() > 0


def _scaled(numbers: torch.Tensor, largest: int, left: Mapping[int, int]) -> torch.Tensor:
    size = min((size for size in left if size > largest), default=0)
    return numbers * left[size] // size if size and int(numbers.max()) >= left[size] else numbers


def _spread(size: int, few: int, needed: Set[int]) -> torch.Tensor:
    """So many indices of a dimension, the needed ones and others at even distances."""
    others = [index * size // few for index in range(few)]
    chosen = sorted([*needed, *[each for each in others if each not in needed]][:few])
    return torch.tensor(chosen, device="cpu")


def _selected(tensor: torch.Tensor, sizes: Mapping[int, int], kept: Mapping[int, torch.Tensor]) -> torch.Tensor:
    for dim, size in enumerate(tensor.shape):
        indices = kept[size] if size in kept else torch.arange(sizes[size], device="cpu")
        tensor = tensor.index_select(dim, indices.to(tensor.device))
    return tensor


def row_copies(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """The same, with fewer samples and all that belongs to one of them; None if that is too large."""
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    samples = next((tensor.shape[0] for tensor in tensors if tensor.dim() > 1), 0)
    cut = [tensor[:_ROWS] if tensor.dim() and tensor.shape[0] == samples else tensor for tensor in tensors]
    return _with_copies(arguments, cut) if sum(tensor.numel() for tensor in cut) <= _MOST_CUT else None


def whole_copies(arguments: Sequence[Any], most: int = _MOST_WHOLE) -> tuple[Any, ...] | None:
    """The same, uncut, for functions that insist on their shapes; None if the tensors are too large."""
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    fits = sum(tensor.numel() for tensor in tensors) <= most
    return _with_copies(arguments, tensors) if fits else None


def _smaller(sizes: set[int], smallest: int) -> dict[int, int]:
    ranked = sorted(size for size in sizes if size > 1)
    return {0: 0, 1: 1, **{size: min(size, smallest + rank) for rank, size in enumerate(ranked)}}


def _with_copies(arguments: Sequence[Any], tensors: Sequence[torch.Tensor]) -> tuple[Any, ...]:
    copies = iter(doubled(tensor) for tensor in tensors)
    return tuple(next(copies) if isinstance(value, torch.Tensor) else value for value in arguments)
