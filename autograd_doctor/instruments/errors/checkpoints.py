"""Activation checkpoints: does the segment compute the same when it is run again, and can gradients pass at all?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import buffers_in
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.subclasses import is_leaf, is_parameter
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.checkpoints import CheckpointCall
from autograd_doctor.signals.operations import Operation

_RUNS_PER_PLACE = 2
"""A segment is followed operation by operation, and its layers are alike: the second run confirms what the first
showed."""
_SAMPLE = 4096
"""Values of each output that are compared: what differs between two passes (dropout, a random crop) does so all over
it."""
_ROUNDING = 1e-4
"""Of the largest value of an output. A recomputation repeats the same operations, so that nothing but the order of
parallel sums may differ: that moves the result of a product over a thousand terms by 6e-7 (measured)."""
_TYPED = 2e-3
"""Of itself, how near two updates come to the momentum that they were made for: one of 0.0513 is meant to make 0.1 of
two, and makes 0.09997."""
_NAMED = (FunctionType, BuiltinFunctionType)
_CALLS = (torch.nn.Module.__call__, torch.nn.Module._call_impl)
_IN_PLACE_COUNTERS = frozenset({"add_", "__iadd__", "copy_"})


@dataclass
class _Result:
    """What one operation gave in the first pass: a sample of its values, so that no tensor is kept alive."""

    operation: str
    values: torch.Tensor | None


@dataclass
class _Segment:
    """One checkpoint, from its forward pass to the end of its second."""

    at: Place | None
    reentrant: bool
    function: str
    cut_off: bool = False
    passes: int = 0
    results: list[_Result] = field(default_factory=list)
    leaves: dict[int, None] = field(default_factory=dict)
    statistics: dict[str, list[float]] = field(default_factory=dict)
    """The momentum of each update of a batch-norm."""
    difference: float | None = None
    magnitude: float | None = None
    operation: str = ""
    differs_at: Location | None = None


class _Pass:
    """One run of a segment: remembers operations in the first, compares them in the second."""

    def __init__(self, segment: _Segment, parameters: Parameters, modules: Modules) -> None:
        self.segment = segment
        self._parameters = parameters
        self._modules = modules
        self._second = segment.passes > 1
        self._number = 0
        self._aligned = True
        self._means: dict[Operation, torch.Tensor] = {}

    def operation_began(self, operation: Operation) -> None:
        mean = _running_mean(operation)
        if mean is not None:
            self._means[operation] = mean.clone()

    def operation_ended(self, operation: Operation) -> None:
        self._look_at_statistics(operation)
        for tensor in operation.inputs:
            if is_parameter(tensor) and tensor.requires_grad and is_leaf(tensor):
                self.segment.leaves[self._parameters.number(tensor)] = None
        for output in tensors_in([operation.result]) if operation.name not in _IN_PLACE_COUNTERS else ():
            if self._second:
                self._compare(operation.name, output)
            else:
                self.segment.results.append(_Result(operation.name, _sample(output)))

    def _look_at_statistics(self, operation: Operation) -> None:
        """Batch-norm moves its statistics without touching their version counter: only the values tell."""
        before, mean = self._means.pop(operation, None), _running_mean(operation)
        if before is not None and mean is not None and not torch.equal(mean, before):
            momenta = self.segment.statistics.setdefault(_owner_name(self._modules, mean), [])
            momenta.append(_momentum(operation))

    def _compare(self, name: str, output: torch.Tensor) -> None:
        """Compare with the operation of the same number in the first pass, as long as both go the same way."""
        segment = self.segment
        first = segment.results[self._number] if self._number < len(segment.results) else None
        self._number += 1
        self._aligned = self._aligned and first is not None and first.operation == name
        if not self._aligned or first is None or first.values is None or not output.requires_grad:
            return
        again = _sample(output)
        if again is None or again.shape != first.values.shape:
            return
        difference = float((again - first.values).abs().nan_to_num().max()) if again.numel() else 0.0
        magnitude = float(first.values.abs().nan_to_num().max()) if again.numel() else 0.0
        if segment.difference is None or _share(difference, magnitude) > _share(segment.difference, segment.magnitude):
            segment.difference, segment.magnitude = difference, magnitude
        if not segment.operation and _share(difference, magnitude) > _ROUNDING:
            segment.operation, segment.differs_at = name, locate(place())


class Checkpoints(Instrument):
    """Follows the first checkpoints of each place; operations are listened to only while a segment runs."""

    emits: ClassVar[tuple[type[Event], ...]] = (CheckpointRan,)

    def __init__(self, site: Site, course: Course, detail: Detail, parameters: Parameters, modules: Modules) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._modules = modules
        self._operations = site.signals.operations
        self._runs: Counter[Place | None] = Counter()
        self._segments: WeakKeyDictionary[CheckpointCall, _Segment] = WeakKeyDictionary()
        self._passes: list[_Pass] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.checkpoints.began, self._began)
        self.listen(signals.checkpoints.ended, self._ended)
        self.listen(signals.checkpoints.pass_began, self._pass_began)
        self.listen(signals.checkpoints.pass_ended, self._pass_ended)

    # ----------------------------------------------------------------------------------------------------- the call

    def _began(self, call: CheckpointCall) -> None:
        at = place()
        if not (call.grad_enabled and self._detail.full) or self._runs[at] >= _RUNS_PER_PLACE:
            return
        self._runs[at] += 1
        call.follow = True
        segment = self._segments[call] = _Segment(at, call.reentrant, _name(call.function))
        segment.cut_off = segment.reentrant and not any(tensor.requires_grad for tensor in tensors_in(call.args))

    def _ended(self, call: CheckpointCall) -> None:
        segment = self._segments.get(call)
        if segment is not None and segment.cut_off:
            self._say(segment)

    # --------------------------------------------------------------------------------------------------- its passes

    def _pass_began(self, call: CheckpointCall) -> None:
        segment = self._segments.get(call)
        if segment is None:
            return
        segment.passes += 1
        if segment.passes > 2:
            return
        self.listen(self._operations.began, self._operation_began)
        self.listen(self._operations.ended, self._operation_ended)
        self._passes.append(_Pass(segment, self._parameters, self._modules))

    def _pass_ended(self, call: CheckpointCall) -> None:
        segment = self._segments.get(call)
        if segment is None or segment.passes > 2:
            return
        self._passes = [each for each in self._passes if each.segment is not segment]
        if not self._passes:
            self.unlisten(self._operations.began, self._operation_began)
            self.unlisten(self._operations.ended, self._operation_ended)
        if segment.passes == 2:
            self._say(segment)

    def _operation_began(self, operation: Operation) -> None:
        for each in self._passes:
            each.operation_began(operation)

    def _operation_ended(self, operation: Operation) -> None:
        for each in self._passes:
            each.operation_ended(operation)

    def _say(self, segment: _Segment) -> None:
        self._parameters.introduce()
        self.emit(
            CheckpointRan(
                step=self._course.steps,
                location=locate(segment.at),
                reentrant=segment.reentrant,
                no_input_requires_grad=segment.cut_off,
                parameters=sorted(segment.leaves),
                difference=segment.difference,
                magnitude=segment.magnitude,
                operation=segment.operation,
                differs_at=segment.differs_at,
                statistics_moved_twice=sorted(
                    name for name, momenta in segment.statistics.items() if len(momenta) > 1 and not _make_one(momenta)
                ),
                function=segment.function,
            )
        )
        segment.results.clear()


def _running_mean(operation: Operation) -> torch.Tensor | None:
    """The running mean that a batch normalisation may move."""
    if operation.name != "batch_norm":
        return None
    args = operation.args
    mean = operation.kwargs.get("running_mean", args[1] if len(args) > 1 else None)
    return mean if is_a(mean, torch.Tensor) else None


def _momentum(operation: Operation) -> float:
    args = operation.args
    momentum = operation.kwargs.get("momentum", args[6] if len(args) > 6 else 0.1)
    return float(momentum) if type(momentum) in (float, int) else 0.1


def _make_one(momenta: Sequence[float]) -> bool:
    """Whether two updates with one batch come to what one was meant to be.

    In a mean over all batches (`momentum=None`) each is counted twice, which is as good as once: of such a mean, or of
    norms that are treated otherwise in the second pass, the momenta differ. A momentum that is a plain number for two
    updates only was made for two.
    """
    first, last = momenta[0], momenta[-1]
    both = 1 - (1 - first) ** 2
    is_plain = math.isclose(first, float(f"{first:.2g}"), rel_tol=1e-9)
    return first != last or (math.isclose(both, float(f"{both:.1g}"), rel_tol=_TYPED) and not is_plain)


def _share(difference: float, magnitude: float | None) -> float:
    return difference / max(magnitude or 0.0, 1e-12)


def _sample(tensor: torch.Tensor) -> torch.Tensor | None:
    """Values of a tensor at even distances, copied."""
    if not tensor.is_floating_point() or tensor.layout is not torch.strided or tensor.device.type == "meta":
        return None
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // _SAMPLE)].double()


def _owner_name(modules: Modules, mean: torch.Tensor) -> str:
    """The batch-norm that owns a running mean, under the user's name for it."""
    for number, module in modules.living():
        path = next((path for path, buffer in buffers_in(module) if buffer is mean), "")
        if path:
            return ".".join(filter(None, (modules.name_of(number), path.removesuffix("running_mean").rstrip("."))))
    return variable_name(mean).removesuffix(".running_mean") or "a batch-norm"


def _name(function: Callable[..., Any]) -> str:
    """What the user calls the segment."""
    if is_a(function, torch.nn.Module):
        return variable_name(function) or type(function).__name__
    if type(function) is partial:
        return _name(function.func)
    if type(function) is MethodType:
        owner: Any = function.__self__
        is_call = function.__func__ in _CALLS and is_a(owner, torch.nn.Module)
        return _name(owner if is_call else function.__func__)
    if type(function) not in _NAMED:
        return type(function).__name__
    outer, _, inner = function.__qualname__.partition(".<locals>.")
    return outer if not inner or _is_torchs(function) else f"{outer}.{inner.replace('<locals>.', '')}"


def _is_torchs(function: Callable[..., Any]) -> bool:
    """What a function of torch's makes is called by that."""
    return (function.__module__ or "").partition(".")[0] == "torch"
