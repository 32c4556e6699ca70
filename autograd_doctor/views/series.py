"""Quantities over the steps of a run: losses, gradients, updates, learning rates, memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.steps import MemoryMeasured
from autograd_doctor.findings import Location
from autograd_doctor.run_course import Quantity, Series, told
from autograd_doctor.trace import Trace
from autograd_doctor.views.curves import Curve, curves
from autograd_doctor.views.gradients import gradients, total
from autograd_doctor.views.magnitudes import relative_updates
from autograd_doctor.views.networks import network_of, networks
from autograd_doctor.views.thinning import Point, thinned

MOST_POINTS = 400
MOST_SERIES = 8
"""Of one quantity: more lines in one plot cannot be told apart."""
Line = Callable[[Location | None], str]


@dataclass(frozen=True)
class _Measure:
    """A series before it is cut down to what a report holds."""

    name: str
    points: list[Point]
    place: str = ""
    parameters: frozenset[int] = frozenset()


def series(trace: Trace, line: Line) -> list[Series]:
    """All that was measured; `line` names a place."""
    measures: dict[Quantity, Iterable[_Measure]] = {
        "loss": _losses(trace, line),
        "gradient norm": _gradient_norms(trace, line),
        "update ratio": _update_ratios(trace, line),
        "learning rate": _learning_rates(trace, line),
        "memory": _memory(trace),
    }
    known = networks(trace)
    return [each for quantity, found in measures.items() for each in _told(quantity, found, known)]


def _told(quantity: Quantity, found: Iterable[_Measure], known: Mapping[int, str]) -> Iterator[Series]:
    filled = [measure for measure in found if measure.points]
    for measure in sorted(filled, key=lambda each: -len(each.points))[:MOST_SERIES]:
        some = thinned(measure.points, MOST_POINTS)
        steps, values = [step for step, _ in some], [told(value) for _, value in some]
        yield Series(
            quantity=quantity,
            name=measure.name,
            steps=steps,
            values=values,
            place=measure.place,
            network=network_of(measure.parameters, known),
        )


def _of_optimizer(trace: Trace, line: Line, optimizer: int | None, points: list[Point]) -> _Measure:
    """Under its name; those of one name are told apart by where they were built."""
    name = trace.optimizer_name(optimizer)
    alike = [built for number, built in trace.optimizers.items() if trace.optimizer_name(number) == name]
    place = next((line(built.location) for built in alike if built.optimizer == optimizer), "")
    held = trace.optimizer_parameters.get(optimizer, frozenset()) if optimizer is not None else frozenset()
    return _Measure(name, points, place if len(alike) > 1 else "", held)


def _losses(trace: Trace, line: Line) -> Iterator[_Measure]:
    taught = _taught(trace)
    for curve in curves(trace):
        place = line(curve.location)
        parameters = frozenset().union(*(taught.get(ran.backward, frozenset()) for ran in curve.backwards))
        yield _Measure(curve.name or place, _points(curve), place if curve.name else "", parameters)


def _taught(trace: Trace) -> dict[int, set[int]]:
    """The parameters that steps took along the gradients of each backward: others that it wrote to were cleared."""
    found: dict[int, set[int]] = {}
    for use in (use for step in trace.steps for use in step.uses):
        for backward in use.backwards:
            found.setdefault(backward, set()).update(use.parameters)
    return found


def _points(curve: Curve) -> list[Point]:
    """The mean of each step that is known; of what lies between, first, last and extremes of some losses in a row."""
    found: dict[int, list[float]] = {}
    for step, loss in (pair for stretch in curve.stretches for pair in stretch.early):
        found.setdefault(step + 1, []).append(loss)
    early = frozenset(found)
    for ran in curve.backwards:
        if ran.loss is not None and ran.step + 1 not in early:
            found.setdefault(ran.step + 1, []).append(ran.loss)
    points = {step: sum(losses) / len(losses) for step, losses in found.items()}
    known = frozenset(points)
    for stretch in curve.stretches:
        first, last = stretch.first + 1, stretch.step + 1
        middle = (first + last) // 2
        seen = [(first, stretch.opening), (middle, stretch.low), (middle + 1, stretch.high), (last, stretch.last)]
        seen += [(last, math.nan)] if stretch.non_finite else []
        for step, value in seen if len(stretch.early) < stretch.backwards else ():
            if value is not None and step not in known and first <= step <= last:
                points[step] = value
    return sorted(points.items())


def _gradient_norms(trace: Trace, line: Line) -> Iterator[_Measure]:
    for optimizer, steps in gradients(trace).items():
        points = [(step, total(norms.values())) for step, norms in steps.items() if norms]
        yield _of_optimizer(trace, line, optimizer, points)
    clipped: dict[Location | None, dict[int, GradientsClipped]] = {}
    for event in trace.of(GradientsClipped):
        clipped.setdefault(event.location, {})[event.step + 1] = event
    for location, clips in clipped.items():
        points = [(step, clip.norm / clip.loss_scale) for step, clip in sorted(clips.items()) if clip.norm is not None]
        parameters = frozenset(parameter for clip in clips.values() for parameter in clip.parameters)
        yield _Measure("before clipping", points, line(location), parameters)


def _update_ratios(trace: Trace, line: Line) -> Iterator[_Measure]:
    for optimizer in trace.optimizers:
        points = {each.step + 1: each.typical for each in relative_updates(trace, optimizer)}
        yield _of_optimizer(trace, line, optimizer, sorted(points.items()))


def _learning_rates(trace: Trace, line: Line) -> Iterator[_Measure]:
    """Of optimizers whose rate changes; the first group that tells one."""
    found: dict[int | None, dict[int, float]] = {}
    for event in trace.steps:
        rate = next((rate for rate in event.learning_rates if rate is not None), None)
        if rate is not None:
            found.setdefault(event.optimizer, {})[event.step + 1] = rate
    for optimizer, rates in found.items():
        if len(set(rates.values())) > 1:
            yield _of_optimizer(trace, line, optimizer, sorted(rates.items()))


def _memory(trace: Trace) -> Iterator[_Measure]:
    looks = trace.of(MemoryMeasured)
    yield _Measure("process", [(look.step, float(look.resident)) for look in looks])
    allocated = [(look.step, float(look.allocated)) for look in looks if look.allocated is not None]
    yield _Measure("tensors on accelerators", allocated)
