"""Two passes of a module over the same data, which both go into one loss: as two views of a sample they are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.data import TwinPasses
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.data.shared_tensors import SharedTensors, Write
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootCall, RootPassed
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.reading.fingerprint import key_of, part_that_tells, row_keys
from autograd_doctor.reading.graph_order import are_treated_alike, first_meetings, meet_in_company, values_of
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.transfers import Transfer
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_LEAST_VALUES = 16
"""Smaller inputs, such as a time or a start state, are the same by chance."""
_MOST_PASSES = 32
_MOST_KEPT = 250_000
"""Values of a pass to keep until they are compared: a device has no memory to spare."""
_MOST_LINES = 50
_MOST_STEPS = 4


@dataclass(eq=False, slots=True)
class _Contents:
    """What tensors hold. key: the same number for the same, None until somebody asks. parts: what tells it."""

    parts: list[torch.Tensor]
    key: int | None = None


@dataclass(eq=False, slots=True)
class _Pass:
    """A pass in training. addresses: where what it was given lies, or what that was moved from; writes: the latest into
    that; given: what that holds. outputs: of those that have a graph, in their order, how they were made and what they
    hold; none where it was given what is learned.
    """

    module: int
    where: Place | None
    addresses: list[int]
    writes: list[Write | None]
    given: _Contents
    outputs: list[tuple[Provenance | None, _Contents]]


class TwinPassesSeen(Instrument):
    """Compares the passes of a step by what they were given, and by what they returned.

    The same tensor given twice for two terms of a loss is no pair of views: what it costs is one pass too many. Only
    where its results are compared with each other, they were to differ. Nor are passes whose results go through other
    layers, as through two heads, or are an anchor that is compared with one thing, and then with another. What is given
    twice with other results, as by a model with dropout, is fine. What becomes of the results, `tensors` knows from
    `lineage`.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (TwinPasses,)

    def __init__(
        self,
        site: Site,
        course: Course,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        module_calls: ModuleCalls,
        uploads: Uploads,
        shared: SharedTensors,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._ledger = ledger
        self._module_calls = module_calls
        self._uploads = uploads
        self._shared = shared
        self._given: tuple[RootBegan, list[torch.Tensor], _Contents] | None = None
        self._passes: list[_Pass] = []
        self._pairs: list[tuple[_Pass, _Pass]] = []
        self._told: dict[tuple[int, Place | None, Place | None], set[int]] = {}
        self._differ: set[tuple[int, Place | None, Place | None]] = set()
        self._found: dict[tuple[int, Place | None, Place | None], list[TwinPasses]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._module_calls.root_passed, self._root_passed, attention=Attention.CLOSE)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _root_began(self, began: RootBegan) -> None:
        self._given = None
        if not (began.call.grad_enabled and began.call.module.training) or len(self._passes) >= _MOST_PASSES:
            return
        data = began.given
        if any(tensor.requires_grad for tensor in data):
            plain = [tensor for tensor in data if not tensor.requires_grad and _has_rows(tensor)]
            self._passes.append(_Pass(began.module, began.where, [], [], _contents(plain), []))
            return
        if not data or data[0].numel() < _LEAST_VALUES:
            return
        with_rows = [tensor for tensor in data if tensor.dim()]
        if all(map(_has_rows, with_rows)):
            self._given = began, data, _contents(with_rows)

    def _root_passed(self, passed: RootPassed) -> None:
        given, self._given = self._given, None
        call: RootCall = passed.call
        if given is None or given[0].call is not call.call:
            return
        began, data, contents = given
        outputs = [
            (self._tensors.get(each), _contents([each] if _has_rows(each) else []))
            for each in passed.outputs
            if has_graph(each) and each.dim()
        ]
        at_home = [self._uploads.at_home(tensor) for tensor in data]
        addresses, writes = map(storage_address, at_home), map(self._shared.latest_write, at_home)
        new = _Pass(began.module, began.where, list(addresses), list(writes), contents, outputs)
        for old in self._passes:
            if old.module == new.module and old.outputs and len(old.outputs) == len(new.outputs):
                self._compare(old, new)
        self._passes.append(new)

    def _compare(self, old: _Pass, new: _Pass) -> None:
        _find_keys([old.given, new.given])
        if old.given.key != new.given.key:
            self._differ.add((new.module, old.where, new.where))
            return
        returned, returned_now = ([each for _, each in one.outputs] for one in (old, new))
        _find_keys([*returned, *returned_now])
        if [each.key for each in returned] == [each.key for each in returned_now]:
            self._pairs.append((old, new))

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._pairs or call.kind != "backward":
            return
        through = {id(made) for made in walk.lineages}
        for old, new in self._pairs:
            outputs = zip(old.outputs, new.outputs, strict=True)
            used = [(one, other) for (one, _), (other, _) in outputs if id(one) in through and id(other) in through]
            same = not set(old.addresses).isdisjoint(new.addresses)
            known = [(one, other) for one, other in used if one and other and not meet_in_company(walk, one, other)]
            are_alike = any(are_treated_alike(walk, one, other) for one, other in known)
            meet = not same or any(_are_compared(walk, one, other) for one, other in known)
            if are_alike and meet and not self._are_parts(old, new):
                self._tell(old, new, walk.backward, same=same)

    def _are_parts(self, old: _Pass, new: _Pass) -> bool:
        """Whether the code that ran twice for them gave something else to another module: only a part was the same."""
        if old.where is None or old.where != new.where:
            return False
        keys: dict[Place, set[int | None]] = {}
        _find_keys([each.given for each in self._passes])
        for each in self._passes:
            if each.where is not None and each.where[0] is old.where[0]:
                keys.setdefault(each.where, set()).add(each.given.key)
        return any(len(given) > 1 for given in keys.values())

    def _tell(self, old: _Pass, new: _Pass, backward: int, *, same: bool) -> None:
        lines = new.module, old.where, new.where
        steps = self._told.get(lines, set())
        if lines in self._differ or self._course.steps in steps or len(steps) >= _MOST_STEPS:
            return
        if lines not in self._told and len(self._told) >= _MOST_LINES:
            return
        self._told.setdefault(lines, set()).add(self._course.steps)
        twins = TwinPasses(
            step=self._course.steps,
            backward=backward,
            module=new.module,
            first_at=locate(old.where),
            second_at=locate(new.where),
            same_tensor=same,
            written_at=_common_write(old, new),
        )
        self._found.setdefault(lines, []).append(twins)

    def finish(self) -> None:
        """What differs in a later step, as views do that are drawn further apart by and by, is no twin."""
        for lines, found in self._found.items():
            for twins in found if lines not in self._differ else ():
                self.emit(twins)

    def _step_taken(self, course: Course) -> None:
        self._passes, self._pairs = [], []


def _common_write(old: _Pass, new: _Pass) -> Location | None:
    writes = [each for each in old.writes if any(each is other for other in new.writes)]
    return next((locate(each.place) for each in writes if each is not None), None)


def _has_rows(tensor: torch.Tensor) -> bool:
    return tensor.dim() > 0 and tensor.numel() > 0 and readable(tensor)


def _contents(tensors: Sequence[torch.Tensor]) -> _Contents:
    """What lies on an accelerator is copied there: hardly any passes are compared with others."""
    contents = _Contents([part_that_tells(tensor.detach()) for tensor in tensors])
    if any(map(is_remote, tensors)) and sum(part.numel() for part in contents.parts) <= _MOST_KEPT:
        contents.parts = [part.clone() for part in contents.parts]
    else:
        _find_keys([contents])
    return contents


def _find_keys(contents: Sequence[_Contents]) -> None:
    """Read all in one go."""
    unknown = [each for each in contents if each.key is None]
    parts = iter(Transfer([part for each in unknown for part in each.parts]).values())
    for each in unknown:
        each.key = hash(tuple(key_of(row_keys(next(parts)) or []) for _ in each.parts))
        each.parts = []


def _are_compared(walk: GraphWalk, one: Provenance, other: Provenance) -> bool:
    """Whether they meet value by value, as in a product of scores, rather than as terms of a sum."""
    for node in first_meetings(walk, one, other):
        terms = node.name().startswith("AddBackward") or any(values_of(*source) == 1 for source in node.next_functions)
        if not terms:
            return True
    return False
