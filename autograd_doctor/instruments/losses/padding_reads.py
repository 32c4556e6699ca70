"""The last position of sequences that are filled up there, read as if it held their end.

That they are filled up is declared: by the `padding_idx` of an embedding, by `pad_sequence`, or by the lengths that
packed sequences are unpacked with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PaddingRead
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.padding import padding_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import node_of
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_UNPACKED = "_pad_packed_sequence"
_READS = frozenset({"__getitem__", "select"})
_REORDERS = _READS | {"flip", "fliplr", "flipud", "gather", "roll", "rot90", "sort", "take_along_dim"}
"""What may put other positions at the end."""
_MOST_EVENTS = 16


class _Filled(NamedTuple):
    """Positions that are filled up. mask: (batch, time) or (time, batch); time: that axis."""

    mask: torch.Tensor
    time: int
    declared: str
    place: Place | None

    @property
    def at_the_end(self) -> torch.Tensor:
        """For each sequence, whether its last position is filled up."""
        return self.mask.select(self.time, -1)


class PaddingReads(Instrument):
    """Follows sequences from where their padding is declared, in steps that are looked at closely.

    An output is one of each position if it has the same two first axes. One that holds at the end what it holds at the
    last position that is not filled up was carried there, as a masked recurrence does. A line that reads other
    positions as well goes through all of them. What is read of padding and masked later gets a gradient of zero.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PaddingRead,)

    def __init__(self, site: Site, course: Course, lineage: Lineage) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._lineage = lineage
        self._filled: ValueTable[_Filled] = self.value_table()
        self._goes_through: set[Place | None] = set()
        self._told = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _recorded(self, recorded: Recorded) -> None:
        if recorded.operation is None or self._told >= _MOST_EVENTS:
            return
        filled = _declared(recorded.operation, recorded.output) or (self._carried(recorded) if self._filled else None)
        if filled is not None:
            self._filled.put(recorded.output, filled)
        elif self._filled and recorded.name in _READS and has_graph(recorded.output):
            self._look_at(recorded.operation, recorded.output)

    def _carried(self, recorded: Recorded) -> _Filled | None:
        """What is known of an input that the output has a position for each of."""
        found = (known for each in recorded.inputs if (known := self._filled.get(each)) is not None)
        filled = next(found, None)
        if filled is None or recorded.output.shape[:2] != filled.mask.shape:
            return None
        return None if _reorders(recorded.operation, filled.time) else filled

    def _look_at(self, operation: Operation, output: torch.Tensor) -> None:
        sequences = operation.args[0]
        filled = self._filled.get(sequences)
        if filled is None:
            return
        if not _is_of_the_end(operation, filled.time, sequences.dim(), sequences.shape[filled.time]):
            self._goes_through.add(operation.place)
            return
        padded = int(filled.at_the_end.sum())
        node = node_of(output)
        if padded and node is not None and not _holds_the_end(sequences, filled):
            read = PaddingRead(
                step=self._course.steps,
                name=variable_name(sequences),
                sequences=filled.at_the_end.numel(),
                padded=padded,
                declared=filled.declared,
                location=locate(operation.place),
                declared_at=locate(filled.place),
            )
            node.register_prehook(partial(self._reached, read, operation.place, filled.at_the_end))

    def _reached(
        self, read: PaddingRead, where: Place | None, rows: torch.Tensor, gradients: Sequence[torch.Tensor | None]
    ) -> None:
        """A backward came to what was read. Whether sequences that are filled up have a part in the loss."""
        if where in self._goes_through or self._told >= _MOST_EVENTS:
            return
        with self._guard.looking():
            if gradients[0] is not None and _has_a_part(at_home(gradients[0]), rows):
                self._told += 1
                self.emit(read)

    def detach(self) -> None:
        """A backward through what was read may still come."""
        super().detach()
        self._told = _MOST_EVENTS

    def _step_taken(self, course: Course) -> None:
        self._filled.clear()


def _declared(operation: Operation, output: torch.Tensor) -> _Filled | None:
    if operation.name == "embedding":
        return _by_embedding(operation)
    if operation.name == "pad_sequence":
        return _by_lengths(operation, output, [len(each) for each in operation.args[0]], "pad_sequence")
    if operation.name == _UNPACKED and output is operation.result[0]:
        return _by_lengths(operation, output, operation.result[1].tolist(), "pad_packed_sequence")
    return None


def _by_embedding(operation: Operation) -> _Filled | None:
    """Tokens that end in what the embedding keeps for padding."""
    given = dict(zip(("input", "weight", "padding_idx"), operation.args, strict=False)) | operation.kwargs
    index = given.get("padding_idx")
    padding = padding_of(given["input"]) if isinstance(index, int) else None
    if padding is None or not isinstance(index, int) or padding.value != index % len(given["weight"]):
        return None
    return _Filled(padding.mask, padding.time, "embedding", operation.place)


def _by_lengths(operation: Operation, output: torch.Tensor, lengths: list[int], declared: str) -> _Filled | None:
    """Both take the batch axis first where their third or second argument says so."""
    batch_first, side = bool(operation.args[2 if declared == "pad_packed_sequence" else 1]), operation.args[3:4]
    time = 1 if batch_first else 0
    if output.dim() < 2 or (declared == "pad_sequence" and side == ("left",)) or len(set(lengths)) < 2:
        return None
    mask = torch.arange(output.shape[time]) >= torch.tensor(lengths)[:, None]
    return _Filled(mask if batch_first else mask.t(), time, declared, operation.place)


def _reorders(operation: Operation | None, time: int) -> bool:
    """Whether other positions may stand at the end of what it made."""
    if operation is None or operation.name in _REORDERS:
        return True
    if operation.name != "index_select":
        return False
    axis = operation.kwargs["dim"] if "dim" in operation.kwargs else operation.args[1]
    return bool(axis % operation.args[0].dim() == time)


def _is_of_the_end(operation: Operation, time: int, axes: int, length: int) -> bool:
    """Whether the last position of all sequences is read."""
    last = (-1, length - 1)
    if operation.name == "select":
        _, axis, at = (*operation.args, *operation.kwargs.values())[:3]
        return axis % axes == time and at in last
    index = operation.args[1] if isinstance(operation.args[1], tuple) else (operation.args[1],)
    if not all(each is Ellipsis or type(each) is int or isinstance(each, slice) for each in index):
        return False
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = (*index[:at], *[slice(None)] * (axes - len(index) + 1), *index[at + 1 :])
    index = (*index, *[slice(None)] * (axes - len(index)))
    return index[1 - time] == slice(None) and (index[time] in last or index[time] == slice(-1, None))


def _holds_the_end(sequences: torch.Tensor, filled: _Filled) -> bool:
    """Whether the last position holds what the last one that is not filled up does, in sequences that are filled up."""
    if filled.declared == "pad_packed_sequence":
        return False
    if not readable(sequences):
        return True
    by_batch, mask = (each if filled.time == 1 else each.transpose(0, 1) for each in (at_home(sequences), filled.mask))
    rows = mask[:, -1].nonzero().flatten()
    ends = (~mask[rows]).sum(1).sub(1).clamp(min=0)
    return torch.equal(by_batch[rows, ends], by_batch[rows, -1])


def _has_a_part(gradient: torch.Tensor, rows: torch.Tensor) -> bool:
    """Whether the gradient of any of these sequences is not zero; they lie along its first axis, or its second."""
    if not readable(gradient) or len(rows) not in gradient.shape[:2]:
        return False
    axis = 0 if gradient.shape[0] == len(rows) else 1
    return bool(gradient.movedim(axis, 0)[rows].any())
