"""Rows of an output that a loss chose, beside those that evaluations choose of the same output.

A graph network, or a factorisation, is called on all samples at once, and answers for all of them: what splits them is
which rows of the answer meet their targets.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import OutputRowsCompared
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import (
    ARITHMETIC,
    CATALOGUE,
    CLASSES,
    COMPARISONS,
    DIFFERENCES,
    DRAWS,
    EQUALITIES,
    JOINS,
    LOSSES,
    MOVES,
    MULTIPLICATIONS,
)
from autograd_doctor.reading.chosen_rows import Chosen, chosen_by
from autograd_doctor.reading.fingerprint import key_of, row_keys
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import is_leaf, version_of
from autograd_doctor.reading.tensor_facts import at_home, is_remote, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation

_CHOOSES = frozenset({"__getitem__", "index_select", "masked_select"})
_BOTH = frozenset({"__and__", "__rand__", "bitwise_and", "logical_and"})
_EITHER = frozenset({"__or__", "__ior__", "bitwise_or", "logical_or", *JOINS})
_NOT = frozenset({"__invert__", "bitwise_not", "logical_not"})
_COMPARES = frozenset(CATALOGUE) | DIFFERENCES | EQUALITIES | {"gather", "isclose", "take_along_dim"}
_HIDES = frozenset({"__setitem__", "index_fill", "masked_fill", "masked_fill_", "where"})
"""Operations after which some rows may be others than they were."""
_SCALES = ARITHMETIC | COMPARISONS
"""With numbers, these leave targets what they are."""
_REORDERS = frozenset({"argsort", "flip", "roll", "sort", "topk"})
_SAME_ROWS = MOVES - {"gather", "take_along_dim", "repeat", "repeat_interleave", "flip", "roll"}
_DRAWS = frozenset(name for name, draw in DRAWS.items() if draw.what in ("choice", "order", "uniform", "marks"))
"""What decides by lot which rows are held out."""
_ALL = (None, Ellipsis, slice(None))
"""Indices that leave out none of the columns."""
_MOST_SETS = 64
_MOST_FLOWS = 256
_FEW = 0.02
"""Share of the rows of an evaluation of held-out ones that may have been trained on by chance."""

_Target = tuple[int, Hashable]
"""The number of a tensor of targets, and the part of it that was compared."""


@dataclass(eq=False)
class _Draw:
    """An order drawn at random, or a lot for each row, and the ways in which parts were taken of it.

    is_data: something else was computed of it, too.
    """

    parts: set[Hashable] = field(default_factory=set)
    is_data: bool = False

    @property
    def is_split(self) -> bool:
        return len(self.parts) > 1 and not self.is_data


class _Pass(NamedTuple):
    """What a module was called with: the same wherever its answer is for the same samples."""

    module: int
    given: int


class _Index(NamedTuple):
    """What chose rows: where it was made, and its number.

    joined: the numbers of those that it was joined of. draw: what it was cut from. values: the numbers of the data that
    were compared with something to make it.
    """

    place: Place | None
    number: int = -1
    joined: frozenset[int] = frozenset()
    draw: _Draw | None = None
    values: frozenset[int] = frozenset()

    def sets_apart(self, trained: _Index) -> bool:
        """Whether rows may have been chosen to be held out: not by what their data are, nor as a range, unless those
        that are trained on were chosen by the same."""
        if self.number < 0 <= trained.number:
            return False
        by_lot = self.draw is not None and not self.draw.is_data
        return by_lot or not self.values or not self.values.isdisjoint(trained.values)


class _Rows(NamedTuple):
    """Which rows of a whole a tensor has.

    whole: the number of the pass that returned it, or of a tensor of data. part: the columns. chosen: None for all
    rows. targets: those that they were compared with, row by row. sure: no row was hidden on the way.
    """

    whole: int
    part: Hashable = ()
    chosen: Chosen | None = None
    by: _Index = _Index(None)
    targets: frozenset[_Target] = frozenset()
    sure: bool = True

    def goes_with(self, other: _Rows) -> bool:
        """Whether both have the same rows of what each is of."""
        return (self.chosen.key if self.chosen else None) == (other.chosen.key if other.chosen else None)


@dataclass(eq=False)
class _Use:
    """Rows that were compared with their targets, and reduced. taught: a backward came from there."""

    rows: _Rows
    place: Place | None
    step: int
    taught: bool = False


@dataclass
class _Set:
    """Rows that were trained on, or evaluated: those of `use`, first."""

    use: _Use
    last: int

    def rows(self, space: tuple[int, ...]) -> frozenset[int] | None:
        """Those of a space; None if they are of another one."""
        chosen = self.use.rows.chosen
        if chosen is None:
            return frozenset(range(math.prod(space)))
        return frozenset(chosen.order) if chosen.space == space else None


@dataclass
class _Answer:
    """What is known of an output and a tensor of targets: sets of rows, by their keys, None for all. is_unsure: some
    of the rows that were trained on may have been hidden."""

    trained: dict[int | None, _Set] = field(default_factory=dict)
    evaluated: dict[int | None, _Set] = field(default_factory=dict)
    is_unsure: bool = False


class OutputRows(Instrument):
    """Follows, in steps that are looked at closely, which rows of what root modules return meet targets.

    Trained on are those from which a backward came, evaluated all others. The targets are rows of one tensor that no
    parameter flows into and that the module is not given; both sides are chosen alike. Told is only of modules for
    which the loss has the same rows in each step, and of passes over the same data, to the bit.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (OutputRowsCompared,)

    def __init__(
        self,
        site: Site,
        course: Course,
        lineage: Lineage,
        module_calls: ModuleCalls,
        tensors: Tensors,
        uploads: Uploads,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._lineage = lineage
        self._module_calls = module_calls
        self._tensors = tensors
        self._uploads = uploads
        self._numbers = Numbers()
        self._answered: IdentityTable[_Rows] = IdentityTable()
        self._read: IdentityTable[_Rows] = IdentityTable()
        self._indices: IdentityTable[_Index] = IdentityTable()
        self._used: IdentityTable[frozenset[_Use]] = IdentityTable()
        self._pending: list[_Use] = []
        self._running: tuple[ModuleCall, _Rows] | None = None
        self._passes: dict[_Pass, int] = {}
        self._given: dict[int, set[int]] = {}
        self._flows: IdentityTable[frozenset[int]] = IdentityTable()
        """The numbers of data, no whole numbers, that flowed into tensors."""
        self._answers: dict[tuple[int, Hashable, _Target], _Answer] = {}
        self._chosen: dict[int, dict[int, Chosen]] = {}
        """Rows that were taken without gradients, for whatever it was."""
        self._left: list[tuple[bool, _Rows]] = []
        """Rows of outputs, and of data, that left torch in a step."""
        self._left_in = -1
        self._blind: set[int] = set()
        """Passes whose answers left torch as a whole, taught something in a way that is not followed, or are taken in
        too many ways."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(signals.modules.ended, self._module_ended, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operated)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)

    # -------------------------------------------------------------------------------------------------------- passes

    def _root_began(self, began: RootBegan) -> None:
        self._running = None
        if not has_parameters(began.call.module):
            return
        direct = [each for each in (*began.call.args, *began.call.kwargs.values()) if isinstance(each, torch.Tensor)]
        if any(each.requires_grad and is_leaf(each) for each in direct):
            return  # the input learns, or is asked for its gradient
        handed = next((rows for each in direct if (rows := self._answered.get(each)) is not None), None)
        if handed is not None:
            self._running = began.call, handed._replace(targets=frozenset())
        elif not any(each.requires_grad for each in direct):
            given = tuple(map(self._key, tensors_in([began.call.args, began.call.kwargs], EVERYTHING)))
            called = _Pass(began.module, hash(given))
            if called in self._passes or len(self._passes) < _MOST_SETS:
                number = self._passes.setdefault(called, len(self._passes))
                self._given.setdefault(number, set()).update(map(self._numbers.number, direct))
                self._running = began.call, _Rows(number)

    def _key(self, tensor: torch.Tensor) -> Hashable:
        """The same for the same values; of what was made on an accelerator, for the same tensor as it was."""
        tensor = self._uploads.at_home(tensor)
        keys = row_keys(tensor)
        if keys is None:
            return self._numbers.number(tensor), version_of(tensor)
        return tuple(tensor.shape), key_of(keys)

    def _module_ended(self, call: ModuleCall) -> None:
        if self._running is None or self._running[0] is not call:
            return
        (_, rows), self._running = self._running, None
        with self._guard.looking():
            for tensor in tensors_in([call.output], EVERYTHING):
                self._given[rows.whole] |= self._flows.get(tensor) or frozenset()
                if tensor.dim() and tensor not in self._answered and rows.chosen is None:
                    self._answered.put(tensor, rows)

    def _data(self, tensor: torch.Tensor) -> _Rows | None:
        """The rows that it has of a tensor of data; None if parameters flow into it."""
        made = self._tensors.get(tensor)
        if tensor.requires_grad or not tensor.dim() or (made is not None and made.values):
            return None
        return self._read.get(tensor) or _Rows(self._numbers.number(tensor))

    # ---------------------------------------------------------------------------------------------------- operations

    def _operated(self, operation: Operation) -> None:
        if operation.kind is Kind.ESCAPE:
            self._leaves(operation.args[0] if operation.args else None)
            return
        name, results = operation.name, tensors_in([operation.result])
        if any(each.is_nested for each in (*operation.inputs, *results)):
            return  # of which torch does not tell a shape
        self._flow(operation.inputs, results)
        if name in _CHOOSES and operation.args and isinstance(operation.args[0], torch.Tensor):
            self._choose(operation, operation.args[0], results)
        elif any(tensor in self._answered for tensor in operation.inputs):
            self._compute(operation, results)
        elif name in _SAME_ROWS or (name in _SCALES and sum(each.numel() > 1 for each in operation.inputs) == 1):
            self._move(operation, results)
        if self._used:
            self._carry_uses(operation.inputs, results)
        self._note_index(operation, results)

    def _flow(self, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> None:
        """Follow data into what models answer: to give back what they were given is to learn from no target."""
        flows: set[int] = set()
        for tensor in inputs:
            flows |= self._flows.get(tensor) or frozenset()
            if tensor.is_floating_point() and tensor.dim() and not tensor.requires_grad:
                flows.add(self._numbers.number(tensor))
        for result in results if 0 < len(flows) <= _MOST_FLOWS else ():
            self._flows.put(result, frozenset(flows))

    def _move(self, operation: Operation, results: Sequence[torch.Tensor]) -> None:
        """Data in another type, at another place, or in another unit, are the same; what is made of one column of them
        is not."""
        given = operation.inputs[0] if operation.inputs else None
        data = self._data(given) if given is not None else None
        if given is None or data is None or (data.part and operation.name in _SCALES):
            return
        for result in results:
            if result is not given and result.shape[:1] == given.shape[:1]:
                self._read.put(result, data)

    def _choose(self, operation: Operation, whole: torch.Tensor, results: Sequence[torch.Tensor]) -> None:
        answered = self._answered.get(whole)
        rows = answered or self._data(whole)
        chosen = self._rows_chosen(operation, whole, rows) if rows is not None else None
        for result in results:
            self._forget(result)
            if chosen is None:
                self._lose(answered, result)
                continue
            (self._read if answered is None else self._answered).put(result, chosen)
            if answered is not None and chosen.chosen is not None and not result.requires_grad:
                taken = self._chosen.setdefault(chosen.whole, {})
                taken[chosen.chosen.key] = chosen.chosen
                if len(taken) > _MOST_SETS:
                    taken.clear()
                    self._blind.add(chosen.whole)

    def _lose(self, rows: _Rows | None, result: torch.Tensor) -> None:
        """What rows of an output something learns from is not known any more."""
        if rows is not None and result.requires_grad:
            self._blind.add(rows.whole)

    def _forget(self, changed: torch.Tensor) -> None:
        self._read.discard(changed)
        self._answered.discard(changed)

    def _rows_chosen(self, operation: Operation, whole: torch.Tensor, rows: _Rows) -> _Rows | None:
        index, shape = _index_of(operation), whole.shape
        columns: Hashable = ()
        targets = rows.targets
        if type(index) is tuple and len(index) == 2 and isinstance(index[1], torch.Tensor):
            picked = self._data(index[1])
            index = index if picked is None else self._picks(index, picked, shape)
            if type(index) is not tuple and picked is not None:
                targets |= {(picked.whole, picked.part)}
        elif type(index) is tuple:
            if not index or not all(map(_is_plain, index[1:])):
                return None
            columns = repr(index[1:]) if any(type(each) is int or each not in _ALL for each in index[1:]) else ()
            index = index[0]
        index = slice(None) if index is Ellipsis else index
        if isinstance(index, torch.Tensor) and self._data(index) is None:
            return None  # the model chooses by itself
        try:
            chosen = chosen_by(index, shape)
        except ValueError:
            return None
        if chosen is not None and rows.chosen is not None:
            chosen = rows.chosen.among(chosen)
            if chosen is None:
                return None
        by = rows.by if chosen is None else self._index(index, operation.place)
        part = (rows.part, columns) if columns else rows.part
        return rows._replace(chosen=chosen or rows.chosen, by=by, part=part, targets=targets)

    def _picks(self, index: tuple[Any, ...], picked: _Rows, shape: Sequence[int]) -> Any:
        """The rows, where one value is picked of each by its target; else the index as it is."""
        try:
            chosen = chosen_by(index[0], shape)
        except ValueError:
            return index
        is_of_rows = (chosen.key if chosen else None) == (picked.chosen.key if picked.chosen else None)
        return index[0] if is_of_rows else index

    def _compute(self, operation: Operation, results: Sequence[torch.Tensor]) -> None:
        name, inputs = operation.name, operation.inputs
        outputs = [(tensor, rows) for tensor in inputs if (rows := self._answered.get(tensor)) is not None]
        given, rows = outputs[0]
        if any(not rows.goes_with(each) or each[:2] != rows[:2] for _, each in outputs):
            for result in results:
                self._forget(result)
                self._lose(rows, result)
            return
        targets, sure = set(rows.targets), name not in _HIDES
        for _, each in outputs:
            targets |= each.targets
            sure &= each.sure
        rows = rows._replace(targets=frozenset(targets), sure=sure)
        for other in inputs[:2] if name in LOSSES else inputs:
            if other not in self._answered and given.dim() and other.shape[:1] == given.shape[:1]:
                rows = self._meets(operation, rows, other)
        for result in results:
            keeps = result.dim() and given.dim() and result.shape[0] == given.shape[0] and name not in _REORDERS
            self._forget(result)
            if keeps:
                self._answered.put(result, rows)
            else:
                self._reduce(rows, result, operation.place)

    def _meets(self, operation: Operation, rows: _Rows, other: torch.Tensor) -> _Rows:
        """Rows of an output meet data of as many: their targets, or a mask by which some of them do not count."""
        name, data = operation.name, self._data(other)
        if name in MULTIPLICATIONS | _BOTH:
            return self._masked(rows, other, operation.place)
        if name not in _COMPARES or data is None:
            return rows
        if not data.goes_with(rows):
            return rows._replace(sure=False)
        sure = rows.sure
        if name in LOSSES - CLASSES:
            sure &= operation.kwargs.get("weight") is None
        if data.whole in self._given[rows.whole] or (rows.chosen is not None and _is_one_value(other)):
            return rows._replace(sure=sure)
        return rows._replace(targets=rows.targets | {(data.whole, data.part)}, sure=sure)

    def _masked(self, rows: _Rows, mask: torch.Tensor, place: Place | None) -> _Rows:
        """What rows count by; weights other than zero leave all of them. Only for truth values is an accelerator waited
        for."""
        data = self._data(mask)
        costs_nothing = not is_remote(mask) or (mask.dtype is torch.bool and bool(rows.targets))
        may_be_read = data is not None and data.goes_with(rows) and readable(mask) and costs_nothing
        if not may_be_read:
            return rows._replace(sure=False)
        near = at_home(mask).detach()
        if not (near == 0).any():
            return rows
        if not (rows.targets and rows.chosen is None and bool(((near == 0) | (near == 1)).all())):
            return rows._replace(sure=False)
        flat = near.bool().reshape(_without_ones(mask.shape))
        try:
            chosen = chosen_by(flat, flat.shape)
        except ValueError:
            return rows._replace(sure=False)
        return rows._replace(chosen=chosen, by=self._index(mask, place))

    def _reduce(self, rows: _Rows, result: torch.Tensor, place: Place | None) -> None:
        if not rows.targets:
            return
        use = _Use(rows, place, self._course.steps)
        if result.requires_grad:
            self._used.put(result, (self._used.get(result) or frozenset()) | {use})
            self._pending.append(use)
        else:
            self._note(use, trained=False)

    def _carry_uses(self, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> None:
        uses: frozenset[_Use] = frozenset().union(*(self._used.get(tensor) or () for tensor in inputs))
        for result in results if uses else ():
            if result.requires_grad:
                self._used.put(result, uses | (self._used.get(result) or frozenset()))

    def _leaves(self, tensor: object) -> None:
        """Values go to NumPy, or to Python: rows of outputs that go there beside those of targets are compared."""
        answered = self._answered.get(tensor)
        rows = answered or self._read.get(tensor)
        if rows is None:
            return
        if answered is not None:
            self._note(_Use(rows, rows.by.place, self._course.steps), trained=False)
            if rows.chosen is None:
                self._blind.add(rows.whole)
                return
        if self._left_in != self._course.steps:
            self._left_in, self._left = self._course.steps, []
        for is_answer, other in self._left:
            output, data = (rows, other) if answered is not None else (other, rows)
            is_pair = is_answer is (answered is None) and data.goes_with(output)
            if is_pair and data.whole not in self._given[output.whole]:
                compared = output._replace(targets=frozenset({(data.whole, data.part)}))
                self._note(_Use(compared, output.by.place, self._course.steps), trained=False)
        self._left.append((answered is not None, rows))

    # -------------------------------------------------------------------------------------------------------- indices

    def _index(self, index: Any, place: Place | None) -> _Index:
        if not isinstance(index, torch.Tensor):
            return _Index(place)
        known, made = self._indices.get(index), self._tensors.get(index)
        known = known or _Index(made.place if made is not None else None)
        return known._replace(place=known.place or place, number=self._number_of(index))

    def _number_of(self, index: torch.Tensor) -> int:
        """Of an index, also where it was brought elsewhere."""
        known = self._indices.get(index)
        return self._numbers.number(index) if known is None or known.number < 0 else known.number

    def _note_index(self, operation: Operation, results: Sequence[torch.Tensor]) -> None:
        """What masks and row numbers are made of."""
        name, place = operation.name, operation.place
        if name == "__setitem__":
            self._written(operation)
            return
        for result in results:
            if name in _DRAWS:
                self._indices.put(result, _Index(place, draw=_Draw()))
            elif name == "arange":
                self._indices.put(result, _Index(place))
            elif not result.requires_grad and result.dim():
                self._derive(operation, result, len(results))

    def _written(self, operation: Operation) -> None:
        target, *given = operation.args
        if not isinstance(target, torch.Tensor):
            return
        self._forget(target)
        if target.dim() <= 2:
            known = [index for each in tensors_in(given) if (index := self._indices.get(each)) is not None]
            first = known[0] if known else _Index(None)
            self._indices.put(target, _Index(operation.place, draw=first.draw, values=first.values))

    def _derive(self, operation: Operation, result: torch.Tensor, count: int) -> None:
        name, place = operation.name, operation.place
        given = operation.inputs[:1] if name in _CHOOSES else operation.inputs
        known = [index for each in given if (index := self._indices.get(each)) is not None]
        draw = next((index.draw for index in known if index.draw is not None), None)
        if not _may_choose(result):
            if draw is not None and name not in COMPARISONS:
                draw.is_data = True
            return
        if draw is not None and (name in _CHOOSES | COMPARISONS | _NOT or count > 1):
            parts = range(count) if count > 1 else (repr(operation.args[1:]) if name in _CHOOSES else name,)
            draw.parts.update((place, part) for part in parts)
        values = frozenset[int]().union(*(index.values for index in known))
        if not known and (name in COMPARISONS or any(each.is_floating_point() for each in given)):
            values |= {self._numbers.number(each) for each in given if each.dim()}
        joined: frozenset[int] = frozenset()
        if name in _EITHER and all(each.dim() == 1 for each in given):
            joined = frozenset(map(self._number_of, given))
        if known and name in _SAME_ROWS - _CHOOSES:
            self._indices.put(result, known[0]._replace(number=self._number_of(given[0])))
        elif known or joined or values:
            self._indices.put(result, _Index(place, joined=joined, draw=draw, values=values))

    # --------------------------------------------------------------------------------------------------------- uses

    def _backward_began(self, call: BackwardCall) -> None:
        """Those from which a backward comes taught something; only gradients that are asked for tell of something."""
        uses: set[_Use] = set().union(*(self._used.get(root) or () for root in call.roots)) if self._used else set()
        for use in uses:
            use.taught = True
            if call.kind == "backward":
                self._note(use, trained=True)
        waiting = []
        for use in self._pending:
            if use.taught:
                continue
            if use.step < self._course.steps - 1:
                self._note(use, trained=False)
            else:
                waiting.append(use)
        self._pending = waiting

    def _note(self, use: _Use, *, trained: bool) -> None:
        rows = use.rows
        for target in rows.targets:
            key = rows.whole, rows.part, target
            if key not in self._answers and len(self._answers) >= _MOST_SETS:
                continue
            answer = self._answers.setdefault(key, _Answer())
            sets = answer.trained if trained else answer.evaluated
            answer.is_unsure |= trained and not rows.sure
            chosen = rows.chosen.key if rows.chosen is not None else None
            if chosen in sets:
                sets[chosen].last = max(use.step, sets[chosen].last)
            elif len(sets) < _MOST_SETS:
                sets[chosen] = _Set(use, use.step)

    def finish(self) -> None:
        for use in self._pending:
            if not use.taught:
                self._note(use, trained=False)
        self._pending = []
        modules = {number: called.module for called, number in self._passes.items()}
        for (number, _, _), answer in self._answers.items():
            if len(answer.trained) == 1 and not answer.is_unsure and number not in self._blind:
                self._tell(modules[number], self._chosen.get(number, {}), answer)

    def _tell(self, module: int, taken: dict[int, Chosen], answer: _Answer) -> None:
        """Of each set that was chosen for an evaluation after the first step that taught."""
        (trained,) = answer.trained.values()
        sets = [each for each in answer.evaluated.values() if each.use.rows.chosen is not None]
        seen = taken | {chosen.key: chosen for each in sets if (chosen := each.use.rows.chosen) is not None}
        for each in sets:
            chosen, use = each.use.rows.chosen, each.use
            learned = trained.rows(chosen.space) if chosen is not None else None
            is_set_apart = use.rows.by.sets_apart(trained.use.rows.by)
            if chosen is None or learned is None or each.last <= trained.use.step or not is_set_apart:
                continue
            rows = frozenset(chosen.order)
            others = [frozenset(other.order) for key, other in seen.items() if key != chosen.key]
            apart = [len(other - learned) for other in others if len(other & learned) <= _FEW * len(other)]
            self.emit(
                OutputRowsCompared(
                    step=each.last,
                    module=module,
                    location=locate(use.place),
                    split_at=locate(use.rows.by.place),
                    trained_at=locate(trained.use.place),
                    rows=math.prod(chosen.space),
                    trained=len(learned),
                    evaluated=len(rows),
                    shared=len(rows & learned),
                    unseen_too=max((len((rows - learned) & other) for other in others), default=0),
                    held_out=max(apart, default=0),
                    unseen=max((len(other - learned) for other in others), default=0),
                    covered=len(rows.union(*others)),
                    all_too=None in answer.evaluated,
                    is_part=_is_part(use.rows.by, trained.use.rows.by),
                )
            )


def _is_part(evaluated: _Index, trained: _Index) -> bool:
    """Whether rows were held out of an order drawn at random, or were put together with others for training."""
    return (evaluated.draw is not None and evaluated.draw.is_split) or evaluated.number in trained.joined


def _index_of(operation: Operation) -> Any:
    """What an operation chooses by, of the rows; None for what it chooses otherwise."""
    args, kwargs = operation.args, operation.kwargs
    if operation.name != "index_select":
        return args[1] if len(args) > 1 else kwargs.get("mask")
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    return kwargs.get("index", args[-1]) if dim == 0 else None


def _is_plain(index: object) -> bool:
    return type(index) in (int, slice, type(None), type(Ellipsis))


def _may_choose(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.bool, torch.uint8, torch.int32, torch.int64)


def _without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    """That of a mask of rows, if it has one value for each."""
    return tuple(shape[:1]) if math.prod(shape) == shape[0] else tuple(shape)


def _is_one_value(tensor: torch.Tensor) -> bool:
    """Whether several values are all the same."""
    if tensor.numel() < 2 or not readable(tensor):
        return False
    values = at_home(tensor).detach().reshape(-1)
    return bool((values == values[0]).all())
