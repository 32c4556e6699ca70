"""Models that all ranks of a group were seen to hold, side by side: where they are equal, and what steps them.

Ranks are compared at the same number of steps of the model's own. What is said of a parameter goes by its place in the
model, of a reading by its place among the readings.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from autograd_doctor.events.replicas import (
    BatchTrained,
    BuffersEvaluated,
    GradientsChangedAfterStep,
    RatesSet,
    ReplicasMet,
    ReplicasRead,
    StateTaken,
    WholeSetTrained,
)
from autograd_doctor.findings import Location
from autograd_doctor.trace import Ranked, Ranks

_ROUNDING = 1e-6
"""Of a norm, or of a rate: what machines of different kinds, and numbers of different width, may differ in."""
_OTHER_DATA = 1e-3
"""Of the norm of a gradient: those of other samples are hardly ever as near."""

_SCALED = 1e-5
"""Of the quotient of two norms: rounding of float32 is below it, and gradients of other data hardly ever are."""

_Values = tuple[int | None, float]
"""Bits and norm."""


class Apart(NamedTuple):
    """How replicas of a parameter differ at the end: since which reading, and in how many.

    ranks: those that differ from the first. distance: of the norms.
    """

    since: int
    readings: int
    ranks: frozenset[int]
    distance: float


@dataclass(frozen=True)
class Replicas:
    """A model on the ranks that hold it. readings: those that all have made, in order, each by rank.

    late: gradients that steps had used as they were when they were cleared, by steps taken before, of all ranks.
    rates: what each rank steps them with, as it changed.
    batches: what the first steps came from, likewise.
    buffers: what they were evaluated with after so many steps. states: when each rank took the state of the model.
    whole_sets: what each rank has trained it on, as a whole.
    """

    met: ReplicasMet
    ranks: Sequence[int]
    readings: Sequence[Sequence[ReplicasRead]]
    late: dict[int, Sequence[GradientsChangedAfterStep]]
    batches: dict[int, Sequence[BatchTrained]]
    rates: Sequence[Sequence[RatesSet]] = ()
    buffers: Sequence[Sequence[BuffersEvaluated]] = ()
    states: Sequence[Sequence[StateTaken]] = ()
    whole_sets: Sequence[Sequence[WholeSetTrained]] = ()

    @property
    def is_wrapped(self) -> bool:
        return bool(self.met.model)

    @property
    def is_sharded(self) -> bool:
        return self.met.sharded

    @property
    def is_hooked(self) -> bool:
        """Whether the program says itself what is sent."""
        return any(read.hooked for by_rank in self.readings for read in by_rank)

    @property
    def is_held_back(self) -> bool:
        """Whether the wrapper is told to send nothing, and no gradients were read that would say what came of it."""
        reads = [read for by_rank in self.readings for read in by_rank]
        return any(not read.sent_last for read in reads) and not any(read.gradient_bits for read in reads)

    def named(self, positions: Iterable[int]) -> str:
        """Parameters as the program may call them: the first few."""
        names = [f"`{self.name(position)}`" for position in positions]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

    def name(self, position: int) -> str:
        return f"{self.met.model}.{self.met.names[position]}" if self.is_wrapped else self.met.names[position]

    def after(self, reading: int) -> int:
        """The steps that had been taken."""
        return self.readings[reading][0].taken

    def stepped_at(self, reading: int) -> Location | None:
        return self.readings[reading][0].stepped_at

    @property
    def is_stepped_alike(self) -> bool:
        """Whether ranks share the gradients of all parameters: by a wrapper that sends them, or by hand; or hold parts
        of one model."""
        if self.is_sharded:
            return True
        if self.is_hooked or self.is_held_back or self.stepped_apart(1):
            return False
        return self.is_wrapped or any(map(self.are_made_alike, range(len(self.met.names))))

    @property
    def is_one_model(self) -> bool:
        """Whether all parameters were equal in several readings, from the first to the last."""
        return len(self.readings) > 1 and not any(self.differing)

    def rates_differ(self) -> list[RatesSet] | None:
        """What ranks had last set when their rates first were not the same, in the order of ranks."""
        if not all(self.rates):
            return None
        for taken in sorted({each.taken for by_rank in self.rates for each in by_rank}):
            now = [[each for each in by_rank if each.taken <= taken] for by_rank in self.rates]
            if not all(now):
                continue
            latest = [by_rank[-1] for by_rank in now]
            if not all(_are_one(each.rates, latest[0].rates) for each in latest):
                return latest
        return None

    def buffers_apart(self) -> list[str]:
        """Buffers that differ whenever all ranks evaluate the model."""
        if not self.buffers or len({tuple(each.names) for by_rank in self.buffers for each in by_rank}) > 1:
            return []
        names = self.buffers[0][0].names
        return [
            name
            for place, name in enumerate(names)
            if not any(
                _are_alike([(each.bits[place], each.norms[place]) for each in by_rank], _ROUNDING)
                for by_rank in self.buffers
            )
        ]

    def states_taken(self) -> dict[Location | None, list[set[int]]]:
        """After which steps each rank took the state of the model, by lines at which all did; without what came after
        the last reading, when some may have been stopped already."""
        last = self.after(len(self.readings) - 1) if self.readings else 0
        lines = {each.location for by_rank in self.states for each in by_rank}
        found = {
            line: [
                {each.taken for each in by_rank if each.location == line and each.taken <= last}
                for by_rank in self.states
            ]
            for line in lines
        }
        return {line: by_rank for line, by_rank in found.items() if all(by_rank)}

    # ---------------------------------------------------------------------------------------------------- parameters

    def _values(self, reading: int, position: int) -> list[_Values]:
        return [(read.bits[position], read.norms[position]) for read in self.readings[reading]]

    @cached_property
    def differing(self) -> Sequence[frozenset[int]]:
        """For each reading the parameters that differ."""
        positions = range(len(self.met.names))
        return [
            frozenset(p for p in positions if not _are_alike(self._values(reading, p), _ROUNDING))
            for reading in range(len(self.readings))
        ]

    def apart(self, position: int) -> Apart | None:
        """None for what does not differ at the end, or has become equal again: that was brought together on purpose."""
        differs = [position in differing for differing in self.differing]
        if not differs or not differs[-1] or self.is_brought_together(position):
            return None
        since = differs.index(True)
        last = self._values(len(differs) - 1, position)
        others = {rank for rank, (bits, _) in zip(self.ranks, last, strict=True) if bits != last[0][0]}
        sizes = [size for _, size in last]
        return Apart(since, sum(differs), frozenset(others), max(sizes) - min(sizes))

    @property
    def is_apart(self) -> bool:
        """Whether any of them differs at the end: nothing has brought it together."""
        return any(self.apart(position) is not None for position in range(len(self.met.names)))

    def is_brought_together(self, position: int) -> bool:
        """Whether replicas that differed were equal later on."""
        differs = [position in differing for differing in self.differing]
        return any(before and not after for before, after in pairwise(differs))

    def stepped_apart(self, repeats: float) -> dict[int, Apart]:
        """Parameters that were equal before the first step, and differ because of gradients that do."""
        if not self.readings or self.after(0) > 0:
            return {}
        equal = (position for position in range(len(self.met.names)) if position not in self.differing[0])
        found = {position: self.apart(position) for position in equal}
        return {p: each for p, each in found.items() if each is not None and len(self.steps_differ(p)) >= repeats}

    # ----------------------------------------------------------------------------------------------------- gradients

    def _gradients(self, reading: int, position: int) -> list[_Values]:
        reads = self.readings[reading]
        return [(r.gradient_bits[position], r.gradient_norms[position]) for r in reads if r.gradient_bits]

    def steps_differ(self, position: int) -> list[int]:
        """The readings before steps with gradients that differ."""
        readings = range(len(self.readings))
        return [r for r in readings if not _are_alike(self._gradients(r, position), _OTHER_DATA)]

    def are_made_alike(self, position: int) -> bool:
        """Whether its gradients are equal although the models differ, in several readings and with other values in
        each: the ranks have told each other."""
        found = {
            values[0][0]
            for reading, differing in enumerate(self.differing)
            if differing and self._is_sent(values := self._gradients(reading, position), position)
        }
        return len(found) > 1

    def are_multiples(self, positions: Sequence[int]) -> bool:
        """Whether all of them differ between ranks by a factor of each rank, in several readings of models that differ:
        the ranks have told each other, and made different things of it."""
        readings = [
            reading
            for reading, differing in enumerate(self.differing)
            if differing and any(not _are_alike(self._gradients(reading, p), _OTHER_DATA) for p in positions)
        ]
        return len(readings) > 1 and all(self._are_multiples_in(reading, positions) for reading in readings)

    def _are_multiples_in(self, reading: int, positions: Sequence[int]) -> bool:
        by_position = [[size for _, size in self._gradients(reading, position)] for position in positions]
        used = [sizes for sizes in by_position if any(sizes)]
        if len(used) < 2 or not all(0 < size < math.inf for sizes in used for size in sizes):
            return False
        quotients = [[size / sizes[0] for size in sizes] for sizes in used]
        return all(
            math.isclose(quotient, first, rel_tol=_SCALED)
            for each in quotients
            for quotient, first in zip(each, quotients[0], strict=True)
        )

    def are_made_alike_later(self, position: int) -> bool:
        """Whether gradients that differed in a step were equal when they were cleared."""
        return any(
            self._is_sent([(e.gradient_bits[position], e.gradient_norms[position]) for e in events], position)
            for reading in self.steps_differ(position)
            if (events := self.late.get(self.after(reading)))
        )

    def _is_sent(self, gradients: Sequence[_Values], position: int) -> bool:
        """Whether ranks have the same gradient, which is no single number: that may be the same for all data."""
        bits = {each for each, _ in gradients}
        return (
            len(gradients) == len(self.ranks)
            and len(bits) == 1
            and None not in bits
            and 0 < gradients[0][1] < math.inf
            and self.met.sizes[position] > 1
        )


def _are_one(rates: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Whether rates are the same, but for what is lost when one rank sends them to another as float32."""
    return len(rates) == len(others) and all(
        one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=_ROUNDING))
        for one, other in zip(rates, others, strict=True)
    )


