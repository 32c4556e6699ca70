"""Batches of several rows, all of which are the same one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch

from autograd_doctor.events.data import RowsAlike
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import JOINS, MOVES, REPEATS, TAKES
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op

_LEAST_ROWS, _LEAST_VALUES = 8, 4
"""Fewer rows may well be alike, and rows of fewer values, such as times and classes."""
_MOST_FIELDS = 4
_MOST_LINES = 100
_MOST_LOOKS = 64
_TOLERANCE = 1e-4


_Line = tuple[int, Place | None, int]


@dataclass
class _Field:
    """An argument of a root at one line. whole: it has whole numbers. looks: at how many steps; alike: what filled all
    rows then, if it did. repeated: the program has put it together of one row, at `made`."""

    name: str
    rows: int
    since: int
    whole: bool
    step: int = -1
    looks: int = 0
    alike: list[int] = field(default_factory=list)
    repeated: bool = False
    made: Place | None = None

    @property
    def is_alike(self) -> bool:
        return len(self.alike) == self.looks > 0


@dataclass
class _Step:
    """One in which roots were given one row so many times: whether all that meets what is learned is one row.

    fields: what they were given, and what filled it. addresses: where that lies. answers: how often what came of it met
    something else.
    """

    number: int
    rows: int
    fields: dict[_Line, tuple[_Field, int]] = field(default_factory=dict)
    addresses: set[int] = field(default_factory=set)
    answers: int = 0
    is_one: bool = True


class AlikeRows(Instrument):
    """Looks at what roots are given in training, in the first steps that are looked at closely.

    How it was made, `tensors` knows from `lineage`. A row that the program repeats is a prompt, or a context, that goes
    with others. Where nothing differs from row to row in a whole step, neither what is given nor what comes of it nor
    what that is compared with, it is a batch of one sample all the same.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (RowsAlike,)

    def __init__(
        self,
        site: Site,
        course: Course,
        tensors: Tensors,
        lineage: Lineage,
        module_calls: ModuleCalls,
        tape: Tape,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._lineage = lineage
        self._module_calls = module_calls
        self._tape = tape
        self._fields: dict[_Line, _Field] = {}
        self._repeats: dict[_Line, _Field] = {}
        self._step: _Step | None = None
        self._differ = -1
        """The latest step in which a root was given rows that nobody repeated."""
        self._versions: IdentityTable[int] = IdentityTable()
        """Of tensors that were put several times into one, when that was first seen."""
        self._repeated: IdentityTable[Place | None] = IdentityTable()
        """Where those were put together that are of one row on purpose."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._joined, names=JOINS)
        self.listen(self._lineage.operated, self._passed_on, names=MOVES - REPEATS)

    def finish(self) -> None:
        for (module, where, _), known in (*self._fields.items(), *self._repeats.items()):
            if known.is_alike:
                self.emit(
                    RowsAlike(
                        step=self._course.steps,
                        module=module,
                        name=known.name,
                        location=locate(known.made or where),
                        rows=known.rows,
                        since=known.since,
                        steps=known.looks,
                        different=len(set(known.alike)),
                        whole=known.whole,
                        repeated=known.repeated,
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
            self._repeated.put(result, operation.place)
        else:
            self._versions.put(whole, whole._version)

    def _passed_on(self, operation: Operation) -> None:
        """What was repeated on purpose is cast, or brought to an accelerator."""
        given, result = next(iter(operation.args), None), operation.result
        if not (isinstance(given, torch.Tensor) and isinstance(result, torch.Tensor)):
            return
        if given.dim() and readable(given) and self._is_repeated(given):
            self._repeated.put(result, self._repeated_at(given))

    def _root_began(self, began: RootBegan) -> None:
        if not (began.call.grad_enabled and began.call.module.training):
            return
        for position, tensor in enumerate(began.given):
            line = (began.module, began.where, position)
            if tensor.dim() and readable(tensor) and not self._is_repeated(tensor):
                self._differ = self._course.steps
                if position < _MOST_FIELDS and (line in self._fields or len(self._fields) < _MOST_LINES):
                    self._look(line, tensor)
            elif position < _MOST_FIELDS and (line in self._repeats or len(self._repeats) < _MOST_LINES):
                self._look_at_repeated(line, tensor)

    def _look(self, line: _Line, tensor: torch.Tensor) -> None:
        known = self._fields.get(line)
        if known is not None and (known.step == self._course.steps or known.looks >= _MOST_LOOKS or not known.is_alike):
            return
        rows = row_keys(tensor, waits=True) if _has_samples(tensor) else None
        if rows is None:
            return
        if known is None:
            known = self._fields[line] = self._field(tensor)
        known.step = self._course.steps
        known.looks += 1
        known.alike += rows[:1] if len(set(rows)) == 1 else []

    def _field(self, tensor: torch.Tensor) -> _Field:
        return _Field(variable_name(tensor), len(tensor), self._course.steps, not tensor.is_floating_point())

    def _look_at_repeated(self, line: _Line, tensor: torch.Tensor) -> None:
        known = self._repeats.get(line)
        is_due = known is None or (known.is_alike and known.looks < _MOST_LOOKS)
        rows = row_keys(tensor, waits=True) if is_due and _has_samples(tensor) else None
        if rows is None:
            return
        if self._step is None or self._step.number != self._course.steps:
            self._step = _Step(self._course.steps, len(tensor))
        self._step.is_one &= len(tensor) == self._step.rows and len(set(rows)) == 1
        made = replace(self._field(tensor), repeated=True, made=self._repeated_at(tensor))
        self._step.fields[line] = made, rows[0]
        self._step.addresses.add(storage_address(tensor))

    def _recorded(self, op: Op) -> None:
        """Parameters have no maker on the tape: what has one, and as many rows, came of what was given."""
        step = self._step
        if step is None or not step.is_one or not op.live:
            return
        made = [value for value in op.live if value.by is not None and value.shape[:1] == (step.rows,)]
        for value in op.plain:
            is_order = op.name in TAKES and value.by is not None and value.by.name == "arange"
            if not value.shape or not value.count or value.shape[0] % step.rows or is_order:
                continue
            tensor = tensor_of(value)
            step.is_one = tensor is not None and _is_one_row(tensor)
            if tensor is None or not step.is_one:
                return
            if made and storage_address(tensor) not in step.addresses:
                results = list(map(tensor_of, made))
                step.is_one = all(result is not None and _is_one_row(result) for result in results)
                step.answers += 1

    def _step_taken(self, course: Course) -> None:
        step, self._step = self._step, None
        if step is None or step.number != course.steps - 1:
            return
        is_one = step.is_one and step.answers > 0 and self._differ != step.number
        for line, (made, row) in step.fields.items():
            known = self._repeats.setdefault(line, made)
            known.looks += 1
            known.alike += [row] if is_one else []

    def _is_repeated(self, tensor: torch.Tensor) -> bool:
        """Whether the program put the same row into it on purpose."""
        made = self._tensors.get(tensor)
        is_repeated = made is not None and (made.operation in REPEATS or made.values != 0)
        return is_repeated or tensor.stride(0) == 0 or tensor in self._repeated

    def _repeated_at(self, tensor: torch.Tensor) -> Place | None:
        made = self._tensors.get(tensor)
        return self._repeated.get(tensor) or (made.place if made is not None and made.operation in REPEATS else None)


def _has_samples(tensor: torch.Tensor) -> bool:
    if not readable(tensor) or tensor.requires_grad or tensor.dim() < 2:
        return False
    return len(tensor) >= _LEAST_ROWS and tensor[0].numel() >= _LEAST_VALUES


def _is_one_row(tensor: torch.Tensor) -> bool:
    """Whether all rows are the same, but for the order in which a kernel has added them up."""
    if not readable(tensor):
        return False
    rows = tensor.detach() if tensor.is_floating_point() else tensor.double()
    return torch.allclose(rows, rows[:1].expand_as(rows), _TOLERANCE, equal_nan=True)
