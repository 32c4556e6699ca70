"""Samples drawn without a gradient, and whether they flow by value into a loss that trains what they were drawn from.

A sample is followed from where it was drawn through what is made of it without a graph to where that meets something
with one, and on to the loss. It is followed no more where the program says that no gradient is to flow: gradients are
off, or a `detach`. Nor is it where it comes together with all that a parameter of its distribution was made from: that
is a density written by hand, or the same network at the next step of a sequence.

Its log-probability estimates the gradient where it is weighted by what came of the sample: multiplied by returns, or
exponentiated to a ratio. One that is merely added to a loss, as an entropy is, estimates none of the other terms.
One without a gradient that is weighed against what came of the sample, as in noise contrastive estimation and
importance sampling, says that the distribution is to propose it and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.connectivity import SamplesUsed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import COMPARING, DIFFERENCES, PRODUCTS, REARRANGEMENTS, SUMS
from autograd_doctor.reading.distributions import can_be_differentiated, kind_of, tensors_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import DRAWN_WITH_A_GRAPH, Kind, traits
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.subclasses import is_parameter
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.distributions import Draw, Evaluation
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_COMPARES = COMPARING | DIFFERENCES
_MOST_SAMPLES = 256
"""Of one step, the first: a rollout draws the like of them again and again."""

Drawn = int
"""A set of samples of the present step, as bits."""


class _Sample(NamedTuple):
    """made_from: for each tensor of the distribution, the parameters to which it has a graph, as bits.

    single: it is one draw rather than a batch, so that a plain number may be what came of it.
    """

    place: Place | None
    kind: str
    made_from: tuple[int, ...]
    single: bool

    def is_covered_by(self, parameters: int) -> bool:
        """Whether these parameters are all that one of the tensors was made from."""
        return any(made_from & ~parameters == 0 for made_from in self.made_from)

    def shares(self, parameters: int) -> bool:
        return any(made_from & parameters for made_from in self.made_from)


@dataclass(frozen=True, slots=True)
class _Flow:
    """What of samples is in a tensor.

    values: those that its values were computed from. paths: those to which it would have a gradient, had they got one.
    scores: those whose log-probability it is, up to sums and constant weights; by_hand: those for which it may be that,
    or anything else. estimates: those whose log-probability in it was weighted. densities: those whose log-probability
    came into it without a gradient.
    """

    values: Drawn = 0
    paths: Drawn = 0
    scores: Drawn = 0
    by_hand: Drawn = 0
    estimates: Drawn = 0
    densities: Drawn = 0

    def __or__(self, other: _Flow) -> _Flow:
        return _Flow(
            self.values | other.values,
            self.paths | other.paths,
            self.scores | other.scores,
            self.by_hand | other.by_hand,
            self.estimates | other.estimates,
            self.densities | other.densities,
        )


_NOTHING = _Flow()


class _Loss(NamedTuple):
    """A backward, and the samples that flowed into its roots."""

    backward: int
    paths: Drawn


class _Likelihood(NamedTuple):
    """A log-probability with a graph to these parameters, of a value that was computed from these samples."""

    parameters: int
    values: Drawn


class Samples(Instrument):
    """Tells, after each step, which samples its losses used. It listens to operations only after one was drawn.

    Not told are samples of distributions that learn by the likelihood of something else than what was drawn, as a model
    of a sequence does that now and then goes on from what it said itself.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SamplesUsed,)

    def __init__(self, site: Site, course: Course, detail: Detail, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._operations = site.signals.operations
        self._functions = site.signals.custom_functions
        self._samples: list[_Sample] = []
        self._drawn_in = 0
        self._flows: IdentityTable[_Flow] = IdentityTable()
        self._likelihoods: set[_Likelihood] = set()
        self._losses: list[_Loss] = []
        self._estimated: Drawn = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.distributions.drawn, self._drawn, attention=Attention.FULL)
        self.listen(
            signals.operations.ended, self._drawn_by_operation, attention=Attention.FULL, names=DRAWN_WITH_A_GRAPH
        )
        self.listen(signals.distributions.evaluated, self._evaluated, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)
        self.listen(self._detail.turned, self._turned)

    def finish(self) -> None:
        self._tell()

    # ------------------------------------------------------------------------------------------------ distributions

    def _drawn(self, draw: Draw) -> None:
        drawn = draw.result
        if self._is_recomputing or not (draw.grad_enabled and isinstance(drawn, torch.Tensor)):
            return
        if drawn.requires_grad or len(self._samples) == _MOST_SAMPLES or not can_be_differentiated(draw.distribution):
            return
        self._note(drawn, place(), kind_of(draw.distribution), tensors_of(draw.distribution))

    def _drawn_by_operation(self, operation: Operation) -> None:
        """`torch.normal(mean, std)` gives what it draws a backward node, which passes zeros on."""
        drawn = operation.result
        if isinstance(drawn, torch.Tensor) and has_graph(drawn) and len(self._samples) < _MOST_SAMPLES:
            self._note(drawn, operation.place, f"torch.{operation.name}", operation.inputs)

    def _note(self, drawn: torch.Tensor, where: Place | None, kind: str, told: Iterable[torch.Tensor]) -> None:
        made_from = {self._connected(tensor) for tensor in told if tensor.requires_grad}
        if made_from - {0}:
            number = 1 << len(self._samples)
            self._drawn_in = self._course.steps
            single = drawn.dim() <= 1 or drawn.shape[0] == 1
            self._samples.append(_Sample(where, kind, tuple(sorted(made_from - {0})), single))
            self._flows.put(drawn, _Flow(values=number, paths=number))
            self.listen(self._operations.ended, self._operation_ended)
            self.listen(self._functions.ended, self._function_ended)

    @property
    def _is_recomputing(self) -> bool:
        """Whether a backward is running: what a checkpoint computes again in it was seen before."""
        return self._course.running is not None

    def _connected(self, tensor: torch.Tensor) -> int:
        """The parameters to which a tensor has a graph."""
        return self._tensors.derive(Provenance("", None, self._course.steps), [tensor]).connected

    def _evaluated(self, call: Evaluation) -> None:
        """What was followed of the result while it was computed is put right: it is no use of the value."""
        result = call.result
        if self._is_recomputing or not isinstance(result, torch.Tensor):
            return
        at = self._known([call.value])
        if has_graph(result):
            parameters = self._connected(result)
            self._likelihoods.add(_Likelihood(parameters, at.values))
            if not self._samples:
                return
            about = self._made_of(tensors_of(call.distribution), parameters)
            scores = self._those(at.values, lambda sample: sample.shares(parameters))
            self._put(result, _Flow(about.values | at.values, about.paths, scores, about.by_hand, about.estimates))
        elif self._samples:
            tensors = tensors_of(call.distribution)
            about, connected = self._known(tensors), [self._connected(tensor) for tensor in tensors]
            own = self._those(at.values, lambda sample: any(map(sample.shares, connected)))
            self._put(result, _Flow(about.values | at.values, about.paths, densities=own))

    def _those(self, drawn: Drawn, wanted: Callable[[_Sample], bool]) -> Drawn:
        """Those of the samples of which this is true."""
        return sum(1 << number for number in numbers_in(drawn) if wanted(self._samples[number]))

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is not None or operation.kind is Kind.ESCAPE:
            return
        values = (*operation.args, *operation.kwargs.values()) if operation.kwargs else operation.args
        inputs = tensors_in(values)
        known, result = traits(operation.name), operation.result
        if known.shape_only or self._known(inputs) is _NOTHING:
            return
        if result is None and operation.name == "__setitem__":
            result = operation.args[0]
        if known.one_by_one and isinstance(result, tuple | list):
            for given, output in zip(inputs, tensors_in((result,)), strict=False):
                self._follow(operation.name, (given,), [output], gradients=operation.grad_enabled)
        else:
            self._follow(operation.name, values, tensors_in((result,)), gradients=operation.grad_enabled)

    def _function_ended(self, call: FunctionCall) -> None:
        if self._course.running is None:
            self._follow("", call.args, tensors_in((call.result,)), gradients=torch.is_grad_enabled())

    def _follow(self, name: str, values: Sequence[Any], outputs: Iterable[torch.Tensor], *, gradients: bool) -> None:
        """An operation, or a custom function, took in values and made tensors of them."""
        inputs = tensors_in(values)
        flow = self._known(inputs)
        if flow is _NOTHING:
            return
        if name in _COMPARES and self._is_target(inputs):
            flow = replace(flow, paths=0)
        for output in outputs:
            if not has_graph(output):
                is_wanted = gradients and not traits(name).is_alias and name != "detach_"
                may_learn = (output.dtype.is_floating_point or output.dtype.is_complex) and not output.requires_grad
                raw = self._known(tensor for tensor in inputs if not has_graph(tensor))
                paths = raw.paths if is_wanted and may_learn else 0
                self._put(output, _Flow(flow.values, paths, densities=flow.densities | flow.scores))
            elif name in SUMS or name in REARRANGEMENTS:
                self._put(output, flow)
            elif name in PRODUCTS:
                self._put(output, self._multiplied(values, inputs, flow, self._connected(output)))
            else:
                made = self._made_of(inputs, self._connected(output))
                self._put(output, replace(made, paths=made.paths & flow.paths))

    def _is_target(self, inputs: Sequence[torch.Tensor]) -> bool:
        """Whether something else is to become what was drawn, as a student learns from what its teacher says."""
        drawn = [tensor for tensor in inputs[:2] if self._flows.get(tensor) is not None]
        others = [tensor for tensor in inputs[:2] if self._flows.get(tensor) is None and has_graph(tensor)]
        if len(drawn) != 1 or len(others) != 1 or self._connected(drawn[0]):
            return False
        parameters = self._connected(others[0])
        return not self._those(self._known(drawn).paths, lambda sample: sample.is_covered_by(parameters))

    def _put(self, output: torch.Tensor, flow: _Flow) -> None:
        """Take note of what is in a tensor, and in the one that it is a view of, which a write reaches as well."""
        self._flows.put(output, flow)
        base = output._base
        if base is not None:
            self._flows.put(base, flow | (self._flows.get(base) or _NOTHING))

    def _known(self, values: Iterable[Any]) -> _Flow:
        """What of samples is in all of these together."""
        found = _NOTHING
        for value in values:
            known = self._flows.get(value)
            if known is not None:
                found = known if found is _NOTHING else found | known
        return found

    def _made_of(self, inputs: Iterable[torch.Tensor], parameters: int) -> _Flow:
        """The outcome, with a graph to these parameters, of an operation that is neither a sum nor a product."""
        flow = self._known(inputs)
        met = self._those(flow.paths, lambda sample: sample.is_covered_by(parameters))
        return _Flow(
            flow.values,
            flow.paths & ~met & ~flow.densities,
            by_hand=flow.by_hand | met,
            estimates=flow.estimates | flow.scores,
        )

    def _multiplied(self, values: Sequence[Any], inputs: Sequence[torch.Tensor], flow: _Flow, parameters: int) -> _Flow:
        """A product with a graph to these parameters: a log-probability that is in a factor may be weighted by it."""
        live = [tensor for tensor in inputs if tensor.requires_grad]
        proposed = self._known(tensor for tensor in inputs if not tensor.requires_grad).densities
        weighing = flow if len(live) > 1 else self._known(tensor for tensor in inputs if not tensor.requires_grad)
        met = self._those(weighing.paths, lambda sample: sample.is_covered_by(parameters))
        weighted: Drawn = 0
        for factor in live:
            known = self._flows.get(factor) or _NOTHING
            others = [other for other in inputs if other is not factor]
            plain = [other for other in others if not other.requires_grad]
            weighted |= known.scores & self._weighed_by(others)
            weighted |= known.by_hand & self._weighed_by(plain)
            if others or any(type(value) in (int, float) and abs(value) != 1 for value in values):
                weighted |= self._those(known.scores | known.by_hand, lambda sample: sample.single)
        paths = flow.paths & ~met & ~proposed
        return _Flow(flow.values, paths, flow.scores & ~weighted, flow.by_hand | met, flow.estimates | weighted)

    def _weighed_by(self, factors: Sequence[torch.Tensor]) -> Drawn:
        """The samples whose log-probability these factors weigh: all, or those that a single number came of."""
        if any(factor.numel() > 1 for factor in factors):
            return -1
        return self._known(factors).values

    # ------------------------------------------------------------------------------------------------------- losses

    def _backward_began(self, call: BackwardCall) -> None:
        if not self._samples or (call.kind == "grad" and not any(is_parameter(wanted) for wanted in call.inputs)):
            return  # the latter is a slope, which teaches nothing by itself
        flow = self._known(call.roots)
        self._estimated |= flow.estimates
        if flow.paths:
            self._losses.append(_Loss(self._course.backwards, flow.paths))

    def _step_taken(self, course: Course) -> None:
        self._tell()
        self._begin_anew()

    def _turned(self, detail: Detail) -> None:
        """What operations of light steps did to tensors is not known. A step that was seen to its end is told of."""
        if self._course.steps > self._drawn_in:
            self._tell()
        self._begin_anew()

    def _begin_anew(self) -> None:
        if self._samples:
            self.unlisten(self._operations.ended, self._operation_ended)
            self.unlisten(self._functions.ended, self._function_ended)
            self._samples = []
            self._flows.clear()
        self._likelihoods.clear()
        self._losses.clear()
        self._estimated = 0

    def _tell(self) -> None:
        for loss in self._losses:
            lines: dict[Place | None, Drawn] = {}
            for number in numbers_in(loss.paths):
                sample = self._samples[number]
                if not self._is_likelihood_maximised(number, sample):
                    lines[sample.place] = lines.get(sample.place, 0) | 1 << number
            for line, drawn in lines.items():
                samples = [self._samples[number] for number in numbers_in(drawn)]
                made_from = {each for sample in samples for each in sample.made_from}
                self.emit(
                    SamplesUsed(
                        step=self._course.steps,
                        backward=loss.backward,
                        location=locate(line),
                        kind=samples[0].kind,
                        parameters=[numbers_in(each) for each in sorted(made_from)],
                        estimated=bool(drawn & self._estimated),
                    )
                )

    def _is_likelihood_maximised(self, number: int, sample: _Sample) -> bool:
        """Whether a distribution like it was asked in this step for the log-probability of something else."""
        return any(
            sample.is_covered_by(likelihood.parameters) and not likelihood.values >> number & 1
            for likelihood in self._likelihoods
        )
