"""The last position of sequences that are filled up there, read as if it held their end, or a state after it; and
errors at such positions, counted like those at others.

That they are filled up is declared: by the `padding_idx` of an embedding, by `pad_sequence` or what a program does in
its place, or by the lengths that packed sequences are unpacked with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PaddingCompared, PaddingRead
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.operations import DISTANCES, RECURRENT, REGRESSION, TOTALS
from autograd_doctor.reading.filling_up import FillingUp, Made
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
_TURNS = frozenset({"movedim", "moveaxis", "permute", "swapaxes", "swapdims", "transpose"})
_CONTRACTS = frozenset({"baddbmm", "bilinear", "bmm", "einsum", "linear", "matmul", "tensordot"})
"""Of the last axis of their first operand."""
_BIDIRECTIONAL = 7
"""Whether they are, among the arguments (input, states, weights, bias, layers, dropout, training, bidirectional, …)."""
_ALL = slice(None)
_MOST_EVENTS = 16


@dataclass(slots=True)
class _Filled:
    """Positions that are filled up. mask: (batch, time); batch, time: these axes of the tensor.

    columns: whether a position other than the last was read by itself. mixed: whether each holds something of all.
    compared: whether each was compared with data that are filled up likewise.
    """

    mask: torch.Tensor
    batch: int
    time: int
    declared: str
    place: Place | None
    columns: bool = False
    mixed: bool = False
    compared: bool = False

    @property
    def at_the_end(self) -> torch.Tensor:
        """For each sequence, whether its last position is filled up."""
        return self.mask[:, -1]

    def fits(self, tensor: torch.Tensor) -> bool:
        """Whether it may hold something for each position."""
        if tensor.dim() <= max(self.batch, self.time):
            return False
        return (tensor.shape[self.batch], tensor.shape[self.time]) == self.mask.shape


class PaddingReads(Instrument):
    """Follows sequences from where their padding is declared, in steps that are looked at closely.

    An output is one of each position if it has the same axes of samples and time, wherever features lie, unless a
    matrix was applied along time. One that holds at the end what it holds at the last position that is not filled
    up was carried there, as a masked recurrence does. A line that reads other positions as well goes through all of
    them, and where others of the same tensor are read, they are columns. What is read of padding and masked later
    gets a gradient of zero.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PaddingCompared, PaddingRead)

    def __init__(self, site: Site, course: Course, lineage: Lineage) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._lineage = lineage
        self._filled: ValueTable[_Filled] = self.value_table()
        self._filling_up = FillingUp(site.signals.operations.version_found)
        self._goes_through: set[Place | None] = set()
        self._told = self._told_compared = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _recorded(self, recorded: Recorded) -> None:
        if recorded.operation is None or min(self._told, self._told_compared) >= _MOST_EVENTS:
            return
        filled = (
            _declared(recorded.operation, recorded.output)
            or self._filled_up(recorded.operation, recorded.output)
            or (self._carried(recorded) if self._filled else None)
        )
        if filled is not None:
            self._filled.put(recorded.output, filled)
        elif self._filled and has_graph(recorded.output):
            if recorded.name in _READS:
                self._look_at(recorded.operation, recorded.output)
            elif recorded.name in RECURRENT:
                self._look_at_state(recorded.operation, recorded.output)
            elif recorded.name in REGRESSION | TOTALS:
                self._look_at_errors(recorded)

    def _filled_up(self, operation: Operation, output: torch.Tensor) -> _Filled | None:
        batch = self._filling_up.stacked(Made(operation.name, operation.args, operation.kwargs, output))
        if batch is None:
            return None
        mask = _mask(output.shape[batch.time], batch.lengths)
        return _Filled(mask, batch.batch, batch.time, "filling up", operation.place)

    def _carried(self, recorded: Recorded) -> _Filled | None:
        """What is known of an input that the output has a position for each of."""
        found = [known for each in recorded.inputs if (known := self._filled.get(each)) is not None]
        filled = max(found, key=lambda known: known.mixed, default=None)
        if filled is None or recorded.operation is None:
            return None
        if recorded.name in _TURNS:
            return _turned(recorded.operation, filled)
        if recorded.name == "index_select":
            return _chosen(recorded.operation, filled)
        if not filled.fits(recorded.output) or recorded.name in _REORDERS:
            return None
        compared = filled.compared or (recorded.name in DISTANCES and self._is_comparison(recorded, filled))
        return replace(filled, columns=False, mixed=filled.mixed or _mixes(recorded, filled), compared=compared)

    def _is_comparison(self, recorded: Recorded, filled: _Filled) -> bool:
        """Whether what learns meets data with a number for each of its own, all one at the same positions."""
        if len(recorded.inputs) != 2 or recorded.inputs[0].shape != recorded.inputs[1].shape:
            return False
        known = [self._filled.get(each) for each in recorded.inputs]
        data = [each for each in recorded.inputs if not has_graph(each)]
        if len(data) != 1 or not readable(data[0]):
            return False
        if not all(each is not None and torch.equal(each.mask, filled.mask) for each in known):
            return False
        padding = at_home(data[0]).movedim((filled.batch, filled.time), (0, 1))[filled.mask]
        return bool(padding.numel()) and bool((padding == padding.flatten()[0]).all())

    def _look_at_errors(self, recorded: Recorded) -> None:
        """One number of all errors, those at positions among them that are only filled up, and are not left out."""
        if recorded.output.dim() or recorded.operation is None or self._told_compared >= _MOST_EVENTS:
            return
        errors, filled = recorded.inputs[0], self._filled.get(recorded.inputs[0])
        if filled is None or not filled.fits(errors) or not all(map(readable, recorded.inputs)):
            return
        if recorded.name in REGRESSION:
            if recorded.operation.kwargs.get("weight") is not None or not self._is_comparison(recorded, filled):
                return
            errors = at_home(errors) - at_home(recorded.inputs[1])
        elif not filled.compared:
            return
        counted = at_home(errors).movedim((filled.batch, filled.time), (0, 1))
        padded = int((counted[filled.mask] != 0).sum())
        node = node_of(recorded.output)
        if padded and node is not None:
            event = PaddingCompared(
                step=self._course.steps,
                padded=padded,
                counted=counted.numel(),
                declared=filled.declared,
                location=locate(recorded.operation.place),
                declared_at=locate(filled.place),
            )
            node.register_prehook(partial(self._counted, event))

    def _look_at(self, operation: Operation, output: torch.Tensor) -> None:
        sequences = operation.args[0]
        filled = self._filled.get(sequences)
        if filled is None or filled.mixed:
            return
        at = _index(operation, sequences.dim())
        if at is None or not _is_last(at[filled.time], sequences.shape[filled.time]) or at[filled.batch] != _ALL:
            self._goes_through.add(operation.place)
            filled.columns |= at is not None and type(at[filled.time]) is int
        elif not _holds_the_end(sequences, filled):
            self._await(filled, operation, output, variable_name(sequences))

    def _look_at_state(self, operation: Operation, output: torch.Tensor) -> None:
        """The final hidden state, (layers and directions, batch, features), of sequences that were not packed."""
        states, final, *_ = operation.result
        filled = self._filled.get(operation.args[0])
        if filled is not None and not filled.mixed and output is final and not _holds_the_end(states, filled):
            self._await(filled, operation, output, "", directions=1 + operation.args[_BIDIRECTIONAL])

    def _await(
        self, filled: _Filled, operation: Operation, output: torch.Tensor, name: str, *, directions: int = 0
    ) -> None:
        """Until a backward comes to what was read. directions: of a final state."""
        node = node_of(output)
        if node is None or not filled.at_the_end.any():
            return
        read = PaddingRead(
            step=self._course.steps,
            name=name,
            sequences=filled.at_the_end.numel(),
            padded=int(filled.at_the_end.sum()),
            is_state=bool(directions),
            declared=filled.declared,
            location=locate(operation.place),
            declared_at=locate(filled.place),
        )
        node.register_prehook(partial(self._reached, read, operation.place, filled, output.output_nr, directions))

    def _reached(
        self,
        read: PaddingRead,
        where: Place | None,
        filled: _Filled,
        number: int,
        directions: int,
        gradients: Sequence[torch.Tensor | None],
    ) -> None:
        """A backward came to what was read. Whether sequences that are filled up have a part in the loss."""
        gradient = gradients[number]
        if gradient is None or filled.columns or where in self._goes_through or self._told >= _MOST_EVENTS:
            return
        with self._guard.looking():
            near = at_home(gradient)
            if _has_a_part(near[::directions].movedim(0, 1) if directions else near, filled.at_the_end):
                self._told += 1
                self.emit(read)

    def _counted(self, event: PaddingCompared, gradients: Sequence[torch.Tensor | None]) -> None:
        """A backward came to one number of all errors."""
        if gradients[0] is not None and self._told_compared < _MOST_EVENTS:
            with self._guard.looking():
                self._told_compared += 1
                self.emit(event)

    def detach(self) -> None:
        """A backward through what was read may still come."""
        super().detach()
        self._told = self._told_compared = _MOST_EVENTS

    def _step_taken(self, course: Course) -> None:
        self._filled.clear()
        self._filling_up.clear()


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
    return _Filled(_by_sample(padding.mask, padding.time), 1 - padding.time, padding.time, "embedding", operation.place)


