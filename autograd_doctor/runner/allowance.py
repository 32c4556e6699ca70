"""How much time looking may take: a share of the run, which is kept by measuring."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from statistics import median

_ENOUGH = 20
_KEPT = 200
"""Steps of which only the pulse was taken, by which a plain one is told: the latest, as a run may become slower."""
_SOON = 5.0
_EARLY = 0.16
"""Of the advance, for each time that a run has become twice as long, beginning with so many seconds."""
_SMALL_PART = 0.02
"""Of the time that a run has taken, which a chapter may take each time that it has doubled: then all of them together
take no more. It is what may be spent on steps of 5 ms."""
_LASTS, _OF_RUN = 500, 4
"""Steps, and the part of those before: stages of a run are the longer the later they come."""
_MOST_UNSEEN = 3.0
"""Times that a step under a function mode, which each operation goes through, may take as long as the looks in it:
beyond, it was slow by itself, as when it evaluates or waits for data. Chosen."""


def lasting_from(step: int) -> int:
    """The step from which on something is found to last that came up in this one."""
    return step + max(_LASTS, step // _OF_RUN)


class Allowance:
    """Seconds spent on looking closely, and whether there is more to spend.

    A chapter may begin when all earlier ones are paid for; for news, a little earlier. share: of the time of the run,
    for chapters and the pulse together, of which chapters get half in any case. advance: seconds that may be spent
    before they are earned, for news; a part of it also for each time that a short run has become twice as long, which
    need not wait until its first chapter is paid for: what is wrong mostly shows early.

    pulse: seconds on all steps outside of chapters, which are looked at whatever that takes.
    """

    def __init__(self, share: float, advance: float, clock: Callable[[], float]) -> None:
        self.pulse = 0.0
        self._share = share
        self._advance = advance
        self._clock = clock
        self._began = clock()
        self._plain: deque[float] = deque(maxlen=_KEPT)
        self._unsettled: list[tuple[float, float]] = []
        self._spent = 0.0
        self._first = 0.0
        self._is_first = True
        self._latest = self._before = 0.0

    @property
    def spent(self) -> float:
        """Seconds on chapters. Steps that were looked at before it was known how long a plain one takes count with
        their looks."""
        return self._first + self._spent + sum(looked for _, looked in self._unsettled)

    @property
    def earned(self) -> float:
        """Seconds, for chapters."""
        passed = self._clock() - self._began
        all_in_all = self._share * passed
        early = _EARLY * self._advance * math.log2(1 + passed / _SOON)
        return max(early, all_in_all - min(self.pulse, all_in_all / 2) - self._first)

    def is_paid(self) -> bool:
        """Whether a chapter may begin."""
        return self._spent <= self.earned

    def is_earned(self) -> bool:
        """Whether one is paid for that takes as long as the latest."""
        return self._spent + self._latest <= self.earned

    def may_hurry(self, part: float = 1.0) -> bool:
        """Whether one may begin for something new, with so large a part of the advance."""
        return self._spent <= self.earned + part * self._advance

    def may_double(self) -> bool:
        """Whether one may begin because the run has become twice as long: half of the advance is kept for news. Also if
        it takes, as the one before did, but a small part of the time until now."""
        return self.may_hurry(0.5) or self._latest <= _SMALL_PART * (self._clock() - self._began)

    def chapter_is_over(self) -> None:
        """What is spent from now on is spent on the next one."""
        self._latest, self._before = self.spent - self._before, self.spent

    def first_is_over(self) -> None:
        """What is spent from now on is to be paid for."""
        self._is_first = False

    def spend(self, seconds: float) -> None:
        """On what is not part of a step."""
        if self._is_first:
            self._first += seconds
        else:
            self._spent += seconds

    def plain_steps(self, steps: int, seconds: float, looked: float) -> None:
        """So many steps took so long, of which taking the pulse has taken so much."""
        self.pulse += looked
        self._plain.append((seconds - looked) / max(steps, 1))
        if self._unsettled and len(self._plain) >= _ENOUGH:
            plain = median(self._plain)
            self._first += sum(_cost(took, spent, plain) for took, spent in self._unsettled)
            self._unsettled.clear()

    def looked_at_step(self, seconds: float, looked: float, busy: float = math.inf) -> None:
        """The same of one that was looked at: its operations went through our hands as well.

        busy: seconds for which this thread had the processor, where nothing but it was at work: what the machine did
        for others meanwhile costs the program nothing.
        """
        seconds, looked = min(seconds, busy), min(looked, busy)
        if len(self._plain) >= _ENOUGH:
            self.spend(_cost(seconds, looked, median(self._plain)))
        else:
            self._unsettled.append((seconds, looked))


def _cost(seconds: float, looked: float, plain: float) -> float:
    """What a step cost that was looked at: more than its looks, where it took longer than a plain one."""
    return max(looked, min(seconds - plain, _MOST_UNSEEN * looked))
