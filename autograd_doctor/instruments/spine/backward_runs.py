"""Every backward: what its loss was made of, which parameters it reached, and what gradients met on the way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from msgspec.structs import replace
from torch.autograd.graph import Node

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.steps import BackwardRan, NonFiniteGradient
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.graph_order import before, behind
from autograd_doctor.reading.graph_walk import (
    BadGradient,
    GradientWatch,
    GraphWalk,
    lineage_of,
    mark,
    non_finite_event,
    zeroing_events,
)
from autograd_doctor.reading.leaf_hooks import is_hooked
from autograd_doctor.reading.means import divisor_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import Provenance, cut_here
from autograd_doctor.reading.shares_of_one import leaves_behind_shares
from autograd_doctor.reading.subclasses import node_of
from autograd_doctor.reading.tensor_facts import (
    describe,
    is_remote,
    is_single,
    largest_to_come,
    number_of,
    readable,
    with_value,
)
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.scalers import ScalerCall
from autograd_doctor.signals.signal import Signal
from autograd_doctor.tape import numbers_in

_MOST_SPOILED = 4
"""Backwards with non-finite gradients to look into: a loss scale of 65536 (the default) that settles halves a few
times, and those overflows do no harm."""
_MOST_LINES = 1000
_NAMELESS = 3
"""Backwards of a line whose root had no name, after which none is looked for: it is an expression."""


@dataclass
class _Run:
    """A backward between its beginning and its end. late: its loss, if nobody waits for that."""

    call: BackwardCall
    walk: GraphWalk
    location: Location | None
    root: TensorFacts
    late: list[torch.Tensor]
    made: Provenance | None
    gradients: GradientWatch
    divisor: float
    hooked: bool
    inside_step: int | None
    nested: Place | None = None


@dataclass(eq=False, slots=True)
class GradientsSeen:
    """A backward is over whose gradients were looked at, node by node. magnitudes: see `GradientWatch`."""

    walk: GraphWalk
    location: Location | None
    magnitudes: Mapping[int, Sequence[float]]


class Spoiled(NamedTuple):
    """A backward of this step wrote gradients that are not finite; `node` was the first that passed on such."""

    node: Node
    step: int


class BackwardRuns(Instrument):
    """Emits one `BackwardRan` per run of the engine that the program asked for.

    gradients_seen: sent after it, in steps that are looked at closely. spoiled: sent where it wrote gradients that are
    not finite. On an accelerator, nobody waits for either: both may come in the next step.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (BackwardRan, NonFiniteGradient)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self.gradients_seen: Signal[GradientsSeen] = Signal(site.signals.guard)
        self.spoiled: Signal[Spoiled] = Signal(site.signals.guard)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._module_calls = module_calls
        self._guard = site.signals.guard
        self._run: _Run | None = None
        self._spoiled_backwards = 0
        self._names: dict[Place | None, str] = {}
        self._nameless: Counter[Place | None] = Counter()
        self._absorbed_at: set[Location | None] = set()
        self._handed_on: tuple[int, Place | None, str] | None = None
        """The step, the line and the variable by which a module was given what has a graph to an earlier step."""
        self._unscaled: IdentityTable[Node] = IdentityTable()
        """For a loss that a scaler has multiplied, the node of the loss as it was."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(signals.scalers.ended, self._scaled, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.LIGHT)
        self.listen(signals.backward.began, self._follow_gradients, last=True, attention=Attention.LIGHT)
        self.listen(signals.backward.nested, self._nested_began, attention=Attention.LIGHT)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)

    # ------------------------------------------------------------------------------------------------------- before

    def _root_began(self, began: RootBegan) -> None:
        for tensor in began.given:
            node = node_of(tensor) if tensor.requires_grad else None
            made = lineage_of(node) if node is not None else None
            if made is not None and made.step < self._course.steps:
                self._handed_on = self._course.steps, began.where, variable_name(tensor)
                return

    def _scaled(self, call: ScalerCall) -> None:
        if call.name == "scale" and is_a(call.argument, torch.Tensor) and is_a(call.result, torch.Tensor):
            node = node_of(call.argument)
            if node is not None:
                self._unscaled.put(call.result, node)

    def _backward_began(self, call: BackwardCall) -> None:
        walk, root = self._ledger.walk, call.roots[0]
        if walk is None:
            return
        made = self._tensors.get(root)
        where = place()
        is_late = is_single(root) and is_remote(root)
        facts = describe(
            root,
            name=self._name(root, where),
            operation=made.operation if made else "",
            made_at=locate(made.place) if made else None,
            ranges=not is_late,
        )
        self._course.loss_seen(None if is_late or facts.numel != 1 else _value_of(facts))
        gradients = GradientWatch(walk, looking=self._guard.looking, made_of=self._tensors.get)
        optimizer = self._course.closure_of
        inside_step = self._optimizers.number(optimizer) if optimizer is not None else None
        hooked = any(map(is_hooked, [*call.roots, *walk.leaves.values()]))
        divisor = 0.0 if hooked or is_weighed(call) else divisor_of(self._unscaled.get(root) or node_of(root))
        late = [number_of(root)] if is_late else []
        self._run = _Run(call, walk, locate(where), facts, late, made, gradients, divisor, hooked, inside_step)

    def _nested_began(self, _: None) -> None:
        if self._run is not None:
            self._run.nested = self._run.nested or place()

    def _name(self, root: torch.Tensor, where: Place | None) -> str:
        """What the program calls a root: a line that names a variable does so every time, one that does not never."""
        known = self._names.get(where)
        if known is not None:
            return known
        name = variable_name(root)
        self._nameless[where] += not name
        if (name.isidentifier() or self._nameless[where] >= _NAMELESS) and len(self._names) < _MOST_LINES:
            self._names[where] = name
        return name

    def _follow_gradients(self, call: BackwardCall) -> None:
        """Hook the nodes when nobody else differentiates any more, unless the loss is spoiled as far as is known."""
        run = self._run
        if run is None or run.root.nan + run.root.inf or self._spoiled_backwards >= _MOST_SPOILED:
            return
        if run.late and run.made is not None and run.made.origin is not None:
            return
        if self._detail.closely:
            run.gradients.attach()

    # -------------------------------------------------------------------------------------------------------- after

    def _backward_ended(self, call: BackwardCall) -> None:
        run, self._run = self._run, None
        if run is None or run.call is not call:
            return
        run.gradients.detach()
        walk, made = run.walk, run.made
        numbers = self._numbers(walk)
        behind_held, before_held = self._left_out(walk, numbers)
        reached = sorted(set(numbers.values()))
        rewrapped = made if made is not None and made.values and not walk.leaves else None
        step, handed_on_at, handed_on = self._handed_on or (-1, None, "")
        is_handed_on = step == self._course.steps and walk.crossing is not None
        error = _said(call.error) if call.error is not None else ""
        self._tell(
            run,
            BackwardRan(
                step=self._course.steps,
                backward=walk.backward,
                location=run.location,
                kind=call.kind,
                root=run.root,
                loss=self._course.last_loss,
                values=numbers_in(made.values) if made is not None else None,
                guessed=numbers_in(made.guessed) if made is not None else [],
                reached=reached,
                behind=behind_held,
                before=before_held,
                ahead=self._ahead(walk, numbers),
                wrote=self._ledger.wrote,
                cuts=made.cuts_of(made.values & ~sum(1 << number for number in reached)) if made is not None else [],
                accumulated=self._ledger.accumulated,
                rewrapped_at=locate(rewrapped.rewrapped) if rewrapped else None,
                rewrapped_by=rewrapped.rewrapped_by if rewrapped else "",
                retain_graph=call.retain_graph and not call.create_graph,
                create_graph=call.create_graph,
                inputs=len(call.inputs),
                inside_step=run.inside_step,
                nodes=len(walk.nodes),
                reaches_back=self._course.steps - walk.oldest_step,
                reaches_back_at=locate(walk.crossing),
                handed_on_at=locate(handed_on_at) if is_handed_on else None,
                carried_by=(is_handed_on and handed_on) or _carrier(walk) if error or walk.crossing else "",
                reused=sorted(walk.reused),
                contains=sorted(walk.contains),
                divisor=run.divisor,
                hooked=run.hooked,
                nested_at=locate(run.nested),
                error=error,
            ),
        )
        self._mark_gradients(run)

    def _tell(self, run: _Run, event: BackwardRan) -> None:
        """At once, or with a loss and gradients that come late."""
        gradients = run.gradients
        written = self._written() if gradients.parts or gradients.first_bad is not None else []
        numbers, sizes = [number for number, _ in written], largest_to_come([gradient for _, gradient in written])
        passed_on = gradients.parts

        def tell(values: Sequence[Any]) -> None:
            coming = iter(values)
            loss = [next(coming) for _ in run.late]
            gradients.settle([next(coming) for _ in passed_on])
            cuts, zeroings = zeroing_events(run.walk, gradients, self._parameters.get)
            sent_to = {self._parameters.get(leaf) for leaf in gradients.sent_to()}
            told = replace(event, cuts=cuts + event.cuts, zeroings=zeroings, sent_to=sorted(sent_to & {*event.wrote}))
            told = replace(told, of_one=self._of_one(run.walk, {*event.wrote} - sent_to))
            for value in loss:
                root = with_value(run.root, value)
                told = replace(told, root=root, loss=_value_of(root))
            self.emit(told)
            if gradients.first_bad is not None and all(map(math.isfinite, loss)):
                largest = zip(numbers, sizes.put_together(list(coming)), strict=True)
                bad = [number for number, size in largest if not math.isfinite(size)]
                self._report_bad(run.walk, gradients.first_bad, bad)
            if gradients.magnitudes:
                self.gradients_seen.relay(GradientsSeen(run.walk, run.location, gradients.magnitudes))

        self._late_values.ask(self, [*run.late, *passed_on, *sizes.parts], tell, in_place=True)

    def _of_one(self, walk: GraphWalk, without: set[int]) -> list[int]:
        """Of parameters without a gradient, those that shares of a single number keep from one."""
        behind_shares = leaves_behind_shares(walk) if without else set()
        numbers = (self._parameters.get(walk.leaves[leaf]) for leaf in behind_shares)
        return sorted(without.intersection(number for number in numbers if number is not None))

    def _written(self) -> list[tuple[int, torch.Tensor]]:
        """The gradients that the backward has written."""
        living = dict(self._parameters.living())
        held = ((number, living[number].grad) for number in self._ledger.wrote if number in living)
        return [(number, gradient) for number, gradient in held if gradient is not None]

    def _left_out(self, walk: GraphWalk, numbers: dict[int, int]) -> tuple[list[int], list[int]]:
        """Parameters that no optimizer holds: those behind some that one does, and those before some."""
        held = {key for key, number in numbers.items() if self._optimizers.holds(number)}
        left_out = numbers.keys() - held
        if not (held and left_out):
            return [], []
        after, first = behind(walk, left_out, held), before(walk, left_out, held)
        return sorted(numbers[key] for key in after), sorted(numbers[key] for key in first)

    def _ahead(self, walk: GraphWalk, numbers: dict[int, int]) -> list[int]:
        """Optimizers none of whose parameters works on what was computed from those of the others."""
        holders = {
            optimizer: {key for key, number in numbers.items() if number in held}
            for optimizer, held in self._optimizers.holders()
        }
        holders = {optimizer: keys for optimizer, keys in holders.items() if keys}
        if len(holders) < 2:
            return []
        return [
            optimizer
            for optimizer, keys in holders.items()
            if not behind(walk, keys, set().union(*holders.values()) - keys)
        ]

    def _numbers(self, walk: GraphWalk) -> dict[int, int]:
        """The numbers of the leaves of a graph that have one, by their keys."""
        return {key: number for key, leaf in walk.leaves.items() if (number := self._number(leaf)) is not None}

    def _number(self, leaf: torch.Tensor) -> int | None:
        """The number of a leaf of the graph: parameters always have one, other leaves if they were given one."""
        if isinstance(leaf, torch.nn.Parameter):
            return self._parameters.number(leaf)
        return self._parameters.get(leaf)

    def _report_bad(self, walk: GraphWalk, bad: BadGradient, spoiled: list[int]) -> None:
        """spoiled: the parameters whose gradients are not finite."""
        self._spoiled_backwards += bool(spoiled)
        if spoiled and bad.hook is None:
            self.spoiled.relay(Spoiled(bad.node, walk.step))
        event = non_finite_event(walk, bad, spoiled, absorbed=not spoiled)
        if spoiled or event.location not in self._absorbed_at:
            self._absorbed_at.add(event.location)
            self.emit(event)

    def _mark_gradients(self, run: _Run) -> None:
        """Give gradients their lineage, and with `create_graph` let a later backward through them be recognised."""
        create = run.call.create_graph
        wrote = [gradient for _, gradient in self._written()] if create else []
        outputs = [tensor for tensor in run.call.result if isinstance(tensor, torch.Tensor)] if run.call.inputs else []
        for output in [*outputs, *wrote]:
            made = Provenance("grad", place(), self._course.steps)
            made.of_backward = run.walk.backward if create else None
            made.of_gradient = True
            if run.made is not None:
                made.absorb(run.made, connected=create)
                if not create and run.made.connected:
                    made.add_cut(cut_here("grad", made.place), run.made.connected)
            mark(output, made)
            self._tensors.put(output, made)


def _value_of(root: TensorFacts) -> float:
    """Of a loss of one value: NaN if it is not finite."""
    return math.nan if root.low is None else root.low


def is_weighed(call: BackwardCall) -> bool:
    """Whether gradients are scaled beside the loss, by that of a root."""
    seeds = [seed for seed in call.seeds if is_a(seed, torch.Tensor) and readable(seed) and not is_remote(seed)]
    return any(bool((seed != 1).any()) for seed in seeds)


def _carrier(walk: GraphWalk) -> str:
    """The variable that holds the tensor through which a graph reaches into earlier work."""
    reference = walk.carrier.reference if walk.carrier is not None else None
    tensor = reference() if reference is not None else None
    return variable_name(tensor) if tensor is not None else ""


def _said(error: BaseException) -> str:
    """An error in words; of a class of the program's its name alone, since its words are code of the program's."""
    kind = type(error)
    return f"{kind.__name__}: {error}" if kind.__module__.partition(".")[0] in ("builtins", "torch") else kind.__name__
