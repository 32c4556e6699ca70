"""Keeping the trace small: light steps that are like others in it are counted and left out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from autograd_doctor.events import (
    BackwardRan,
    BatchDrawn,
    Event,
    ForwardRan,
    GradientsCleared,
    GradientsClipped,
    GradientUse,
    ModeSet,
    OptimizerStepped,
    ScalerUsed,
    SchedulerStepped,
    StepsRepeated,
    TensorFacts,
)

_KEPT = 3
"""Light steps of one kind that are kept: enough for rules to whom one time is no time."""
_MOST_KINDS = 10_000
_SAY_EVERY = 0.5
"""Seconds of the program after which the count is brought up to date, for those who watch, and should it be killed."""
_ORDINARY = (
    *(BackwardRan, BatchDrawn, ForwardRan, GradientsCleared, GradientsClipped, ModeSet, OptimizerStepped),
    *(ScalerUsed, SchedulerStepped),
)
"""What steps consist of. Any other event is written at once, with what came before it in its step."""
_ANY_ROOT = TensorFacts(shape=[], dtype="")

Write = Callable[[Event], None]


class Repeats:
    """Stands before the recorder. Steps in full detail pass; a light step is held back until it is over.

    Two steps are alike if the same happened in them, in the same order and at the same places. Values (losses, norms,
    rates, scales) may differ, as long as both are finite.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._held: list[Event] = []
        self._times: Counter[bytes] = Counter()
        self._encoder = msgspec.msgpack.Encoder()
        self._newest = 0
        self._left_out: list[Event] = []
        self._first = self._steps = 0
        self._said_at = 0.0

    def take(self, event: Event, *, full: bool) -> None:
        """Write an event, or hold it back as part of a light step."""
        if self._held and event.step != self._held[0].step:
            self._settle()
        if full or not isinstance(event, _ORDINARY):
            self.flush()
            self._write(event)
        else:
            self._held.append(event)

    def flush(self) -> None:
        """Write what is held back."""
        held, self._held = self._held, []
        self._say()
        for event in held:
            self._write(event)

    def _settle(self) -> None:
        """A light step is over: write it, or leave it out."""
        likeness = self._encoder.encode([self._without_values(event) for event in self._held])
        self._times[likeness] += 1
        if self._times[likeness] <= _KEPT or len(self._times) > _MOST_KINDS:
            self.flush()
            return
        self._first = self._first if self._left_out else self._held[0].step
        self._steps += 1
        self._left_out += self._held
        self._held = []
        if time.monotonic() >= self._said_at + _SAY_EVERY:
            self._say()

    def _say(self) -> None:
        """State how many steps were left out since it was last said."""
        if not self._steps:
            return
        self._said_at = time.monotonic()
        steps = [event for event in self._left_out if isinstance(event, OptimizerStepped) and not event.skipped]
        backwards = [event for event in self._left_out if isinstance(event, BackwardRan)]
        self._write(
            StepsRepeated(
                step=self._left_out[-1].step,
                first=self._first,
                steps=self._steps,
                backwards=len(backwards),
                by_optimizer=dict(Counter(event.optimizer for event in steps if event.optimizer is not None)),
                loss=backwards[-1].loss if backwards else None,
            )
        )
        self._left_out, self._steps = [], 0

    def _without_values(self, event: Event) -> Event:
        if isinstance(event, BackwardRan):
            self._newest = event.backward
            finite = event.root.nan + event.root.inf == 0
            return replace(
                event,
                step=0,
                backward=0,
                root=_ANY_ROOT if finite else event.root,
                loss=None,
                nodes=event.nodes.bit_length(),
                reused=self._relative(event.reused),
                contains=self._relative(event.contains),
            )
        if isinstance(event, OptimizerStepped):
            uses = [self._use_without_values(use) for use in event.uses]
            return replace(event, step=0, uses=uses, scaled_by=0.0, learning_rates=[], loss=None)
        if isinstance(event, GradientsClipped):
            return replace(event, step=0, limit=0.0, norm=None, loss_scale=0.0)
        if isinstance(event, ScalerUsed):
            return replace(event, step=0, scale=0.0)
        if isinstance(event, SchedulerStepped):
            return replace(event, step=0, learning_rates=[])
        if isinstance(event, BatchDrawn):
            return replace(event, step=0, pass_number=min(event.pass_number, 2))
        return replace(event, step=0)

    def _use_without_values(self, use: GradientUse) -> GradientUse:
        return replace(
            use,
            norms=[],
            backwards=self._relative(use.backwards),
            consumed=self._relative(use.consumed),
            foreign=self._relative(use.foreign),
        )

    def _relative(self, backwards: list[int]) -> list[int]:
        """How many backwards ago each of them was."""
        return [self._newest - backward for backward in backwards]
