"""How one tensor was made: which parameters' values flow into it, where their gradient paths were cut, and by whom.

Sets of parameters are bit sets of their numbers.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

import torch

from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.events.steps import Cut
from autograd_doctor.reading.conditions import depends_on_a_choice
from autograd_doctor.reading.origin import Origin
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import dispatches, node_of, version_of
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.tape import numbers_in

_MOST_CUTS = 8
"""On the ways into one tensor, the first that were met: they are merged into all that is computed from it."""
_MOST_CHANGES = 8
"""Of one tensor, the newest: autograd complains of the version that it found, which is among the last ones before a
backward."""


class CutPoint(NamedTuple):
    """Where a gradient path ended: an operation at a place, or everything under one switch of the grad mode.

    `choice`: the values went on as whole numbers or truth values only, which carry no gradient in any case.
    `guessed`: that the values went on from there was not seen, only that others like them came back into torch.
    `conditional`: a choice of the program's lies on the way to it.
    """

    operation: str
    place: Place | None
    reason: str
    switch: GradSwitch | None
    choice: bool = False
    guessed: bool = False
    conditional: bool = False

    def event(self, parameters: list[int]) -> Cut:
        return Cut(
            operation=self.operation,
            location=locate(self.place),
            parameters=parameters,
            reason=self.reason,  # type: ignore[arg-type]
            switch=self.switch,
            guessed=self.guessed,
            conditional=self.conditional,
        )


def cut_here(operation: str, place: Place | None, reason: str = "operation") -> CutPoint:
    """The point at which the running line cuts a path."""
    return CutPoint(operation, place, reason, None, conditional=depends_on_a_choice())


Cuts = dict[CutPoint, int]
"""Per cut point, the parameters whose path ended there."""

_NO_CUTS: Cuts = {}
_ORDER = count()


def next_order() -> int:
    """A number that counts up over the run, to tell what came before what."""
    return next(_ORDER)


class Change(NamedTuple):
    """An in-place operation on a tensor, with the version that it left."""

    operation: str
    place: Place | None
    version: int


class Provenance:
    """How one tensor was made. `values`: parameters that flow into it; `connected`: those that gradients would reach.

    `guessed`: those of `values` that nobody saw flow in. `order` counts up over the run. `created_at` and `created_by`
    say what made it before any in-place operation, and `born` in which order; `shape` is known where there was one.
    `hidden_alias` marks an alias
    made by `.data`, changes of which autograd does not see. `under`: for an inference tensor, what had switched
    inference mode on. `of_gradient`: gradients of leaves have flowed in. `source`: of what a loader draws, the line
    of the data set's code that it came from, or that of the data themselves. `by_library`: that it requires a gradient
    is the doing of a library. `looked_at`: on an accelerator, that values which are not finite would be known of.
    """

    __slots__ = (
        "__weakref__", "alias_of", "born", "by_library", "changes", "connected", "created_at", "created_by", "cuts",
        "guessed", "hidden_alias", "looked_at", "of_backward", "of_gradient", "operation", "order", "origin", "place",
        "reference", "rewrapped", "rewrapped_by", "shape", "source", "step", "under", "values",
    )  # fmt: skip

    def __init__(self, operation: str, place: Place | None, step: int) -> None:
        self.operation = operation
        self.place = self.created_at = place
        self.created_by = operation
        self.step = step
        self.values = 0
        self.guessed = 0
        self.connected = 0
        self.cuts: Cuts = _NO_CUTS
        self.origin: Origin | None = None
        self.rewrapped: Place | None = None
        self.rewrapped_by = ""
        self.of_backward: int | None = None
        self.of_gradient = False
        self.order = self.born = next(_ORDER)
        self.alias_of: int | None = None
        self.hidden_alias = False
        self.changes: Sequence[Change] = ()
        self.shape: tuple[int, ...] = ()
        self.reference: Reference | None = None
        self.under: GradSwitch | None = None
        self.source: Place | None = None
        self.by_library = False
        self.looked_at = False

    @property
    def numbers_of(self) -> int:
        """The parameters that were seen to flow in as numbers: not by way of choices that were made of them."""
        chosen, otherwise = 0, self.connected
        for point, parameters in self.cuts.items():
            chosen |= parameters if point.choice else 0
            otherwise |= 0 if point.choice else parameters
        return self.values & ~self.guessed & (otherwise | ~chosen)

    def take(self, values: int, *, guessed: int = 0) -> None:
        """Let values of parameters flow in, of which some were only guessed to; what was seen once stays seen."""
        if guessed or self.guessed:
            seen = (self.values & ~self.guessed) | (values & ~guessed)
            self.guessed = (self.guessed | guessed) & ~seen
        self.values = joined(self.values, values)

    def forget_values(self) -> None:
        """What has flowed in counts as data from now on."""
        self.values = self.guessed = self.connected = 0
        self.cuts = _NO_CUTS

    def add_cut(self, point: CutPoint, parameters: int) -> None:
        if len(self.cuts) < _MOST_CUTS or point in self.cuts:
            self.cuts = {**self.cuts, point: self.cuts.get(point, 0) | parameters}

    def choose(self) -> None:
        """What went in goes on as whole numbers or truth values only."""
        if all(point.choice for point in self.cuts):
            return
        cuts: Cuts = {}
        for point, parameters in self.cuts.items():
            chosen = point._replace(choice=True)
            cuts[chosen] = cuts.get(chosen, 0) | parameters
        self.cuts = cuts

    def cuts_of(self, lost: int) -> list[Cut]:
        """Where the paths of lost parameters ended; a choice is to blame only for those with no other.

        What keeps gradients from others as well, which have them by another way, may be meant to: it comes last.
        """
        cut_otherwise = 0
        for point, parameters in self.cuts.items():
            cut_otherwise |= 0 if point.choice else parameters
        blamed = {
            point: parameters & lost & ~(cut_otherwise if point.choice else 0)
            for point, parameters in self.cuts.items()
        }
        points = sorted(blamed, key=lambda point: bool(self.cuts[point] & ~lost))
        return [point.event(numbers_in(blamed[point])) for point in points if blamed[point]]

    def absorb(self, other: Provenance, *, connected: bool, guessed: bool = False) -> None:
        """Take over what flows in from an input.

        `connected` tells whether that input requires a gradient, `guessed` that nobody saw it flow.
        """
        if guessed or other.guessed or self.guessed:
            self.take(other.values, guessed=other.values if guessed else other.guessed)
        else:
            self.values = joined(self.values, other.values)
        if connected:
            self.connected = joined(self.connected, other.connected)
        if other.cuts and other.cuts is not self.cuts:
            if guessed:
                guesses = ((point._replace(guessed=True), lost) for point, lost in other.cuts.items())
                self.cuts = _merged(self.cuts, guesses)
            else:
                self.cuts = _merged(self.cuts, other.cuts.items()) if self.cuts else other.cuts
        self.of_gradient |= other.of_gradient
        if self.origin is None:
            self.origin = other.origin
        if self.rewrapped is None:
            self.rewrapped, self.rewrapped_by = other.rewrapped, other.rewrapped_by

    def change(self, operation: str, place: Place | None, changed: torch.Tensor) -> None:
        self.changes = (*self.changes[-_MOST_CHANGES + 1 :], Change(operation, place, version_of(changed)))
        self.shape = () if changed.is_nested else tuple(changed.shape)


def joined(some: int, others: int) -> int:
    """Both sets of parameters. With thousands of parameters they are long, and kept for each tensor: none is copied."""
    if not some or some == others:
        return others
    return some | others if others else some


def _merged(some: Cuts, others: Iterable[tuple[CutPoint, int]]) -> Cuts:
    """Both; `some` itself where the others add nothing, so that what is computed of the two shares one set of cuts."""
    merged = some
    for point, parameters in others:
        before = merged.get(point)
        after = parameters if before is None else before | parameters
        if after != before and (before is not None or len(merged) < _MOST_CUTS):
            merged = dict(some) if merged is some else merged
            merged[point] = after
    return merged


class Reference(weakref.ref[torch.Tensor]):
    """A tensor that is not kept alive, with the identity and the address that it had."""

    __slots__ = ("key", "pointer")
    key: int
    pointer: int


def has_graph(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a backward node."""
    return tensor.requires_grad and node_of(tensor) is not None


def leaf_of(node: Any) -> torch.Tensor | None:
    """The leaf that a backward node adds gradients to; other nodes may keep anything under that name."""
    return node.variable if is_a(node, torch._C._functions.AccumulateGrad) else None  # type: ignore[attr-defined]


def address(tensor: torch.Tensor) -> int:
    """Where the values of a tensor begin, 0 for one that has no storage of its own."""
    if type(tensor) is not torch.Tensor and dispatches(tensor):
        return 0
    try:
        return tensor.data_ptr()
    except RuntimeError:  # sparse, meta, fake and functorch tensors have no storage of their own
        return 0
