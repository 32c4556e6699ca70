"""Updates written as `w = w - rate * w.grad`: no value changes in place, a new tensor takes the place of the old leaf.

Followed are the gradients of leaves in a program that has built no optimizer, also those that `torch.func` returns,
what is computed from them, and whether that meets the values of the very same leaf. A leaf made of both carries on the
older one, under its number, and that is a step. New values that die before any operation has taken them in were
computed for nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import OptimizerStepped, UpdatesDiscarded
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import ComingUses, Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import address
from autograd_doctor.reading.subclasses import gradient_of, is_leaf
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.transforms import TransformCall
from autograd_doctor.tape import numbers_in

_MOST_DISCARDS = 8
"""Backwards before which discarded updates are told: enough to see that it happens again and again."""


@dataclass(slots=True)
class _Derived:
    """A tensor computed from gradients: those of which leaves, and which of these leaves' values went in as well."""

    gradients: int
    updates: int
    place: Place | None
    used: bool = False


class Rebinding(Instrument):
    """Listens to operations only while there are gradients of leaves that no optimizer can hold."""

    emits: ClassVar[tuple[type[Event], ...]] = (UpdatesDiscarded, OptimizerStepped)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._operations = site.signals.operations
        self._gradients: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._derived: dict[int, tuple[weakref.ref[torch.Tensor], _Derived]] = {}
        self._unused: dict[int, tuple[weakref.ref[torch.Tensor], _Derived]] = {}
        self._uses: dict[int, ComingUses] = {}
        self._asked: list[tuple[torch.Tensor, int]] = []
        self._at: dict[int, tuple[torch.Size, _Derived]] = {}
        self._discarded: dict[int, Place | None] = {}
        self._discards_told = 0
        self._graphs: dict[int, int] = {}
        self._returned: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._called_at: Place | None = None

    def connect(self, signals: Signals) -> None:
        """A program that puts new leaves in the place of old ones has no light steps."""
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)
        self.listen(self._course.backward_over, self._backward_over, attention=Attention.LIGHT)
        self.listen(signals.transforms.ended, self._transform_ended, attention=Attention.FULL)

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        self._reached(walk.leaves.values() if walk is not None else ())

    def _transform_ended(self, call: TransformCall) -> None:
        """It took gradients of its own, and may have used new values for something else."""
        for tensor in tensors_in(call.args, EVERYTHING):
            self._use(tensor)
        self._ledger.catch_up()
        self._reached(call.differentiated)
        self._ledger.give(call.differentiated)
        by_shape: dict[torch.Size, int] = {}
        for leaf in call.differentiated:
            by_shape[leaf.shape] = by_shape.get(leaf.shape, 0) | self._leaves([leaf])
        for gradient in tensors_in([call.result], EVERYTHING):
            shapes = (gradient.shape[first:] for first in range(gradient.dim() + 1))  # `vmap` puts its own in front
            self._asked += [(gradient, by_shape[shape]) for shape in shapes if by_shape.get(shape)][:1]
        self._backward_over(self._course)
        self._returned = dict(self._in_the_place_of(call))
        self._called_at = place()

    def _in_the_place_of(self, call: TransformCall) -> Iterator[tuple[int, tuple[weakref.ref[torch.Tensor], int]]]:
        """What a transform returned that may be new values, where it updates what it differentiates by itself."""
        results = tensors_in([call.result], EVERYTHING)
        for shape in {leaf.shape for leaf in call.differentiated}:
            old = [leaf for leaf in call.differentiated if leaf.shape == shape]
            new = [result for result in results if result.shape == shape]
            for leaf, result in zip(old, new, strict=True) if len(old) == len(new) else ():
                number = self._parameters.get(leaf)
                if number is not None:
                    yield id(result), (weakref.ref(result), number)

    def _reached(self, leaves: Iterable[torch.Tensor]) -> None:
        """Leaves that carry on older ones are a step; those that are the older ones have not got their update."""
        carried: dict[int, torch.Tensor] = {}
        reached: set[int] = set()
        line: Place | None = None
        for leaf in leaves:
            number, derived = self._parameters.get(leaf), self._get(leaf) or self._wrapped(leaf)
            updates = numbers_in(derived.updates) if derived is not None else []
            returned = self._returned.get(id(leaf))
            if derived is not None and updates and number not in updates:
                carried.update(dict.fromkeys(updates, leaf))
                line = line or derived.place
            elif number is None and returned is not None and returned[0]() is leaf:
                carried[returned[1]] = leaf
                line = line or self._called_at
            elif number is not None:
                reached.add(number)
        self._tell_discarded(reached)
        if carried:
            self._step(carried, line)
        self._unused |= {key: entry for key, entry in self._derived.items() if entry[1].updates and not entry[1].used}
        self._derived.clear()
        self._at.clear()
        self._uses.clear()

    def _backward_ended(self, call: BackwardCall) -> None:
        """Gradients that the program was handed by `torch.autograd.grad`."""
        for tensor, gradient in zip(call.inputs, call.result, strict=False):
            number = self._parameters.get(tensor)
            if number is not None and isinstance(gradient, torch.Tensor):
                self._asked.append((gradient, 1 << number))

    def _backward_over(self, course: Course) -> None:
        """Follow the gradients that are there now, unless there are optimizers to do it."""
        if not (self._gradients or self._asked) and self._optimizers.held:
            return
        self._gradients.clear()
        asked, self._asked = self._asked, []
        if next(self._optimizers.living(), None) is None:
            for number, parameter in self._parameters.living():
                gradient = gradient_of(parameter)
                if gradient is not None:
                    self._gradients[id(gradient)] = weakref.ref(gradient), 1 << number
            self._gradients.update((id(gradient), (weakref.ref(gradient), bits)) for gradient, bits in asked)
        if self._gradients:
            self.listen(self._operations.ended, self._operation_ended)
        else:
            self.unlisten(self._operations.ended, self._operation_ended)

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        inputs = operation.inputs
        outputs = tensors_in([operation.result])
        gradients = updates = 0
        line: Place | None = None
        for tensor in inputs:
            if not any(tensor is output for output in outputs):
                self._use(tensor)
            derived = self._get(tensor)
            if derived is not None:
                gradients |= derived.gradients
                updates |= derived.updates
                line = line or (derived.place if derived.updates else None)
            else:
                gradients |= self._gradient_bit(tensor)
        if gradients:
            met = gradients & self._leaves(inputs) & ~updates
            self._take_note_of_use(met)
            derived = _Derived(gradients, updates | met, line or operation.place)
            for output in outputs:
                self._put(output, derived)

    def _leaves(self, tensors: Iterable[torch.Tensor]) -> int:
        """The leaves among tensors, themselves or by an alias without a graph."""
        found = 0
        for tensor in tensors:
            number, made = self._parameters.get(tensor), self._tensors.get(tensor)
            if number is None and made is not None:
                number = made.alias_of
            found |= 0 if number is None else 1 << number
        return found

    def _gradient_bit(self, tensor: torch.Tensor) -> int:
        entry = self._gradients.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else 0

    def _take_note_of_use(self, leaves: int) -> None:
        """What the gradients were that an update is being computed from; the old leaf may be gone when it counts."""
        living = dict(self._parameters.living()) if leaves else {}
        for number in numbers_in(leaves):
            if number in living and number not in self._uses:
                self._uses[number] = self._ledger.uses_to_come([(number, living[number])])

    # --------------------------------------------------------------------------------------------- what was computed

    def _get(self, tensor: torch.Tensor) -> _Derived | None:
        entry = self._derived.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def _use(self, tensor: torch.Tensor) -> None:
        for table in (self._derived, self._unused):
            entry = table.get(id(tensor))
            if entry is not None and entry[0]() is tensor:
                entry[1].used = True

    def _wrapped(self, leaf: torch.Tensor) -> _Derived | None:
        """What is known of the values of a leaf that was made around them, as `nn.Parameter` does."""
        shape, derived = self._at.get(address(leaf), (None, None))
        return derived if shape == leaf.shape else None

    def _put(self, tensor: torch.Tensor, derived: _Derived) -> None:
        if self._parameters.get(tensor) is not None:
            return  # changed in place, which the ledger of gradients sees
        if derived.updates:
            self._at[address(tensor)] = tensor.shape, derived
        key, this = id(tensor), weakref.ref(self)

        def died(reference: weakref.ref[torch.Tensor]) -> None:
            instrument = this()
            if instrument is not None:
                instrument._died(key, reference, derived)

        self._derived[key] = weakref.ref(tensor, died), derived

    def _died(self, key: int, reference: weakref.ref[torch.Tensor], derived: _Derived) -> None:
        for table in (self._derived, self._unused):
            entry = table.get(key)
            if entry is not None and entry[0] is reference:
                del table[key]
                if derived.updates and not derived.used:
                    self._discarded.update(dict.fromkeys(numbers_in(derived.updates), derived.place))

    def _tell_discarded(self, reached: set[int]) -> None:
        lost = {number: line for number, line in self._discarded.items() if number in reached}
        self._discarded.clear()
        if lost and self._discards_told < _MOST_DISCARDS:
            self._discards_told += 1
            first = locate(next(iter(lost.values())))
            self.emit(UpdatesDiscarded(step=self._course.steps, parameters=sorted(lost), location=first))

    def _step(self, carried: dict[int, torch.Tensor], line: Place | None) -> None:
        location = locate(line)
        for number, leaf in carried.items():
            self._graphs[number] = 0 if is_leaf(leaf) else self._graphs.get(number, 0) + 1
        stepped = OptimizerStepped(
            step=self._course.steps,
            optimizer=None,
            location=location,
            uses=[],
            moved=sorted(carried),
            graph_kept=max(self._graphs[number] for number in carried),
        )
        self._ledger.tell(stepped, [self._uses[number] for number in carried if number in self._uses])
        living = dict(self._parameters.living())
        self._ledger.stepped([(number, living[number]) for number in carried if number in living], location)
        for number, leaf in carried.items():
            self._parameters.carry_on(number, leaf)
            self._ledger.forget(number)
        self._course.rebound()
