"""Where data come from: which loader a tensor was drawn from, or of which tensor, and which rows of it, it is a part.

It is followed through operations in steps that are looked at closely; what a slice is a view of is known in any step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import torch
from torch.utils.data import BatchSampler, SequentialSampler, Subset

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.fingerprint import key_of, row_keys
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.operation_kinds import FROM_DATA, Kind, traits
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.provenance import next_order
from autograd_doctor.reading.tensor_facts import at_home
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, Loader, PassBegan
from autograd_doctor.signals.operations import Operation

_MOST_SOURCES = 8
"""Of one tensor: more come together only where a batch is put together sample by sample."""
_MOST_FIELDS = 16
"""Of a batch: the tensors in it."""


class Source(NamedTuple):
    """A part of some data: of what a loader draws from, or of a tensor.

    number: of the loader, or of the tensor. rows: how many samples there are in all, 0 if unknown. selection: equal for
    the same rows in the same order. low, high: all rows that were chosen lie in this range. order: of rows that were
    chosen by indices that do not ascend, the same where others are so many rows further on; 0 elsewhere. since: when
    these were made, as of `Provenance.order`; 0 where that is not known.
    """

    kind: Literal["drawn", "chosen"]
    number: int
    rows: int
    selection: int = 0
    low: int = 0
    high: int = 0
    place: Place | None = None
    order: int = 0
    since: int = 0


_Sources = tuple[Source, ...]


class Sources(Instrument):
    """The sources of living tensors.

    loaders: the numbers of loaders; names: theirs; built_at: where they were made. in_order: those that draw from the
    first sample to the last.
    """

    def __init__(self, site: Site, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._tensors = tensors
        self._lineage = lineage
        self._known: IdentityTable[_Sources] = IdentityTable()
        self._wholes = Numbers()
        self._arrays: IdentityTable[int] = IdentityTable()
        """Arrays of NumPy that parts were taken of, and when the first was, as of `Provenance.order`."""
        self._bases: dict[int, int] = {}
        self._iterators: IdentityTable[Source] = IdentityTable()
        self._cuts: IdentityTable[Place] = IdentityTable()
        self._views: dict[int, list[Source]] = {}
        """Of tensors that parts were cut from, those that leave samples out, with their places."""
        self._subsets: IdentityTable[Place | None] = IdentityTable()
        self._sets = Numbers()
        self._set_of: dict[int, int] = {}
        self.loaders = Numbers()
        self.names: dict[int, str] = {}
        self.built_at: dict[int, Place | None] = {}
        self.in_order: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.built, self._built)
        self.listen(signals.loaders.chosen, self._subset_built)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(self._lineage.operated, self._operation_ended)

    def memory(self) -> tuple[Numbers, ...]:
        return self._wholes, self._sets, self.loaders

    def remember(self, memory: tuple[Numbers, ...]) -> None:
        for numbers, earlier in zip(self.memory(), memory, strict=True):
            numbers.follow(earlier)

    def whole(self, tensor: torch.Tensor) -> int | None:
        """The number of a tensor that parts were taken of."""
        return self._wholes.get(tensor)

    def made_at(self, tensor: torch.Tensor) -> Place | None:
        """The line of the program that made the data of which a tensor is a part: of what a loader draws, or of the
        tensor that rows were chosen of."""
        if (read := self._tensors.read_at(tensor)) is not None:
            return read
        chosen = (self.numbered(source.number) for source in self.of(tensor) if source.kind == "chosen")
        made = next((self._tensors.get(whole) for whole in chosen if isinstance(whole, torch.Tensor)), None)
        return made.place if made is not None else None

    def split_at(self, tensor: torch.Tensor) -> Place | None:
        """The line that chose the samples of the set of which a tensor is a part, or that read them; of a loader whose
        data set tells neither, the line that built it."""
        drawn = next(iter(self.loaders_of(tensor)), None)
        if drawn is None:
            return self._read_or_cut_at(tensor)
        loader = next((loader for number, loader in self.loaders.living() if number == drawn), None)
        found = self._set_chosen_at(loader.dataset) if loader is not None else None
        return found or self.built_at.get(drawn)

    def _set_chosen_at(self, dataset: Any) -> Place | None:
        parts = [dataset, *attributes(dataset).values()]
        chosen = (self._subsets.get(part) for part in parts)
        cuts = (self._read_or_cut_at(tensor) for tensor in tensors_in([dataset], nesting=2)[:_MOST_FIELDS])
        return next(filter(None, (*chosen, *cuts)), None)

    def _read_or_cut_at(self, tensor: torch.Tensor) -> Place | None:
        made = self._tensors.get(tensor)
        read = made.place if made is not None and made.operation in FROM_DATA else None
        return self._cut_at(tensor) or read

    def _cut_at(self, tensor: torch.Tensor) -> Place | None:
        """Where samples were first left out of what it came of; of a view in a light step, of what shows as much."""
        known = self._cuts.get(tensor)
        part = self._slice(tensor) if known is None else None
        views = self._views.get(part.number, ()) if part is not None else ()
        shown = (view.place for view in views if part is not None and view.low <= part.low and part.high <= view.high)
        return known or next(shown, None)

    def is_unknown(self, tensor: torch.Tensor) -> bool:
        """Whether nothing came of it, and it came of nothing that is known."""
        return tensor._base is None and not (tensor in self._known or tensor in self._wholes)

    def base_of(self, number: int) -> int:
        """The number of the tensor that a tensor which parts were taken of is a view of; its own for others."""
        return self._bases.get(number, number)

    def numbered(self, number: int) -> Any:
        """The tensor, or the array, that has this number, if it is alive."""
        return next((whole for known, whole in self._wholes.living() if known == number), None)

    def is_older(self, whole: Any, than: Source) -> bool:
        """Whether a tensor has been as it is since before the indices were made by which something was chosen; an array
        of NumPy, whose making nobody saw, if it was met before."""
        if not isinstance(whole, torch.Tensor):
            met = self._arrays.get(whole)
            return met is not None and met < than.since
        made = self._tensors.get(whole)
        return than.since > 0 and (made is None or made.order < than.since)

    def origin_of(self, tensor: torch.Tensor) -> tuple[str, int] | None:
        """What tells the data apart that a tensor is a part of: a data set has one, whichever loader draws from it."""
        for source in self.of(tensor):
            is_drawn = source.kind == "drawn"
            return source.kind, self._set_of.get(source.number, -1) if is_drawn else self.base_of(source.number)
        return None

    def loaders_of(self, tensor: torch.Tensor) -> list[int]:
        """The numbers of the loaders that gave what a tensor is made of."""
        return [source.number for source in self.of(tensor) if source.kind == "drawn"]

    def loader_of(self, iterator: Any) -> int | None:
        """The number of the loader that an iterator passes over."""
        source = self._iterators.get(iterator)
        return source.number if source is not None else None

    def set_of(self, loader: int) -> int:
        """The number of the data set that a loader draws from; -1 before its first pass."""
        return self._set_of.get(loader, -1)

    def are_of_one_set(self, one: int, other: int) -> bool:
        """Whether two loaders draw from the same data set."""
        return self._set_of.get(one) is not None and self._set_of.get(one) == self._set_of.get(other)

    def shown(self, tensor: torch.Tensor) -> Source | None:
        """The rows that a view shows of the tensor that it is a view of, in whatever shape, with their place."""
        part = self._slice(tensor, reshaped=True)
        if part is None:
            return None
        known = [source.place for source in self.of(tensor) if self.base_of(source.number) == part.number]
        return part._replace(place=known[-1] if known else None)  # the first cut of several

    def of(self, tensor: torch.Tensor) -> _Sources:
        known = self._known.get(tensor)
        if known is None:
            slice_of = self._slice(tensor)
            known = () if slice_of is None else (slice_of,)
        return known

    def _built(self, loader: Loader) -> None:
        self.built_at[self.loaders.add(loader)] = place()

    def _subset_built(self, subset: Subset[Any]) -> None:
        self._subsets.put(subset, place())

    def _pass_began(self, began: PassBegan) -> None:
        number = self.loaders.number(began.loader)
        if number not in self.names:
            self.names[number] = variable_name(began.loader)
            dataset: Any = began.loader.dataset
            # A list cannot be referred to without being kept alive.
            self._set_of[number] = self._sets.number(dataset if type(dataset).__weakrefoffset__ else began.loader)
        if type(began.loader.sampler) is SequentialSampler and type(began.loader.batch_sampler) is BatchSampler:
            self.in_order.add(number)
        self._iterators.put(began.iterator, Source("drawn", number, samples(began.loader)))

    def _drawn(self, asked: BatchAsked) -> None:
        source = self._iterators.get(asked.iterator)
        if source is not None:
            for tensor in tensors_in([asked.batch], EVERYTHING)[:_MOST_FIELDS]:
                self._known.put(tensor, (source,))

    def _operation_ended(self, operation: Operation) -> None:
        if operation.kind is Kind.ESCAPE:
            return
        outputs = [tensor for tensor in tensors_in((operation.result,)) if not tensor.requires_grad]
        if not outputs:
            return
        given = [tensor for tensor in operation.inputs if not tensor.requires_grad]
        chosen = () if traits(operation.name).shape_only else self._chosen(operation)
        self._note_cut(operation, given, outputs, chosen)
        if traits(operation.name).shape_only:
            return
        found = (*chosen, *_together(map(self.of, given)))[:_MOST_SOURCES]
        if found:
            for output in outputs:
                self._known.put(output, found)

    def _note_cut(
        self, operation: Operation, given: list[torch.Tensor], outputs: list[torch.Tensor], chosen: _Sources
    ) -> None:
        """Orders of all samples leave none out."""
        cut = next((cut for tensor in given if (cut := self._cut_at(tensor)) is not None), None)
        leaving = [source for source in chosen if source.high - source.low < source.rows]
        if cut is None and leaving:
            cut = operation.place
            views = self._views.setdefault(leaving[0].number, [])
            if len(views) < _MOST_SOURCES and any(output._base is not None for output in outputs):
                views.append(leaving[0])
        if cut is not None:
            for output in outputs:
                self._cuts.put(output, cut)

    def _chosen(self, operation: Operation) -> _Sources:
        """The rows that an operation takes out of a tensor, or of an array of NumPy."""
        args, place = operation.args, operation.place
        whole = args[0] if args else None
        if operation.name in FROM_DATA:
            part = self._part_of_array(whole)
            return () if part is None else (part._replace(place=place),)
        if not isinstance(whole, torch.Tensor) or whole.dim() == 0 or whole.requires_grad:
            return ()
        if operation.name == "__getitem__":
            index = args[1][0] if type(args[1]) is tuple and args[1] else args[1]
        elif operation.name == "index_select" and len(args) == 3 and args[1] == 0:
            index = args[2]
        else:
            return ()
        chosen = self._rows(whole, index)
        return () if chosen is None else (chosen._replace(place=place),)

    def _rows(self, whole: torch.Tensor, index: Any) -> Source | None:
        count = whole.shape[0]
        number = self._wholes.number(whole)
        if whole._base is not None:
            self._bases[number] = self._wholes.number(whole._base)
        if type(index) is int:
            row = index % count if count else 0
            return Source("chosen", number, count, hash((row, row + 1)), row, row + 1)
        if type(index) is slice and all(type(end) in (int, type(None)) for end in (index.start, index.stop)):
            low, high, _ = index.indices(count)
            return Source("chosen", number, count, hash((low, high)), low, high) if high - low < count else None
        if isinstance(index, torch.Tensor) and index.dim() == 1 and not index.is_floating_point():
            keys = row_keys(index, waits=True)
            if keys is None:
                return None
            near = at_home(index)
            rows = near.nonzero().flatten() if near.dtype is torch.bool else near
            low, high = (int(rows.min()), int(rows.max()) + 1) if rows.numel() else (0, 0)
            made = self._tensors.get(index)
            since = 0 if made is None else made.order
            return Source("chosen", number, count, key_of(keys), low, high, order=_order(rows), since=since)
        return None

    def _part_of_array(self, array: Any) -> Source | None:
        """What a slice of an array is a view of."""
        base: Any = array.base if type(array).__module__ == "numpy" and hasattr(array, "base") else None
        if type(base) is not type(array) or not array.ndim or base.ndim != array.ndim or not array.strides[0]:
            return None
        if base.shape[1:] != array.shape[1:] or array.shape[0] >= base.shape[0]:
            return None
        begin = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        if base not in self._arrays:
            self._arrays.put(base, next_order())
        return self._window(base, base.shape[0], array.shape[0], begin // array.strides[0])

    def _slice(self, tensor: torch.Tensor, *, reshaped: bool = False) -> Source | None:
        """What a view shows of the tensor that it is a view of."""
        if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided:
            return None
        base = tensor._base
        if base is None or base.is_nested or not base.dim() or not tensor.dim():
            return None
        rows, count = base.shape[0], tensor.numel()
        row, begin = base.numel() // max(rows, 1), int(tensor.storage_offset() - base.storage_offset())
        if not row or count >= base.numel() or not base.is_contiguous():
            return None
        if not tensor.is_contiguous():
            is_part = reshaped and len(tensor) < rows and _is_of_rows(tensor, row, begin)
            return self._window(base, rows, len(tensor), begin // row) if is_part else None
        if begin % row or count % row if reshaped else count != len(tensor) * row:
            return None
        return self._window(base, rows, count // row, begin // row)

    def _window(self, whole: Any, rows: int, shown: int, low: int) -> Source:
        return Source("chosen", self._wholes.number(whole), rows, hash((low, low + shown)), low, low + shown)


def _is_of_rows(tensor: torch.Tensor, row: int, begin: int) -> bool:
    """Whether each entry of a view, which begins so far into its base, is a part of a row of so many values, and the
    next entry one of the next row."""
    within = sum((size - 1) * stride for size, stride in zip(tensor.shape[1:], tensor.stride()[1:], strict=True))
    return tensor.stride(0) == row and begin % row + within < row


def _order(rows: torch.Tensor) -> int:
    steps = rows.diff()
    return 0 if bool((steps >= 0).all()) else key_of(row_keys(steps) or [])


def samples(loader: Loader) -> int:
    """How many samples a loader draws from, where asking runs nothing of the program's but a `__len__`."""
    sampler = loader.sampler
    source = getattr(sampler, "data_source", None)
    sized: Any = source if source is not None else loader.dataset
    if not is_a(loader.batch_sampler, BatchSampler) or not hasattr(type(sized), "__len__"):
        return 0
    try:
        return len(sized)
    except Exception:  # a data set of the user's may have no length yet, and say so in any way
        return 0


def _together(found: Iterable[_Sources]) -> _Sources:
    every: dict[Source, None] = {}
    for sources in found:
        every.update(dict.fromkeys(sources))
    return tuple(every)
