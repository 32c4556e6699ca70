"""What a write to a parameter leaves of what steps had made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.rescaled import keeps_directions
from autograd_doctor.reading.spread import spread
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.torch_versions import generators_kept


class Weighed(NamedTuple):
    """See `WriteWeighed`."""

    moved: float
    free: float
    held: float
    done: float
    kept: float
    left: float
    changed: float
    size: float
    rescaled: float
    flat: float


@dataclass(eq=False)
class Bounds:
    """Of some values of a parameter: which ever kept what a step did, and from which sides they were put back to where
    they are since."""

    free: torch.Tensor
    raised: torch.Tensor
    lowered: torch.Tensor

    @classmethod
    def of(cls, values: torch.Tensor) -> Bounds:
        return cls(*(torch.zeros_like(values, dtype=torch.bool) for _ in range(3)))

    def heed(self, free: torch.Tensor, raised: torch.Tensor, lowered: torch.Tensor, stayed: torch.Tensor) -> None:
        self.free = self.free | free
        self.raised, self.lowered = self.raised & stayed | raised, self.lowered & stayed | lowered

    @property
    def both(self) -> torch.Tensor:
        """From both sides: at no bound."""
        return self.raised & self.lowered


def weigh(last: torch.Tensor, before: torch.Tensor, parameter: torch.Tensor, bounds: Bounds) -> torch.Tensor:
    """The numbers of a `Weighed`, left where the parameter is.

    last: some of its values, as a forward left them; before: all of them, as the next one found them.

    A value that steps pushed past the end of the range of all of them, and that is at this end now, is at a bound: what
    clamps lets go of it again. So is one that is made zero among others that are not, as under a mask, and one that was
    free once and is put back from one side. Where as many others are free, it may be so without having been free.
    """
    low, high = torch.aminmax(parameter.detach())
    old, found, now = (_some(each) for each in (last, before, parameter.detach()))
    step, left = found - old, now - old
    moved = step != 0
    free, back = moved & (now == found), moved & (now == old)
    raised, lowered = back & (step > 0), back & (step < 0)
    bounds.heed(free, raised, lowered, now == old)
    is_flat = low == high
    past, short = (now == high) & (found > high), (now == low) & (found < low)
    at_end = (past | short) & ~(is_flat & bounds.raised.any() & bounds.lowered.any())
    held = moved & ~free & (at_end | ((now == 0) & ~is_flat) | (back & bounds.free & ~bounds.both))
    perhaps = back & (free.sum() >= back.sum()) & ~bounds.both.any()
    rest = moved & ~free & ~held & ~perhaps
    step, left, changed = step * rest, left * rest, now - found
    sums = (moved, free, held, step * step, step * left, left * left, changed * changed, found * found)
    whole = (keeps_directions(before, parameter), is_flat)
    return torch.stack([*(each.double().sum() for each in sums), *(each.double() for each in whole)])


def _some(values: torch.Tensor) -> torch.Tensor:
    some = spread(values)
    return (values if some is None else some).double()


def heeds(
    function: Callable[..., Any], target: torch.Tensor, rest: Sequence[Any], named: Mapping[str, Any]
) -> bool | None:
    """Whether what a function writes to its first argument depends on what is there, tried on copies; None if that
    cannot be told, since others of its arguments may have been computed of what is there."""
    given, results = target.detach(), []
    for values in (given * 0.5, given * 1.5, given - 1, given + 1):
        with generators_kept(), torch.no_grad():
            function(values, *rest, **named)
        results.append(values)
    if not all(torch.equal(results[0], result) for result in results[1:]):
        return True
    return None if tensors_in((*rest, *named.values())) else False