def _are_alike(values: Sequence[_Values], tolerance: float) -> bool:
    """Of what is not finite nothing is said; what is nowhere but on some ranks differs, unless it is zero."""
    sizes = [size for _, size in values]
    if len({bits for bits, _ in values}) < 2 or not all(map(math.isfinite, sizes)):
        return True
    return math.isclose(min(sizes), max(sizes), rel_tol=tolerance)


def replicas(ranks: Ranks) -> Iterator[Replicas]:
    """Those that were met on all ranks of their group under the same names, in the order in which they were met."""
    held: defaultdict[_Key, dict[int, _Of]] = defaultdict(dict)
    for ranked in ranks.all:
        for key, of in _of_rank(ranked):
            held[key][ranked.rank] = of
    for by_rank in held.values():
        met = next(iter(by_rank.values())).met
        if len(met.ranks) > 1 and set(met.ranks) <= by_rank.keys():
            found = [by_rank[rank] for rank in met.ranks]
            yield Replicas(
                met,
                met.ranks,
                [[of.readings[step] for of in found] for step in _common(of.readings for of in found)],
                {step: [of.late[step] for of in found] for step in _common(of.late for of in found)},
                {step: [of.batches[step] for of in found] for step in _common(of.batches for of in found)},
                [of.rates for of in found],
                [[of.buffers[step] for of in found] for step in _common(of.buffers for of in found)],
                [of.states for of in found],
                [of.whole_sets for of in found],
            )


