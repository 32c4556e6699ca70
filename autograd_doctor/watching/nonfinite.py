"""Where NaN and Inf are born: each traced output is checked, and an origin travels with the values that it spoils.

A birth is only reported when it reaches a loss: a mask of `-inf` that a softmax absorbs leaves no trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from autograd_doctor.events import Event, NonFiniteInput, NonFiniteProduced, TensorFacts
from autograd_doctor.watching.lineage import Made
from autograd_doctor.watching.places import Place, locate
from autograd_doctor.watching.tensor_facts import bad_rows, describe, readable

if TYPE_CHECKING:
    from autograd_doctor.watching.watch import Watch

_MOST_PER_PLACE = 3
_MOST_REPORTED = 4
"""Births to report: a loss scale that settles causes some that do no harm."""
_MASKS = frozenset({"masked_fill", "masked_fill_", "full", "full_like", "where", "fill_", "tensor", "__setitem__",
                    "triu", "tril", "new_full", "constant_pad_nd", "pad"})  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """The birth of a non-finite value: the operation, or None for a tensor that came in already spoiled."""

    operation: str | None
    place: Place | None
    output: TensorFacts
    operands: tuple[TensorFacts, ...]
    rows: tuple[int, ...]

    @property
    def deliberate(self) -> bool:
        """An infinity that the program wrote down itself, as masks do."""
        return self.operation in _MASKS and self.output.nan == 0

    def event(self, step: int) -> Event:
        if self.operation is None:
            return NonFiniteInput(step=step, tensor=self.output, location=locate(self.place), rows=list(self.rows))
        return NonFiniteProduced(
            step=step,
            operation=self.operation,
            location=locate(self.place),
            output=self.output,
            operands=list(self.operands),
            rows=list(self.rows),
            reached="loss",
        )


class Sentry:
    """Checks outputs until a few non-finite values that mattered have been reported."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._seen: dict[tuple[Place | None, str], int] = {}
        self._known: dict[tuple[Place | None, str], Origin] = {}
        self._reported: set[tuple[str | None, Place | None]] = set()
        self.active = True

    def check(self, output: torch.Tensor, made: Made, inputs: Sequence[torch.Tensor]) -> None:
        """Give a spoiled output its origin, and a finite one none. Call it under `Watch.looking()`.

        A sum is finite if every term is; where the sum itself overflows, the exact look tells.
        """
        if not output.is_floating_point() or not readable(output) or output.numel() == 0:
            made.origin = None
            return
        if math.isfinite(output.sum(dtype=torch.float32 if output.dtype.itemsize < 4 else None).item()) or bool(
            torch.isfinite(output).all()
        ):
            made.origin = None
            return
        born_here = made.origin is None or (made.origin.deliberate and bool(torch.isnan(output).any()))
        if born_here:
            made.origin = self._origin(output, made, inputs)

    def _origin(self, output: torch.Tensor, made: Made, inputs: Sequence[torch.Tensor]) -> Origin:
        key = (made.place, made.operation)
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] > _MOST_PER_PLACE:
            return self._known[key]
        spoiled = [
            tensor for tensor in inputs if tensor.is_floating_point() and readable(tensor)
            and not bool(torch.isfinite(tensor).all()) and self._origin_of(tensor) is None
        ]  # fmt: skip
        if spoiled:
            origin = Origin(None, made.place, self._watch.describe(spoiled[0]), (), tuple(bad_rows(spoiled[0])))
        else:
            operands = tuple(self._watch.describe(tensor) for tensor in inputs[:4])
            origin = Origin(made.operation, made.place, describe(output), operands, tuple(bad_rows(output)))
        self._known[key] = origin
        return origin

    def _origin_of(self, tensor: torch.Tensor) -> Origin | None:
        made = self._watch.tensors.get(tensor)
        return made.origin if made is not None else None

    def root_reached(self, made: Made | None) -> None:
        """A loss is about to go backward: if it is spoiled, report where that began."""
        origin = made.origin if made is not None else None
        if self.active and origin is not None and (origin.operation, origin.place) not in self._reported:
            self._watch.emit(origin.event(self._watch.step))
            self._reported.add((origin.operation, origin.place))
            self.active = len(self._reported) < _MOST_REPORTED
