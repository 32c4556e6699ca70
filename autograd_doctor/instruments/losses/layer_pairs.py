"""Layers that follow one another with nothing nonlinear in between, by the values that flow from one to the other.

A layer is a linear operation or a convolution with a parameter as its weight. What it made is followed through
operations that only move values or drop some. Anything else that is done with it counts as another use, unless nothing
with a graph was computed from the result. What a model returns, or a part of one that holds several layers, is followed
no further: these are features, as people name them, for a head of any kind.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import ClassVar, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import LayersChained, LayersMerged, LayerUsedOtherwise
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootPassed
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import ADDITIONS, CONVOLUTIONS, DROPOUTS
from autograd_doctor.reading.asked_for import is_in_torch_or_ours
from autograd_doctor.reading.module_tree import modules_in, parameters_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, is_own, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import is_leaf, is_parameter, storage_address, version_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation

_PRODUCTS = frozenset({"matmul", "__matmul__", "mm"})
_LAYERS = frozenset({"linear", *CONVOLUTIONS, *_PRODUCTS})
_MERGES = frozenset({"einsum", "tensordot", "chain_matmul", "multi_dot", "linalg_multi_dot", *CONVOLUTIONS, *_PRODUCTS})
"""By which the weights of layers in a row are made those of one."""
_TURNS = frozenset({"transpose", "permute", "t", "T", "mT", "movedim", "moveaxis", "swapaxes", "swapdims"})
_PASSES = DROPOUTS | _TURNS | {
    "bfloat16", "clone", "contiguous", "cpu", "cuda", "double", "flatten", "float", "half", "reshape", "reshape_as",
    "squeeze", "to", "type_as", "unflatten", "unsqueeze", "view", "view_as",
}  # fmt: skip
"""Operations that only move values, or drop some of them."""
_MOST_CALLS = 4096
"""Of layers in one step: a deep network on a long sequence, step by step."""


@dataclass(eq=False, slots=True)
class _Call:
    """A call of a layer, and what took in its output. groups: of a convolution. contained: a `Sequential` called it.

    from_zero: its weight was zero. idle: an operation on the output, of the result of which no use was seen so far.
    """

    weight: int
    place: Place | None
    width_in: int
    width: int
    kernel: tuple[int, ...]
    groups: int
    contained: bool
    of_data: bool
    is_product: bool
    otherwise: bool = False
    from_zero: bool = False
    idle: tuple[str, Place | None] | None = None
    takers: list[tuple[_Call, bool]] = field(default_factory=list)


class _Flow(NamedTuple):
    """A tensor that holds what a call made, as it was at this version. turned: its axes may be in another order.

    dropped: by dropout. shifted: a bias was added.
    """

    call: _Call
    version: int
    turned: bool = False
    dropped: bool = False
    shifted: bool = False


class LayerPairs(Instrument):
    """States, after each step that is looked at closely, which layers took in what another one had made."""

    emits: ClassVar[tuple[type[Event], ...]] = (LayersChained, LayersMerged, LayerUsedOtherwise)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        parameters: Parameters,
        tensors: Tensors,
        lineage: Lineage,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._module_calls = module_calls
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._tensors = tensors
        self._lineage = lineage
        self._calls: list[_Call] = []
        self._flows: IdentityTable[_Flow] = IdentityTable()
        self._sides: IdentityTable[tuple[_Call, ...]] = IdentityTable()
        self._told: set[tuple[int, int]] = set()
        self._firsts: set[int] = set()
        self._otherwise: set[int] = set()
        self._merged: set[frozenset[int]] = set()
        self._addresses: dict[int, int] = {}
        """The weights of layers of pairs, by their storages; `_addresses_of`: so many pairs."""
        self._addresses_of = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(signals.operations.ended, self._multiplied, attention=Attention.FULL, names=_MERGES)
        self.listen(self._module_calls.root_passed, self._root_passed)
        self.listen(signals.modules.ended, self._module_ended, attention=Attention.CLOSE)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.turned, self._turned)

    # --------------------------------------------------------------------------------------------------- operations

    def _recorded(self, recorded: Recorded) -> None:
        output, inputs, name = recorded.output, recorded.inputs, recorded.made.operation
        live = has_graph(output)
        if self._sides:
            self._used_aside(inputs, output, live=live)
        layer = self._layer(recorded) if live and name in _LAYERS and not _is_of_library() else None
        if self._calls:
            self._follow(recorded, layer, live=live)
        if layer is not None and len(self._calls) < _MOST_CALLS:
            self._calls.append(layer)
            self._flows.put(output, _Flow(layer, version_of(output)))

    def _follow(self, recorded: Recorded, layer: _Call | None, *, live: bool) -> None:
        """What an operation does with the outputs of layers that it takes in."""
        output, name, place = recorded.output, recorded.made.operation, recorded.made.place
        passed: _Flow | None = None
        for position, tensor in enumerate(recorded.inputs):
            flow = self._flows.get(tensor)
            if flow is None:
                continue
            call = flow.call
            unchanged = tensor is output or version_of(tensor) == flow.version
            if position == 0 and unchanged and layer is not None and _fits(tensor, call, layer, flow):
                call.takers.append((layer, flow.dropped))
                layer.from_zero |= (call.weight, layer.weight) not in self._told and _is_zero(recorded.inputs[1])
            elif position == 0 and unchanged and live and _passes(name, recorded.inputs):
                passed = _Flow(
                    call,
                    version_of(output),
                    turned=flow.turned or name in _TURNS,
                    dropped=flow.dropped or name in DROPOUTS,
                    shifted=flow.shifted or name in ADDITIONS,
                )
            else:
                self._sides.put(output, (*(self._sides.get(output) or ()), call))
                call.idle = call.idle or ((name, place) if live else None)
        if passed is not None:
            self._flows.put(output, passed)
        else:
            self._flows.discard(output)

    def _used_aside(self, inputs: Sequence[torch.Tensor], output: torch.Tensor, *, live: bool) -> None:
        """Something was computed from the result of another use."""
        for tensor in inputs:
            calls = self._sides.get(tensor) if tensor is not output else None
            if calls and live:
                for call in calls:
                    call.otherwise = True
            elif calls:
                self._sides.put(output, calls)

    def _layer(self, recorded: Recorded) -> _Call | None:
        inputs, name, output = recorded.inputs, recorded.made.operation, recorded.output
        weight = inputs[1] if len(inputs) > 1 else None
        if weight is None or not (weight.requires_grad and is_leaf(weight) and is_parameter(weight)):
            return None
        if name in _PRODUCTS and weight.dim() != 2:
            return None
        axis = -1 - CONVOLUTIONS.get(name, 0)
        width_in, width = inputs[0].shape[axis], output.shape[axis]
        groups = _groups(name, weight, width_in, width)
        made = self._tensors.get(inputs[0])
        return _Call(
            weight=self._tensors.parameter_bit(weight).bit_length() - 1,
            place=recorded.made.place,
            width_in=width_in,
            width=width,
            kernel=tuple(weight.shape[2:]) if name in CONVOLUTIONS else (),
            groups=groups,
            contained=_is_in_container(),
            of_data=made is None or not made.values,
            is_product=name in _PRODUCTS,
        )

    def _multiplied(self, operation: Operation) -> None:
        """Whether a product without a graph takes in the weights of a pair as they are, or views of them."""
        result = operation.result
        if not self._told or len(operation.inputs) < 2 or not isinstance(result, torch.Tensor) or has_graph(result):
            return
        if self._addresses_of != len(self._told):
            self._addresses_of = len(self._told)
            layers = {number for pair in self._told for number in pair}
            living = ((storage_address(each), number) for number, each in self._parameters.living() if number in layers)
            self._addresses = {address: number for address, number in living if address}
        weights = frozenset(self._addresses.get(storage_address(each), -1) for each in operation.inputs) - {-1}
        if weights not in self._merged and any(weights.issuperset(pair) for pair in self._told):
            self._merged.add(weights)
            self.emit(LayersMerged(step=self._course.steps, parameters=sorted(weights)))

    # -------------------------------------------------------------------------------------------------------- telling

    def _root_passed(self, passed: RootPassed) -> None:
        for output in passed.outputs:
            self._flows.discard(output)

    def _module_ended(self, call: ModuleCall) -> None:
        """Called for every module, and outside a look."""
        if not self._calls:
            return
        with self._guard.looking():
            if call.output in self._flows and _holds_several_layers(call.module):
                self._flows.discard(call.output)

    def _backward_began(self, call: BackwardCall) -> None:
        for root in call.roots:
            flow = self._flows.get(root)
            for used in (*(self._sides.get(root) or ()), *(() if flow is None else (flow.call,))):
                used.otherwise = True

    def _step_taken(self, course: Course) -> None:
        for call in self._calls:
            if call.otherwise:
                self._otherwise.add(call.weight)
            for taker, dropped in [] if call.otherwise else call.takers:
                self._tell(call, taker, dropped=dropped)
        for first in sorted(self._otherwise & self._firsts):
            self.emit(LayerUsedOtherwise(step=course.steps, first=first))
        self._firsts -= self._otherwise
        self._begin_anew()

    def _turned(self, detail: Detail) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        if self._calls:
            self._calls = []
            self._flows.clear()
            self._sides.clear()

    def _tell(self, call: _Call, taker: _Call, *, dropped: bool) -> None:
        if call.weight in self._otherwise or (call.weight, taker.weight) in self._told or call.weight == taker.weight:
            return
        self._told.add((call.weight, taker.weight))
        self._firsts.add(call.weight)
        widths = {other.weight: other.width for other, _ in call.takers}
        idle, idle_at = call.idle or ("", None)
        self.emit(
            LayersChained(
                step=self._course.steps,
                first=call.weight,
                second=taker.weight,
                first_at=locate(call.place),
                second_at=locate(taker.place),
                width_in=call.width_in,
                width=call.width,
                width_out=sum(widths.values()),
                positions=_positions(call, taker),
                convolutions=bool(call.kernel) + bool(taker.kernel),
                in_container=call.contained and taker.contained and call.place == taker.place,
                shared=len(widths) > 1,
                of_data=call.of_data,
                dropped=dropped,
                depthwise=call.groups > 1 or taker.groups > 1,
                factors=_are_factors(call.kernel, taker.kernel),
                from_zero=taker.from_zero,
                idle=idle,
                idle_at=locate(idle_at),
            )
        )


def _passes(name: str, inputs: Sequence[torch.Tensor]) -> bool:
    """Whether an operation only moves the values of its first input, or adds a bias to them."""
    if name in _PASSES:
        return True
    others = inputs[1:]
    return name in ADDITIONS and len(others) == 1 and others[0].dim() <= 1 and is_parameter(others[0])


def _fits(tensor: torch.Tensor, call: _Call, layer: _Call, flow: _Flow) -> bool:
    """Whether a layer works along the axis of the features that another one made.

    A product with a parameter and no bias may as well be a look-up in a table, as codebooks are read with soft choices.
    """
    if call.is_product and not flow.shifted:
        return False
    if call.kernel and not layer.kernel and not flow.turned:
        return layer.width_in % call.width == 0 and tensor.dim() == 2
    if bool(call.kernel) == bool(layer.kernel) and flow.turned:
        return False
    if layer.kernel and not call.kernel and not flow.turned:
        return False
    return layer.width_in == call.width


def _positions(call: _Call, layer: _Call) -> int:
    is_projection = bool(call.kernel) and set(call.kernel) == {1}
    return layer.width_in // call.width if is_projection and not layer.kernel else 1


def _is_zero(weight: torch.Tensor) -> bool:
    return readable(weight) and not bool(weight.any())


def _groups(name: str, weight: torch.Tensor, width_in: int, width: int) -> int:
    if name not in CONVOLUTIONS:
        return 1
    return (width if "transpose" in name else width_in) // max(1, weight.shape[1])


def _are_factors(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two kernels are each as wide as one pixel along the axes of the other."""
    if len(one) != len(other):
        return False
    pairs = [(a > 1, b > 1) for a, b in zip(one, other, strict=True)]
    return not any(a and b for a, b in pairs) and any(a for a, _ in pairs) and any(b for _, b in pairs)


def _holds_several_layers(module: nn.Module) -> bool:
    return sum(bool(parameters_of(inner)) for _, inner in modules_in(module)) > 1


def _is_of_library() -> bool:
    """Whether it is the forward of a library's module that calls a layer: how that is built, no person can change."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_in_torch_or_ours(frame):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "forward" and not is_own(frame.f_code.co_filename)


def _is_in_container() -> bool:
    """Whether a `Sequential` is between the operation and the program's own line."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_own(frame.f_code.co_filename):
        if frame.f_code is nn.Sequential.forward.__code__:
            return True
        frame = frame.f_back
    return False
