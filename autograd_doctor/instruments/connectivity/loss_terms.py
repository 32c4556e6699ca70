"""What a loss is the sum of, as far as terms without a gradient go that were computed from parameters.

A loss stays a sum of its terms through additions, means, stacks and weights of plain data. Where a nonlinear operation
or a product takes a sum in, as a squared error does a target, its parts are no terms of a loss any more.

Operations are listened to in steps that are looked at closely, and once a term was found, in all full ones: it may have
been cut for a warm-up only. Losses that were begun before are not told of.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events.connectivity import ConstantTerm, LossExamined
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.drawn_values import Draws
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import COMPARISONS, DIFFERENCES, JOINS, PRODUCTS, SUMS
from autograd_doctor.reading.changing_numbers import ChangingNumbers
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.graph_walk import lineage_of
from autograd_doctor.reading.linear import is_linear, is_multiple
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import FROM_DATA, Kind, changes_input
from autograd_doctor.reading.places import Place, here, locate
from autograd_doctor.reading.provenance import Provenance, address, cut_here, has_graph, leaf_of, next_order
from autograd_doctor.reading.subclasses import is_parameter
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.distributions import Draw, Evaluation
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_MOST_NUMBERS = 32
"""That have left torch, to be recognised in what is added: the metrics of a step."""
_MOST_TERMS = 16
"""Of one loss: people write down a few."""
_MOST_NODES = 1000
"""Of a sum, to be followed from a loss down: more terms than these are those of a batch, one like the other."""
_MOST_TOKENS = 64
"""Of one sum, the newest: a loss may be the mean of a batch of terms, each made by itself."""

_IN_LINE = SUMS | PRODUCTS

Summand = torch.Tensor | float
Tokens = frozenset[int]
"""Tensors with a graph, by the order in which they were made."""
_NONE: Tokens = frozenset()


class _Term(NamedTuple):
    """A summand without a graph. severed: the tensors with a graph from whose values it was computed.

    values: where its own lie, 0 if nowhere; of a number itself.
    """

    event: ConstantTerm
    severed: Tokens
    values: float


@dataclass(frozen=True, slots=True)
class _Addition:
    """What an operation with a graph took in without one.

    terms: what it added. weights: the tensors with a graph from whose values its factors were computed. taken: where
    the values of all that it took in lie, and the numbers among these.
    """

    terms: tuple[_Term, ...] = ()
    weights: Tokens = _NONE
    taken: frozenset[float] = frozenset()


@dataclass(frozen=True, slots=True)
class _Sum:
    """What a loss is the sum of, as its graph tells: tensors with a graph, and terms without one.

    oldest: the first of the tensors with a graph that were followed.
    """

    addends: Tokens
    terms: tuple[_Term, ...]
    weights: Tokens
    oldest: int


class _Constant(NamedTuple):
    """Values computed from parameters without a graph.

    copied: they left torch on the way, and came back. weighed: what they are a multiple of. value: of a number.
    """

    made: Provenance
    severed: Tokens
    copied: bool = False
    weighed: weakref.ref[torch.Tensor] | None = None
    value: float | None = None


class _Loss(NamedTuple):
    step: int
    backward: int
    location: Location | None
    terms: tuple[_Term, ...]


class _Phases:
    """Lines at which all that was added in some step had a graph: what is cut there later may be so on purpose."""

    def __init__(self) -> None:
        self.live: set[Place | None] = set()
        self._newest: dict[Place | None, tuple[int, bool]] = {}

    def met(self, place: Place | None, step: int, *, live: bool) -> None:
        """Something was added at a line."""
        at, so_far = self._newest.get(place, (step, True))
        if at != step:
            if so_far:
                self.live.add(place)
            so_far = True
        self._newest[place] = (step, so_far and live)


class LossTerms(Instrument):
    """Tells, after each step, which constant terms those losses had that were followed and went backward before it.

    A term is not told of where a backward of its own, of the same step or the one before, teaches what it was computed
    from: there it was added for the eye. Nor is one that depends on parameters by a draw alone, where what such a
    backward goes through takes in that draw beside them: that is its log-probability, which teaches them.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (LossExamined,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        lineage: Lineage,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._lineage = lineage
        self._module_calls = module_calls
        self._operations = site.signals.operations
        self._distributions = site.signals.distributions
        self._since: int | None = None
        self._suspects = False
        self._additions: WeakKeyDictionary[Provenance, _Addition] = WeakKeyDictionary()
        self._constants: IdentityTable[_Constant] = IdentityTable()
        self._given: IdentityTable[None] = IdentityTable()
        self._bent: IdentityTable[None] = IdentityTable()
        """Leaves that were made of values of parameters, and teach themselves something."""
        self._densities: IdentityTable[None] = IdentityTable()
        self._draws = Draws(tensors)
        self._scores: WeakKeyDictionary[Provenance, Tokens] = WeakKeyDictionary()
        self._numbers: deque[_Constant] = deque(maxlen=_MOST_NUMBERS)
        self._losses: list[_Loss] = []
        self._changing = ChangingNumbers()
        self._used_in = -1
        self._working = 0
        self._phases = _Phases()
        self._rewritten = 0
        self._taught: deque[set[int]] = deque([set()], maxlen=2)

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)
        self.listen(self._lineage.parameter_written, self._parameter_written)
        self.listen(self._detail.turned, self._turned)
        self.listen(self._detail.focused, self._turned)
        self._attend()

    def finish(self) -> None:
        self._tell()

    def _turned(self, detail: Detail) -> None:
        self._attend()

    def _attend(self) -> None:
        """Begin to listen to operations, or stop. `_since`: what is made after that is seen made."""
        wanted = self._detail.closely or (self._suspects and self._detail.full)
        if wanted and self._since is None:
            self._since = next_order()
            self.listen(self._operations.ended, self._operation_ended)
            self.listen(self._distributions.drawn, self._drawn)
            self.listen(self._distributions.evaluated, self._evaluated)
            self.listen(self._module_calls.root_began, self._root_began)
        elif not wanted and self._since is not None:
            self._since = None
            self.unlisten(self._operations.ended, self._operation_ended)
            self.unlisten(self._distributions.drawn, self._drawn)
            self.unlisten(self._distributions.evaluated, self._evaluated)
            self.unlisten(self._module_calls.root_began, self._root_began)
            self._forget()

    def _forget(self) -> None:
        """What operations do to tensors from here on is not known. Losses of a step that is over are told of."""
        self._losses = [loss for loss in self._losses if loss.step < self._course.steps]
        self._tell()
        self._additions.clear()
        self._constants.clear()
        self._given.clear()
        self._bent.clear()
        self._densities.clear()
        self._draws.clear()
        self._scores.clear()
        self._numbers.clear()
        for taught in self._taught:
            taught.clear()

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        result = operation.result
        if self._course.running is not None:
            return
        if operation.kind is Kind.ESCAPE:
            self._number_left(operation)
            return
        made = self._tensors.get(result) if isinstance(result, torch.Tensor) else None
        if made is None or not made.values:
            return
        if made.values & ~made.guessed & self._optimizers.held:
            self._take_note_of_work(operation)
        if has_graph(result):
            self._take_note_of_leaves(operation, result, made)
        if made.connected & self._trainable or (result.requires_grad and self._is_live(result)):
            values = operation.inputs
            if operation.name in SUMS:  # what is added as it is has no score by that
                values = [value for value in values if not _may_be_a_term(operation.name, value, result)]
            self._take_note_of_scores(values, made)
            if operation.name in _IN_LINE:
                self._take_note_of_use(operation)
                self._made_in_line(operation, result, made)
            self._draws.discard(result)
            return
        self._draws.follow(operation, result, made)
        for known in (self._given, self._densities):
            if self._is_made_of(known, operation):
                known.put(result, None)
        if self._is_worth_a_note(operation, result):
            self._made_without_graph(operation, result, made)

    def _root_began(self, began: RootBegan) -> None:
        """A model that is given data alone, be they made by models: what it makes of these without its parameters is
        part of its output, and no term of a loss."""
        self._given.clear()
        is_model = has_parameters(began.call.module)
        if is_model and not any(map(has_graph, began.given)):
            for tensor in filter(self._is_computed, began.given):
                self._given.put(tensor, None)

    def _is_computed(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        return made is not None and made.values != 0

    def _is_made_of(self, known: IdentityTable[None], operation: Operation) -> bool:
        """Whether some of it went in, and nothing else that is of parameters."""
        if not len(known):
            return False
        others = [tensor for tensor in operation.inputs if tensor not in known]
        is_plain = not any(self._is_computed(each) or self._parameters.get(each) is not None for each in others)
        return is_plain and len(others) < len(operation.inputs)

    def _parameter_written(self, written: Recorded) -> None:
        """The program has changed a parameter by itself, and not merely begun with it."""
        number = self._parameters.get(written.output)
        if number is not None and self._course.steps:
            self._rewritten |= 1 << number

    def _drawn(self, draw: Draw) -> None:
        if self._course.running is None and isinstance(draw.result, torch.Tensor):
            self._draws.drew(draw.result)

    def _evaluated(self, call: Evaluation) -> None:
        made = self._tensors.get(call.result) if isinstance(call.result, torch.Tensor) else None
        if self._course.running is None and made is not None:
            self._take_note_of_scores(tensors_in((call.value,)), made)
            cuts = [] if has_graph(call.result) else made.cuts_of(made.values)
            if cuts and {cut.operation.strip("_") for cut in cuts} <= COMPARISONS:  # uniform: one value in its support
                self._densities.put(call.result, None)

    def _take_note_of_scores(self, inputs: Sequence[torch.Tensor], made: Provenance) -> None:
        if scored := self._draws.scored(inputs, made):
            self._scores[made] = scored

    def _number_left(self, operation: Operation) -> None:
        """A tensor was turned into a number, which will be recognised if it comes back, weighted or not."""
        tensor, value = operation.args[0], operation.result
        if type(value) is not float:
            return
        made = self._tensors.derive(Provenance(operation.name, operation.place, self._course.steps), [tensor])
        if made.connected:
            made.add_cut(cut_here(operation.name, operation.place), made.connected)
        if made.values:
            severed = self._addends(tensor) if has_graph(tensor) else _NONE
            self._numbers.append(_Constant(made, severed, value=value))

    def _take_note_of_work(self, operation: Operation) -> None:
        """Parameters that no optimizer holds, as of a feature extractor, work on what optimized ones have made. Those
        that the program writes to are trained by hand, be it on what an earlier model proposed."""
        for value in operation.args:
            number = self._parameters.get(value)
            if number is not None:
                self._working |= 1 << number

    def _take_note_of_use(self, operation: Operation) -> None:
        """A number that was read and is taken in as it is may be made up for at the end, with others in one sum."""
        for value in operation.args:
            if type(value) is float and any(known.value == value for known in self._numbers):
                self._used_in = self._course.steps

    def _is_live(self, tensor: torch.Tensor) -> bool:
        """Whether it carries a gradient to a parameter, be it held by an optimizer or forgotten; the point at which a
        slope was taken is none, and neither is what judges the output of others.

        Data that require a gradient count, as long as no parameter has flowed into what was computed of them; so do
        leaves made of such values, as an image that is optimised by hand is.
        """
        if not tensor.requires_grad:
            return False
        made = self._tensors.get(tensor)
        if made is None or not made.values:
            return True
        taught = made.connected & self._trainable if self._optimizers.held else made.connected
        return taught != 0 or self._teaches_an_input(tensor)

    @property
    def _trainable(self) -> int:
        return self._optimizers.held | (self._parameters.of_modules & (~self._working | self._rewritten))

    def _is_of_parameters(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        return made is not None and made.values != 0 and self._is_live(tensor)

    def _teaches_an_input(self, tensor: torch.Tensor) -> bool:
        """A leaf of which nothing but sums and multiples were made is taught nothing: its gradient is the same whatever
        it holds."""
        nodes = nodes_of([tensor]) if has_graph(tensor) else set()
        leaves = [leaf for node in nodes if (leaf := leaf_of(node)) is not None] if nodes else [tensor]
        made = [leaf for leaf in leaves if self._is_made_of_parameters(leaf)]
        is_bent = not all(leaf_of(node) is not None or is_linear(node) for node in nodes)
        return bool(made) and (is_bent or any(leaf in self._bent for leaf in made))

    def _is_made_of_parameters(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        return made is not None and made.values & ~made.guessed != 0

    def _take_note_of_leaves(self, operation: Operation, result: torch.Tensor, made: Provenance) -> None:
        """What a leaf that was made of values goes into besides sums and multiples."""
        if operation.name in SUMS or (is_linear(result.grad_fn) and not made.connected):
            return
        for tensor in operation.inputs:
            if tensor.is_leaf and tensor.requires_grad and self._is_made_of_parameters(tensor):
                self._bent.put(tensor, None)

    def _is_worth_a_note(self, operation: Operation, result: torch.Tensor) -> bool:
        """Whether more is to be known of values without a graph than their lineage; choices are no terms."""
        if not (result.is_floating_point() or result.is_complex()):
            return False
        if any(issubclass(type(value), torch.Tensor) and self._is_noted(value) for value in operation.args):
            return True
        name = operation.name
        return name in FROM_DATA or name in JOINS or changes_input(name) or (name in PRODUCTS and result.numel() == 1)

    def _is_noted(self, tensor: torch.Tensor) -> bool:
        return tensor.requires_grad or tensor in self._constants

    def _made_without_graph(self, operation: Operation, result: torch.Tensor, made: Provenance) -> None:
        inputs = operation.inputs
        known = [constant for tensor in inputs if (constant := self._constants.get(tensor)) is not None]
        live = [tensor for tensor in inputs if tensor.requires_grad and self._is_of_parameters(tensor)]
        severed = _newest(*(constant.severed for constant in known), *map(self._addends, live))
        copied = operation.name in FROM_DATA or any(constant.copied for constant in known)
        weighed = None
        if operation.name in PRODUCTS and result.numel() == 1:
            weighed = next((weakref.ref(tensor) for tensor in inputs if self._constant(tensor) is not None), None)
        if severed or copied or weighed or changes_input(operation.name):
            self._constants.put(result, _Constant(made, severed, copied, weighed))

    # --------------------------------------------------------------------------------------------------------- sums

    def _made_in_line(self, operation: Operation, result: torch.Tensor, made: Provenance) -> None:
        """The result of a sum or a product that has a graph."""
        inputs = operation.inputs
        added: list[tuple[Summand, _Constant]] = [
            (tensor, known) for tensor in inputs if (known := self._constant(tensor, written=result)) is not None
        ]
        self._constants.discard(result)
        if operation.name in PRODUCTS:
            if added:
                self._additions[made] = _Addition(weights=_newest(*(constant.severed for _, constant in added)))
            return
        numbers, is_too_early = self._numbers_in(operation, inputs)
        added = [(what, known) for what, known in added if not self._is_no_term(what)] + numbers
        if not is_too_early:
            self._phases.met(operation.place, self._course.steps, live=not added)
        terms = [
            self._term(operation, what, constant, result)
            for what, constant in added
            if constant.made.step == self._course.steps and _may_be_a_term(operation.name, what, result)
        ]
        if added:
            taken = frozenset(_values(what) for what, _ in added)
            self._additions[made] = _Addition(tuple(terms), taken=taken)

    def _is_no_term(self, what: Summand) -> bool:
        return (self._module_calls.is_inside and what in self._given) or what in self._densities

    def _addends(self, tensor: torch.Tensor) -> Tokens:
        """A tensor with a graph, and those that it is the sum of."""
        return self._summed(tensor).addends

    def _summed(self, tensor: torch.Tensor) -> _Sum:
        """Follow the graph of a tensor down through all that keeps it a sum."""
        made = self._tensors.get(tensor)
        addends = set() if made is None else {made.order}
        terms: list[_Term] = []
        weights: set[int] = set()
        met: set[Any] = set()
        pending = [tensor.grad_fn] if has_graph(tensor) else []
        while pending and len(met) < _MOST_NODES:
            node = pending.pop()
            if node is None or node in met:
                continue
            met.add(node)
            own = lineage_of(node)
            known = None if own is None else self._additions.get(own)
            if own is not None:
                addends.add(own.order)
            if known is not None:
                terms += known.terms
                weights |= known.weights
            if is_linear(node) and (known is None or not known.weights):
                pending += [source for source, _ in node.next_functions]
        return _Sum(_newest(addends), tuple(terms), frozenset(weights), min(addends, default=-1))

    def _constant(self, tensor: torch.Tensor, written: torch.Tensor | None = None) -> _Constant | None:
        """What is known of an operand without a graph; one that got a graph just now, by `+=`, had none before.

        One that got it in between was made inside a custom function, the output of which it is now. Where all that it
        was computed from is within its graph, nothing was cut, whoever trains that.
        """
        live = self._is_live(tensor)
        if live and tensor is not written and has_graph(tensor):
            return None
        known = self._constants.get(tensor)
        if known is not None or live:
            return known
        made = self._tensors.get(tensor)
        if made is None or not made.values or (has_graph(tensor) and not made.values & ~made.connected):
            return None
        return _Constant(made, frozenset())

    def _numbers_in(
        self, operation: Operation, inputs: Sequence[torch.Tensor]
    ) -> tuple[list[tuple[Summand, _Constant]], bool]:
        """Numbers among the arguments that tensors were turned into, and whether it is too early to say so of one.

        Python computes with numbers unseen. One that changes from step to step, and is no multiple of what was read,
        is taken to be computed from the newest of it that the sum does not hold already.
        """
        found: list[tuple[Summand, _Constant]] = []
        is_too_early = False
        for value in operation.args:
            if type(value) is float:
                source = next((known for known in reversed(self._numbers) if _comes_of(value, known)), None)
                if source is None:
                    is_new = self._changing.met(operation.place, value)
                    is_too_early |= is_new is None
                    source = self._guessed_source(inputs) if is_new else None
                if source is not None:
                    found.append((value, source))
        return found, is_too_early

    def _guessed_source(self, inputs: Sequence[torch.Tensor]) -> _Constant | None:
        if self._used_in == self._course.steps:
            return None
        held = frozenset[int]().union(*map(self._addends, inputs))
        for known in reversed(self._numbers):
            if known.made.step == self._course.steps and known.severed and held.isdisjoint(known.severed):
                made = Provenance(known.made.operation, known.made.place, known.made.step)
                made.absorb(known.made, connected=False, guessed=True)
                return _Constant(made, known.severed)
        return None

    def _term(self, operation: Operation, what: Summand, constant: _Constant, result: torch.Tensor) -> _Term:
        made = constant.made
        seen = made.values & ~made.guessed or made.values
        drawn = self._draws.of(what) if isinstance(what, torch.Tensor) else None
        by_draws = drawn is not None and not seen & ~drawn.parameters
        event = ConstantTerm(
            location=locate(operation.place),
            name=variable_name(what) or self._name_without_weight(constant),
            operation=made.operation,
            made_at=locate(made.place),
            parameters=numbers_in(seen),
            cuts=made.cuts_of(seen),
            copied=constant.copied,
            guessed=made.values == made.guessed,
            value=_total(what),
            sum=_total(result),
            numel=what.numel() if isinstance(what, torch.Tensor) else 1,
            was_live=operation.place in self._phases.live,
            drawn=by_draws,
            rewritten=not seen & ~self._rewritten,
        )
        severed = constant.severed if drawn is None or not by_draws else constant.severed | drawn.draws
        return _Term(event, severed, _values(what))

    def _name_without_weight(self, constant: _Constant) -> str:
        tensor = constant.weighed() if constant.weighed is not None else None
        return variable_name(tensor) if tensor is not None else ""

    # -------------------------------------------------------------------------------------------------------- losses

    def _backward_began(self, call: BackwardCall) -> None:
        if call.kind == "grad" and not any(is_parameter(wanted) for wanted in call.inputs):
            return  # a slope, which teaches nothing by itself
        if self._since is None:
            return
        sums = [self._summed(root) for root in call.roots if root.grad_fn is not None]
        for summed in sums:
            self._taught[-1] |= summed.addends
        self._taught[-1] |= self._scored(call.roots)
        if sums and all(_is_all_after(self._since, summed) for summed in sums):
            terms = tuple(term for summed in sums for term in _of_its_own(summed))[:_MOST_TERMS]
            inside = self._taken_inside(call.roots, sums) if terms else frozenset[float]()
            terms = tuple(term for term in terms if not term.values or term.values not in inside)
            self._losses.append(_Loss(self._course.steps, self._course.backwards, here(), terms))

    def _scored(self, roots: Iterable[torch.Tensor]) -> Tokens:
        """The draws whose log-probability a loss takes in."""
        if not self._scores:
            return _NONE
        made = (lineage_of(node) for node in nodes_of(roots))
        return _NONE.union(*(self._scores.get(own, _NONE) for own in made if own is not None))

    def _taken_inside(self, roots: Iterable[torch.Tensor], sums: Sequence[_Sum]) -> frozenset[float]:
        """What the loss takes in within its terms as well: a maximum that is taken off and added back again."""
        outside = set[int]().union(*(summed.addends for summed in sums))
        made = (lineage_of(node) for node in nodes_of(roots))
        additions = (self._additions.get(own) for own in made if own is not None and own.order not in outside)
        return frozenset[float]().union(*(each.taken for each in additions if each is not None))

    def _step_taken(self, course: Course) -> None:
        self._tell()
        self._taught.append(set())

    def _tell(self) -> None:
        taught = set().union(*self._taught)
        for loss in self._losses:
            terms = [term.event for term in loss.terms if taught.isdisjoint(term.severed)]
            self._suspects |= bool(terms)
            self.emit(
                LossExamined(step=self._course.steps, backward=loss.backward, location=loss.location, terms=terms)
            )
        self._losses.clear()


def _newest(*tokens: Iterable[int]) -> Tokens:
    found = set().union(*tokens)
    return frozenset(found if len(found) <= _MOST_TOKENS else sorted(found)[-_MOST_TOKENS:])


def _is_all_after(since: int, summed: _Sum) -> bool:
    """Whether a sum, and that from the values of which its terms were computed, was made after that."""
    return summed.oldest > since and all(token > since for term in summed.terms for token in term.severed)


def _of_its_own(summed: _Sum) -> list[_Term]:
    """Terms that were put there as such.

    One that takes away what is added with a graph, as in `x + (y - x).detach()`, gives the sum the value of one thing
    and the gradient of another, on purpose. One of the values that weigh another term, as a baseline does, is added
    back.
    """
    if any(not term.severed.isdisjoint(summed.addends) for term in summed.terms):
        return []
    return [term for term in summed.terms if term.severed.isdisjoint(summed.weights)]


def _may_be_a_term(operation: str, what: Summand, result: torch.Tensor) -> bool:
    """Whether something that is put into a sum is a term of a loss, rather than a baseline taken off element by element
    or part of an activation that is put beside another."""
    if not isinstance(what, torch.Tensor) or what.numel() == 1:
        return True
    return operation not in DIFFERENCES | JOINS and what.shape == result.shape


def _comes_of(value: float, known: _Constant) -> bool:
    return known.value is not None and is_multiple(value, known.value)


def _values(what: Summand) -> float:
    """What tells whether two summands have the same values: where they lie, or the number itself."""
    return address(what) if isinstance(what, torch.Tensor) else what


def _total(what: Summand) -> float | None:
    if not isinstance(what, torch.Tensor):
        return what
    return float(what.detach().sum()) if readable(what) else None
