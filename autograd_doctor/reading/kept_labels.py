"""Whether samples that come again have the label that they had."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import torch

from autograd_doctor.reading.subclasses import bytes_of
from autograd_doctor.reading.tensor_facts import is_remote, readable

_MOST_SAMPLES = 50_000
_FEWEST = 4
"""Samples that come again in a step, for it to tell whether labels still hold."""
_NOISE = 0.02
"""Of samples that came again, those that may have had another label while labels held: some are in the data twice."""
_FEWEST_AGAIN, _APART = 96, 1000
"""Samples that came again, for all of them to have come apart from targets that hardly two share. Of targets that many
share it takes more: `_APART` times the odds of two that agree, so that an eighth of all that still held would show by
four standard deviations."""
_TWICE = 0.05
"""Of the rows of a batch, those that may have another one's sample, and not its target: rows that tell samples apart
come once."""
_BY_CHANCE = 2.0
"""Standard deviations."""
_TIED = 4.0
"""The same for contingency tables, whose cells are small."""
_OF_THE_SAME = 0.7
_MOST_VALUES, _MOST_VALUED = 16, 5_000
"""Of a target, spread over it evenly, and samples to keep them of."""
_MOST_ROWS, _MOST_BYTES = 256, 2**22
"""Of a batch of predictions."""
_HELD, _OF_ALL_ALIKE = 24, 0.9
"""Samples that came again with their label, and a share of samples with one label that tells of none of them."""


class Reassigned:
    """Whether samples that come again have the target of another sample each time.

    again, agreeing: samples that came again, in `steps`, and those that had the target of their last time. of_others:
    those whose target had been another's.
    """

    def __init__(self) -> None:
        self.steps = self.again = self.agreeing = self.of_others = 0
        self._owners: dict[int, int] = {}
        self._rows = self._twice = self._known = self._targets_known = 0
        self._batches: tuple[Sequence[int], frozenset[int]] | None = None
        self._compared = self._positional = 0
        self._ties: list[float] = []
        self._fits: list[float] = []
        self._values: dict[int, list[float]] = {}
        self._likenesses: list[float] = []

    def is_found(self, *, chance: float, steps: float) -> bool:
        """Whether targets go with samples by chance, out of those that there are, and no prediction goes with them.

        chance: the share of samples that would keep their target then. steps: at least so many.
        """
        if chance >= 1 or self.steps < steps or self.again < max(_FEWEST_AGAIN, _APART * chance / (1 - chance)):
            return False
        expected = self.again * chance
        if self.agreeing > expected + _BY_CHANCE * math.sqrt(expected * (1 - chance)) + 1:
            return False
        are_the_same = self._targets_known >= _OF_THE_SAME * self._known and self.of_others >= self.again / 4
        is_single = self._twice <= _TWICE * self._rows
        is_positional = self._compared > 0 and self._positional >= _OF_THE_SAME * self._compared
        is_learned = 2 * len(self._fits) < self.steps or _together(self._fits) > _BY_CHANCE
        is_like = _together(self._likenesses) > _BY_CHANCE or _together(self._ties) > _TIED
        return are_the_same and is_single and not (is_positional or is_learned or is_like)

    def met(self, samples: Sequence[int], labels: Sequence[int], newest: Mapping[int, tuple[int, int]]) -> None:
        """The samples of a batch and their targets, and those that samples had when they came last."""
        self._look_at_order(samples, labels)
        pairs = list(zip(samples, labels, strict=True))
        known = [(newest[sample][0], label) for sample, label in pairs if sample in newest]
        if len(known) >= _FEWEST:
            self.steps += 1
            self.again += len(known)
            self.agreeing += sum(before == label for before, label in known)
            self.of_others += sum(self._owners.get(label, sample) != sample for sample, label in pairs)
            self._rows += len(pairs)
            self._twice += len(set(pairs)) - len(set(samples))
            self._known += len(known)
            self._targets_known += sum(label in self._owners for label in labels)
            self._ties += _tie(known)
        for sample, label in pairs:
            if len(self._owners) < _MOST_SAMPLES:
                self._owners.setdefault(label, sample)

    def follow(self, samples: Sequence[int], targets: torch.Tensor) -> None:
        """Whether targets, as numbers, are like those that their samples had before: so are those of a neighbour, or of
        another member of the class."""
        width = max(1, targets.numel() // len(targets))
        rows = targets.detach().reshape(len(targets), -1)[:, :: -(-width // _MOST_VALUES)].float().tolist()
        known = [(self._values[each], row) for each, row in zip(samples, rows, strict=True) if each in self._values]
        known = [(before, row) for before, row in known if len(before) == len(row)]
        if len(known) >= _FEWEST:
            before, now = (torch.tensor(side, device="cpu") for side in zip(*known, strict=True))
            deviation = fit(before, now)
            self._likenesses += [] if deviation is None else [deviation]
        for each, row in zip(samples, rows, strict=True):
            if each in self._values or len(self._values) < _MOST_VALUED:
                self._values[each] = row

    def fits(self, deviation: float) -> None:
        """By how many standard deviations predictions of a batch are nearer to their targets than to others' ones."""
        self._fits.append(deviation)

    def _look_at_order(self, samples: Sequence[int], labels: Sequence[int]) -> None:
        """Labels that other samples have alike in the next batch, or that are in one order at all times, number the
        rows of a batch, or the parts of it."""
        before, self._batches = self._batches, (labels, frozenset(samples))
        if before is None or len(before[0]) != len(labels):
            return
        others_have_them = before[1] != self._batches[1] and sorted(before[0]) == sorted(labels)
        self._compared += 1
        self._positional += list(before[0]) == list(labels) or others_have_them