def _common(by_rank: Iterable[dict[int, Any]]) -> list[int]:
    """The numbers of steps after which all ranks have something."""
    first, *others = by_rank
    return sorted(set(first).intersection(*others))


_Key = tuple[str, tuple[str, ...], tuple[int, ...], tuple[int, ...], bool, int]
"""A model as all ranks know it; the last number tells apart those that are alike in all else."""


class _Of(NamedTuple):
    """What one rank has recorded of a model, by steps taken."""

    met: ReplicasMet
    readings: dict[int, ReplicasRead]
    late: dict[int, GradientsChangedAfterStep]
    batches: dict[int, BatchTrained]
    rates: list[RatesSet]
    buffers: dict[int, BuffersEvaluated]
    states: list[StateTaken]
    whole_sets: list[WholeSetTrained]


def _of_rank(ranked: Ranked) -> Iterator[tuple[_Key, _Of]]:
    found = {met.replicas: _Of(met, {}, {}, {}, [], {}, [], []) for met in ranked.trace.of(ReplicasMet)}
    for read in ranked.trace.of(ReplicasRead):
        found[read.replicas].readings[read.taken] = read
    for changed in ranked.trace.of(GradientsChangedAfterStep):
        found[changed.replicas].late[changed.taken] = changed
    for trained in ranked.trace.of(BatchTrained):
        found[trained.replicas].batches[trained.taken] = trained
    for each in ranked.trace.of(RatesSet):
        found[each.replicas].rates.append(each)
    for evaluated in ranked.trace.of(BuffersEvaluated):
        found[evaluated.replicas].buffers[evaluated.taken] = evaluated
    for state in ranked.trace.of(StateTaken):
        found[state.replicas].states.append(state)
    for whole in ranked.trace.of(WholeSetTrained):
        found[whole.replicas].whole_sets.append(whole)
    times: Counter[object] = Counter()
    for of in found.values():
        key = of.met.model, tuple(of.met.names), tuple(of.met.sizes), tuple(of.met.ranks), of.met.trained
        yield (*key, times[key]), of
        times[key] += 1
