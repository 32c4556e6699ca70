"""Lineage: how each tensor came to be, recorded operation by operation.

Which parameters' values flow into it, where their gradient paths were cut, what was changed in place or behind
autograd's back. Backward nodes are marked with the lineage of their outputs, which the walk over a graph then reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import ParameterCopied, ParameterFrozen
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import HiddenChange, Tensors
from autograd_doctor.reading.asked_for import is_call_of_library
from autograd_doctor.reading.graph_walk import mark
from autograd_doctor.reading.operation_kinds import DRAWN_WITH_A_GRAPH, Kind, changes_input, traits, writes
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.places import place as user_place
from autograd_doctor.reading.provenance import CutPoint, Provenance, address, cut_here, has_graph, next_order
from autograd_doctor.reading.python_values import PythonValues
from autograd_doctor.reading.regions import Region, indexed, region_of
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.operations import Operation, Operations
from autograd_doctor.signals.signal import NamedSignal, Signal
from autograd_doctor.tape import numbers_in

_WORK_ON_DATA = 1000
"""Outputs in a row that no parameter flows into: more than any model makes before its first layer."""
_MOST_CALLERS = 8
"""Of a helper that freezes parameters."""


@dataclass(eq=False, slots=True)
class Recorded:
    """An output whose making was recorded, the tensors that flowed into it, and what made it unless that was a custom
    function.

    before: of a tensor that was changed in place, or given back as it was, what was known of it until then.
    """

    output: torch.Tensor
    made: Provenance
    inputs: Sequence[torch.Tensor]
    operation: Operation | None = None
    before: Provenance | None = None

    @property
    def name(self) -> str:
        """Of the operation, or of the custom function."""
        return self.made.operation


class Lineage(Instrument):
    """Fills the table of tensors.

    In steps that are looked at closely, `recorded` is sent for each output, after its lineage is known, `operated` for
    each operation outside backwards, and `parameter_written` for each parameter that the program changes. filled: per
    parameter, the place that last gave it values before the first step. naps: how often work on data was left alone.

    It sees the program's main thread, and nothing inside optimizers and backwards. Where long work on data goes on,
    which no parameter flows into, it is left alone until one does.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ParameterCopied, ParameterFrozen)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        parameters: Parameters,
        tensors: Tensors,
        grad_modes: GradModes,
        ledger: Ledger,
    ) -> None:
        super().__init__(site)
        self.recorded: NamedSignal[Recorded] = NamedSignal(site.signals.guard)
        self.operated: NamedSignal[Operation] = NamedSignal(site.signals.guard)
        self.parameter_written: Signal[Recorded] = Signal(site.signals.guard)
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._tensors = tensors
        self._grad_modes = grad_modes
        self._ledger = ledger
        self._python_values = PythonValues()
        self._operations: Operations = site.signals.operations
        self._since = next_order()
        self._without_parameters = 0
        self.naps = 0
        self._copied: set[int] = set()
        self.filled: dict[int, Place | None] = {}
        self._frozen: set[int] = set()
        self._learns: dict[int, bool] = {}
        self._told_frozen: set[tuple[int, Place | None]] = set()
        self._storages: dict[int, list[tuple[int, Region | None]]] | None = None
        """The parameters in each storage, until one comes or goes, or may have moved."""
        self._looked_up = (0, 0)

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended)
        signals.operations.concerns = self._concerns
        self.listen(signals.custom_functions.ended, self._function_ended)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)
        self.listen(self._detail.turned, self._turned)

    def detach(self) -> None:
        super().detach()
        self._site.signals.operations.concerns = lambda args, kwargs: True

    def _turned(self, detail: Detail) -> None:
        """Switches of light steps are seen by what they left behind; in a second run even work on data is followed."""
        self._operations.dozing &= not detail.is_repeated
        for number, parameter in self._parameters.living():
            if detail.full and self._learns.get(number, parameter.requires_grad) is not parameter.requires_grad:
                self._switched(number, None, on=parameter.requires_grad)
            self._learns[number] = parameter.requires_grad

    def _step_taken(self, course: Course) -> None:
        self._since = next_order()
        self._storages = None
        if not self._operations.in_place:
            self.limited("the program removed the `TorchFunctionMode` that records operations from the mode stack")

    def _operation_ended(self, operation: Operation) -> None:
        name, args, result = operation.name, operation.args, operation.result
        if self._course.running is not None:
            return
        if operation.kind is Kind.ESCAPE:
            made = self._tensors.derive(Provenance(name, operation.place, self._course.steps), tensors_in(args))
            self._python_values.left(made, result)
        elif isinstance(result, torch.Tensor):
            self._note(operation, (result,))
        elif isinstance(result, tuple | list):
            self._note(operation, tensors_in((result,)))
        elif result is None:
            self._wrote(operation)
        if self._detail.closely:
            self.operated.relay(operation)

    def _concerns(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether an operation makes something that can learn, or takes in what parameters have flowed into."""
        values = (*args, *kwargs.values()) if kwargs else args
        return bool(kwargs.get("requires_grad")) or any(map(self._carries_parameters, tensors_in(values)))

    def _carries_parameters(self, tensor: torch.Tensor) -> bool:
        if tensor.requires_grad or type(tensor) is not torch.Tensor:  # a parameter, were it frozen
            return True
        made = self._tensors.get(tensor)
        return (made is not None and made.values != 0) or self._parameters.get(tensor) is not None

    def _worked_on_data(self) -> None:
        self._without_parameters += 1
        if self._without_parameters > _WORK_ON_DATA and not self._detail.is_repeated:
            self._without_parameters = 0
            self._operations.dozing = True
            self.naps += 1

    # ---------------------------------------------------------------------------------------------------- recording

    def _note(self, operation: Operation, outputs: Sequence[torch.Tensor]) -> None:
        """Record how each output was made."""
        name, place, tensors, known = operation.name, operation.place, self._tensors, traits(operation.name)
        values = (*operation.args, *operation.kwargs.values()) if operation.kwargs else operation.args
        inputs = [] if known.shape_only else operation.inputs[:1] if known.like_another else operation.inputs
        changes = known.changes_input or operation.kwargs.get("out") is not None
        for position, output in enumerate(outputs):
            sources = inputs[position : position + 1] if known.one_by_one else inputs
            made = tensors.derive(Provenance(name, place, self._course.steps), sources)
            self._python_values.returned(made, values)
            connected = output.requires_grad and has_graph(output)
            is_as_before = not changes and bool(inputs) and output is inputs[0]  # `to` where nothing is to be done
            if is_as_before and connected and tensors.get(output) is not None:  # and so is its node
                continue
            if not connected and tensors.parameter_bit(output):
                if changes:
                    self._written_by_hand(output, made)
                    if self._detail.closely:
                        self.parameter_written.relay(Recorded(output, made, inputs, operation))
                continue
            foreign = self._foreign(output, made) if changes else 0
            if changes and not connected and self._is_step_by_hand(output, made):
                made.forget_values()
            self._connect(output, made, connected=connected, gradients=operation.grad_enabled)
            before = tensors.get(output) if changes or is_as_before else None
            if changes:
                self._changed(output, made, operation, foreign)
            elif is_as_before:
                made.source = tensors.read_at(output)
                if before is not None and before.alias_of is not None:
                    made.alias_of, made.hidden_alias = before.alias_of, before.hidden_alias
                    made.created_at, made.created_by, made.born = before.created_at, before.created_by, before.born
            if known.is_alias and inputs:
                made.alias_of = self._parameters.get(inputs[0])
                made.hidden_alias = name == "data"
                if made.hidden_alias:
                    tensors.keep_original(inputs[0])
            tensors.put(output, made)
            if not operation.grad_enabled and output.is_inference():
                made.under = self._grad_modes.switch
            if made.values:
                self._without_parameters = 0
            else:
                self._worked_on_data()
            if self._detail.closely:
                self.recorded.relay(Recorded(output, made, inputs, operation, before))

    def _is_step_by_hand(self, target: torch.Tensor, made: Provenance) -> bool:
        """Whether gradients move what is older than this step, and no parameter: it learns in a way of its own."""
        if not made.of_gradient:
            return False
        before = self._tensors.get(target)
        return before is None or before.born < self._since

    def _connect(self, output: torch.Tensor, made: Provenance, *, connected: bool, gradients: bool) -> None:
        """Mark the backward node of an output with its lineage, or note which paths were cut."""
        if connected:
            self._ledger.graph_grows()
            mark(output, made)
        if connected and made.operation not in DRAWN_WITH_A_GRAPH:
            return
        if made.connected:
            made.add_cut(self._cut_point(made, gradients), made.connected)
            made.connected = 0
        if made.cuts and not (output.dtype.is_floating_point or output.dtype.is_complex):
            made.choose()
        if connected:
            return
        # With gradients off, a view of a parameter still says that it requires one.
        inherited = not gradients and made.operation != "requires_grad_" and output._is_view()
        if output.requires_grad and not inherited:
            before = self._tensors.get(output)
            if before is not None and made.values == 0 and self._python_values.last is not None:
                made.absorb(self._python_values.last, connected=False, guessed=True)
            made.rewrapped, made.rewrapped_by = made.place, made.operation
            made.by_library = is_call_of_library()

    def _cut_point(self, made: Provenance, gradients: bool) -> CutPoint:
        """Where a path ended: at this operation, or by the switch under which it and others ran."""
        if gradients:
            return cut_here(made.operation, made.place)
        switch = self._grad_modes.switch
        if switch is not None:
            return CutPoint("", None, "grad-mode", switch, conditional=switch.conditional)
        return cut_here(made.operation, made.place, "grad-mode")

    def _wrote(self, operation: Operation) -> None:
        """An operation that returns nothing but changes its first argument."""
        name, args, place = operation.name, operation.args, operation.place
        target = args[0] if args else None
        if not isinstance(target, torch.Tensor):
            return
        if name == "requires_grad_":
            self._note(operation, (target,))
        elif name == "grad.__set__":
            self._ledger.set_by_hand(locate(place))
        elif name == "data.__set__":
            made = self._tensors.derive(Provenance("data", place, self._course.steps), tensors_in(args[1:]))
            if not self._is_its_own(target, args[1]):
                self._written_by_hand(target, made)
            self._replaced(target, made)
        elif name == "__setitem__":
            connected = has_graph(target)
            made = self._tensors.derive(Provenance(name, place, self._course.steps), tensors_in(args))
            if not connected and self._tensors.parameter_bit(target):
                self._written_by_hand(target, made)
                return
            foreign, before = self._foreign(target, made), self._tensors.get(target)
            self._connect(target, made, connected=connected, gradients=operation.grad_enabled)
            self._changed(target, made, operation, foreign)
            self._tensors.put(target, made)
            if self._detail.closely:
                self.recorded.relay(Recorded(target, made, tensors_in(args[2:]), operation, before))

    def _is_its_own(self, target: torch.Tensor, given: object) -> bool:
        """Whether a parameter is given its own `.data` back, as what moves it to a device does where it is there."""
        known = self._tensors.get(given) if isinstance(given, torch.Tensor) else None
        return known is not None and known.alias_of is not None and known.alias_of == self._parameters.get(target)

    def _foreign(self, target: torch.Tensor, made: Provenance) -> int:
        """Parameters with a graph that flow into what an alias made by `.data` stands for, but for itself."""
        before = self._tensors.get(target)
        if before is None or not before.hidden_alias:
            return 0
        return made.connected & ~(0 if before.alias_of is None else 1 << before.alias_of)

    def _hidden_from_autograd(self, made: Provenance) -> Provenance:
        """What flows into a tensor of which the values are changed behind autograd: gradients end here."""
        hidden = Provenance("data", made.place, made.step)
        hidden.absorb(made, connected=True)
        if hidden.connected:
            hidden.add_cut(cut_here("data", made.place), hidden.connected)
            hidden.connected = 0
        return hidden

    def _replaced(self, target: torch.Tensor, made: Provenance) -> None:
        """The program assigned to `.data`."""
        self._storages = None
        known = self._tensors.get(target)
        if known is not None:
            known.absorb(self._hidden_from_autograd(made), connected=False)
        elif made.connected and not self._tensors.parameter_bit(target):
            self._tensors.put(target, self._hidden_from_autograd(made))

    def _changed(self, target: torch.Tensor, made: Provenance, operation: Operation, foreign: int) -> None:
        """An in-place change also reaches the tensor that a view belongs to, and what lies behind `.data`."""
        name, place = operation.name, operation.place
        before = self._tensors.get(target)
        if before is not None:
            made.changes = before.changes
            made.created_at, made.created_by, made.born = before.created_at, before.created_by, before.born
            made.alias_of = before.alias_of
            made.hidden_alias, made.looked_at = before.hidden_alias, before.looked_at
        if changes_input(name) and not writes(name):
            return
        if not target.is_inference():
            made.change(name, place, target)
        if made.hidden_alias:
            written = indexed(target, operation.args[1]) if name == "__setitem__" else target
            region = region_of(written)
            if region is not None:
                self._tensors.hidden_changes.append(HiddenChange(region, name, place, made.order))
            owner = self._tensors.sharing(address(target))
            if owner is not None and owner is not before:
                owner.absorb(self._hidden_from_autograd(made), connected=False)
        if made.alias_of is not None:
            if foreign:
                self._tensors.written[made.alias_of] = self._hidden_from_autograd(made)
            else:
                self._parameter_written(made.alias_of, made)
        elif not has_graph(target):
            for number in (within := self._within(target)):
                self._parameter_written(number, made, own=sum(1 << each for each in within))
        base = target._base
        if base is not None:
            whole = self._tensors.get(base) or Provenance(name, place, self._course.steps)
            whole.absorb(made, connected=True)
            whole.change(name, place, base)
            if whole.reference is None:
                self._tensors.put(base, whole)

    def _within(self, target: torch.Tensor) -> list[int]:
        """Parameters of which the values lie in a tensor that is none: slices of one vector that holds them all."""
        if self._storages is None or self._looked_up != self._parameters.state:
            self._storages, self._looked_up = defaultdict(list), self._parameters.state
            for number, parameter in self._parameters.living():
                self._storages[storage_address(parameter)].append((number, region_of(parameter)))
        near = self._storages.get(storage_address(target), ())
        written = region_of(target) if near else None
        return [number for number, region in near if written and region and region.overlaps(written)]

    def _written_by_hand(self, target: torch.Tensor, made: Provenance) -> None:
        number = self._parameters.get(target)
        if number is not None and made.operation == "requires_grad_":
            self._switched(number, made.place, on=target.requires_grad)
        elif number is not None:
            self._parameter_written(number, made)

    def _switched(self, number: int, place: Place | None, *, on: bool) -> None:
        """A parameter was told whether to require a gradient."""
        self._learns[number] = on
        if on:
            self._frozen.discard(number)
        elif number not in self._frozen:
            self._frozen.add(number)
            if (number, place) not in self._told_frozen:
                self._told_frozen.add((number, place))
                self.emit(
                    ParameterFrozen(
                        step=self._course.steps,
                        parameter=number,
                        location=locate(place),
                        callers=[call for each in stack()[-_MOST_CALLERS:-1] if (call := locate(each)) is not None],
                    )
                )

    def _parameter_written(self, number: int, made: Provenance, own: int = 0) -> None:
        """A parameter was given values that may be an update, or those of other parameters, as a target network is.

        own: those whose values are written at once.
        """
        is_moved = made.operation == "data" and bool(made.values >> number & 1)  # as `module.to(device)` does
        if self._course.steps == 0 and not (is_moved and number in self.filled):
            self.filled[number] = made.place
        others = made.values & ~made.guessed & ~(own | 1 << number)
        together = bool(made.values >> number & 1) and all(map(self._ledger.is_by_hand, [number, *numbers_in(others)]))
        if made.of_gradient or not others or together:
            self._ledger.written_by_hand(number, locate(made.place))
        elif number not in self._copied:
            self._copied.add(number)
            self.emit(ParameterCopied(step=self._course.steps, parameter=number, location=locate(made.place)))

    def _function_ended(self, call: FunctionCall) -> None:
        if not self._detail.full:
            return
        name, inputs, place = call.function.__name__, tensors_in(call.args), user_place()
        outputs = tensors_in((call.result,))
        for output in outputs:
            made = Provenance(name, place, self._course.steps)
            self._tensors.derive(made, inputs)
            self._take_hidden(output, made)
            if has_graph(output):
                mark(output, made)
            elif made.connected:
                made.add_cut(cut_here(name, place, "function"), made.connected)
                made.connected = 0
            self._tensors.put(output, made)
            if self._detail.closely:
                self.recorded.relay(Recorded(output, made, inputs))

    def _take_hidden(self, output: torch.Tensor, made: Provenance) -> None:
        """What the forward of a function used beside its arguments, as a module's parameters: it gets no gradient,
        unless the function's own `backward` writes it, as the first one shows."""
        inside = self._tensors.get(output)
        hidden = inside.values & ~(inside.guessed | made.values | self._ledger.beside) if inside is not None else 0
        if hidden:
            made.take(hidden)
            made.add_cut(cut_here(made.operation, made.place, "function"), hidden)
