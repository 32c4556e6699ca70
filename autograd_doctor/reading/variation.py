"""Looks at batches whose samples differ at first, and are one and the same from some step on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

One = TypeVar("One")

_LEAST = 8
"""Samples of a batch: fewer may be the same by chance."""


@dataclass
class Variation(Generic[One]):
    """Batches of one line, in the steps that were looked at.

    varied: looks at batches whose samples differed, before those in which they did not; varied_at: the step of the
    latest. since, steps, samples: of the looks after them, at batches that hold one and the same sample throughout.
    one: that sample, of the first of them; is_one: it is that of the others, too. is_steady: the one kind has followed
    the other, once. origins: where batches that differed came from, and those since then, as far as that is known.
    """

    varied: int = 0
    varied_at: int = -1
    since: int = -1
    steps: int = 0
    samples: int = 0
    one: One | None = None
    is_one: bool = True
    is_steady: bool = True
    origins: tuple[set[Hashable], set[Hashable]] = field(default_factory=lambda: (set(), set()))
    _step: int = -1

    def look(self, step: int, one: One | None, samples: int, origin: Hashable | None) -> None:
        """one: what all samples of a batch are, None where they differ. origin: where they come from, if known."""
        if samples < _LEAST:
            return
        if one is None:
            self.varied, self.varied_at = self.varied + 1, step
            self.is_steady &= not self.steps
            self.origins[0].add(origin)
            return
        if not self.steps:
            self.since, self.one = step, one
        self.is_one &= one == self.one
        self.origins[1].add(origin)
        self.steps += step != self._step
        self.samples += samples
        self._step = step

    @property
    def same_origin(self) -> bool:
        """Whether the batches that are one and the same come from where the others came from."""
        before, since = ({origin for origin in origins if origin is not None} for origins in self.origins)
        return bool(since) and since <= before

    @property
    def has_ended(self) -> bool:
        """Whether samples differed, and are all the same since then."""
        return self.has_turned and self.is_one

    @property
    def has_narrowed(self) -> bool:
        """Whether samples of a batch differed, and no batch has had two since then, though each has had its own."""
        return self.has_turned and not self.is_one

    @property
    def has_turned(self) -> bool:
        """Either of them."""
        return self.is_steady and self.varied > 0 and self.steps > 0
