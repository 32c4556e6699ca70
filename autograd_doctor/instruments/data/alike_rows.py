"""Batches of several rows, all of which are the same one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from autograd_doctor.events.data import RowsAlike
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import JOINS, MOVES, REPEATS
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_LEAST_ROWS, _LEAST_VALUES = 8, 4
"""Fewer rows may well be alike, and rows of fewer values, such as times and classes."""
_MOST_FIELDS = 4
_MOST_LINES = 100
_MOST_LOOKS = 64


@dataclass
class _Field:
    """An argument of a root at one line. whole: it has whole numbers. looks: at how many steps; alike: what filled all
    rows then, if it did."""

    name: str
    rows: int
    since: int
    whole: bool
    step: int = -1
    looks: int = 0
    alike: list[int] = field(default_factory=list)

    @property
    def is_alike(self) -> bool:
        return len(self.alike) == self.looks > 0


class AlikeRows(Instrument):
    """Looks at what roots are given in training, in the first steps that are looked at closely.

    How it was made, `tensors` knows from `lineage`.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (RowsAlike,)

    def __init__(
        self, site: Site, course: Course, tensors: Tensors, lineage: Lineage, module_calls: ModuleCalls
    ) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._lineage = lineage
        self._module_calls = module_calls
        self._fields: dict[tuple[int, Place | None, int], _Field] = {}
        self._versions: IdentityTable[int] = IdentityTable()
        """Of tensors that were put several times into one, when that was first seen."""
        self._repeated: IdentityTable[None] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._joined, names=JOINS)
        self.listen(self._lineage.operated, self._passed_on, names=MOVES - REPEATS)

    def finish(self) -> None:
        for (module, where, _), known in self._fields.items():
            if known.is_alike:
                self.emit(
                    RowsAlike(
                        step=self._course.steps,
                        module=module,
                        name=known.name,
                        location=locate(where),
                        rows=known.rows,
                        since=known.since,
                        steps=known.looks,
                        different=len(set(known.alike)),
                        whole=known.whole,
                    )
                )

    def _joined(self, operation: Operation) -> None:
        """A row that nobody writes over was put in several times on purpose."""
        rows = operation.args[0] if operation.args else None
        if not isinstance(rows, list | tuple) or len(rows) < 2 or any(row is not rows[0] for row in rows):
            return
        row, result = rows[0], operation.result
        if not (isinstance(row, torch.Tensor) and isinstance(result, torch.Tensor)) or row.is_inference():
            return
        whole = row if row._base is None else row._base
        if whole._version in (0, self._versions.get(whole)):
            self._repeated.put(result, None)
        else:
            self._versions.put(whole, whole._version)

    def _passed_on(self, operation: Operation) -> None:
        """What was repeated on purpose is cast, or brought to an accelerator."""
        given, result = next(iter(operation.args), None), operation.result
        if not (isinstance(given, torch.Tensor) and isinstance(result, torch.Tensor)):
            return
        if given.dim() and readable(given) and self._is_repeated(given):
            self._repeated.put(result, None)

    def _root_began(self, began: RootBegan) -> None:
        if not (began.call.grad_enabled and began.call.module.training):
            return
        for position, tensor in enumerate(began.given[:_MOST_FIELDS]):
            line = (began.module, began.where, position)
            if line in self._fields or len(self._fields) < _MOST_LINES:
                self._look(line, tensor)

    def _look(self, line: tuple[int, Place | None, int], tensor: torch.Tensor) -> None:
        known = self._fields.get(line)
        if known is not None and (known.step == self._course.steps or known.looks >= _MOST_LOOKS or not known.is_alike):
            return
        if not readable(tensor) or tensor.dim() < 2 or len(tensor) < _LEAST_ROWS or tensor[0].numel() < _LEAST_VALUES:
            return
        rows = None if tensor.requires_grad or self._is_repeated(tensor) else row_keys(tensor, waits=True)
        if rows is None:
            return
        if known is None:
            known = self._fields[line] = _Field(
                variable_name(tensor), len(tensor), self._course.steps, not tensor.is_floating_point()
            )
        known.step = self._course.steps
        known.looks += 1
        known.alike += rows[:1] if len(set(rows)) == 1 else []

    def _is_repeated(self, tensor: torch.Tensor) -> bool:
        """Whether the program put the same row into it on purpose."""
        made = self._tensors.get(tensor)
        is_repeated = made is not None and (made.operation in REPEATS or made.values != 0)
        return is_repeated or tensor.stride(0) == 0 or tensor in self._repeated
