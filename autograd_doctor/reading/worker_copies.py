"""What the workers of a loader have copies of, as it was at one time; and whether a later change of it, of which they
know nothing, changes the samples that they read.

What is tried is tried in a process of its own, with the samples that the loader has just asked for.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from operator import is_
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import torch
from torch.optim import Optimizer
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler, get_worker_info
from torch.utils.data._utils.fetch import _MapDatasetFetcher
from torch.utils.data.dataloader import _BaseDataLoaderIter

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.numbers import identity
from autograd_doctor.reading.own_generators import is_generator
from autograd_doctor.reading.repeated_items import is_the_same
from autograd_doctor.reading.sample_code import reached
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.ties import is_live, live_source
from autograd_doctor.reading.torch_versions import seed_generators
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.watched_workers import WatchedWorkers, undecided_if_workers_fail
from autograd_doctor.reading.without_running import attribute, attributes, closure_of, is_a, is_array

_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice, torch.dtype, torch.device, torch.Size)
_LISTS = (list, deque, set)
_MAPPINGS = (dict, OrderedDict, defaultdict)
_TIED = (DataLoader, _BaseDataLoaderIter)
"""They hold on to the workers."""
_APART = (type, logging.Logger, Optimizer, *_TIED)
"""What no sample is made of."""
_BETWEEN = frozenset({"multiprocessing.connection", "multiprocessing.queues", "multiprocessing.synchronize"})
"""Modules of what processes wait for, or take from one another."""
_IN_SHARED_MEMORY = "multiprocessing.sharedctypes"
_MOST_THINGS = 2_000
_DEEPEST = 12
_MOST_ENTRIES = 64
"""Of a container, to look into; of a dictionary, to tell one by one."""
_MOST_KEPT = 200_000
"""Entries of a container that are remembered."""
_MOST_BYTES = 1 << 20
"""Of a tensor or an array that is copied."""
_SMALL = 1 << 24
"""Bytes that something may hold which is kept, although the program may let it go."""
_MOST_INDICES = 8
_MOST_ALONE = 8
"""Changes to try one by one."""
_ROUNDS = 3
_PATIENCE = 4.0
"""Seconds for one trial, after which its worker ends by itself."""
_GRACE = 0.5
_WHOLE = object()
_ABSENT = object()
_LONGEST = 60
_UNLIKE = -1
_FEWEST = 8
"""Entries in another order: of fewer, that may be what they say."""


class _Ref:
    """A thing that is told by its identity, and kept alive only where it is small."""

    __slots__ = ("_find", "_key")

    def __init__(self, thing: Any, *, small: bool) -> None:
        self._key = identity(thing)
        self._find: Callable[[], Any] = (lambda: thing) if small else _weak(thing)

    def weaken(self) -> None:
        """Keep it alive no more."""
        thing = self._find()
        if thing is not None:
            self._find = _weak(thing)

    def __call__(self) -> Any:
        """The thing; None where it is gone, or nothing could hold on to it."""
        return self._find()

    def is_of(self, thing: Any) -> bool:
        return self._key == identity(thing)


def _weak(thing: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(thing)
    except TypeError:
        return lambda: None


class _Part(NamedTuple):
    """One thing that can change, where it is, and what it held. `kept`: whether all of that can be put back."""

    path: str
    thing: _Ref
    held: dict[Any, Any]
    kept: bool


class Change(NamedTuple):
    """One thing holds something else under a key than it did; `_ABSENT` stands for nothing."""

    path: str
    thing: Any
    key: Any
    before: Any
    now: Any
    kept: bool

    @property
    def identity(self) -> tuple[int, Any]:
        return identity(self.thing), self.key

    @property
    def is_followed(self) -> bool:
        """Whether values of both kinds are such as are compared."""
        values = (self.before() if is_a(self.before, _Ref) else None, self.now)
        return not any(value is not _ABSENT and not _is_plain(value) and _is_opaque(value) for value in values)

    @property
    def attribute(self) -> str:
        """Its name; "" for what is held in another way."""
        return self.path.rpartition(".")[2] if attributes(self.thing) else ""

    @property
    def is_known(self) -> bool:
        """Whether what was there can be put back."""
        return self.kept and not (is_a(self.before, _Ref) and self.before() is None)

    def put_back(self) -> None:
        before = self.before() if is_a(self.before, _Ref) else self.before
        if is_a(self.thing, torch.Tensor):
            self.thing.detach().copy_(before)
        elif _is_plain_array(self.thing):
            self.thing[...] = before
        elif type(self.thing) is list:
            self.thing[:] = before
        elif type(self.thing) in _LISTS:
            self.thing.clear()
            (self.thing.update if type(self.thing) is set else self.thing.extend)(before)
        elif type(self.thing) in _MAPPINGS and self.key is _WHOLE:
            self.thing.clear()
            self.thing.update(before)
        else:
            held = self.thing if type(self.thing) in _MAPPINGS else attributes(self.thing)
            if before is _ABSENT:
                held.pop(self.key, None)
            else:
                held[self.key] = before


class State:
    """What can be reached from some objects: what it holds at this moment, and the generators among it.

    between: the type of something through which processes take from one another, or wait for each other; "" without.
    """

    def __init__(self, roots: Sequence[Any]) -> None:
        self.parts: list[_Part] = []
        self.generators: list[Any] = []
        self.between = ""
        self._refs: list[_Ref] = []
        self._met: set[int] = set()
        self._copied = 0
        self._is_tied = False
        """Something was met, or not looked into, that may hold on to the workers: nothing is kept alive then."""
        for root in roots:
            self._walk(root, "", 0)
        if self._is_tied:
            self.parts = [part for part in self.parts if type(part.held.get(_WHOLE)) not in (*_LISTS, *_MAPPINGS)]
            for ref in self._refs:
                ref.weaken()

    def changes(self) -> list[Change]:
        """What has become another thing since, or holds something else."""
        return [change for part in self.parts for change in _changes_of(part)]

    def _walk(self, thing: Any, path: str, depth: int) -> int:
        """The bytes of tensors and arrays that it holds."""
        if _is_plain(thing) or identity(thing) in self._met:
            return 0
        self._met.add(identity(thing))
        if len(self._met) > _MOST_THINGS or depth > _DEEPEST or is_a(thing, _TIED):
            self._is_tied = True
            return 0
        if is_generator(thing):
            self.generators.append(thing)
            return 0
        modules = {each.__module__ for each in type(thing).__mro__}
        if modules & _BETWEEN:
            self.between = type(thing).__name__
        if modules & {*_BETWEEN, _IN_SHARED_MEMORY}:
            return 0
        if is_a(thing, torch.Tensor) or _is_plain_array(thing):
            return self._array(thing, path)
        if type(thing) in (*_LISTS, *_MAPPINGS, tuple):
            return self._container(thing, path, depth)
        if (behind := _behind(thing)) is not None:
            return sum(self._walk(each, path, depth + 1) for each in behind)
        return 0 if _is_opaque(thing) else self._holder(thing, path, depth)

    def _holder(self, thing: Any, path: str, depth: int) -> int:
        held, size = {}, 0
        for name, value in list(attributes(thing).items()):
            beneath = self._walk(value, f"{path}.{name}" if path else name, depth + 1)
            held[name] = self._stored(value, beneath)
            size += beneath
        self.parts.append(_Part(path, self._ref(thing, small=size <= _SMALL), held, True))
        return size

    def _container(self, thing: Any, path: str, depth: int) -> int:
        keyed = type(thing) in _MAPPINGS
        entries = list(thing.items()) if keyed else list(enumerate(thing))
        some = entries[:: max(1, -(-len(entries) // _MOST_ENTRIES))]
        sizes = [
            self._walk(value, _name(path, thing, key) if _is_plain(key) else path, depth + 1) for key, value in some
        ]
        size = sum(sizes) * len(entries) // max(1, len(some))
        if type(thing) is not tuple:
            kept = size <= _SMALL and len(entries) <= _MOST_KEPT
            if keyed and len(some) == len(entries) and all(_is_plain(key) for key, _ in some):
                held = {key: self._stored(value, each) for (key, value), each in zip(some, sizes, strict=True)}
            else:
                held = {_WHOLE: len(entries) if not kept else dict(thing) if keyed else type(thing)(thing)}
            self.parts.append(_Part(path, self._ref(thing, small=size <= _SMALL), held, kept))
        return size

    def _array(self, thing: Any, path: str) -> int:
        if is_a(thing, torch.Tensor):
            if type(thing) not in (torch.Tensor, torch.nn.Parameter) or is_remote(thing) or not readable(thing):
                return _SMALL + 1
            size, all_of_it, copied = thing.nbytes, thing.untyped_storage().nbytes(), thing.detach().clone
        else:
            size, all_of_it, copied = thing.nbytes, getattr(thing.base, "nbytes", thing.nbytes), thing.copy
        self._copied += size if size <= _MOST_BYTES else 0
        if size <= _MOST_BYTES and self._copied <= _SMALL:
            self.parts.append(_Part(path, self._ref(thing, small=all_of_it <= _SMALL), {_WHOLE: copied()}, True))
        return int(all_of_it)

    def _stored(self, value: Any, size: int) -> Any:
        return value if _is_plain(value) else self._ref(value, small=size <= _SMALL and not _is_opaque(value))

    def _ref(self, thing: Any, *, small: bool) -> _Ref:
        self._refs.append(_Ref(thing, small=small))
        return self._refs[-1]


def _is_plain(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return type(value) in _PLAIN or is_a(value, Enum) or (numpy is not None and is_a(value, numpy.generic))


def _is_plain_array(thing: Any) -> bool:
    return is_array(thing) and not thing.dtype.hasobject


def _is_opaque(thing: Any) -> bool:
    """Whether what it is shows in nothing that could be compared, or is tied to this process."""
    if _is_plain_array(thing) or is_a(thing, (torch.Tensor, tuple)) or type(thing) in (*_LISTS, *_MAPPINGS):
        return False
    if is_generator(thing) or is_a(thing, _APART) or is_live(thing):
        return True
    return _behind(thing) is None and not attributes(thing)


def _behind(thing: Any) -> Sequence[Any] | None:
    """What a function was made of; None for what is none."""
    if is_a(thing, FunctionType):
        return [*closure_of(thing).values(), *(thing.__defaults__ or ())]
    if is_a(thing, (MethodType, BuiltinFunctionType)):
        return [thing.__self__] if is_a(thing, MethodType) else []
    return [thing.func, *thing.args, *thing.keywords.values()] if type(thing) is partial else None


def _changes_of(part: _Part) -> Iterator[Change]:
    thing = part.thing()
    if thing is None:  # nobody has it any more
        return
    held = _held_now(thing, whole=_WHOLE in part.held)
    for key in {**part.held, **held}:
        before, now = part.held.get(key, _ABSENT), held.get(key, _ABSENT)
        if not _is_same(before, now):
            yield Change(_name(part.path, thing, key), thing, key, before, now, part.kept)


def _held_now(thing: Any, *, whole: bool) -> dict[Any, Any]:
    if whole:
        return {_WHOLE: thing}
    return dict(thing if type(thing) in _MAPPINGS else attributes(thing))


def told(value: Any) -> str:
    """A value in a few words."""
    if is_a(value, _Ref):
        value = value()
    if value is _ABSENT:
        return "not there"
    if _is_plain(value):
        shown = _shown(value)
        return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    if is_a(value, torch.Tensor) or _is_plain_array(value):
        return f"a `{type(value).__name__}` of shape {tuple(value.shape)}"
    if type(value) in (*_LISTS, *_MAPPINGS, tuple):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a `{type(value).__name__}`"


def _shown(value: Any) -> str:
    return f"{type(value).__name__}.{attribute(value, '_name_')}" if is_a(value, Enum) else repr(value)


def _name(path: str, thing: Any, key: Any) -> str:
    if key is _WHOLE:
        return path
    if type(thing) in (*_MAPPINGS, *_LISTS, tuple):
        return f"{path}[{_shown(key)}]"
    return f"{path}.{key}" if path else str(key)


def _is_same(before: Any, now: Any) -> bool:
    if is_a(before, _Ref):
        return bool(before.is_of(now))
    if before is now:
        return True
    if type(before) is int and type(now) in (*_LISTS, *_MAPPINGS):
        return before == len(now)
    if type(before) is dict and type(now) in _MAPPINGS:
        return len(before) == len(now) and all(map(is_, before, now)) and all(map(is_, before.values(), now.values()))
    if type(before) is not type(now) and not is_a(before, torch.Tensor):
        return False
    if type(before) in (list, deque):
        return len(before) == len(now) and all(map(is_, before, now))
    if type(before) is set:
        return len(before) == len(now) and {*map(identity, before)} == {*map(identity, now)}
    if is_a(before, torch.Tensor):
        return before.shape == now.shape and before.dtype == now.dtype and is_the_same(before, now.detach().clone())
    if _is_plain_array(before):
        return is_the_same(before, now)
    return _is_plain(before) and not is_a(before, (slice, Enum)) and bool(before == now)


class _Trial(Dataset[list[int]]):
    """Its one sample says which of the changes make the batch that is read another one, by their positions."""

    def __init__(self, now: State, roots: Sequence[Any], changes: Sequence[Change], read: Callable[[], Any]) -> None:
        self._now = now
        self._roots = roots
        self._changes = changes
        self._read = read
        self._shared = [value for each in reached(roots[0]) for _, value in each.names if is_generator(value)]

    def __getitem__(self, index: int) -> list[int]:
        own = {change.identity for change in self._now.changes()}  # what a `worker_init_fn` sees to
        self._now = State(self._roots)
        now, written = self._reading([])
        own |= written
        left = [each for each in self._changes if each.identity not in own and not _is_shared(each.thing)]
        before = now
        for _ in range(_ROUNDS):
            before, written = self._reading(left)
            still = [each for each in left if each.identity not in written]
            if len(still) == len(left):
                break
            left = still
        if not left or is_the_same(now, before):
            return []
        if not is_the_same(now, self._reading([])[0]):
            return [_UNLIKE]
        alone = [each for each in left[:_MOST_ALONE] if not is_the_same(now, self._reading([each])[0])]
        found = {each.identity for each in alone or left}
        return [position for position, each in enumerate(self._changes) if each.identity in found]

    def _reading(self, changes: Sequence[Change]) -> tuple[Any, set[tuple[int, Any]]]:
        """A batch, read where these changes have not been made; and what reading it changes itself, such as a cache."""
        for written in self._now.changes():
            if written.is_known and written.is_followed:
                written.put_back()
        for change in changes:
            change.put_back()
        before = State(self._roots)
        _seed([*before.generators, *self._shared])
        return self._read(), {change.identity for change in before.changes()}


def changes_that_matter(old: State, loader: DataLoader[Any], indices: Any) -> list[Change]:
    """Of what has changed since, that which makes a batch of these samples another one; they are read as by a worker.

    Raises `Undecided` where they cannot be, or come out different anyhow.
    """
    changes = [change for change in old.changes() if change.is_followed]
    is_in_order = is_a(loader.sampler, SequentialSampler) and type(loader.batch_sampler) in (BatchSampler, type(None))
    if not is_in_order:
        changes = [change for change in changes if not _is_rearranged(change)]
    known = [change for change in changes if change.is_known]
    found = _tried(known, loader, indices) if known else []
    used = {name for each in reached(loader.dataset) for name, _ in each.names}
    if not found and (gone := [each.path for each in changes if not each.is_known and each.attribute in used]):
        raise Undecided(f"what `{gone[0]}` was is gone")
    return found


def _tried(changes: Sequence[Change], loader: DataLoader[Any], indices: Any) -> list[Change]:
    if source := live_source(loader.dataset):
        raise Undecided(f"reading uses {source}, which processes cannot share")
    now = State(roots_of(loader))
    if now.between:
        raise Undecided(f"it holds a `{now.between}`, by which processes wait for one another")
    fetcher = _MapDatasetFetcher(loader.dataset, loader._auto_collation, loader.collate_fn, False)
    watched = WatchedWorkers(partial(_begin, loader))
    trial = _Trial(now, roots_of(loader), changes, lambda: fetcher.fetch(indices))
    options = {**watched.options, "timeout": _PATIENCE + _GRACE}
    began = CLOCK.perf_counter()
    with unnoticed(), undecided_if_workers_fail(watched):
        reading: Any = iter(DataLoader(trial, batch_size=None, sampler=[0], num_workers=1, **options))
        try:
            found = next(reading)
        except RuntimeError:
            if CLOCK.perf_counter() - began < _PATIENCE:
                raise
            raise Undecided("reading samples takes long") from None
        finally:
            reading._shutdown_workers()  # an error would hold on to them
    if found == [_UNLIKE]:
        raise Undecided("a batch is another one each time that it is read")
    return [changes[position] for position in found]


def _begin(loader: DataLoader[Any], worker: int) -> None:
    """In the worker, as in those of the loader."""
    end = threading.Timer(_PATIENCE, os._exit, (0,))
    end.daemon = True
    end.start()
    object.__setattr__(get_worker_info(), "dataset", loader.dataset)
    if loader.worker_init_fn is not None:
        loader.worker_init_fn(worker)


def roots_of(loader: DataLoader[Any]) -> Sequence[Any]:
    """What workers get copies of."""
    return loader.dataset, loader.collate_fn


def first_of(index: Any) -> Any:
    """What a sampler said of one batch, of which a few samples will do."""
    return index[:_MOST_INDICES] if type(index) is list else index


def _seed(generators: Sequence[Any]) -> None:
    """Of a process that is gone after the trial. What differs by its draws alone is not to differ."""
    seed_generators(0)
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)
    for generator in generators:
        if is_a(generator, torch.Generator):
            generator.manual_seed(0)
        elif numpy is not None and is_a(generator, numpy.random.Generator):
            generator.bit_generator.state = type(generator.bit_generator)(0).state
        else:
            generator.seed(0)


def _is_shared(thing: Any) -> bool:
    """Whether other processes see what is written to a tensor or an array."""
    if is_a(thing, torch.Tensor):
        return system.may_be_shared(thing.data_ptr())
    return _is_plain_array(thing) and system.may_be_shared(thing.ctypes.data)


def _is_rearranged(change: Change) -> bool:
    """Whether there is nothing but the same entries in another order: all of them are drawn."""
    before, now = change.before() if is_a(change.before, _Ref) else change.before, change.now
    if is_a(before, torch.Tensor) and is_a(now, torch.Tensor):
        values = [each.detach().reshape(-1).sort().values for each in (before, now)]
    elif _is_plain_array(before) and _is_plain_array(now):
        values = [sys.modules["numpy"].sort(each, axis=None) for each in (before, now)]
    else:
        entries = [_entries(each) for each in (before, now)]
        return entries[0] is not None and entries[0] == entries[1] and entries[0].total() >= _FEWEST
    return is_the_same(*values) and len(values[0]) >= _FEWEST


def _entries(thing: Any) -> Counter[Any] | None:
    """Plain entries, also of containers inside, and how often each comes; of other things, which ones they are."""
    if type(thing) not in (list, tuple, deque):
        return None
    found: Counter[Any] = Counter()
    for each in thing:
        inside = _entries(each)
        found.update(inside if inside is not None else [each if type(each) in _PLAIN else identity(each)])
    return found