def _by_lengths(operation: Operation, output: torch.Tensor, lengths: list[int], declared: str) -> _Filled | None:
    """Both take the batch axis first where their third or second argument says so."""
    batch_first, side = bool(operation.args[2 if declared == "pad_packed_sequence" else 1]), operation.args[3:4]
    time = 1 if batch_first else 0
    if output.dim() < 2 or (declared == "pad_sequence" and side == ("left",)) or len(set(lengths)) < 2:
        return None
    return _Filled(_mask(output.shape[time], lengths), 1 - time, time, declared, operation.place)


def _mask(total: int, lengths: Sequence[int]) -> torch.Tensor:
    """For each sequence, which positions are filled up."""
    return torch.arange(total, device="cpu") >= torch.tensor(lengths, device="cpu")[:, None]


def _by_sample(mask: torch.Tensor, time: int) -> torch.Tensor:
    return mask if time == 1 else mask.t()


def _chosen(operation: Operation, filled: _Filled) -> _Filled | None:
    """Other sequences of a batch, or the same in another order, as of packed ones that were sorted by their lengths."""
    sequences, axis, index = (*operation.args, *operation.kwargs.values())[:3]
    if axis % sequences.dim() != filled.batch:
        return None
    return replace(filled, mask=filled.mask[at_home(index)], columns=False)


