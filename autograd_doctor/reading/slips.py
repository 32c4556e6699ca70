"""What shows that a gradient is a mistake: it is related to the derivative as only a slip relates them.

One factor or one for each output or element (a chain factor forgotten), the place of another input's gradient, a
transposition, nothing where there is a slope, or the derivative for some elements and something else for others.
Gradients that merely differ may be estimators. So may factors that are positive wherever the function is called and
not the same everywhere, for that is what a natural gradient does; and what is off by a little more at each element
than at the last is an approximation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from autograd_doctor.reading.finite_differences import Slopes, near

_NEGLIGIBLE = 1e-3
"""Entries below this part of the largest tell nothing of a relation."""

_CONFINED = 0.25
"""The part of the entries that has to be right, to the precision of the quotients, for the others to stand out."""
_EXACT, _EXACT_OF_LARGEST = 1e-5, 1e-6
_GRADED = 0.2
"""Entries that are off by less than what is wrong and more than rounding, as parts of those that are exact: a mistake
in one branch leaves few, a series that was cut off has as many as there are sizes of inputs."""

_SAME = 1e-3
"""How nearly equal the factors are of which one constant was forgotten."""
_FEWEST_SHARING = 2

_TURNED = 0.05
"""An element that points the other way counts from this part of the largest on: beside a zero of the derivative, any
approximation of it changes its sign."""


Points = Callable[[], Sequence[Sequence[Slopes]]]
"""The slopes of all leaves where the function is called with other values."""


def slip(
    shapes: Sequence[torch.Size],
    slopes: Sequence[Slopes],
    wrong: Sequence[int],
    wanted: Sequence[int],
    elsewhere: Points = tuple,
) -> str:
    """What went wrong, "" if nothing shows a mistake; `shapes` are those of the inputs that `wanted` numbers."""
    if found := _swapped(slopes, wrong, wanted):
        return found
    rescaled = _preconditioned(slopes, wrong, elsewhere)
    for index in wrong:
        if found := _mistake(slopes[index], shapes[index], may_be_scaled=bool(rescaled)):
            return found if len(slopes) == 1 else f"for input {wanted[index] + 1}, {found}"
    together = _together([slopes[index] for index in wrong])
    if _scaled_by_row(together) and not rescaled and not _is_shared(_factors(together)):
        return "it is the derivative times a different factor for each element of the output"
    others = [slopes[index] for index in wrong if index not in rescaled and not factor_of(slopes[index])]
    if any(_scaled_by_row(_turned_over(slope)) for slope in others):
        return "it is the derivative times a different factor for each element of the input"
    return ""


def _mistake(slope: Slopes, shape: torch.Size, may_be_scaled: bool) -> str:
    """What is wrong with the gradient of one input; `may_be_scaled`: by a positive number, on purpose."""
    if not bool(slope.returned.any()):
        return "it is zero where the derivative is not"
    factor = factor_of(slope)
    if factor < 0 or (factor and not may_be_scaled):
        return f"all of it is {factor:.4g} times the derivative"
    if _is_transposed(slope, shape):
        return "it is the derivative transposed"
    if _is_confined(slope):
        return "it is the derivative only for some elements"
    return "it has the wrong sign for some elements" if _is_turned(slope) else ""


def _preconditioned(slopes: Sequence[Slopes], wrong: Sequence[int], elsewhere: Points) -> set[int]:
    """Leaves whose elements have factors that are positive at all points, and not the same: a diagonal preconditioner
    has such, and natural gradients scale what else they return by constants."""
    is_scaled = any(factor_of(slopes[i]) > 0 or _scaled_by_row(_turned_over(slopes[i])) for i in wrong)
    points = [slopes, *elsewhere()] if is_scaled else []
    found = set[int]()
    for index in wrong if points else ():
        columns = [_turned_over(point[index]) for point in points]
        scaled = [_factors(each) for each in columns if _scaled_by_factors(each)]
        factors = torch.cat(scaled) if _scaled_by_factors(columns[0]) else torch.zeros(1)
        if bool((factors > 0).all()) and not _is_one(factors):
            found.add(index)
    return found


def _is_one(factors: torch.Tensor) -> bool:
    return not factors.numel() or float(factors.max() - factors.min()) <= _SAME * float(factors.abs().max())


def _is_shared(factors: torch.Tensor) -> bool:
    """Whether all factors are positive and each is that of several elements: a chain factor is one element's own."""
    alike = (factors[:, None] - factors).abs() <= _SAME * factors.abs()
    return bool((factors > 0).all() and (alike.sum(dim=0) >= _FEWEST_SHARING).all())


