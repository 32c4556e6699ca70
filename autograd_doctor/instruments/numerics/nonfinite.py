"""Where NaN and Inf are born: each recorded output is checked, and an origin travels with the values that it spoils.

A birth is only reported when it reaches a loss: a mask of `-inf` that a softmax absorbs leaves no trace.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from msgspec import structs

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns, Spoiled
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.birth import birth
from autograd_doctor.reading.graph_structure import nodes_below, nodes_of
from autograd_doctor.reading.graph_walk import lineage_of
from autograd_doctor.reading.low_precision import from_range, overflows
from autograd_doctor.reading.operation_kinds import STAYS_FINITE
from autograd_doctor.reading.origin import Origin
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.put_off import Look, PutOff
from autograd_doctor.reading.repeated_sizes import RepeatedSizes
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensor_facts import bad_rows, describe, extent, is_checkable, is_remote, is_spoiled, norms
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.transforms import TransformCall

_MOST_PER_PLACE = 3
"""Non-finite outputs to describe per line and operation: values that a mask discards, as in attention, come in every
step from the same lines, and their ranges tell nothing new."""
_MARKS = frozenset({"__setitem__", "fill_", "index_fill_", "index_put_", "masked_fill_"})
_MOST_WAITING = 50_000
"""Looks that wait on an accelerator: an evaluation of many batches has no backward at which they would be read."""
_MOST_WAITS = 2
"""Backwards of a step for which an accelerator is waited for: those of a critic and of a generator. Micro-batches are
alike, and a loss that is not finite is told later, too."""
_MOST_REPORTED = 4
"""Births to report: a loss scale of 65536 (the default) that settles halves a few times, and each overflow is a birth
that does no harm."""


class NonFinite(Instrument):
    """Checks outputs until a few non-finite values that mattered have been reported."""

    emits: ClassVar[tuple[type[Event], ...]] = (NonFiniteProduced, NonFiniteInput)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        tensors: Tensors,
        lineage: Lineage,
        backward_runs: BackwardRuns,
    ) -> None:
        super().__init__(site)
        self._backward_runs = backward_runs
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._parameters = parameters
        self._tensors = tensors
        self._lineage = lineage
        self._seen: dict[tuple[Place | None, str], int] = {}
        self._known: dict[tuple[Place | None, str], Origin] = {}
        self._spoiled_parameters: dict[int, Origin] = {}
        self._reported: set[tuple[str | None, Place | None]] = set()
        self._active = True
        self._waiting = PutOff()
        self._sizes = RepeatedSizes()
        self._sizes_of = -1
        self._waits: Counter[int] = Counter()
        """How often the present step has waited for an accelerator."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(self._lineage.parameter_written, self._parameter_written)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.transforms.ended, self._transform_ended, attention=Attention.FULL)
        self.listen(self._backward_runs.spoiled, self._gradients_spoiled)

    def settle(self) -> None:
        """Read what waits on an accelerator, so that the origins of all that was recorded are known."""
        waiting, self._waiting = self._waiting, PutOff()
        self._judge(waiting, waiting.read())

    def _may_wait(self) -> bool:
        """Whether to know before a backward where its loss was spoiled, while the graph still tells of what."""
        step = self._course.steps
        self._waits = Counter({step: self._waits[step] + bool(self._waiting.looks)})
        return self._detail.is_repeated or self._waits[step] <= _MOST_WAITS

    def _settle_later(self, root: torch.Tensor | None = None) -> None:
        """The same where nobody waits. root: a loss, of which it is told then where it was spoiled."""
        waiting, self._waiting = self._waiting, PutOff()
        step = self._course.steps
        made = self._tensors.get(root) if root is not None else None
        roots = [extent(root)] if root is not None and is_checkable(root) else []

        def known(extents: Sequence[float]) -> None:
            parts = len(waiting.parts)
            self._judge(waiting, extents[:parts])
            if not all(map(math.isfinite, extents[parts:])):
                self._loss_spoiled(made, step)

        self._late_values.ask(self, [*waiting.parts, *roots], known, in_place=True)

    def _judge(self, waiting: PutOff, extents: Sequence[float]) -> None:
        for look, origin in waiting.judged(self._spoiled_parameters, extents):
            if look.parameter is not None:
                self._written(look.parameter, origin)

    def _recorded(self, recorded: Recorded) -> None:
        if not (self._active and self._detail.closely):
            return
        if recorded.made.operation not in STAYS_FINITE:
            self._check(recorded)
        elif is_remote(recorded.output):
            self._put_off(recorded)

    def _parameter_written(self, recorded: Recorded) -> None:
        """An update by hand, or a repair."""
        self._check(recorded)
        number = self._parameters.number(recorded.output)
        if self._waiting.looks and self._waiting.looks[-1].made is recorded.made:
            self._waiting.looks[-1].parameter = number
        else:
            self._written(number, recorded.made.origin)

    def _written(self, number: int, origin: Origin | None) -> None:
        if origin is not None:
            self._spoiled_parameters[number] = origin
        else:
            self._spoiled_parameters.pop(number, None)

    def _backward_began(self, call: BackwardCall) -> None:
        """If the loss is spoiled, report where that began."""
        root = call.roots[0]
        if self._detail.closely and not self._may_wait():
            self._settle_later(root)
            return
        if self._detail.closely:
            self.settle()
        else:
            self._settle_later()
        made = self._tensors.get(root)
        if made is not None and made.origin is not None and not bool(torch.isfinite(root).all()):
            self._loss_spoiled(made, self._course.steps, call)

    def _loss_spoiled(self, made: Provenance | None, step: int, call: BackwardCall | None = None) -> None:
        """call: the backward, if it is still to run."""
        origin = made.origin if made is not None else None
        if not self._active or origin is None or (origin.operation, origin.place) in self._reported:
            return
        if origin.is_of_spoiled_weights and step:  # what spoiled it happened unseen
            self._detail.missed(step)
            return
        event = (self._with_operands(origin, call) if call is not None else origin).event(step)
        if isinstance(event, NonFiniteProduced) and self._sizes_of == step:
            event = structs.replace(event, grown=self._sizes.fastest())
        self.emit(event)
        self._reported.add((origin.operation, origin.place))
        self._active = len(self._reported) < _MOST_REPORTED

    def _gradients_spoiled(self, spoiled: Spoiled) -> None:
        """NaN that the loss leaves out, as it does with targets that it ignores, comes back with the gradient."""
        below = (lineage_of(node) for node in nodes_below(spoiled.node))
        origins = (made.origin for made in below if made is not None and made.origin is not None)
        origin = next((each for each in origins if each.holds_nan and each.operation is not None), None)
        if self._active and origin is not None and (origin.operation, origin.place) not in self._reported:
            self._reported.add((origin.operation, origin.place))
            self.emit(origin.event(spoiled.step, "backward"))

    def _transform_ended(self, call: TransformCall) -> None:
        """What runs inside a transform is not recorded: it counts as one operation on what it was given."""
        results = [tensor for tensor in tensors_in([call.value, call.result], EVERYTHING) if is_checkable(tensor)]
        if not self._active or all(map(math.isfinite, norms(results))):
            return
        spoiled = next(filter(is_spoiled, results), None)
        if spoiled is None:
            return
        given = tensors_in(call.args, EVERYTHING)
        origin = next(filter(None, map(self._origin_of, given)), None) or self._spoiled_parameter(given)
        if origin is None:
            recorded = Recorded(spoiled, Provenance(call.name, place(), self._course.steps), given)
            origin = self._origin(recorded, None)
        self.emit(origin.event(self._course.steps, "loss" if spoiled is call.value else "gradient"))
        self._active = False

    def _check(self, recorded: Recorded) -> None:
        """Give a spoiled output its origin, and a finite one none.

        A sum is finite if every term is; where the sum itself overflows, the exact look tells.
        """
        output, made = recorded.output, recorded.made
        if not is_checkable(output):
            made.origin = None
            return
        if is_remote(output):
            self._put_off(recorded)
            return
        total = output.sum(dtype=torch.float32 if output.dtype.itemsize < 4 else None).item()
        if math.isfinite(total) or bool(torch.isfinite(output).all()):
            made.origin = None
            self._note_size(made, abs(total) / max(output.numel(), 1))
            return
        if made.origin is None:
            made.origin = self._spoiled_parameter(recorded.inputs)
        if made.origin is None or (made.origin.deliberate and bool(torch.isnan(output).any())):
            made.origin = None if self._is_written_down(recorded) else self._origin(recorded, made.origin)

    def _note_size(self, made: Provenance, size: float) -> None:
        if self._sizes_of != self._course.steps:
            self._sizes, self._sizes_of = RepeatedSizes(), self._course.steps
        self._sizes.note(made.place, made.operation, size)

    # -------------------------------------------------------------------------------------------- on an accelerator

    def _put_off(self, recorded: Recorded) -> None:
        output, made, waiting = recorded.output, recorded.made, self._waiting
        others = [tensor for tensor in recorded.inputs if tensor is not output]
        sources = [self._tensors.get(tensor) for tensor in others]
        unseen = [tensor for tensor, made in zip(others, sources, strict=True) if made is None or not made.looked_at]
        is_in_place = len(others) < len(recorded.inputs)
        if is_in_place and not made.looked_at and not self._is_gradient(output):
            unseen.append(output)
        given = [tensor for tensor in unseen if is_checkable(tensor)]
        moves = made.operation in STAYS_FINITE
        made.looked_at = not (moves and given)
        look = Look(
            made,
            inherited=made.origin,
            sources=[source for source in (recorded.before, *sources) if source is not None],
            parameters=[number for tensor in others if (number := self._parameters.get(tensor)) is not None],
            facts=describe(output, ranges=False),
            given=[waiting.given(tensor, self._described) for tensor in given],
            is_mark=made.operation in _MARKS and not made.values,
            moves=moves,
            low_precision=overflows(made.operation, output) or None,
        )
        waiting.add(look, output)
        made.origin = None
        if len(waiting.looks) >= _MOST_WAITING:
            self.settle()

    def _described(self, tensor: torch.Tensor) -> TensorFacts:
        return self._tensors.describe(tensor, ranges=False)

    def _with_operands(self, origin: Origin, call: BackwardCall) -> Origin:
        """Ranges that nobody has read yet: what the graph saved still tells them."""
        if origin.operands or origin.operation is None or not is_remote(call.roots[0]):
            return origin
        born = birth(nodes_of(call.roots, call.inputs))
        made = lineage_of(born.node) if born is not None else None
        if born is None or made is None or (made.operation, made.place) != (origin.operation, origin.place):
            return origin
        return replace(
            origin,
            output=describe(born.output),
            operands=tuple(self._tensors.describe(operand) for operand in born.operands[:4]),
            rows=tuple(bad_rows(born.output)),
            low_precision=origin.low_precision or born.low_precision,
        )

    def _is_written_down(self, recorded: Recorded) -> bool:
        """Whether the program marks data as missing: they come in spoiled where they are used."""
        others = [tensor for tensor in recorded.inputs if tensor is not recorded.output]
        return recorded.made.operation in _MARKS and not recorded.made.values and not any(map(is_spoiled, others))

    def _spoiled_parameter(self, inputs: Sequence[torch.Tensor]) -> Origin | None:
        """What the program itself has written into a parameter."""
        numbers = map(self._parameters.get, inputs) if self._spoiled_parameters else ()
        origins = (self._spoiled_parameters.get(number) for number in numbers if number is not None)
        return next(filter(None, origins), None)

    def _origin(self, recorded: Recorded, mask: Origin | None) -> Origin:
        """mask: infinities that the program wrote down itself, and that have become NaN."""
        output, made, inputs = recorded.output, recorded.made, recorded.inputs
        key = (made.place, made.operation)
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] > _MOST_PER_PLACE:
            return self._known[key]
        before = [tensor for tensor in inputs if tensor is not output or not self._was_known(output, made)]
        spoiled = [tensor for tensor in before if is_spoiled(tensor) and self._origin_of(tensor) is None]
        if spoiled:
            origin = Origin(None, made.place, self._tensors.describe(spoiled[0]), (), tuple(bad_rows(spoiled[0])))
        else:
            operands = tuple(self._tensors.describe(tensor) for tensor in inputs[:4])
            by = recorded.operation
            low = from_range(by.function, by.name, by.args, by.kwargs, output) if by is not None else None
            rows, written = tuple(bad_rows(output)), mask.place if mask is not None else None
            origin = Origin(made.operation, made.place, describe(output), operands, rows, low, written)
        self._known[key] = origin
        return origin

    def _was_known(self, changed: torch.Tensor, made: Provenance) -> bool:
        """Whether what an operation has changed in place was seen before, and so was finite then."""
        return len(made.changes) > 1 or made.created_by != made.operation or self._is_gradient(changed)

    def _is_gradient(self, tensor: torch.Tensor) -> bool:
        """One that a backward has spoiled is told of by others."""
        return any(gradient_of(parameter) is tensor for _, parameter in self._parameters.living())

    def _origin_of(self, tensor: torch.Tensor) -> Origin | None:
        made = self._tensors.get(tensor)
        return made.origin if made is not None else None
