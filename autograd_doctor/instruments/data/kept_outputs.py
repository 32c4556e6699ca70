"""Outputs that a pass over a loader has left, and the samples whose outputs they meet in a later loss.

What a model made of a batch is known again by the values of its rows, wherever the program has kept them: in a list, a
table, or an array. Each row has a place in the pass, and the number that the sampler asked for it by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, TypeVar

import torch

from autograd_doctor.events.data import OutputsOfOthersMet
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import COMPARING, DIFFERENCES, MOVES, MULTIPLICATIONS, RESHAPES, SOFTMAXES
from autograd_doctor.reading.asked_indices import AskedIndices
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.module_tree import has_parameters, parameters_in
from autograd_doctor.reading.numbers import IdentityTable, ValueTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.pairs import ELEMENTWISE
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import dispatches
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked, IndexDrawn, PassBegan
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, Value, behind

K = TypeVar("K")
T = TypeVar("T")
_COMPARES = COMPARING | DIFFERENCES | MULTIPLICATIONS | {"cosine_similarity", "cross_entropy", "dist", "kl_div"}
_FOLLOWS = ELEMENTWISE | MOVES | SOFTMAXES | {"log_softmax", "mean", "normalize", "sum"}
"""Operations that make of a batch's rows something of the same batch."""
_WRITES = frozenset({"__setitem__", "copy_", "index_copy_", "index_put_"})
_LEAST_ROWS = 8
_MOST_ROWS = 1024
"""Of a batch that is looked at."""
_MOST_KEYS = 2**15
_MOST_CALLS = 16
"""Of models, with parts of one batch."""
_MOST_LEFT = 16
"""Results of a batch that are still there when the next one is drawn."""
_MOST_PLACES = 4
"""At which a row with these values was made: a pass may come again."""
_NEARLY_ALL = 0.9
_IN_THE_BATCH = 0.25
"""Share of the kept outputs that may, by chance, be those of other samples of the same batch."""
_LONGEST_WAY = 6


@dataclass(eq=False, slots=True)
class _Pass:
    """One over the data set of a loader, by its number, and how many rows it has given."""

    dataset: int
    rows: int = 0


@dataclass(eq=False, slots=True)
class _Batch:
    """samples: what the sampler asked for. start: how many rows of the pass came before. given: keys of the rows that
    models were given, call by call."""

    of: _Pass
    start: int
    samples: list[int]
    given: list[list[int]] = field(default_factory=list)


class _Made(NamedTuple):
    """What came of a batch: the number of the model, and the line that called it."""

    batch: _Batch
    module: int
    place: Place | None


class _Row(NamedTuple):
    made: _Made
    at: int

    @property
    def sample(self) -> int:
        return self.made.batch.samples[self.at]

    @property
    def position(self) -> int:
        return self.made.batch.start + self.at


_Rows = list[tuple[_Row, ...]]
"""For each row of a tensor, where such a one was made; nothing where that is unknown, or was so for several samples."""


class _Kept(NamedTuple):
    rows: _Rows
    name: str


class _Meeting(NamedTuple):
    """Kept outputs that an operation compares with what was made of other samples. live: that."""

    live: Value
    kept: _Kept
    made: _Made
    by: Literal["position", "index"]
    others: int
    of: int
    told: int


@dataclass(slots=True)
class _Line:
    """others: rows of other samples, of so many. told: those whose samples what a model was given tells, too."""

    first: int
    met: _Meeting
    steps: set[int] = field(default_factory=set)
    others: int = 0
    of: int = 0
    told: int = 0


