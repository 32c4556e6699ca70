"""Whether samples that come again have the label that they had."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

_MOST_SAMPLES = 50_000
_FEWEST = 4
"""Samples that come again in a step, for it to tell whether labels still hold."""
_NOISE = 0.02
"""Of samples that came again, those that may have had another label while labels held: some are in the data twice."""


class KeptLabels:
    """What is known of the labels of samples, both told apart by numbers.

    before: how many samples came again with the label that they had, and `broken`: how many with another one, until
    `since`: the step from which on fewer keep theirs than halfway between chance and all; None while labels hold. Of
    samples that came twice from then on, in `steps`, there were `again`, of which `agreeing` had the same label both
    times. strange: labels that none had before `since`. same, others: samples that came again with
    the label of their last time, and with another one, at any time.
    """

    def __init__(self) -> None:
        self.before = self.broken = 0
        self._newest: dict[int, tuple[int, int]] = {}
        self._labels: Counter[int] = Counter()
        self._known: set[int] = set()
        self.since: int | None = None
        self.steps = self.again = self.agreeing = self.strange = self.same = self.others = 0

    @property
    def chance(self) -> float:
        """The share of samples that would keep their label, were labels drawn as often as they come."""
        total = self._labels.total()
        return sum(count * count for count in self._labels.values()) / (total * total) if total else 1.0

    def is_lost(self, *, before: float, again: float, steps: float) -> bool:
        """Whether labels held, and now come as by chance, out of those that there are, each time anew.

        before, again, steps: at least so many of these. Labels that were assigned anew once, as for another task, hold
        again.
        """
        if self.since is None or self.strange or self.broken > _NOISE * self.before:
            return False
        if self.before < before or self.again < again or self.steps < steps:
            return False
        return self.agreeing <= self.again * self.chance + 2 * math.sqrt(self.again * self.chance * (1 - self.chance))

    def met(self, step: int, samples: Sequence[int], labels: Sequence[int]) -> None:
        """The samples of a batch, and their labels."""
        pairs = list(zip(samples, labels, strict=True))
        known = [(self._newest[sample], label) for sample, label in pairs if sample in self._newest]
        if len(known) >= _FEWEST:
            self._compare(step, known)
        self._labels.update(labels)
        for sample, label in pairs:
            if sample in self._newest or len(self._newest) < _MOST_SAMPLES:
                self._newest[sample] = (label, step)

    def _compare(self, step: int, known: Sequence[tuple[tuple[int, int], int]]) -> None:
        same = sum(newest == label for (newest, _), label in known)
        self.same += same
        self.others += len(known) - same
        if self.since is None and same >= len(known) * (1 + self.chance) / 2:
            self.before += same
            self.broken += len(known) - same
            return
        if self.since is None:
            self.since, self._known = step, set(self._labels)
        self.steps += 1
        self.strange += sum(label not in self._known for _, label in known)
        since_then = [(newest, label) for (newest, at), label in known if self.since <= at < step]
        self.again += len(since_then)
        self.agreeing += sum(newest == label for newest, label in since_then)
