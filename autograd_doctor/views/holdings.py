"""What one holder kept of the tensors made at one place, followed from census to census."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.findings import Location
from autograd_doctor.trace import Trace
from autograd_doctor.wording import in_bytes, plural

Size = Callable[[Survivor], int]
ENOUGH_CENSUSES = 3
"""Two points always lie on a line; three that rise are a trend."""

HEAVY = 2**16
"""Bytes per step that no long run can bear: 64 KiB are 6 GiB in 100,000 steps."""
LONG_RUN = 100_000
"""Steps."""
BYTES_OF_A_RECORD = 16
"""A pair of numbers in double precision, such as a loss and a score, is kept as a record and not for its values."""


@dataclass(frozen=True)
class Holding:
    """One holder's survivors. `steps` are those of the censuses, `survivors` what each of them counted.

    recorded: how many steps had been recorded by each census, from which alone it could count.
    """

    steps: tuple[int, ...]
    recorded: tuple[int, ...]
    survivors: tuple[Survivor, ...]
    steps_per_epoch: int | None

    @property
    def latest(self) -> Survivor:
        return self.survivors[-1]

    @property
    def location(self) -> Location | None:
        """The line that stored the tensors, or the one that made them where the storing was not seen."""
        return self.latest.stored_at or self.latest.made_at

    def grows(self, size: Size) -> bool:
        """Whether the size rose from every census to the next; too few censuses show nothing."""
        sizes = [size(survivor) for survivor in self.survivors]
        rises = all(before < after for before, after in pairwise(sizes))
        return len(sizes) >= ENOUGH_CENSUSES and rises

    def per_step(self, size: Size) -> float:
        """By how much the size grew with every step, between the first census and the last."""
        return (size(self.latest) - size(self.survivors[0])) / max(1, self.recorded[-1] - self.recorded[0])

    def is_heavy(self, size: Size) -> bool:
        """Whether what grows will be missed: a few bytes per step are a nuisance, and memory does not run out."""
        steps = max(LONG_RUN, self.steps_per_epoch or 0)
        return self.grows(size) and self.per_step(size) * steps >= HEAVY * LONG_RUN

    def forecast(self, size: Size) -> str:
        """What would have been kept at the end of an epoch, or of a long run where its length is not known."""
        long_run = f"{LONG_RUN:,} steps would add {in_bytes(self.per_step(size) * LONG_RUN)}"
        return self.epoch_forecast(size) or long_run

    def epoch_forecast(self, size: Size) -> str:
        """What would have been kept at the end of an epoch, where its length is known."""
        if not self.steps_per_epoch or self.per_step(size) <= 0:
            return ""
        kept = in_bytes(self.per_step(size) * self.steps_per_epoch)
        return f"an epoch of {plural(self.steps_per_epoch, 'step')} would add {kept}"


def remaining(nodes: int) -> str:
    """What is left of a graph whose buffers were freed."""
    return f"{plural(nodes, 'graph node')} {'remains' if nodes == 1 else 'remain'}"


def holdings(trace: Trace) -> list[Holding]:
    """Who keeps tensors beyond their step, as of the latest census or the end of an epoch."""
    return list(_follow(trace.of(SurvivorsCounted), _epoch_ends(trace)))


def kept_by_module(survivor: Survivor) -> bool:
    """Whether these are activations in a hook, a cache or an attribute of a module; lone numbers are records."""
    held = survivor.module or survivor.holder_kind == "hook"
    return bool(held) and not survivor.scalars and survivor.tensor_bytes > BYTES_OF_A_RECORD * survivor.count


def awaits_backward(trace: Trace, holding: Holding) -> bool:
    """Whether a graph may be kept for an optimizer that had not stepped by then, as an episode's is.

    One whose backward came between the last two censuses was kept for it: what becomes of it now is yet to be seen.
    """
    counts = list(zip(holding.steps, holding.survivors, strict=True))
    if len(counts) > 1 and counts[-1][1].freed and not counts[-2][1].freed:
        counts.pop()
    last, kept = counts[-1]
    stepped = {event.optimizer for event in trace.steps if holding.steps[0] <= event.step < last}
    return not kept.freed and bool(trace.optimizers.keys() - stepped)


def _epoch_ends(trace: Trace) -> frozenset[int]:
    """The steps at which a pass over a loader ended, during which there were steps."""
    begun: dict[int, int] = {}
    ends: set[int] = set()
    for drawn in trace.of(BatchDrawn):
        if not drawn.ended:
            begun.update({} if drawn.cut else {drawn.loader: drawn.step})
        elif drawn.step > begun.get(drawn.loader, drawn.step):
            ends.add(drawn.step)
    return frozenset(ends)


def _follow(censuses: Iterable[SurvivorsCounted], epoch_ends: Collection[int]) -> Iterator[Holding]:
    """The holders that the latest census still found, and what begins anew with every epoch: totals, and lists that
    kept the graphs of finished backwards until an epoch ended. `epoch_ends` are the steps at which one did.
    """
    taken = list(censuses)
    indexed = [{_key(survivor): survivor for survivor in census.survivors} for census in taken]
    ended = [any(one.step <= end < next_.step for end in epoch_ends) for one, next_ in pairwise(taken)]
    for key in dict.fromkeys(key for survivors in reversed(indexed) for key in survivors):
        stretches = _stretches([survivors.get(key) for survivors in indexed], ended)
        start, survivors = max((each for each in stretches if _tells(*each, ended)), key=_length, default=(0, []))
        if survivors:
            mine = taken[start : start + len(survivors)]
            yield Holding(
                steps=tuple(census.step for census in mine),
                recorded=tuple(census.recorded_steps or census.step for census in mine),
                survivors=tuple(survivors),
                steps_per_epoch=taken[-1].steps_per_epoch,
            )


def _stretches(found: Sequence[Survivor | None], ended: Sequence[bool]) -> Iterator[tuple[int, list[Survivor]]]:
    """The censuses, by the first of them, between which a holder was there and did not begin anew, latest first."""
    stretch: list[Survivor] = []
    for position in reversed(range(len(found))):
        survivor = found[position]
        if stretch and (survivor is None or _began_anew(survivor, stretch[0], epoch_ended=ended[position])):
            yield position + 1, stretch
            stretch = []
        if survivor is not None:
            stretch = [survivor, *stretch]
    if stretch:
        yield 0, stretch


def _length(stretch: tuple[int, list[Survivor]]) -> int:
    return len(stretch[1])


def _tells(start: int, survivors: Sequence[Survivor], ended: Sequence[bool]) -> bool:
    """Whether a stretch lasted to the latest census, or to where an epoch ended; any other holder was a window."""
    kept, last = survivors[-1], start + len(survivors) - 1
    return last == len(ended) or any(map(_is_total, survivors)) or (ended[last] and kept.has_graph and kept.freed)


def _is_total(survivor: Survivor) -> bool:
    """Whether this is a lone tensor that chains the graphs of many steps."""
    return survivor.chained and survivor.count == 1


def _began_anew(before: Survivor, after: Survivor, *, epoch_ended: bool) -> bool:
    fewer = epoch_ended and after.count < before.count
    return fewer or (_is_total(before) and _is_total(after) and after.nodes < before.nodes)


def _key(survivor: Survivor) -> tuple[str, str, int, str, bool]:
    made_at = survivor.made_at
    place = (made_at.path, made_at.line) if made_at else ("", 0)
    return (survivor.holder, *place, survivor.operation, survivor.has_graph)
