"""States that one batch of randomly drawn rows leaves to the next, in which each row is another sample's.

Rows are followed from where they are drawn: by the axis on which they lie, from operation to operation, within a step
and into what the program keeps for the next one. A state is what came of the rows of a batch, of parameters, and of a
state before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import nn
from torch.utils.data import BatchSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler

from autograd_doctor.events.data import StateOfOthersUsed
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import CONVOLUTIONS, JOINS, MOVES, PICKS, RECURRENT, RESHAPES, TAKES
from autograd_doctor.reading import axes
from autograd_doctor.reading.fingerprint import key_of
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.numbers import IdentityTable, ValueTable
from autograd_doctor.reading.operation_kinds import OVERWRITES, SHAPE_ONLY
from autograd_doctor.reading.pairs import ELEMENTWISE
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import dispatches
from autograd_doctor.reading.tensor_facts import at_home, is_remote, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked, PassBegan
from autograd_doctor.tape import FUNCTION, GRAD, Op, Value, behind

_RANDOM = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
_DRAWS = frozenset({"rand", "randint", "randperm"})
_MADE = _DRAWS | {"arange"}
_CELLS = frozenset({"gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"})
_LEADING = _CELLS | {"linear", "matmul", "mm", "addmm", "bmm", "scaled_dot_product_attention"}
"""What keeps all axes but the last; products, those of their first factor."""
_REDUCES = frozenset({"amax", "amin", "logsumexp", "mean", "sum"})
_LOSES = PICKS | RECURRENT | _REDUCES | {
    FUNCTION, GRAD, "T", "adjoint", "argsort", "cov", "einsum", "flip", "fliplr", "flipud", "index_select", "inverse",
    "mT", "masked_scatter", "movedim", "permute", "pinverse", "roll", "rot90", "sort", "t", "transpose", "tril", "triu",
}  # fmt: skip
"""What may put rows elsewhere without changing the shape."""
_STARTS_ANEW = ("index_", "masked_", "scatter", "where")
"""How the names of operations begin that replace a part of a state."""
_MOST_ROWS = 4096
_MOST_FIELDS = 16
_SAME_WAY = 16
"""Rows whose moves differ by less than this part of all that there is are said to go on together."""


_Call = tuple[Location | None, str]


@dataclass(eq=False, slots=True)
class _Batch:
    """Rows that were drawn. order: among all that were. key: the same where the same rows were drawn.

    starts: where each begins, in something with as many rows as `of`; None where only a loader knows.
    """

    order: int
    key: object
    by: Literal["loader", "index"]
    rows: int
    starts: torch.Tensor | None = None
    of: int = 0

    def goes_on(self, before: _Batch) -> bool:
        """Whether its rows may be those before, or come after them: most of them have moved on alike."""
        if self.key == before.key:
            return True
        if self.starts is None or before.starts is None:
            return False
        if len(self.starts) != len(before.starts):
            return True
        moves = self.starts - before.starts
        alike = (moves - moves.median()).abs() * _SAME_WAY <= max(self.of, before.of)
        return 2 * int(alike.sum()) > len(moves)


class _Rows(NamedTuple):
    """What is known of a tensor: on which of its axes rows of a batch lie, and what they went through.

    step: in which it was made. learned: parameters took part. is_state: a state before took part, that an earlier step
    had left.
    """

    batch: _Batch
    axes: axes.Axes
    atom: axes.Atom
    step: int
    learned: bool = False
    is_state: bool = False

    @property
    def axis(self) -> int | None:
        return next((at for at, axis in enumerate(self.axes) if axis == (self.atom,)), None)


class _Meeting(NamedTuple):
    """An operation on rows of this step and what those of an earlier step have left."""

    now: _Batch
    before: _Batch
    is_state: bool
    name: str
    kept_at: Place | None


@dataclass(slots=True)
class _Line:
    """Where states meet the rows of the next batch. states: steps in which it had come of a state before."""

    first: int
    met: _Meeting
    steps: set[int] = field(default_factory=set)
    states: set[int] = field(default_factory=set)


class StatesOfOthers(LossQuery):
    """Follows rows in steps that are looked at closely.

    Nothing is said of a program that is seen to keep data of earlier batches, to go on with the rows of a batch, or to
    draw rows that go on where others ended.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (StateOfOthersUsed,)

    def __init__(self, site: Site, course: Course, tape: Tape, tensors: Tensors) -> None:
        super().__init__(site, course, tape)
        self._tensors = tensors
        self._orders = count()
        self._known: ValueTable[_Rows] = self.value_table()
        self._random: IdentityTable[int] = IdentityTable()
        """Iterators of loaders that draw at random, with their batch sizes."""
        self._batches: dict[object, _Batch] = {}
        self._numbers: list[set[int]] = []
        """What `torch.randint` and its like gave in this step."""
        self._met: dict[Op, _Meeting] = {}
        self._entered: dict[_Call, tuple[int, torch.Tensor]] = {}
        """What of this step a state met first in each call, and as which operand."""
        self._lines: dict[Location | None, _Line] = {}
        self._is_meant = False

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn, attention=Attention.CLOSE)
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._batches.clear()
        self._numbers.clear()
        self._met.clear()
        self._entered.clear()

    # ------------------------------------------------------------------------------------------------ what is drawn

    def _pass_began(self, began: PassBegan) -> None:
        loader = began.loader
        size = loader.batch_size
        if type(loader.sampler) in _RANDOM and type(loader.batch_sampler) is BatchSampler and size is not None:
            self._random.put(began.iterator, size)

    def _drawn(self, asked: BatchAsked) -> None:
        size = self._random.get(asked.iterator)
        if size is None or size < 2 or self._is_meant:
            return
        batch = _Batch(next(self._orders), object(), "loader", size)
        for tensor in tensors_in([asked.batch], EVERYTHING)[:_MOST_FIELDS]:
            at = next((at for at in (0, 1) if at < tensor.dim() and tensor.shape[at] == size), None)
            if at is not None and _is_plain(tensor):
                self._begin(tensor, batch, at)

    def _begin(self, tensor: torch.Tensor, batch: _Batch, at: int) -> None:
        every = axes.fresh_axes(tensor)
        atom = axes.Atom(every[at][0].key, batch.rows, "samples")
        found = (*every[:at], (atom,), *every[at + 1 :])
        self._known.put(tensor, _Rows(batch, found, atom, self._course.steps))

    def _was_drawn(self, op: Op) -> None:
        numbers = tensor_of(op.output)
        if numbers is None or op.output.kind != "int" or is_remote(numbers) or not readable(numbers):
            return
        if 1 < numbers.numel() <= _MOST_ROWS:
            self._numbers.append(set(numbers.flatten().tolist()))

    def _chosen(self, op: Op, output: torch.Tensor) -> None:
        """`data[rows]`, of rows that were drawn a moment ago."""
        if len(op.values) != 2 or output.requires_grad:
            return
        whole, index = op.values
        rows = tensor_of(index)
        if rows is None or index.kind != "int" or not _is_drawn(index, self._tensors) or not readable(rows):
            return
        if rows.dim() == 1:
            starts, at = at_home(rows), _axis_of(output, index.count)
        elif rows.dim() == 2 and output.shape[:2] == rows.shape:
            at = _across(at_home(rows))
            starts = at_home(rows).select(1 - at, 0) if at is not None else rows
        else:
            return
        if at is not None and 1 < len(starts) <= _MOST_ROWS:
            is_first = output.shape[rows.dim() :] == whole.shape[1:]
            self._begin(output, self._batch(starts, whole.shape[0] if is_first else max(whole.shape)), at)

    def _put_together(self, op: Op, output: torch.Tensor) -> None:
        """`torch.stack([data[i : i + length] for i in rows])`."""
        parts = [tensor_of(value) for value in op.values]
        found = [part for part in parts if part is not None and part._base is not None and part.dim()]
        if output.requires_grad or not 1 < len(found) == len(parts) <= _MOST_ROWS:
            return
        base = found[0]._base
        if base is None or not base.dim() or any(part._base is not base for part in found):
            return
        stride = max(base.stride(0), 1)
        starts = [(part.storage_offset() - base.storage_offset()) // stride for part in found]
        if any(numbers.issuperset(starts) for numbers in self._numbers):
            at = _joined_at(op, output.dim())
            self._begin(output, self._batch(torch.tensor(starts, device="cpu"), len(base)), at)

    def _batch(self, starts: torch.Tensor, of: int) -> _Batch:
        key = key_of(starts.tolist())
        known = self._batches.get(key)
        if known is None:
            known = _Batch(next(self._orders), key, "index", len(starts), starts.detach().clone(), of)
            self._batches[key] = known
        return known

    # ---------------------------------------------------------------------------------------- what is made of the rows

    def _recorded(self, op: Op) -> None:
        output = tensor_of(op.output)
        if output is None or self._is_meant:
            return
        if op.name in _DRAWS:
            self._was_drawn(op)
            return
        given = list(self._given(op)) if self._known and op.called not in SHAPE_ONLY else []
        if given:
            self._follow(op, given)
        elif op.name in TAKES and _is_plain(output):
            self._chosen(op, output)
        elif op.name == "stack" and self._numbers and _is_plain(output):
            self._put_together(op, output)

    def _given(self, op: Op) -> Iterator[tuple[int, torch.Tensor, _Rows]]:
        """Its operands of which rows are known, by their places among the values; no state that it begins anew."""
        for at, value in enumerate(op.values):
            tensor = tensor_of(value)
            known = self._known.get(tensor) if tensor is not None else None
            if tensor is None or known is None or not _is_plain(tensor) or (at == 0 and op.called in OVERWRITES):
                continue
            if not (known.learned and known.step < self._course.steps and _begins_anew(op, at)):
                yield at, tensor, known

    def _follow(self, op: Op, given: Sequence[tuple[int, torch.Tensor, _Rows]]) -> None:
        now = max((rows.batch for _, _, rows in given), key=lambda batch: batch.order)
        before = [each for each in given if self._is_left(each[2], now, given)]
        if before and self._is_by_intent(op, [rows for _, _, rows in before], now):
            self._is_meant = True
            return
        new = [each for each in given if not any(each is other for other in before)]
        met = bool(new and before) and op.output.learns
        has_weights = op.output.is_floating and any(map(_is_weight, op.values))
        known = self._together([rows for _, _, rows in given], now, has_weights=has_weights)
        if not op.output.is_floating:  # what a model has chosen is data for who goes on with it
            known = known._replace(learned=False)
        for number, value in enumerate(op.outputs):
            output = tensor_of(value)
            placed = self._placed(op, number, output, given) if output is not None else None
            if output is None or placed is None:
                continue
            self._known.put(output, known._replace(axes=placed.axes, atom=placed.atom, is_state=known.is_state or met))
            if met and number == 0:
                self._meet(op, before[0], now)
                self._entered[_call(op)] = new[0][0], new[0][1].detach().clone()
            elif not before and _call(op) in self._entered:
                self._is_meant |= self._is_solved(op)

    def _together(self, given: Sequence[_Rows], now: _Batch, *, has_weights: bool) -> _Rows:
        """What is known of what was made of rows: it is of this step where data of this step went in."""
        learned = has_weights or any(rows.learned for rows in given)
        step = max(rows.step for rows in given)
        if learned and not all(rows.learned for rows in given):
            step = self._course.steps
        is_state = any(rows.is_state for rows in given if rows.batch is now)
        return given[0]._replace(batch=now, step=step, learned=learned, is_state=is_state)

    def _is_left(self, rows: _Rows, now: _Batch, given: Sequence[tuple[int, torch.Tensor, _Rows]]) -> bool:
        """Whether an earlier step has left it to one that has other rows, or something else of the same."""
        is_beside = any(each.batch is now and each is not rows for _, _, each in given)
        is_old = rows.step < self._course.steps
        return is_old and is_beside and (rows.batch is not now or rows.is_state)

    def _is_by_intent(self, op: Op, before: Sequence[_Rows], now: _Batch) -> bool:
        """Data of earlier batches are used, too, or the same rows go on."""
        return any(not rows.learned or now.goes_on(rows.batch) for rows in before)

    def _placed(
        self, op: Op, number: int, output: torch.Tensor, given: Sequence[tuple[int, torch.Tensor, _Rows]]
    ) -> _Rows | None:
        """Where the rows of operands are in what was made of them; None unless they all are in one place."""
        found = [(rows, self._axes_of(op, number, output, each, at, rows)) for at, each, rows in given]
        placed = [rows._replace(axes=after) for rows, after in found if after is not None]
        places = {rows.axis for rows in placed}
        if len(placed) < len(given) or len(places) != 1 or None in places or not _is_plain(output):
            return None
        return placed[0]

    def _axes_of(
        self, op: Op, number: int, output: torch.Tensor, given: torch.Tensor, at: int, rows: _Rows
    ) -> axes.Axes | None:
        after = _axes_after(op, number, output, given, at, rows)
        if after is None or len(after) != output.dim():
            return None
        sizes = zip(after, output.shape, strict=True)
        is_whole = all(axis != (rows.atom,) or size == rows.atom.size for axis, size in sizes)
        return after if is_whole else None

    def _is_solved(self, op: Op) -> bool:
        """Whether a state goes on with the same input as at first, as one that is iterated until it stays the same."""
        at, first = self._entered.pop(_call(op))
        tensor = tensor_of(op.values[at])
        return tensor is not None and tensor.shape == first.shape and torch.equal(tensor.detach(), first)

    def _meet(self, op: Op, left: tuple[int, torch.Tensor, _Rows], now: _Batch) -> None:
        at, tensor, rows = left
        kept = self._as_kept(op.values[at], tensor)
        made = self._tensors.get(kept)
        place = made.place if made is not None else None
        self._met[op] = _Meeting(now, rows.batch, rows.is_state, variable_name(kept), place)

    def _as_kept(self, value: Value, kept: torch.Tensor) -> torch.Tensor:
        """The tensor that an earlier step has left, of what this step made of it."""
        while value.by is not None:
            before = next(filter(self._is_of_old_rows, value.by.values), None)
            tensor = tensor_of(before) if before is not None else None
            if before is None or before is value or tensor is None:
                break
            value, kept = before, tensor
        return kept

    def _is_of_old_rows(self, value: Value) -> bool:
        tensor = tensor_of(value)
        known = self._known.get(tensor) if tensor is not None else None
        return known is not None and known.learned and known.step < self._course.steps

    # ------------------------------------------------------------------------------------------------------- losses

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if not self._met or self._is_meant:
            return
        ways = set(behind(roots))
        for op, met in self._met.items():
            if op in ways:
                line = self._lines.setdefault(op.location, _Line(self._course.steps, met))
                line.steps.add(self._course.steps)
                if met.is_state:
                    line.states.add(self._course.steps)

    def finish(self) -> None:
        """Of all lines at which a state comes in, the first is the one that is given it."""
        line = next((line for line in self._lines.values() if line.states), None)
        if line is None or self._is_meant:
            return
        location = next(at for at, each in self._lines.items() if each is line)
        self.emit(
            StateOfOthersUsed(
                step=line.first,
                location=location,
                kept_at=locate(line.met.kept_at),
                name=line.met.name,
                by=line.met.now.by,
                rows=line.met.now.rows,
                steps=len(line.steps),
            )
        )


# --------------------------------------------------------------------------------------------------------- operations


def _axes_after(
    op: Op, number: int, output: torch.Tensor, given: torch.Tensor, at: int, rows: _Rows
) -> axes.Axes | None:
    """The axes of what was made of a tensor that has rows."""
    known, name = rows.axes, op.name
    if name in RECURRENT:
        return _recurrent(op, rows, output, number, at)
    if name in RESHAPES:
        return axes.reshaped(known, output.shape)
    if name in _LEADING or name in CONVOLUTIONS:
        return _leading(op, known, output, at)
    if name == "embedding":
        return (*known, axes.fresh(output.shape[-1]))
    if name in JOINS:
        return _joined(op, known, output)
    if name in _REDUCES:
        return _reduced(op, known, output)
    view = axes.moved(known, given, output)
    if view is not None:
        return view
    if name in _LOSES:
        return None
    if output.shape == given.shape:
        return known
    lacking = output.dim() - given.dim()
    if name in ELEMENTWISE and lacking >= 0:  # broadcast
        every = zip(known, given.shape, strict=True)
        own = (axis if axis == (rows.atom,) else axes.fresh(size) for axis, size in every)
        return (*map(axes.fresh, output.shape[:lacking]), *own)
    return None


def _recurrent(op: Op, rows: _Rows, output: torch.Tensor, number: int, at: int) -> axes.Axes | None:
    """Of layers: states have their rows on the second axis, what goes in and out may have them on the first."""
    sequences = 0 if op.operands[-1] is True else 1  # batch_first
    if output.dim() != 3 or len(rows.axes) != 3 or rows.axis != (sequences if at == 0 else 1):
        return None
    every = list(axes.fresh_axes(output))
    every[sequences if number == 0 else 1] = (rows.atom,)
    return tuple(every)


def _leading(op: Op, known: axes.Axes, output: torch.Tensor, at: int) -> axes.Axes | None:
    kept = 1 if op.name in CONVOLUTIONS else output.dim() - 1
    is_first = at == (1 if op.name == "addmm" else 0)
    if op.name in ("matmul", "bmm", "scaled_dot_product_attention") and not is_first:
        kept = output.dim() - 2
    elif not (is_first or op.name in _CELLS):
        return None
    if len(known) != output.dim() or kept < 1:
        return None
    return (*known[:kept], *map(axes.fresh, output.shape[kept:]))


def _joined_at(op: Op, dims: int) -> int:
    return (op.dim or 0) % dims


def _joined(op: Op, known: axes.Axes, output: torch.Tensor) -> axes.Axes | None:
    if op.name not in ("cat", "stack"):
        return None
    at = _joined_at(op, output.dim())
    own = axes.fresh(output.shape[at])
    return (*known[:at], own, *known[at:]) if op.name == "stack" else (*known[:at], own, *known[at + 1 :])


def _reduced(op: Op, known: axes.Axes, output: torch.Tensor) -> axes.Axes | None:
    if op.dim is None:
        return None
    at = op.dim % len(known)
    keeps = output.dim() == len(known)
    return (*known[:at], *([axes.fresh(1)] if keeps else []), *known[at + 1 :])


def _begins_anew(op: Op, at: int) -> bool:
    """Whether an operation keeps a state in some rows only, or none of it: by a mask, a choice, or a factor of zero."""
    if op.name.startswith(_STARTS_ANEW) or (op.name == "mul" and 0 in op.numbers):
        return True
    others = (value for place, value in enumerate(op.values) if place != at)
    return op.name == "mul" and any(not each.learns and not each.is_parameter and each.count > 1 for each in others)


# ---------------------------------------------------------------------------------------------------------------- rows


def _call(op: Op) -> _Call:
    return op.location, op.name


def _is_plain(tensor: torch.Tensor) -> bool:
    return not dispatches(tensor) and tensor.layout is torch.strided and not tensor.is_nested


def _is_weight(value: Value) -> bool:
    return value.is_parameter and is_a(tensor_of(value), nn.Parameter)


def _is_drawn(index: Value, tensors: Tensors) -> bool:
    """Whether numbers were drawn in this step, of nothing that was there before but an order of all."""
    made = behind([index], live=False)
    drawn = any(op.name in _DRAWS for op in made)
    begins = [index] if index.by is None else [each for op in made for each in op.values if each.by is None]
    if drawn:
        return not any(each.count > 1 for each in begins) and all(op.values or op.name in _MADE for op in made)
    is_part = all(op.name in MOVES for op in made) and len(begins) == 1
    return is_part and _is_order(begins[0], tensors)


def _is_order(value: Value, tensors: Tensors) -> bool:
    tensor = tensor_of(value)
    whole = tensor if tensor is None or tensor._base is None else tensor._base
    made = tensors.get(whole) if whole is not None else None
    return made is not None and made.operation == "randperm"


def _axis_of(tensor: torch.Tensor, size: int) -> int | None:
    """The first axis if it has this size, or the only one that has."""
    found = [at for at, each in enumerate(tensor.shape) if each == size]
    return found[0] if len(found) == 1 or found[:1] == [0] else None


def _across(index: torch.Tensor) -> int | None:
    """The axis of an index of windows along which these differ: along the other they count up."""
    counts_up: Any = (index.diff(dim=axis).eq(1).all() for axis in (1, 0))
    return next((at for at, is_so in enumerate(counts_up) if bool(is_so) and index.shape[1 - at] > 1), None)
