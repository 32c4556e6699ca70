"""The step life cycle as the trace tells it: derivations that several rules about it share."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import BackwardRan, GradientUse, OptimizerStepped
from autograd_doctor.events.subjects import ParameterGroup, ParametersAdded
from autograd_doctor.findings import Location, Related
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

MEASURES_ONLY = 1e6
"""From this limit on, clipping is a way to read the norm: `clip_grad_norm_(parameters, float("inf"))` and its like."""


def steps_by_optimizer(trace: Trace) -> dict[int | None, list[OptimizerStepped]]:
    """The steps that took effect, by optimizer; updates written by hand are under None."""
    grouped: dict[int | None, list[OptimizerStepped]] = {}
    for step in trace.steps:
        grouped.setdefault(step.optimizer, []).append(step)
    return grouped


def ordinal(event: Event) -> int:
    """The step during which an event happened, counted from 1."""
    return event.step + 1


def called(trace: Trace, optimizer: int | None) -> str:
    """An optimizer in a message: its name in backticks, or plain words for an update written by hand."""
    return trace.optimizer_name(None) if optimizer is None else f"`{trace.optimizer_name(optimizer)}`"


def has_new(use: GradientUse) -> bool:
    """Whether a backward contributed that no earlier step of this optimizer has used."""
    return len(use.backwards) > len(use.consumed)


def new_to_it(use: GradientUse) -> set[int]:
    """The backwards that contributed and that no earlier step, of whichever optimizer, has followed."""
    return set(use.backwards).difference(use.consumed, use.foreign)


def is_empty(use: GradientUse) -> bool:
    """Whether there is no gradient at all: nothing was written since the last clearing, and only zeros are there."""
    return not use.backwards and not any(use.norms)


def is_handmade(use: GradientUse) -> bool:
    """Whether the program put these gradients there by itself."""
    return not use.backwards and any(use.norms) and not use.left_over


def same_objective(trace: Trace, one: int, other: int) -> bool:
    """Whether two backwards ran on the same loss of the program: same call, on a root made by the same line.

    The line that made a root is only known while operations are traced.
    """
    first, second = trace.backwards.get(one), trace.backwards.get(other)
    if first is None or second is None or first.location != second.location:
        return False
    return first.root.made_at is None or second.root.made_at is None or first.root.made_at == second.root.made_at


def left_by_others(trace: Trace, use: GradientUse) -> list[int]:
    """Backwards for another objective on which another optimizer had stepped before the newest backward ran.

    Two optimizers that step at different intervals on one objective accumulate; two losses on one graph are summed.
    """
    newest = use.backwards[-1]
    graph = trace.backwards[newest].reused if newest in trace.backwards else []
    if newest in use.foreign or set(use.foreign) & set(graph):
        return []
    others = [backward for backward in use.foreign if not same_objective(trace, backward, newest)]
    return others if others and _stepped_between(trace, others[0], newest) else []


def _stepped_between(trace: Trace, earlier: int, later: int) -> bool:
    inside = False
    for event in trace.events:
        if isinstance(event, BackwardRan):
            if event.backward == later:
                return False
            inside = inside or event.backward == earlier
        elif inside and isinstance(event, OptimizerStepped) and any(earlier in use.backwards for use in event.uses):
            return True
    return False


def first_backward_on(trace: Trace, parameters: Iterable[int]) -> BackwardRan | None:
    """The first backward that wrote a gradient of any of these parameters."""
    wanted = set(parameters)
    return next((backward for backward in trace.of(BackwardRan) if wanted.intersection(backward.wrote)), None)


def steps_before_backward(trace: Trace, optimizer: int) -> bool:
    """Whether an optimizer took its first step when no backward had reached any of its parameters yet.

    A loop that steps too early and one that clears too early go round in the same circle; they differ in this.
    """
    held = trace.optimizer_parameters.get(optimizer, frozenset())
    for event in trace.events:
        if isinstance(event, OptimizerStepped) and event.optimizer == optimizer:
            return not any(is_handmade(use) for use in event.uses)
        if isinstance(event, BackwardRan) and held.intersection(event.wrote):
            return False
    return False


def prepared(trace: Trace, call: SchedulerStepped, advice: str) -> str:
    """The advice on a schedule, but where an accelerator was not given what it is to step: to give it that."""
    if not call.unprepared or call.optimizer is None:
        return advice
    names = {"optimizer": trace.optimizer_name(call.optimizer), "scheduler": call.name or call.kind}
    left_out = " and ".join(f"`{names[role]}`" for role in call.unprepared)
    return (
        f"also pass {left_out} to `accelerator.prepare(…)`: otherwise Accelerate does not hold it back during gradient "
        "accumulation"
    )


def share(count: int, total: int, noun: str = "step") -> str:
    """How many of how many: "all 12 steps", "3 of 12 steps"."""
    return f"all {plural(total, noun)}" if count == total > 1 else f"{count:,} of {plural(total, noun)}"


def related(*places: tuple[str, Location | None]) -> tuple[Related, ...]:
    """The places that are known, each once."""
    known = {location: message for message, location in reversed(places) if location is not None}
    return tuple(Related(message, location) for location, message in reversed(known.items()))


def groups_of(trace: Trace, optimizer: int) -> list[ParameterGroup]:
    """The parameter groups of an optimizer in their order, with those that were added later."""
    added = [event.group for event in trace.of(ParametersAdded) if event.optimizer == optimizer]
    built = trace.optimizers.get(optimizer)
    return [*(built.groups if built is not None else ()), *added]
