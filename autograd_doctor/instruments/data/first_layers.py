"""The scale of the data that the first layer with weights takes in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import FirstLayerFed, InputScaleTurned
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import CONVOLUTIONS, RECURRENT, VIEWS
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_CELLS = {f"{name}_cell" for name in RECURRENT}
_LAYERS = RECURRENT | _CELLS | {
    *CONVOLUTIONS, "__matmul__", "addmm", "baddbmm", "bilinear", "linear", "matmul", "mm", "mv",
}  # fmt: skip
_NORMALISATIONS = frozenset({"batch_norm", "group_norm", "instance_norm", "layer_norm", "normalize", "rms_norm"})
_LOOKS = 2
"""Steps in which the data of one line are measured: two that are alike are no accident."""
_MOST_LINES = 200
_LEAST_ROWS = 4
"""Samples of a batch whose spread is measured."""
_ALIKE, _FAR = 3.0, 10.0
"""Factors within which the spread stays where data are of one scale, and beyond which another one is told."""
_LOOKS_BEFORE = 4
"""Steps with one scale before another one: those that are looked at closely at the beginning."""


@dataclass
class _Layer:
    """A line at which a layer takes in data, which were made at another. looks: steps in which they were measured.
    moments: of each of these, as far as they are known."""

    operation: str
    name: str
    shape: list[int]
    root: Place | None
    made_at: Place | None
    step: int = -1
    normalised: bool = False
    told: bool = False
    looks: int = 0
    moments: list[tuple[float, float, float, float]] = field(default_factory=list)


class _Spread(NamedTuple):
    """How far the samples of a batch lie apart, and the mean of their values."""

    step: int
    spread: float
    mean: float


@dataclass
class _Scale:
    """The scale of the data that some weights take in at a line, in the steps that were looked at closely.

    before: looks with the first scale. since: those with another, of which none has the first.
    """

    before: list[_Spread] = field(default_factory=list)
    since: list[_Spread] = field(default_factory=list)
    is_steady: bool = True

    def look(self, new: _Spread) -> bool:
        """Whether this is the second look in a row at another scale, after several that had one."""
        if not (self.is_steady and 0 < new.spread < math.inf):
            return False
        sizes = [each.spread for each in self.before]
        if not sizes or max(*sizes, new.spread) <= _ALIKE * min(*sizes, new.spread):
            self.is_steady = not self.since
            self.before.append(new)
            return False
        is_far = new.spread >= _FAR * max(sizes) or new.spread <= min(sizes) / _FAR
        self.is_steady = is_far and len(sizes) >= _LOOKS_BEFORE
        self.since.append(new)
        return self.is_steady and len(self.since) == _LOOKS


class FirstLayers(Instrument):
    """Measures data where they meet weights: in two of the steps that are looked at closely, and how far samples lie
    apart in all of them."""

    emits: ClassVar[tuple[type[Event], ...]] = (FirstLayerFed, InputScaleTurned)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        detail: Detail,
        tensors: Tensors,
        lineage: Lineage,
        module_calls: ModuleCalls,
        sources: Sources,
    ) -> None:
        super().__init__(site)
        self._sources = sources
        self._course = course
        self._late_values = late_values
        self._tensors = tensors
        self._lineage = lineage
        self._module_calls = module_calls
        self._layers: dict[tuple[Place | None, str], _Layer] = {}
        self._scales: dict[tuple[Place | None, int], _Scale] = {}
        self._fresh: IdentityTable[_Layer] = IdentityTable()
        self._root: tuple[int, Place | None] = (-1, None)

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._lineage.recorded, self._recorded, names=_LAYERS | _NORMALISATIONS | VIEWS)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def memory(self) -> dict[tuple[Place | None, int], _Scale]:
        return self._scales

    def remember(self, memory: dict[tuple[Place | None, int], _Scale]) -> None:
        self._scales = memory

    def _root_began(self, began: RootBegan) -> None:
        self._root = self._course.steps, began.where

    def _recorded(self, recorded: Recorded) -> None:
        name, inputs = recorded.made.operation, recorded.inputs
        if name in _LAYERS:
            self._applied(recorded)
        elif self._fresh and inputs:
            layer = self._fresh.get(inputs[0])
            if layer is not None and name in _NORMALISATIONS:
                layer.normalised = True
            elif layer is not None:
                self._fresh.put(recorded.output, layer)

    def _applied(self, recorded: Recorded) -> None:
        made, inputs, output = recorded.made, recorded.inputs, recorded.output
        data = next((tensor for tensor in inputs if self._is_data(tensor)), None)
        weights = any(tensor.requires_grad and self._tensors.parameter_bit(tensor) for tensor in inputs)
        if data is None or not weights or not output.requires_grad or self._course.running is not None:
            return
        layer = self._layers.get((made.place, made.operation))
        if layer is None and len(self._layers) < _MOST_LINES:
            root = self._root[1] if self._root[0] == self._course.steps else None
            layer = _Layer(made.operation, variable_name(data), list(data.shape), root, self._sources.made_at(data))
            self._layers[made.place, made.operation] = layer
        if layer is None or layer.normalised:
            return
        self._fresh.put(output, layer)
        if layer.step != self._course.steps and layer.looks < _LOOKS:
            layer.step = self._course.steps
            layer.looks += 1
            self._late_values.ask(self, [_moments(data)], lambda values: layer.moments.append(_measured(values[0])))
        if data.dim() > 1 and len(data) >= _LEAST_ROWS and self._sources.of(data):
            self._measure_spread(layer, made.place, data, inputs)

    def _measure_spread(
        self, layer: _Layer, where: Place | None, data: torch.Tensor, inputs: Sequence[torch.Tensor]
    ) -> None:
        """Of what is drawn from one set or another, as far as the same weights take it in."""
        weights = sum(self._tensors.parameter_bit(tensor) for tensor in inputs)
        if len(self._scales) >= _MOST_LINES and (where, weights) not in self._scales:
            return
        scale = self._scales.setdefault((where, weights), _Scale())
        step = self._course.steps
        values = data if data.dtype is torch.float64 else data.float()
        found = torch.stack([values.var(0, correction=0).mean().sqrt(), values.mean()])

        def look(numbers: Sequence[torch.Tensor]) -> None:
            if scale.look(_Spread(step, *numbers[0].tolist())) and not layer.normalised:
                self._tell_turned(layer, where, scale)

        self._late_values.ask(self, [found], look)

    def _tell_turned(self, layer: _Layer, where: Place | None, scale: _Scale) -> None:
        self.emit(
            InputScaleTurned(
                step=self._course.steps,
                location=locate(layer.root or where),
                applied_at=locate(where),
                operation=layer.operation,
                name=layer.name,
                shape=layer.shape,
                since=scale.since[0].step,
                looks=len(scale.since),
                before=len(scale.before),
                spread=scale.since[0].spread,
                spread_before=median(each.spread for each in scale.before),
                mean=scale.since[0].mean,
                mean_before=median(each.mean for each in scale.before),
                made_at=locate(layer.made_at),
            )
        )

    def _is_data(self, tensor: torch.Tensor) -> bool:
        """Values of the program that nothing which learns has worked on, as numbers rather than as indices."""
        if tensor.requires_grad or not tensor.is_floating_point():
            return False
        if tensor.numel() < 2 or not readable(tensor) or self._tensors.parameter_bit(tensor):
            return False
        made = self._tensors.get(tensor)
        return made is None or made.values == 0

    def _step_taken(self, course: Course) -> None:
        step = course.steps - 1
        self._late_values.ask(self, [], lambda _: self._tell(step), in_place=True)

    def _tell(self, step: int) -> None:
        for (place, _), layer in self._layers.items():
            if layer.told or layer.normalised or len(layer.moments) < _LOOKS:
                continue
            layer.told = True
            means, deviations, lows, highs = zip(*layer.moments, strict=True)
            self.emit(
                FirstLayerFed(
                    step=step,
                    location=locate(layer.root or place),
                    applied_at=locate(place),
                    operation=layer.operation,
                    name=layer.name,
                    shape=layer.shape,
                    mean=min(means, key=abs),
                    deviation=min(deviations),
                    low=min(lows),
                    high=max(highs),
                    made_at=locate(layer.made_at),
                )
            )


def _moments(data: torch.Tensor) -> torch.Tensor:
    """Mean, deviation and extremes."""
    values = data.double() if data.dtype is torch.float64 else data.float()
    deviation, mean = torch.std_mean(values, correction=0)
    return torch.stack([mean, deviation, *torch.aminmax(values)])


def _measured(moments: torch.Tensor) -> tuple[float, float, float, float]:
    """The same as numbers, zeros where not all values are finite."""
    mean, deviation, low, high = moments.tolist()
    found = mean, deviation, low, high
    return found if all(map(math.isfinite, found)) else (0.0, 0.0, 0.0, 0.0)