def _mixes(recorded: Recorded, filled: _Filled) -> bool:
    """Whether a matrix is applied along time, as a mixer does: each output is one of all positions."""
    return recorded.name in _CONTRACTS and filled.time == recorded.output.dim() - 1


def _turned(operation: Operation, filled: _Filled) -> _Filled:
    """With axes in another order."""
    sizes = tuple(range(2, 2 + operation.args[0].dim()))
    probe = operation.function(torch.empty(sizes, device="meta"), *operation.args[1:], **operation.kwargs)
    batch, time = (probe.shape.index(sizes[axis]) for axis in (filled.batch, filled.time))
    return replace(filled, batch=batch, time=time, columns=False)


def _index(operation: Operation, axes: int) -> list[Any] | None:
    """What is read along each axis, a whole number or a slice; None where it is something else."""
    if operation.name == "select":
        _, axis, at = (*operation.args, *operation.kwargs.values())[:3]
        return [at if other == axis % axes else _ALL for other in range(axes)]
    index = operation.args[1] if isinstance(operation.args[1], tuple) else (operation.args[1],)
    if not all(each is Ellipsis or type(each) is int or isinstance(each, slice) for each in index):
        return None
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = (*index[:at], *[_ALL] * (axes - len(index) + 1), *index[at + 1 :])
    return [*index, *[_ALL] * (axes - len(index))]


def _is_last(at: Any, length: int) -> bool:
    return at in (-1, length - 1) if type(at) is int else at == slice(-1, None)


def _holds_the_end(sequences: torch.Tensor, filled: _Filled) -> bool:
    """Whether the last position holds what the last one that is not filled up does, in sequences that are filled up."""
    if not readable(sequences):
        return True
    by_batch = at_home(sequences).movedim((filled.batch, filled.time), (0, 1))
    rows = filled.at_the_end.nonzero().flatten()
    ends = (~filled.mask[rows]).sum(1).sub(1).clamp(min=0)
    return torch.equal(by_batch[rows, ends], by_batch[rows, -1])


def _has_a_part(gradient: torch.Tensor, rows: torch.Tensor) -> bool:
    """Whether the gradient of any of these sequences is not zero; they lie along its first axis, or its second."""
    if not readable(gradient) or len(rows) not in gradient.shape[:2]:
        return False
    axis = 0 if gradient.shape[0] == len(rows) else 1
    return bool(gradient.movedim(axis, 0)[rows].any())