def _together(deviations: Sequence[float]) -> float:
    return sum(deviations) / math.sqrt(len(deviations)) if deviations else 0.0


def _tie(known: Sequence[tuple[int, int]]) -> list[float]:
    """How far from chance it is which labels follow upon which: where classes have new numbers, each upon one."""
    before, now = (Counter(side) for side in zip(*known, strict=True))
    freedom = (len(before) - 1) * (len(now) - 1)
    if not freedom or 4 * max(len(before), len(now)) > len(known):
        return []
    total, cells = len(known), Counter(known)
    square = total * (sum(count * count / (before[a] * now[b]) for (a, b), count in cells.items()) - 1)
    return [(square - freedom) / math.sqrt(2 * freedom)]


class KeptLabels:
    """What is known of the labels of samples, both told apart by numbers.

    before: how many samples came again with the label that they had, and `broken`: how many with another one, until
    `since`: the step from which on fewer keep theirs than halfway between chance and all; None while labels hold. Of
    samples that came twice from then on, in `steps`, there were `again`, of which `agreeing` had the same label both
    times. strange: labels that none had before `since`. same, others: samples that came again with
    the label of their last time, and with another one, at any time. anew: whether they never held.
    """

    def __init__(self) -> None:
        self.anew = Reassigned()
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

    @property
    def may_be_anew(self) -> bool:
        """Whether labels have not held from the start."""
        return self.before < _HELD

    def hold(self) -> bool:
        """Whether samples have their own labels for the most part, which tell them apart."""
        again = self.same + self.others
        return again >= _HELD and self.chance < _OF_ALL_ALIKE and self.same >= again * (1 + self.chance) / 2

    def are_of(self, other: KeptLabels) -> bool:
        """Whether most labels are among those of another loss."""
        return 2 * len(self._labels.keys() & other._labels.keys()) >= len(self._labels)

    def met(self, step: int, samples: Sequence[int], labels: Sequence[int]) -> None:
        """The samples of a batch, and their labels."""
        if self.may_be_anew:
            self.anew.met(samples, labels, self._newest)
        else:
            self.anew = Reassigned()
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


def fit(predictions: torch.Tensor, targets: torch.Tensor) -> float | None:
    """By how many standard deviations predictions, or scores of classes, are nearer to the targets of their rows than
    to those that they would have by chance; None where that cannot be told."""
    if any(is_remote(each) or not readable(each) or bytes_of(each) > _MOST_BYTES for each in (predictions, targets)):
        return None
    said, wanted = predictions.detach(), targets.detach()
    if said.is_complex() or wanted.is_complex():
        return None
    if said.numel() != wanted.numel() and (said.dim() < 2 or wanted.is_floating_point()):
        return None
    if said.numel() != wanted.numel():
        classes = torch.arange(said.shape[1], device=wanted.device)
        wanted = wanted.unsqueeze(1) == classes.view(-1, *[1] * (wanted.dim() - 1))
        if wanted.shape != said.shape:
            return None
    said, wanted = (each[:_MOST_ROWS].reshape(min(len(each), _MOST_ROWS), -1).double() for each in (said, wanted))
    if len(said) != len(wanted) or len(said) < _FEWEST:
        return None
    together = (said - said.mean(0)) @ (wanted - wanted.mean(0)).T
    deviation = float(together.square().sum() / (len(said) - 1)) ** 0.5
    own = float(together.trace())
    return own / deviation if deviation > 0 and math.isfinite(own / deviation) else None
