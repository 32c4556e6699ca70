"""When what happened: lanes over the steps of the run, one round of training in its order, and what happened once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.cycle import GradientsClipped, ScalerUsed, SchedulerStepped
from autograd_doctor.events.data import StateLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.run import LightStepsCounted, ProgramRaised
from autograd_doctor.events.steps import BackwardRan, ForwardRan, GradientsCleared, NonFiniteGradient, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Location
from autograd_doctor.run_course import Lane, Moment, Timeline
from autograd_doctor.trace import Trace
from autograd_doctor.views.thinning import spans
from autograd_doctor.wording import first_line

MOST_SPANS = 150
_MOST_MOMENTS = 24
_EARLY = 12
"""Rounds are looked for among so many of the first steps, which are recorded in any case."""
Line = Callable[[Location | None], str]
Said = tuple[str, str]
"""What happened, and more about it."""
Tell = dict[type[Event], Callable[[Any], Said | None]]


def timeline(trace: Trace, line: Line) -> Timeline:
    """All of it; `line` names a place."""
    evaluations = set(map(id, trace.evaluations))
    lanes: dict[str, Iterable[Event]] = {
        "forward": [event for event in trace.of(ForwardRan) if id(event) not in evaluations],
        "backward": trace.of(BackwardRan),
        "clip": trace.of(GradientsClipped),
        "step": trace.steps,
        "evaluation": trace.evaluations,
    }
    last = max([1, *(event.step + 1 for name, events in lanes.items() if name != "evaluation" for event in events)])
    last = max(last, trace.steps_taken)  # an evaluation after the last step belongs to it
    steps = {name: sorted({min(event.step + 1, last) for event in events}) for name, events in lanes.items()}
    stretches = [(each.first + 1, each.first + each.steps) for each in trace.of(LightStepsCounted) if each.steps]
    light = sorted({step for first, last in stretches for step in range(first, last + 1)})
    return Timeline(
        lanes=[Lane(name, spans(found, MOST_SPANS)) for name, found in steps.items() if found],
        light=spans(light, MOST_SPANS),
        cycle=_in_order(_told(_round(trace), _in_a_round(trace), line)),
        moments=_each_once(_told(trace.events, _once(trace), line)),
    )


def _told(events: Iterable[Event], tell: Tell, line: Line) -> Iterator[Moment]:
    """Those of events that are worth telling."""
    for event in events:
        said = tell[type(event)](event) if type(event) in tell else None
        if said is not None:
            location: Location | None = getattr(event, "location", None)
            place = line(location) if location is not None else ""
            yield Moment(step=event.step + 1, what=said[0], detail=said[1], place=place)


def _in_order(moments: Iterable[Moment]) -> list[Moment]:
    """The same in a row counted together."""
    found: list[Moment] = []
    for moment in moments:
        if found and _alike(found[-1]) == _alike(moment):
            found[-1] = msgspec.structs.replace(found[-1], times=found[-1].times + 1)
        else:
            found.append(moment)
    return found[:_MOST_MOMENTS]


def _each_once(moments: Iterable[Moment]) -> list[Moment]:
    """The first of each kind, with how many there were."""
    found: dict[tuple[str, str, str], Moment] = {}
    for moment in moments:
        known = found.get(_alike(moment))
        found[_alike(moment)] = msgspec.structs.replace(known, times=known.times + 1) if known else moment
    return list(found.values())[:_MOST_MOMENTS]


def _alike(moment: Moment) -> tuple[str, str, str]:
    return moment.what, moment.detail, moment.place


# ----------------------------------------------------------------------------------------------------------- a round


def _round(trace: Trace) -> list[Event]:
    """The events of the fullest of the first rounds: steps of different optimizers, one after the other."""
    kinds = _in_a_round(trace).keys()
    early: dict[int, list[Event]] = {}
    for event in trace.events:
        if event.step < _EARLY and type(event) in kinds:
            early.setdefault(event.step, []).append(event)
    stepped = {step: _optimizers(events) for step, events in early.items()}
    best: list[Event] = []
    for first in sorted(step for step, optimizers in stepped.items() if optimizers):
        events, known, step = list(early[first]), set(stepped[first]), first + 1
        while stepped.get(step) and known.isdisjoint(stepped[step]):
            events += early[step]
            known |= stepped[step]
            step += 1
        if len({_kind(event) for event in events}) > len({_kind(event) for event in best}):
            best = events
    return [*(event for event in best if not _ends_a_round(event)), *filter(_ends_a_round, best)]


def _ends_a_round(event: Event) -> bool:
    """Whether it follows a step, by the number of which it is told to come before the next one."""
    return isinstance(event, SchedulerStepped) or (isinstance(event, ScalerUsed) and event.call == "update")


def _optimizers(events: Iterable[Event]) -> set[int | None]:
    return {event.optimizer for event in events if isinstance(event, OptimizerStepped)}


def _kind(event: Event) -> tuple[object, ...]:
    return type(event), getattr(event, "optimizer", None), getattr(event, "location", None)


def _in_a_round(trace: Trace) -> Tell:
    def forward(event: ForwardRan) -> Said:
        modes = ["train mode" if event.training else "eval mode", *([] if event.grad_enabled else ["no gradients"])]
        return "forward", f"{trace.module_name(event.module)} in {', '.join(modes)}"

    return {
        ForwardRan: forward,
        BackwardRan: lambda event: ("backward", f"from {event.root.name}" if event.root.name else ""),
        GradientsCleared: lambda event: ("clear gradients", event.how),
        GradientsClipped: lambda event: ("clip", f"{event.kind} {event.limit:g}"),
        ScalerUsed: lambda event: ("scaler", event.call),
        OptimizerStepped: lambda event: ("step", trace.optimizer_name(event.optimizer)),
        SchedulerStepped: lambda event: None if event.first else ("schedule", event.name or event.kind),
    }


# ------------------------------------------------------------------------------------------------- what happened once


def _once(trace: Trace) -> Tell:
    spoiled = "a value became NaN or Inf"

    def built(event: OptimizerBuilt) -> Said | None:
        """It is stated again when its name is known."""
        named = f"{event.name} ({event.kind})" if event.name else event.kind
        return ("optimizer built", named) if event is trace.optimizers[event.optimizer] else None

    return {
        OptimizerBuilt: built,
        StateLoaded: lambda event: ("state loaded", event.name),
        ModeSet: lambda event: ("train mode" if event.training else "eval mode", trace.module_name(event.module)),
        NonFiniteProduced: lambda event: (spoiled, f"in {event.operation}"),
        NonFiniteInput: lambda event: ("an input held NaN or Inf", event.tensor.name),
        NonFiniteGradient: lambda event: ("a gradient became NaN or Inf", f"in the backward of {event.operation}"),
        ProgramRaised: lambda event: ("the program raised", f"{event.kind}: {first_line(event.message)}"),
    }
