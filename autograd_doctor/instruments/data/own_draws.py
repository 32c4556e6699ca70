"""Rows that are drawn with a generator of the program's own, and are the same in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from autograd_doctor.events.data import DrawsRepeated
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import MOVES, TAKES
from autograd_doctor.reading.live_values import LiveOp
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import fingerprints_to_come
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, Value, source_of

_DRAWS = frozenset({"multinomial", "randint"})
"""Of rows that may come again. An order, or a choice without return, may be meant to be one and the same."""
_LOOK_UPS = frozenset({"embedding", *TAKES})
_FEWEST = 8
"""Numbers of a draw: fewer may be the same by chance."""
_MOST_LINES = 16
_Key = tuple[Place | None, tuple[torch.Size, ...]]
"""A line, and how much it draws in a step: the last batch of a pass may be a smaller one."""


@dataclass(slots=True)
class _Drawn:
    """What one line has drawn in this step. parts: of the fingerprints. spans: from the smallest to the largest."""

    parts: list[torch.Tensor] = field(default_factory=list)
    spans: list[torch.Tensor] = field(default_factory=list)
    shapes: tuple[torch.Size, ...] = ()
    rows: int = 0
    used_at: Place | None = None


@dataclass(slots=True)
class _Line:
    """A line, what it drew in the first step, and what models were given in that."""

    drawn: Sequence[Any]
    given: Sequence[Any]
    rows: int
    used_at: Place | None
    first: int
    steps: int = 1
    is_same: bool = True
    others_vary: bool = False


class OwnDraws(Instrument):
    """Compares, over the steps that are recorded, what a line draws with a `torch.Generator` that it is given.

    It counts where rows of something that learns are seen to be looked up by it, fewer than there are, as negatives
    are. What models are given tells whether anything else is another in each step.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (DrawsRepeated,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        module_calls: ModuleCalls,
        tape: Tape,
        late_values: LateValues,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._tape = tape
        self._late_values = late_values
        self._lines: dict[_Key, _Line] = {}
        self._met = False
        self._forget()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._drawn, attention=Attention.FULL, names=_DRAWS, last=True)
        self.listen(self._tape.recorded, self._looked_up, names=_LOOK_UPS)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def finish(self) -> None:
        for (place, _), line in self._lines.items():
            if line.is_same and line.steps > 1:
                self.emit(
                    DrawsRepeated(
                        step=self._course.steps,
                        location=locate(place),
                        used_at=locate(line.used_at),
                        rows=line.rows,
                        first=line.first,
                        steps=line.steps,
                        others_vary=line.others_vary,
                    )
                )

    def _forget(self) -> None:
        self._values: dict[Value, Place | None] = {}
        self._draws: dict[Place | None, _Drawn] = {}
        self._given: list[torch.Tensor] = []

    def _drawn(self, operation: Operation) -> None:
        generator, rows = operation.kwargs.get("generator"), operation.result
        if not is_a(generator, torch.Generator) or not is_a(rows, torch.Tensor) or rows.numel() < _FEWEST:
            return
        drawn = self._draws.setdefault(operation.place, _Drawn())
        drawn.parts += fingerprints_to_come([rows]).parts
        drawn.shapes += (rows.shape,)
        drawn.spans.append(rows.amax() - rows.amin())
        if self._detail.closely:
            self._values[self._tape.value(rows)] = operation.place

    def _looked_up(self, op: Op) -> None:
        if not self._values or not op.output.learns or len(op.values) < 2 or not isinstance(op, LiveOp):
            return
        table, index = sorted(op.values[:2], key=lambda value: not value.is_floating)
        source = source_of(index, MOVES)
        are_rows = op.output.shape == (*index.shape, *table.shape[1:]) and index.count < table.shape[0]
        if are_rows and source in self._values:
            drawn = self._draws[self._values[source]]
            drawn.used_at, drawn.rows = op.place, index.count

    def _root_began(self, began: RootBegan) -> None:
        """What weights have made changes with them."""
        if self._met and began.call.grad_enabled:
            data = [tensor for tensor in began.given if not tensor.requires_grad]
            self._given += fingerprints_to_come(data).parts

    def _step_taken(self, course: Course) -> None:
        """From the second step with such a draw on: what models are given is of interest to no other program."""
        given, step = self._given, course.steps - 1
        for place, drawn in self._draws.items() if self._met else ():
            is_new = drawn.used_at is not None and len(self._lines) < _MOST_LINES
            if (place, drawn.shapes) in self._lines or is_new:
                self._ask((place, drawn.shapes), drawn, given, step)
        self._met |= bool(self._draws)
        self._forget()

    def _ask(self, key: _Key, drawn: _Drawn, given: Sequence[torch.Tensor], step: int) -> None:
        def then(values: Sequence[Any]) -> None:
            numbers, values = values[: len(drawn.parts)], values[len(drawn.parts) :]
            spans, others = values[: len(drawn.spans)], values[len(drawn.spans) :]
            if all(spans):
                self._compare(key, _Line(numbers, others, drawn.rows, drawn.used_at, step))

        self._late_values.ask(self, [*drawn.parts, *drawn.spans, *given], then)

    def _compare(self, key: _Key, now: _Line) -> None:
        line = self._lines.setdefault(key, now)
        if line is not now:
            line.steps += 1
            line.is_same &= list(line.drawn) == list(now.drawn)
            line.others_vary |= list(line.given) != list(now.given)
