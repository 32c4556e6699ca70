"""Batches that come again in every training step, although they are fetched anew and there is more to fetch."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import length_hint
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import BatchRepeated
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.sources import Source, Sources, samples
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.reading.consumers import is_within
from autograd_doctor.reading.fingerprint import key_of, row_keys
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, here, locate
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, Loader, PassBegan
from autograd_doctor.signals.transforms import TransformCall

_FIRST_TOLD = 8
"""Steps in a row; from there on it is told whenever their number has doubled, and at the end."""
_MOST_FIELDS = 4
"""Of a batch, to compare: if these are the same, so are the others."""
_MOST_LINES = 1000
"""That call modules with slices."""


@dataclass
class _Passes:
    """Passes over one loader, of which each ended with its first batch. trained: steps that used a batch of it.

    are_elsewhere: whether the first batch of the newest pass lies on an accelerator. over: in which step, and where,
    the newest pass was asked for more when it had no more to give; left: since when, and in how many steps, one of its
    batches was trained on all the same.
    """

    name: str
    samples: int
    location: Location | None = None
    of: int = 0
    key: int | None = None
    step: int = -1
    since: int = 0
    steps: int = 0
    batches: int = 0
    are_elsewhere: bool = False
    trained: set[int] = field(default_factory=set)
    told: int = 0
    newest: weakref.ref[object] | None = None
    over: tuple[int, Location | None] | None = None
    left: _Left | None = None


@dataclass
class _Left:
    """Steps, one after the other, on a batch of a pass that has come to its end, and was asked for more in each."""

    since: int
    steps: int = 0
    samples: int = 0
    told: int = 0


class _Rows(NamedTuple):
    """Rows of a tensor with which a module was called."""

    number: int
    low: int = 0
    high: int = sys.maxsize
    selection: int = 0


@dataclass
class _Slices:
    """The part of a tensor with which a line calls a module in each step.

    own: what it holds. key: of all data that the module is called with. last: the part itself, of the latest one.
    """

    name: str
    part: Source
    samples: int
    own: int
    key: int
    last: weakref.ref[torch.Tensor]
    since: int
    step: int
    steps: int = 1


class Batches(Instrument):
    """Compares the first batches of passes of which nothing else was drawn, and slices with which modules are called.

    In light steps, too: a pass that begins anew in every step costs more than a look at its batch.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (BatchRepeated,)

    def __init__(
        self,
        site: Site,
        course: Course,
        module_calls: ModuleCalls,
        modules: Modules,
        sources: Sources,
        uploads: Uploads,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._guard = site.signals.guard
        self._value_reads = site.signals.value_reads
        self._module_calls = module_calls
        self._modules = modules
        self._sources = sources
        self._uploads = uploads
        self._passes: dict[int, _Passes] = {}
        self._running: IdentityTable[_Passes] = IdentityTable()
        self._slices: dict[tuple[int, Place | None, int], _Slices] = {}
        self._rows: dict[int, set[_Rows]] = {}
        self._read_rows: set[tuple[int, int, int]] = set()
        self._unknown = False
        self._reads = False
        self._varies = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.transforms.began, self._transform_began)

    def finish(self) -> None:
        for passes in self._passes.values():
            if passes.told < passes.steps:
                self._tell(passes)
            if passes.left is not None and passes.left.told < passes.left.steps:
                self._tell_left(passes, passes.left)
        for slices in self._slices.values():
            if slices.steps >= _FIRST_TOLD:
                self._tell_slices(slices)

    # ------------------------------------------------------------------------------------------------------- passes

    def _pass_began(self, began: PassBegan) -> None:
        loader = began.loader
        if is_within(("lightning", "pytorch_lightning")):
            return  # which has settings to train on one batch
        number = self._sources.loaders.number(loader)
        passes = self._passes.get(number)
        if passes is None:
            passes = self._passes[number] = _Passes(variable_name(loader), 0, of=_dealt_out(loader))
        passes.location = here()
        passes.batches, before = 0, passes.batches
        if before == 1 and passes.are_elsewhere and passes.samples < passes.of:
            self.limited("batches that a data loader makes on an accelerator are not compared")
        if before > 1:
            passes.key, passes.steps = None, 0
        passes.newest, passes.over, passes.left = weakref.ref(began.iterator), None, None
        self._running.put(began.iterator, passes)

    def _drawn(self, asked: BatchAsked) -> None:
        passes = self._running.get(asked.iterator)
        if passes is None:
            return
        passes.batches += 1
        if passes.batches > 1:
            passes.key, passes.steps = None, 0
            return
        tensors = [tensor for tensor in tensors_in([asked.batch], EVERYTHING)[:_MOST_FIELDS] if tensor.dim()]
        keys = [row_keys(tensor) for tensor in tensors]
        passes.are_elsewhere = any(map(is_remote, tensors))
        key = hash(tuple(key_of(rows) for rows in keys if rows is not None)) if all(keys) and keys else None
        step = self._course.steps
        if key is not None and key == passes.key and step == passes.step + 1:
            passes.steps += 1
        elif key is None or key != passes.key or step != passes.step:
            passes.key, passes.since, passes.steps = key, step, int(key is not None)
        passes.step, passes.samples = step, tensors[0].shape[0] if tensors else 0
        if passes.steps >= max(_FIRST_TOLD, 2 * passes.told):
            self._tell(passes)

    def _exhausted(self, asked: BatchAsked) -> None:
        passes = self._running.get(asked.iterator)
        if passes is not None and passes.newest is not None and passes.newest() is asked.iterator:
            passes.over = self._course.steps, here()

    def _trained_after_the_end(self, passes: _Passes, samples: int) -> None:
        """A module is given a batch of a loader whose newest pass was asked for another in this step, in vain."""
        if passes.over is None or passes.over[0] != self._course.steps:
            return
        step, left = self._course.steps, passes.left
        if left is None or left.since + left.steps < step:
            left = passes.left = _Left(step)
        if left.since + left.steps == step:
            left.steps, left.samples = left.steps + 1, samples
            if left.steps >= max(_FIRST_TOLD, 2 * left.told):
                self._tell_left(passes, left)

    def _tell_left(self, passes: _Passes, left: _Left) -> None:
        if left.steps < _FIRST_TOLD or passes.over is None:
            return
        left.told = left.steps
        self.emit(
            BatchRepeated(
                step=self._course.steps,
                how="used up",
                location=passes.over[1],
                name=passes.name,
                since=left.since,
                steps=left.steps,
                samples=left.samples,
                of=passes.of,
            )
        )

    def _tell(self, passes: _Passes) -> None:
        if passes.steps < _FIRST_TOLD or len(passes.trained) < 2 or passes.samples >= passes.of:
            return
        passes.told = passes.steps
        self.emit(
            BatchRepeated(
                step=self._course.steps,
                how="new pass",
                location=passes.location,
                name=passes.name,
                since=passes.since,
                steps=passes.steps,
                samples=passes.samples,
                of=passes.of,
            )
        )

    # ------------------------------------------------------------------------------------------------------- slices

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        trains = call.grad_enabled and call.module.training
        tensors = [self._uploads.at_home(tensor) for tensor in began.given[:_MOST_FIELDS]]
        for position, tensor in enumerate(tensors):
            if tensor.requires_grad or (self._unknown and self._sources.is_unknown(tensor)):
                continue
            sources = self._sources.of(tensor)
            for source in sources:
                if source.kind == "drawn" and trains:
                    began.again |= self._trained(source.number, len(tensor) if tensor.dim() else 1)
            shown = self._sources.shown(tensor)
            part = shown or self._chosen((began.module, began.where, position), tensor, sources)
            if shown is not None:
                self._put(shown.number, _rows_of(shown))
            else:
                self._used(tensor, sources, is_known=part is not None)
            self._varies |= trains and part is None and tensor.dim() > 0
            if part is not None:
                began.again = True
                if trains:
                    self._called(began, position, tensors, part, len(tensor) if shown is None else part.high - part.low)

    def _chosen(
        self, line: tuple[int, Place | None, int], tensor: torch.Tensor, sources: Sequence[Source]
    ) -> Source | None:
        """What was chosen by indices: told by the operation where that is seen, and in light steps by what it holds."""
        if not tensor.dim():
            return None
        if sources:
            return next((source for source in sources if source.kind == "chosen"), None)
        before = self._slices.get(line)
        return before.part if before is not None and before.own == self._held_by(tensor) else None

    def _used(self, tensor: torch.Tensor, sources: Sequence[Source], *, is_known: bool) -> None:
        """What comes from nowhere that is known may be any rows."""
        for source in sources:
            self._put(source.number, _rows_of(source))
        wholes = (self._sources.whole(each) for each in (tensor, tensor._base) if each is not None)
        whole = next((each for each in wholes if each is not None), None)
        if whole is not None:
            self._put(whole, _Rows(self._sources.base_of(whole)))
        self._unknown |= not (sources or is_known) and whole is None and tensor.dim() > 0

    def _transform_began(self, call: TransformCall) -> None:
        """Modules that are called inside are given rows of these, which torch has wrapped; masks are made so, too."""
        for tensor in tensors_in(call.args, EVERYTHING):
            self._used(tensor, self._sources.of(tensor), is_known=True)

    def _read(self, tensor: torch.Tensor) -> None:
        """Rows that are taken out of torch, once a slice stays where it is: to be scored by hand, or compared with."""
        if tensor._base is None or len(self._read_rows) >= _MOST_LINES:
            return
        with self._guard.looking():
            part = self._sources.shown(tensor)
            if part is not None and part.high - part.low > 1:
                self._read_rows.add((part.rows, part.low, part.high))

    def _put(self, number: int, rows: _Rows) -> None:
        self._rows.setdefault(self._sources.base_of(number), set()).add(rows)

    def _trained(self, loader: int, samples: int) -> bool:
        """Whether later steps count as well."""
        passes = self._passes.get(loader)
        if passes is not None:
            self._trained_after_the_end(passes, samples)
        if passes is None or len(passes.trained) >= _FIRST_TOLD:
            return passes is not None and passes.over is not None
        passes.trained.add(self._course.steps)
        return True

    def _called(
        self, began: RootBegan, position: int, tensors: list[torch.Tensor], source: Source, samples: int
    ) -> None:
        """A part is the batch only where modules are given nothing else, or the same in each step."""
        line = (began.module, began.where, position)
        known = self._slices.get(line)
        if known is not None and known.step == self._course.steps:
            return
        tensor, held = tensors[position], [self._held_by(each) if each.dim() else 0 for each in tensors]
        own = held[position]
        if own is None or None in held or len(self._slices) >= _MOST_LINES:
            return
        self._varies |= known is not None and known.own != own
        self._unknown |= is_one_of_several()  # others may have the rest
        key, step = hash(tuple(held)), self._course.steps
        is_same = known is not None and known.key == key and known.part.selection == source.selection
        if known is not None and is_same and known.last() is not tensor and known.part.number == source.number:
            known.steps += 1
            known.step, known.last = step, weakref.ref(tensor)
            if known.steps == _FIRST_TOLD and not self._reads:
                self._reads = True
                self.listen(self._value_reads.read, self._read)
        else:
            name = self._modules.name_of(began.module)
            self._slices[line] = _Slices(name, source, samples, own, key, weakref.ref(tensor), step, step)

    def _held_by(self, tensor: torch.Tensor) -> int | None:
        """A number for what a tensor holds. On an accelerator, where that would be waited for in every step, it is the
        part of a larger tensor that it shows, as long as nobody writes to that; what a model has just made there is
        taken for new in each step."""
        if not is_remote(tensor):
            keys = row_keys(tensor)
            return None if keys is None else key_of(keys)
        if tensor.requires_grad:
            return hash((id(self), self._course.steps))
        part = self._sources.shown(tensor)
        if part is None:
            self.limited("batches on an accelerator are compared only where they are slices of a larger tensor")
            return None
        return hash((part.number, part.selection, version_of(tensor)))

    def _tell_slices(self, slices: _Slices) -> None:
        part = slices.part
        rows = self._rows[self._sources.base_of(part.number)]
        where = next(where for (_, where, _), each in self._slices.items() if each is slices)
        self.emit(
            BatchRepeated(
                step=self._course.steps,
                how="same slice",
                location=locate(part.place or where),
                name=slices.name,
                since=slices.since,
                steps=slices.steps,
                samples=slices.samples,
                of=part.rows,
                rest_used=self._unknown
                or self._varies
                or self._is_rest_read(part)
                or not all(_are_within(each, part) for each in rows),
            )
        )

    def _is_rest_read(self, part: Source) -> bool:
        """Of the tensor itself or, as of the targets that go with it, of one that has as many rows."""
        read = ((low, high) for rows, low, high in self._read_rows if rows == part.rows)
        return any(low < part.low or high > part.high for low, high in read)


def _dealt_out(loader: Loader) -> int:
    """How many samples a pass gives out: of ranks, each has its part."""
    total = samples(loader)
    return min(total, length_hint(loader.sampler, total)) if is_one_of_several() else total


def _rows_of(source: Source) -> _Rows:
    return _Rows(source.number, source.low, source.high, source.selection)


def _are_within(rows: _Rows, part: Source) -> bool:
    """Whether rows are among those of a slice, or the very ones that indices chose."""
    if rows.number != part.number:
        return False
    is_slice = part.selection == hash((part.low, part.high))
    return rows.selection == part.selection or (is_slice and part.low <= rows.low and rows.high <= part.high)
