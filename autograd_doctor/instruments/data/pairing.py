"""Inputs and targets that were taken from their tensors in different orders."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch
from torch.autograd.graph import Node

from autograd_doctor.events.data import PairsMisaligned
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Source, Sources
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import LOSSES
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.graph_walk import CHOICES, operation_of
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.newest_batches import NewestBatches
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.row_orders import RowOrders
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.loaders import BatchAsked, IndexDrawn, PassBegan
from autograd_doctor.signals.operations import Operation

_SUMS = frozenset({"Mean", "Sum"})
_MOST_NODES = 12
"""From a loss back to where rows were chosen: activations, reshapes, a cast."""
_MOST_PREDICTED = 64
"""Calls: of the steps of several optimizers that take turns."""
_AS_IT_IS = 1
"""The order of all rows of a tensor that outlives its step."""


class _Taken(NamedTuple):
    """Rows of one of the tensors of so many rows. order: as of a source, or `_AS_IT_IS`."""

    rows: int
    order: int
    place: Place | None


@dataclass
class _Loss:
    """A line that compares. at: of the newest pair that does not go together.

    drawn: both sides come of loaders. kept: the targets are slices of what an earlier pass of one gave. apart,
    together: the modules of steps in which pairs did not go together, and did.
    """

    target: str
    rows: int = 0
    input_at: Place | None = None
    target_at: Place | None = None
    step: int = -1
    steps: int = 0
    misaligned: int = 0
    is_misaligned: bool = False
    drawn: bool = False
    kept: bool = False
    apart: set[int] = field(default_factory=set)
    together: set[int] = field(default_factory=set)

    @property
    def is_control(self) -> bool:
        """Whether other models learned from pairs that go together here, as beside a null model."""
        return bool(self.together) and self.together.isdisjoint(self.apart)


_LOSSES = LOSSES | {"kl_div"}


class Pairing(Instrument):
    """Compares, in steps that are looked at closely, how rows were ordered on both sides of a loss.

    A step in which any loss compares what belongs together counts as aligned: mixtures of two samples have a loss for
    the targets of each.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PairsMisaligned,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        module_calls: ModuleCalls,
        sources: Sources,
        tensors: Tensors,
        uploads: Uploads,
    ) -> None:
        super().__init__(site)
        self._tensors = tensors
        self._uploads = uploads
        self._newest = NewestBatches()
        self._course = course
        self._module_calls = module_calls
        self._sources = sources
        self._known: IdentityTable[int] = IdentityTable()
        self._inputs: set[_Taken] = set()
        self._sources_of_inputs: list[tuple[Source, ...]] = []
        self._lengths: set[int] = set()
        self._modules: set[int] = set()
        self._inputs_of = self._together_in = -1
        self._predicted: deque[int] = deque(maxlen=_MOST_PREDICTED)
        """The orders of what models with parameters were given of late, with a graph or without."""
        self._losses: dict[Place | None, _Loss] = {}
        self._differed: set[Place | None] = set()
        self._row_orders = RowOrders()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(signals.operations.ended, self._operation_ended, names=_LOSSES, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.indexed, self._indexed)
        self.listen(signals.loaders.drawn, self._drawn)

    def _pass_began(self, began: PassBegan) -> None:
        self._newest.began(began.iterator, self._sources.loaders.number(began.loader), began.loader)

    def _indexed(self, drawn: IndexDrawn) -> None:
        self._newest.asked(drawn.iterator, drawn.index)

    def _drawn(self, asked: BatchAsked) -> None:
        self._newest.came(asked.iterator)

    def finish(self) -> None:
        for place, loss in self._losses.items():
            if loss.misaligned:
                self.emit(
                    PairsMisaligned(
                        step=self._course.steps,
                        location=locate(place),
                        input_at=locate(loss.input_at),
                        target_at=locate(loss.target_at),
                        target=loss.target,
                        rows=loss.rows,
                        steps=loss.misaligned,
                        of=loss.steps,
                        control=loss.is_control,
                        drawn=loss.drawn,
                        kept=loss.kept,
                    )
                )

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        if not has_parameters(call.module):
            return
        self._predicts(began)
        if not call.grad_enabled:
            return
        if self._inputs_of != self._course.steps:
            self._inputs_of, self._inputs, self._sources_of_inputs = self._course.steps, set(), []
            self._lengths.clear()
            self._modules.clear()
        self._modules.add(began.module)
        for tensor in began.given:
            if not tensor.requires_grad and tensor.dim():
                self._inputs |= self._taken(tensor)
                self._lengths.add(tensor.shape[0])
                self._sources_of_inputs.append(self._sources.of(tensor))

    def _predicts(self, began: RootBegan) -> None:
        orders = {each.order for tensor in began.given for each in self._sources.of(tensor)}
        self._predicted.extend(orders - {0})

    def _taken(self, tensor: torch.Tensor) -> set[_Taken]:
        tensor = self._uploads.at_home(tensor)
        sources = self._sources.of(tensor)
        found = {_Taken(each.rows, each.order, each.place) for each in sources if each.order}
        since = self._known.get(tensor)
        if since is None:
            self._known.put(tensor, self._course.steps)
        elif since < self._course.steps and not sources:
            found.add(_Taken(tensor.shape[0], _AS_IT_IS, None))
        return found

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is not None:
            return
        logits, target = (*operation.args, None, None)[:2]
        target = operation.kwargs.get("target", target)
        is_pair = isinstance(logits, torch.Tensor) and isinstance(target, torch.Tensor) and has_graph(logits)
        if not is_pair or target.requires_grad or not target.dim() or self._inputs_of != self._course.steps:
            return
        if target.shape[0] not in self._lengths or _are_chosen(logits):
            return
        goals = self._own(target, self._taken(target))
        rows = {goal.rows for goal in goals} & {taken.rows for taken in self._inputs}
        goal = self._sources.of(target)
        one_sided = (
            self._permuted_on_one_side(target, goal)
            or self._drawn_apart(target, goal)
            or self._kept_in_order(target, goal)
        )
        if one_sided is None and not rows and self._are_aligned(goal):
            self._loss(operation, target).together |= self._modules
        if not (rows or one_sided) or not self._have_an_order(target, operation.place):
            return
        if one_sided is not None:
            self._compared(operation, target, *one_sided)
        for count in () if one_sided is not None else rows:
            inputs = {taken for taken in self._inputs if taken.rows == count}
            self._compared(operation, target, inputs, {goal for goal in goals if goal.rows == count})

    def _own(self, target: torch.Tensor, goals: set[_Taken]) -> set[_Taken]:
        """Those of the targets' rows that are no look-ups, as tables have them of states: what goes by the rows of
        which a prediction is in the target as well belongs to that."""
        looked_up = (
            set(self._predicted) - {taken.order for taken in self._inputs} if self._is_predicted(target) else set()
        )
        return {goal for goal in goals if goal.order not in looked_up}

    def _is_predicted(self, target: torch.Tensor) -> bool:
        """Whether values of parameters flow into it, be it by what they chose."""
        made = self._tensors.get(target)
        return made is not None and bool(made.values)

    def _have_an_order(self, target: torch.Tensor, where: Place | None) -> bool:
        """Whether targets at a line ever differed: equal ones have no order."""
        if where not in self._differed and len(set(row_keys(target, waits=True) or [])) > 1:
            self._differed.add(where)
        return where in self._differed

    def _permuted_on_one_side(
        self, target: torch.Tensor, goal: tuple[Source, ...]
    ) -> tuple[set[_Taken], set[_Taken]] | None:
        """What was taken on both sides, if the same rows were of two tensors, of which one had been permuted before."""
        for given in () if self._are_aligned(goal) else self._sources_of_inputs:
            for mine, theirs in ((given, goal), (goal, given)):
                order = self._order_before(mine, theirs)
                if order is not None:
                    permuted = {_Taken(order.rows, order.order, order.place)}
                    left = {_Taken(order.rows, _AS_IT_IS, None)}
                    return (permuted, left) if mine is given else (left, permuted)
        return None if self._is_predicted(target) else self._reordered(goal)

    def _drawn_apart(self, target: torch.Tensor, goal: tuple[Source, ...]) -> tuple[set[_Taken], set[_Taken]] | None:
        """What was taken on both sides, if each comes of one loader of its own, of as many samples as the other."""
        given = {source for sources in self._sources_of_inputs for source in sources}
        if len(given) != 1 or len(goal) != 1 or self._is_predicted(target):
            return None
        ours, theirs = next(iter(given)), goal[0]
        if {ours.kind, theirs.kind} != {"drawn"} or ours.number == theirs.number or ours.rows != theirs.rows:
            return None
        orders = self._newest.orders(ours.number, theirs.number, target.shape[0])
        if orders is None:
            return None
        places = (self._sources.built_at.get(source.number) for source in (ours, theirs))
        inputs, goals = (_Taken(ours.rows, order, place) for order, place in zip(orders, places, strict=True))
        return {inputs}, {goals}

    def _kept_in_order(self, target: torch.Tensor, goal: tuple[Source, ...]) -> tuple[set[_Taken], set[_Taken]] | None:
        """The same, if batches drawn at random meet slices of what was made, earlier, of a pass over all samples in
        their order, as what a teacher says of each is kept."""
        given = {source for sources in self._sources_of_inputs for source in sources}
        if len(given) != 1 or not _is_kept(goal):
            return None
        (ours,), (kept, made_of) = given, goal
        is_slice = kept.high - kept.low == len(target) and kept.rows == ours.rows
        if ours.kind != "drawn" or not is_slice or made_of.number not in self._sources.in_order:
            return None
        samples = self._newest.drawn_at_random(ours.number)
        if len(samples) != len(target) or not self._sources.are_of_one_set(ours.number, made_of.number):
            return None
        order, in_order = hash(tuple(samples)), hash(tuple(range(kept.low, kept.high)))
        drawn_by = self._sources.built_at.get(ours.number)
        return {_Taken(ours.rows, order, drawn_by)}, {_Taken(ours.rows, in_order, kept.place)}

    def _are_aligned(self, goal: tuple[Source, ...]) -> bool:
        return any(given and goal and _orders(given) == _orders(goal) for given in self._sources_of_inputs)

    def _reordered(self, goal: tuple[Source, ...]) -> tuple[set[_Taken], set[_Taken]] | None:
        """The same, if the tensors, or arrays, are in another order than in an earlier step, one side alone."""
        pairs = [given[0] for given in self._sources_of_inputs if _are_of_the_same_rows(given, goal)]
        if not pairs or any(given.number == goal[0].number for given in pairs):
            return None
        numbers = {given.number for given in pairs}
        wholes = [self._sources.numbered(number) for number in (*numbers, goal[0].number)]
        changed = self._row_orders.changed(wholes[:-1], wholes[-1], self._course.steps)
        if not changed:
            return None
        moved = pairs[0] if changed == "inputs" else goal[0]
        permuted, left = {_Taken(moved.rows, 0, moved.place)}, {_Taken(moved.rows, _AS_IT_IS, None)}
        return (permuted, left) if changed == "inputs" else (left, permuted)

    def _order_before(self, mine: tuple[Source, ...], theirs: tuple[Source, ...]) -> Source | None:
        """By which rows were chosen of a tensor of which, in turn, the same were chosen as of another, older one."""
        if not _are_of_the_same_rows(mine, theirs):
            return None
        order = next((source for source in mine[1:] if source.order and source.rows == mine[0].rows), None)
        if order is None or any(_orders(theirs)[1:]):
            return None
        permuted, other = self._sources.numbered(mine[0].number), self._sources.numbered(theirs[0].number)
        if permuted is None or other is None or permuted is other or not self._sources.is_older(other, order):
            return None
        is_whole = set(mine[1:]) == set(self._sources.of(permuted)) and set(theirs[1:]) == set(self._sources.of(other))
        return order if is_whole else None

    def _compared(self, operation: Operation, target: torch.Tensor, inputs: set[_Taken], goals: set[_Taken]) -> None:
        loss = self._loss(operation, target)
        if loss.step != self._course.steps:
            loss.step, loss.is_misaligned = self._course.steps, False
            loss.steps += 1
        if {taken.order for taken in inputs} & {goal.order for goal in goals}:
            self._together_in = self._course.steps
            loss.together |= self._modules
        else:
            loss.is_misaligned = True
            sources = self._sources.of(target)
            loss.drawn = all(source.kind == "drawn" for source in sources)
            loss.kept = _is_kept(sources)
            loss.rows = next(iter(goals)).rows
            loss.input_at, loss.target_at = next(iter(inputs)).place, next(iter(goals)).place

    def _loss(self, operation: Operation, target: torch.Tensor) -> _Loss:
        loss = self._losses.get(operation.place)
        if loss is None:
            loss = self._losses[operation.place] = _Loss(variable_name(target))
        return loss

    def _step_taken(self, course: Course) -> None:
        are_together = self._together_in == self._inputs_of
        for loss in self._losses.values():
            if loss.is_misaligned and not are_together:
                loss.misaligned += 1
                loss.apart |= self._modules
            loss.is_misaligned = False