def _swapped(slopes: Sequence[Slopes], wrong: Sequence[int], wanted: Sequence[int]) -> str:
    for left in wrong:
        for right in wrong:
            fits = left < right and slopes[left].returned.shape == slopes[right].measured.shape
            if fits and _agree(slopes[left], slopes[right]) and _agree(slopes[right], slopes[left]):
                return f"the gradients of inputs {wanted[left] + 1} and {wanted[right] + 1} are swapped"
    return ""


def _agree(returned: Slopes, measured: Slopes) -> bool:
    return bool(near(returned.returned, measured.measured)[measured.reliable].all())


def factor_of(slope: Slopes) -> float:
    """The factor by which all of the gradient is off, 0 if there is none."""
    size = float((slope.measured**2 * slope.reliable).sum())
    factor = float((slope.returned * slope.measured * slope.reliable).sum()) / size if size else 0.0
    return factor if bool(near(slope.returned, factor * slope.measured)[slope.reliable].all()) else 0.0


def _is_transposed(slope: Slopes, shape: torch.Size) -> bool:
    """As a map, or in the order in which it lies: the gradient of a square matrix, transposed."""
    returned, measured, reliable = slope.returned, slope.measured, slope.reliable
    is_square = returned.shape[0] == returned.shape[1]
    if is_square and bool(near(returned, measured.T)[reliable & reliable.T].all()):
        return True
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return False
    over, over_reliable = (each.reshape(-1, *shape).mT.reshape(returned.shape) for each in (measured, reliable))
    return bool(near(returned, over)[reliable & over_reliable].all())


def _is_confined(slope: Slopes) -> bool:
    counting, exact, graded = _grades(slope)
    return exact >= max(_CONFINED * counting, graded / _GRADED)


def _is_turned(slope: Slopes) -> bool:
    """Of functions that work element by element: those of others may well give and take in detail."""
    if bool((_counting(slope).sum(dim=1) > 1).any()):
        return False
    entries, _, graded = _grades(slope)
    size = torch.minimum(slope.measured.abs(), slope.returned.abs())
    counting = slope.reliable & (size > _TURNED * slope.measured.abs().max())
    turned = slope.returned * slope.measured < 0
    is_turned = bool((turned & counting & slope.wrong).any()) and bool((~turned & counting).any())
    return is_turned and graded <= _GRADED * entries


def _grades(slope: Slopes) -> tuple[int, int, int]:
    """How many entries count, are exact, and are off by a little."""
    counting = _counting(slope) & slope.reliable
    size = torch.maximum(slope.returned.abs(), slope.measured.abs())
    exact = counting & ((slope.returned - slope.measured).abs() <= _EXACT * size + _EXACT_OF_LARGEST * size.max())
    graded = counting & ~exact & ~slope.wrong
    return int(counting.sum()), int(exact.sum()), int(graded.sum())


def _scaled_by_row(slope: Slopes) -> bool:
    """Whether each row is off by a factor of its own, in rows of which that says something."""
    counting = _counting(slope) & slope.reliable
    says_something = bool((counting.sum(dim=1) > 1)[counting.any(dim=1)].all())
    return says_something and _scaled_by_factors(slope)


def _scaled_by_factors(slope: Slopes) -> bool:
    factors = slope.returned.new_zeros(len(slope.returned))
    factors[_rows(slope)] = _factors(slope)
    return bool(near(slope.returned, factors[:, None] * slope.measured)[slope.reliable].all())


def _factors(slope: Slopes) -> torch.Tensor:
    """The factors that come closest, of each row that has a slope."""
    measured = (slope.measured * slope.reliable)[_rows(slope)]
    return (slope.returned[_rows(slope)] * measured).sum(dim=1) / (measured**2).sum(dim=1)


def _rows(slope: Slopes) -> torch.Tensor:
    return (slope.measured * slope.reliable * _counting(slope)).any(dim=1)


def _counting(slope: Slopes) -> torch.Tensor:
    size = torch.maximum(slope.returned.abs(), slope.measured.abs())
    return size > _NEGLIGIBLE * size.max()


def _together(slopes: Sequence[Slopes]) -> Slopes:
    """The gradients of several inputs beside each other."""
    returned, measured, reliable = (
        torch.cat([getattr(slope, name) for slope in slopes], dim=1) for name in ("returned", "measured", "reliable")
    )
    return Slopes(returned, measured, reliable, slopes[0].blocks)


def _turned_over(slope: Slopes) -> Slopes:
    return Slopes(slope.returned.T, slope.measured.T, slope.reliable.T, slope.blocks)
