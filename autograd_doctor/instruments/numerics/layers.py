"""How large gradients are at the layers that they pass, from the loss to the first."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import Layer, LayersMeasured
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns, GradientsSeen
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.layers import LayerOnWay, longest_way
from autograd_doctor.reading.places import locate
from autograd_doctor.signals import Signals

_MOST_PER_LINE = 20
"""Backwards of one line to measure: those of the first steps, and some of the samples that follow."""


class Layers(Instrument):
    """Measures the longest way through layers, in backwards whose gradients are looked at."""

    emits: ClassVar[tuple[type[Event], ...]] = (LayersMeasured,)

    def __init__(self, site: Site, parameters: Parameters, backward_runs: BackwardRuns) -> None:
        super().__init__(site)
        self._parameters = parameters
        self._backward_runs = backward_runs
        self._measured: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(self._backward_runs.gradients_seen, self._gradients_seen)

    def _gradients_seen(self, seen: GradientsSeen) -> None:
        if self._measured[seen.location] >= _MOST_PER_LINE:
            return
        way = longest_way(seen.walk, seen.magnitudes)
        if not way:
            return
        self._measured[seen.location] += 1
        self.emit(
            LayersMeasured(
                step=seen.walk.step,
                backward=seen.walk.backward,
                location=seen.location,
                layers=[self._layer(layer) for layer in way],
            )
        )

    def _layer(self, layer: LayerOnWay) -> Layer:
        return Layer(
            parameters=sorted({self._parameters.number(weight) for weight in layer.weights}),
            location=locate(layer.place),
            operation=layer.operation,
            gradients=layer.some_gradients(),
        )
