"""What comes of whole numbers where an operation averages them: how many are none of those that it averaged there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograd_doctor.operations import IGNORED
from autograd_doctor.reading.tensor_facts import is_remote, readable

_MANY_PLACES = 2**17
MOST_PLACES = 2**19
_MOST_CLASSES = 32
_COUNTS = 1e-3
"""The least weight with which a class goes into an average."""
_SHARE = 0.01
_ROWS_APART = 3
"""Dimensions from which on the first one is that of the batch, for what resizes and pools."""


@dataclass
class Blend:
    """Averages that were looked at. differing: those of more than one class.

    rounded, truncated: of these, how many are a class that was not averaged there, if they are rounded, or cut off.
    examples: one of each: two classes, and what became of them. distance: how far the two classes that weigh most are
    apart, summed up; met: how often each was one of them; agreed: how often each was the only one. rising: how often
    the second of two is the larger one.
    """

    places: int = 0
    differing: int = 0
    rounded: int = 0
    truncated: int = 0
    distance: float = 0.0
    rising: int = 0
    met: Counter[int] = field(default_factory=Counter)
    agreed: Counter[int] = field(default_factory=Counter)
    examples: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, other: Blend) -> None:
        self.places += other.places
        self.differing += other.differing
        self.rounded += other.rounded
        self.truncated += other.truncated
        self.distance += other.distance
        self.rising += other.rising
        self.met += other.met
        self.agreed += other.agreed
        self.examples = {**other.examples, **self.examples}

    @property
    def regions(self) -> int:
        """The classes that lie beside their like, but for a few places."""
        return sum(often >= _SHARE * self.agreed.total() for often in self.agreed.values())

    @property
    def by_chance(self) -> float:
        """How far two different classes would be apart, on the average, if any could lie beside any other."""
        pairs = [(abs(a - b), n * m) for a, n in self.met.items() for b, m in self.met.items() if a != b]
        return sum(distance * often for distance, often in pairs) / max(1, sum(often for _, often in pairs))


def classes_in(tensor: torch.Tensor) -> torch.Tensor | None:
    """The different numbers, if all are whole, and so few that they may be classes, with one between two of them."""
    is_read = not is_remote(tensor) and readable(tensor) and 1 < tensor.numel() <= MOST_PLACES
    if not is_read or tensor.dtype is torch.bool:
        return None
    if not _is_whole(tensor[:1]) or not _is_whole(tensor):
        return None
    found = torch.unique(tensor)
    is_few = 1 < len(found) <= _MOST_CLASSES and float(found[-1]) - float(found[0]) > 1
    return found if is_few and float(found[0]) >= IGNORED else None


def blend_of(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], result: torch.Tensor, *, by_row: bool
) -> Blend | None:
    """What an average makes of the classes in its first argument: each is averaged once more by itself, as a mask.

    by_row: the first dimension is that of the batch, of which some rows do.
    """
    given = args[0]
    if by_row and given.dim() >= _ROWS_APART and given.numel() > _MANY_PLACES:
        rows, all_rows = max(1, _MANY_PLACES * len(given) // given.numel()), len(given)
        args = [_first(each, rows, all_rows) for each in args]
        kwargs = {key: _first(each, rows, all_rows) for key, each in kwargs.items()}
        given, result = given[:rows], result[:rows]
    classes = classes_in(given) if result.numel() <= MOST_PLACES else None
    if classes is None:
        return None
    kind = given.dtype if given.is_floating_point() else torch.float32
    shares = [function((given == each).to(kind), *args[1:], **kwargs).flatten() for each in classes]
    return _blend(classes, torch.stack(shares), result.flatten())


def mixture_of(parts: Sequence[torch.Tensor], weights: Sequence[torch.Tensor | float], result: torch.Tensor) -> Blend:
    """What comes of the classes in several tensors, each with its weight."""
    classes = torch.unique(torch.cat([part.flatten() for part in parts]))
    weighed = list(zip(parts, weights, strict=True))
    shares = [torch.stack([weight * (part == each) for part, weight in weighed]).sum(0).flatten() for each in classes]
    blend = _blend(classes, torch.stack(shares), result.flatten())
    blend.rising = int((parts[1] > parts[0]).sum())
    return blend


def _first(value: Any, rows: int, of: int) -> Any:
    return value[:rows] if isinstance(value, torch.Tensor) and value.dim() > 1 and len(value) == of else value


def _blend(classes: torch.Tensor, shares: torch.Tensor, result: torch.Tensor) -> Blend:
    """shares: of each class in each average; what is filled up with zeros, as beyond an edge, is of class 0."""
    classes, rest = classes.to(shares.dtype), 1 - shares.sum(0, keepdim=True)
    is_zero = classes == 0
    if bool(is_zero.any()):
        shares[is_zero] += rest
    else:
        classes, shares = torch.cat([classes, torch.zeros_like(classes[:1])]), torch.cat([shares, rest])
    is_there = shares.abs() > _COUNTS
    low, high = (torch.where(is_there, classes[:, None], edge) for edge in (torch.inf, -torch.inf))
    differ = low.amin(0) < high.amax(0)
    blend = Blend(result.numel(), int(differ.sum()))
    blend.agreed = _counted(low.amin(0)[~differ])
    if not blend.differing:
        return blend
    result, is_there = result[differ].to(shares.dtype), is_there[:, differ]
    pair = classes[shares[:, differ].topk(2, dim=0).indices]
    blend.distance = float((pair[0] - pair[1]).abs().sum())
    blend.met = _counted(pair)
    for name, now in (("rounded", result.round()), ("truncated", result.trunc())):
        is_new = ~((classes[:, None] == now) & is_there).any(0)
        setattr(blend, name, int(is_new.sum()))
        if bool(is_new.any()):
            at = int(is_new.nonzero()[0])
            blend.examples[name] = int(pair[0, at]), int(pair[1, at]), int(now[at])
    return blend


def _counted(classes: torch.Tensor) -> Counter[int]:
    numbers, often = classes.long().unique(return_counts=True)
    return Counter(dict(zip(numbers.tolist(), often.tolist(), strict=True)))


def _is_whole(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() or bool((tensor == tensor.round()).all())
