"""Values that the program keeps from one step to the next and computes from themselves: how large they become.

A hidden state, a running sum, a buffer that is multiplied in every step. In step after step, what one call of the
program makes flows into what the same call makes next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import CarriedValueMeasured
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.operation_kinds import OVERWRITES, STAYS_FINITE
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, next_order
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import numbers_in

_MOST_CALLS = 2000
"""Calls of the program whose results outlive their step: a data set, buffers, states; more are no longer told apart."""
_MOST_VALUES = 32
"""Values to follow. What a program keeps of each of many layers grows in all of them or in the first."""
_MOST_GIVEN = 32
"""Tensors that flow into one value in one step, to be measured: a state that is updated at the end of a step has met
the whole model, and the first that it met tell."""
_CHANGED = 1.5

Call = tuple[Place | None, str]


@dataclass(eq=False)
class _Value:
    """By what it is computed and kept. sizes, given: of the present step. told: the size that was stated last."""

    computed: Call
    kept: Call
    numel: int
    sizes: list[torch.Tensor] = field(default_factory=list)
    given: list[torch.Tensor] = field(default_factory=list)
    told: float | None = None


class CarriedValues(Instrument):
    """Follows what outlives a step into what is computed from it, in steps that are looked at closely.

    Calls whose results outlive a step have a bit each. What flows out of such a result carries its bit; where it comes
    to the same call again, the value is computed from itself. A step that follows on light ones does not know where the
    results of those were made: there, calls that have carried the bit of a value before are taken to do so again.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (CarriedValueMeasured,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        parameters: Parameters,
        tensors: Tensors,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._tensors = tensors
        self._lineage = lineage
        self._bits: dict[Call, int] = {}
        self._values: dict[int, _Value] = {}
        self._all = self._closed = self._in_loss = self._began = 0
        self._carrying: dict[Call, int] = {}
        self._flowing: dict[int, int] = {}
        self._computed: dict[int, Call] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.LIGHT)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    # ------------------------------------------------------------------------------------------------- what flows in

    def _recorded(self, recorded: Recorded) -> None:
        if not self._course.steps:  # nothing comes from an earlier step
            return
        made = recorded.made
        call: Call = (made.place, made.operation)
        bits = self._carrying.get(call, 0)
        others = (tensor for tensor in recorded.inputs if tensor is not recorded.output)
        inputs = [(tensor, self._flows_from(self._tensors.get(tensor))) for tensor in others]
        for _, carried in inputs:
            bits |= carried
        if recorded.before is not None and recorded.before.born != made.born:  # given back as it was
            bits |= self._flows_from(recorded.before)
        is_changed = made.born < self._began and made.operation not in OVERWRITES
        bits |= self._flowing.get(made.born, 0) if made.operation not in OVERWRITES else 0
        own = self._bit(call) if is_changed else self._bits.get(call, 0)
        if is_changed:
            bits |= own
        if not bits:
            return
        self._flowing[made.born] = bits
        self._computed[made.born] = self._computed_by(recorded, call)
        if bits & own:
            self._closes(recorded, call, own)
        following = bits & self._all
        if following:
            self._carrying[call] = self._carrying.get(call, 0) | following
            self._measure_given(following & ~self._closed, inputs)
        self._closed |= bits & own

    def _flows_from(self, made: Provenance | None) -> int:
        """The bits of what a tensor carries: its own if it was made in an earlier step."""
        if made is None:
            return 0
        if made.step < self._course.steps:
            return self._bit((made.place, made.operation))
        return self._flowing.get(made.born, 0)

    def _bit(self, call: Call) -> int:
        known = self._bits.get(call)
        if known is None:
            known = self._bits[call] = 1 << len(self._bits) if len(self._bits) < _MOST_CALLS else 0
        return known

    def _computed_by(self, recorded: Recorded, call: Call) -> Call:
        """The call that computed the values of an output, where its own has only moved them."""
        made = recorded.made
        if made.operation not in STAYS_FINITE and made.operation not in OVERWRITES:
            return call
        before = (self._tensors.get(tensor) for tensor in recorded.inputs if tensor is not recorded.output)
        return next((self._computed[each.born] for each in before if each and each.born in self._computed), call)

    # ------------------------------------------------------------------------------------------------------ measuring

    def _closes(self, recorded: Recorded, call: Call, bit: int) -> None:
        """A value has been computed from what it was."""
        output = recorded.output
        if not _is_measurable(output):
            return
        value = self._values.get(bit)
        if value is None:
            if len(self._values) >= _MOST_VALUES:
                return
            value = self._values[bit] = _Value(self._computed[recorded.made.born], call, output.numel())
            self._all |= bit
        value.sizes.append(_size(output))

    def _measure_given(self, following: int, inputs: list[tuple[torch.Tensor, int]]) -> None:
        """The other operands of a call that a value flows through on its way, if they were made in this step."""
        for number in numbers_in(following):
            value = self._values.get(1 << number)
            if value is not None:
                fresh = (tensor for tensor, bits in inputs if not bits >> number & 1 and self._is_of_this_step(tensor))
                value.given += [_size(tensor) for tensor in fresh if len(value.given) < _MOST_GIVEN]

    def _is_of_this_step(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        if made is None or made.step < self._course.steps or self._parameters.get(tensor) is not None:
            return False
        return _is_measurable(tensor)

    def _backward_began(self, call: BackwardCall) -> None:
        for root in call.roots:
            made = self._tensors.get(root)
            if made is not None:
                self._in_loss |= self._flowing.get(made.born, 0) & self._all

    # ------------------------------------------------------------------------------------------------------ each step

    def _step_taken(self, course: Course) -> None:
        self._flowing.clear()
        self._computed.clear()
        self._closed, self._began = 0, next_order()
        looked = [(bit, value) for bit, value in self._values.items() if value.sizes]
        if not looked:
            return
        sizes = [torch.stack(value.sizes).amax() for _, value in looked]
        given = {bit: torch.stack(value.given).amax() for bit, value in looked if value.given}
        for _, value in looked:
            value.sizes.clear()
            value.given.clear()

        def tell(values: Sequence[float]) -> None:
            known = dict(zip(given, values[len(sizes) :], strict=True))
            for (bit, value), size in zip(looked, values, strict=False):
                self._tell(bit, value, size, known.get(bit))

        self._late_values.ask(self, [*sizes, *given.values()], tell, in_place=True)

    def _tell(self, bit: int, value: _Value, size: float, given: float | None) -> None:
        if not math.isfinite(size) or (value.told is not None and _alike(size, value.told)):
            return
        value.told = size
        self.emit(
            CarriedValueMeasured(
                step=self._course.steps - 1,
                value=bit.bit_length() - 1,
                operation=value.computed[1],
                location=locate(value.computed[0]),
                kept_at=locate(value.kept[0]) if value.kept != value.computed else None,
                numel=value.numel,
                size=size,
                given=given if given is not None and math.isfinite(given) else None,
                in_loss=bool(bit & self._in_loss),
            )
        )


def _is_measurable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.numel() > 0 and readable(tensor)


def _size(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().abs().amax().float()


def _alike(one: float, other: float) -> bool:
    return one == other or (min(one, other) > 0 and max(one, other) < _CHANGED * min(one, other))