def _is_kept(sources: tuple[Source, ...]) -> bool:
    """Whether it is a slice of what was made of all that a loader gave."""
    return [source.kind for source in sources] == ["chosen", "drawn"] and not sources[0].order


def _are_chosen(logits: torch.Tensor) -> bool:
    """Whether rows of what a model made were chosen, as those of some nodes of a graph are: then so are the targets. Or
    they were summed up, as moments of two sets are compared that have no order."""
    node = logits.grad_fn
    for _ in range(_MOST_NODES):
        if node is None or operation_of(node) in CHOICES or _sums_rows(node):
            return node is not None
        node = node.next_functions[0][0] if node.next_functions else None
    return False


def _sums_rows(node: Node) -> bool:
    axes = getattr(node, "_saved_dim", ()) if operation_of(node) in _SUMS else ()
    return 0 in (axes if isinstance(axes, tuple) else (axes,))


def _are_of_the_same_rows(mine: tuple[Source, ...], theirs: tuple[Source, ...]) -> bool:
    """Whether the same rows of two wholes of as many rows were chosen last."""
    if not (mine and theirs) or mine[0].kind != "chosen":
        return False
    return (mine[0].rows, mine[0].selection) == (theirs[0].rows, theirs[0].selection)


def _orders(sources: tuple[Source, ...]) -> list[int]:
    """Which rows were chosen last, and in what orders those had been put before."""
    return [sources[0].selection, *(source.order for source in sources[1:] if source.order)]