class KeptOutputs(LossQuery):
    """Knows, in steps that are looked at closely, what came of each sample that a loader gave, and where it goes.

    Nothing is said of a program in which kept outputs meet those of their own samples.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (OutputsOfOthersMet,)

    def __init__(
        self,
        site: Site,
        course: Course,
        lineage: Lineage,
        tape: Tape,
        module_calls: ModuleCalls,
        sources: Sources,
        uploads: Uploads,
    ) -> None:
        super().__init__(site, course, tape)
        self._lineage = lineage
        self._module_calls = module_calls
        self._sources = sources
        self._uploads = uploads
        self._asked = AskedIndices()
        self._passes: IdentityTable[_Pass] = IdentityTable()
        self._newest: dict[int, _Batch] = {}
        """Batches by the number of their rows."""
        self._running: tuple[ModuleCall, _Made] | None = None
        self._made: ValueTable[_Made] = self.value_table()
        self._left: IdentityTable[_Made] = IdentityTable()
        self._given: dict[tuple[int, int], _Row | None] = {}
        """Which samples of which data sets rows were, by their keys, in the first batch that had them; None for
        several."""
        self._outputs: dict[int, tuple[_Row, ...]] = {}
        self._kept: ValueTable[_Kept | None] = self.value_table()
        self._met: dict[Op, _Meeting] = {}
        self._lines: dict[Location | None, _Line] = {}
        self._is_meant = False

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.indexed, self._indexed)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(signals.modules.ended, self._module_ended, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operated)
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._met.clear()
        self._kept.clear()

    # ---------------------------------------------------------------------------------------------- what loaders give

    def _pass_began(self, began: PassBegan) -> None:
        self._passes.put(began.iterator, _Pass(self._sources.set_of(self._sources.loaders.number(began.loader))))

    def _indexed(self, drawn: IndexDrawn) -> None:
        self._asked.note(drawn.iterator, drawn.index)

    def _drawn(self, asked: BatchAsked) -> None:
        self._settle()
        known, samples = self._passes.get(asked.iterator), self._asked.of_next(asked.iterator)
        if known is not None and type(samples) is list:
            self._newest[len(samples)] = _Batch(known, known.rows, samples)
            known.rows += len(samples)

    def _exhausted(self, asked: BatchAsked) -> None:
        self._settle()
        self._newest.clear()

    # ------------------------------------------------------------------------------------------- what is made of that

    def _root_began(self, began: RootBegan) -> None:
        self._running = None
        with_rows = [tensor for tensor in began.given if tensor.dim() and len(tensor) in self._newest]
        if self._is_meant or not with_rows or not has_parameters(began.call.module):
            return
        batch = self._newest[len(with_rows[0])]
        if not _LEAST_ROWS <= len(batch.samples) <= _MOST_ROWS or len(batch.given) >= _MOST_CALLS:
            return
        given = [each for each in with_rows if len(each) == len(batch.samples) and not each.requires_grad]
        keys = self._keys_of(given) if all(type(each) is int for each in batch.samples) else None
        if keys is None:
            learns = began.call.grad_enabled and any(each.requires_grad for _, each in parameters_in(began.call.module))
            self._stay_away([] if learns else given)
            return
        made = _Made(batch, began.module, began.where)
        self._running = began.call, made
        batch.given.append(keys)
        for at, key in enumerate(keys):
            row, named = _Row(made, at), (batch.of.dataset, key)
            known = self._given.get(named, row)
            _put(self._given, named, known if known is not None and known.sample == row.sample else None)

    def _keys_of(self, given: Sequence[torch.Tensor]) -> list[int] | None:
        """Numbers for the rows of all that a model is given."""
        every = [row_keys(self._uploads.at_home(tensor)) for tensor in given]
        found = [keys for keys in every if keys is not None]
        return [hash(row) for row in zip(*found, strict=True)] if found and len(found) == len(every) else None

    def _module_ended(self, call: ModuleCall) -> None:
        if self._running is None or self._running[0] is not call:
            return
        (_, made), self._running = self._running, None
        with self._site.signals.guard.looking():
            for tensor in tensors_in([call.output], EVERYTHING):
                is_of_rows = _is_plain(tensor) and len(tensor) == len(made.batch.samples)
                if is_of_rows and tensor.is_floating_point():
                    self._label(tensor, made)
                    self._remember(tensor, made)

    def _label(self, tensor: torch.Tensor, made: _Made) -> None:
        self._made.put(tensor, made)
        if not tensor.requires_grad and len(self._left) < _MOST_LEFT:
            self._left.put(tensor, made)

    def _stay_away(self, tensors: Sequence[torch.Tensor]) -> None:
        if any(map(is_remote, tensors)):
            self.limited("outputs that were kept on an accelerator are not compared with those of their samples")

    def _settle(self) -> None:
        """Remember what came of the last batch and is still there."""
        for tensor, made in self._left.items():
            if self._made.now(tensor) is made:
                self._remember(tensor, made)
        self._left.clear()

    def _remember(self, tensor: torch.Tensor, made: _Made) -> None:
        if tensor.requires_grad or len(tensor) != len(made.batch.samples):
            return
        self._stay_away([tensor])
        for at, key in enumerate(row_keys(tensor) or ()):
            known = self._outputs.get(key, ())
            new = _Row(made, at)
            if not any(row.made.batch is made.batch and row.at == at for row in known):
                _put(self._outputs, key, (*known, new)[-_MOST_PLACES:])

    # ---------------------------------------------------------------------------------------------------- operations

    def _recorded(self, op: Op) -> None:
        if self._is_meant or self._running is not None or not (len(self._made) or self._outputs):
            return
        kept = list(self._kept_among(op)) if self._outputs else []
        if op.name in _COMPARES and op.output.learns and self._compared(op, kept):
            return
        given = [(value, made) for value in op.values if (made := self._made_by(value)) is not None]
        if given and len({id(made.batch) for _, made in given}) == 1:
            if op.name in _WRITES:
                self._keep(map(tensor_of, op.values[1:]))
            for output, tensor in _with_rows(op, [value for value, _ in given]):
                if output.is_floating:
                    self._label(tensor, given[0][1])
        elif len(kept) == 1 and op.name in _FOLLOWS:
            for output, tensor in _with_rows(op, [kept[0][0]]):
                if not output.learns:
                    self._kept.put(tensor, kept[0][1])

    def _made_by(self, value: Value) -> _Made | None:
        tensor = tensor_of(value)
        made = self._made.get(tensor) if tensor is not None else None
        return made if made is not None and self._newest.get(len(made.batch.samples)) is made.batch else None

    def _operated(self, operation: Operation) -> None:
        """What leaves torch, as an array or a list, may be kept there."""
        if operation.kind is Kind.ESCAPE:
            self._keep(operation.inputs)

    def _keep(self, tensors: Iterable[torch.Tensor | None]) -> None:
        for tensor in tensors:
            made = self._made.get(tensor)
            if tensor is not None and made is not None:
                self._remember(tensor, made)

    def _kept_among(self, op: Op) -> Iterator[tuple[Value, _Kept]]:
        """The operands that are outputs of an earlier batch, or were made of some."""
        for value in op.values:
            tensor = tensor_of(value)
            if value.learns or not value.is_floating or tensor is None or not _is_plain(tensor):
                continue
            if self._made_by(value) is not None:
                continue
            if tensor not in self._kept and len(tensor) in self._newest:
                self._kept.put(tensor, self._looked_up(tensor))
            known = self._kept.get(tensor)
            if known is not None:
                yield value, known

    def _looked_up(self, tensor: torch.Tensor) -> _Kept | None:
        rows = [_of_one_sample(self._outputs.get(key, ())) for key in row_keys(tensor) or ()]
        return _Kept(rows, variable_name(tensor).partition("[")[0]) if sum(map(bool, rows)) >= _LEAST_ROWS else None

    # --------------------------------------------------------------------------------------------------- comparisons

    def _compared(self, op: Op, kept: Sequence[tuple[Value, _Kept]]) -> bool:
        """Whether an operation compares, row by row, what came of this batch with kept outputs."""
        if len(kept) != 1 or len(op.values) < 2:
            return False
        value, rows = kept[0]
        live = next((each for each in op.values[:2] if each.learns), None)
        made = self._made_by(live) if live is not None else None
        if live is None or made is None or value.shape != live.shape:
            return False
        batch, known = made.batch, [row for row in rows.rows if row]
        told = self._told(batch, {row[0].made.batch.of.dataset for row in known})
        if told == 0 or len(rows.rows) != len(batch.samples):
            return True
        pairs = zip(rows.rows, batch.samples, strict=True)
        others = [row for row, sample in pairs if row and row[0].sample != sample]
        if len(others) < _NEARLY_ALL * len(known):
            self._is_meant = True
        elif op.name in MULTIPLICATIONS and not _pairs(live, value, made.module != others[0][0].made.module):
            return True
        elif (by := _looked_up_by(rows.rows, batch)) is not None:
            self._met[op] = _Meeting(live, rows, others[0][0].made, by, len(others), len(known), told)
        return True

    def _told(self, batch: _Batch, datasets: set[int]) -> int:
        """How many rows of what models are given now were known as samples of the data set whose outputs were kept, if
        nearly all of them have the same numbers there and here."""
        known = [
            (self._given[dataset, key], sample)
            for dataset in datasets
            for keys in batch.given
            for key, sample in zip(keys, batch.samples, strict=True)
            if (dataset, key) in self._given
        ]
        told = [row for row, sample in known if row is not None and row.sample == sample]
        is_sure = len(datasets) == 1 and len(told) >= _NEARLY_ALL * len(known)
        return sum(row.made.batch is not batch for row in told) if is_sure else 0

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if not self._met or self._is_meant:
            return
        ways = set(behind(roots))
        for op, met in self._met.items():
            if op not in ways or self._has_a_partner(met.live, op):
                continue
            line = self._lines.setdefault(op.location, _Line(self._course.steps, met))
            if self._course.steps not in line.steps:
                line.steps.add(self._course.steps)
                line.others += met.others
                line.of += met.of
                line.told += met.told

    def _has_a_partner(self, live: Value, op: Op) -> bool:
        """Whether the same is compared with what parameters made of anything else, too, as an anchor is with something
        that is like it, and something that is not."""
        value: Value | None = live
        for _ in range(_LONGEST_WAY):
            if value is None:
                return False
            for use in value.uses:
                if use is not op and use.name in _COMPARES and use not in self._met and _compares_with_made(use, value):
                    return True
            by = value.by
            before = [each for each in by.live if each.shape == live.shape] if by is not None else []
            value = before[0] if len(before) == 1 else None
        return False

    def finish(self) -> None:
        for location, line in self._lines.items() if not self._is_meant else ():
            if line.told >= _LEAST_ROWS:
                self.emit(
                    OutputsOfOthersMet(
                        step=line.first,
                        location=location,
                        kept_at=locate(line.met.made.place),
                        name=line.met.kept.name,
                        module=line.met.made.module,
                        by=line.met.by,
                        rows=line.others,
                        of=line.of,
                        steps=len(line.steps),
                    )
                )


def _compares_with_made(use: Op, value: Value) -> bool:
    others = [each for each in use.values if each is not value and each.is_floating]
    return any(each.shape == value.shape and each.values and not each.is_parameter for each in others)


def _pairs(live: Value, kept: Value, are_of_two: bool) -> bool:
    """Whether a product pairs samples: log-probabilities with probabilities, as a cross-entropy by hand does, or, of
    two models, features with features and terms of a loss with weights.

    One and the same quantity of independent samples, times one another, is on average the square of its mean, and two
    of either sign give the product of their means: these want other samples.
    """
    said, shares = tensor_of(live), tensor_of(kept)
    if said is None or shares is None or is_remote(said):
        return False
    is_negative = bool((said <= 0).all())
    if is_negative and bool(((shares >= 0) & (shares <= 1)).all()):
        return True
    return are_of_two and (live.count > live.shape[0] or is_negative or bool((said >= 0).all()))


def _looked_up_by(rows: _Rows, batch: _Batch) -> Literal["position", "index"] | None:
    """What kept outputs of other samples were looked up by: the place that the samples have in their own pass, or the
    number of each sample, which is taken for its place in the pass that was kept.

    Elsewhere somebody has chosen them, as those of neighbours, or of the moment that follows.
    """
    known = [(row, sample) for row, sample in zip(rows, batch.samples, strict=True) if row]
    moves = {row[0].sample - sample for row, sample in known}
    in_the_batch = {row[0].sample for row, _ in known} & set(batch.samples)
    if 2 * len(moves) < len(known) or len(in_the_batch) > _IN_THE_BATCH * len(known):
        return None
    if all(any(each.position == sample for each in row) for row, sample in known):
        return "index"
    in_order = (any(each.position == at for each in row) for at, row in enumerate(rows, batch.start) if row)
    return "position" if len(known) >= _NEARLY_ALL * len(rows) and all(in_order) else None


def _of_one_sample(rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    return rows if len({row.sample for row in rows}) == 1 else ()


def _put(table: dict[K, T], key: K, value: T) -> None:
    """The oldest make room."""
    table[key] = value
    if len(table) > _MOST_KEYS:
        del table[next(iter(table))]


def _with_rows(op: Op, given: Sequence[Value]) -> Iterator[tuple[Value, torch.Tensor]]:
    """What has as many rows as these operands, or those of one of them in another shape: no sums over the rows."""
    is_clear = all(value.shape[0] not in value.shape[1:] for value in given)
    for output in op.outputs:
        tensor = tensor_of(output)
        if tensor is None or not _is_plain(tensor):
            continue
        is_flat = op.name in RESHAPES and output.count == given[0].count and len(tensor) % given[0].shape[0] == 0
        is_alike = any(output.shape == value.shape for value in given)
        if is_alike or (is_clear and (is_flat or any(len(tensor) == value.shape[0] for value in given))):
            yield output, tensor


def _is_plain(tensor: torch.Tensor) -> bool:
    return not dispatches(tensor) and tensor.layout is torch.strided and not tensor.is_nested and tensor.dim() > 0
