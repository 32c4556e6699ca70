"""Hand-made traces: short words for the events that the tests of rules string together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.data import TargetsSeen
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import GradSwitch, TensorFacts
from autograd_doctor.events.numerics import UpdatesMeasured
from autograd_doctor.events.steps import BackwardRan, ForwardRan, GradientUse, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterGroup, ParameterSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace

LACKS_GRAPH = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"


def examined(rule: Rule, *happened: Event | Iterable[Event]) -> list[Finding]:
    """What a rule, with its default tunables, finds in a trace of these events."""
    events = [event for item in happened for event in ((item,) if isinstance(item, Event) else item)]
    return list(rule.examine(Trace.of_events(*events), rule.defaults))


def in_order(*happened: Event | Iterable[Event]) -> list[Event]:
    """Numbered as a recording numbers them, for rules that ask what came before what."""
    events = [event for item in happened for event in ((item,) if isinstance(item, Event) else item)]
    return [msgspec.structs.replace(event, sequence=number) for number, event in enumerate(events, start=1)]


def at(line: int) -> Location:
    return Location(path="train.py", line=line)


def seen(number: int, name: str, *, shape: tuple[int, ...] = (4, 4), **more: Any) -> ParameterSeen:
    facts = {"dtype": "float32", "requires_grad": True, **more}
    return ParameterSeen(parameter=number, name=name, shape=list(shape), **facts)


def built(*parameters: int, optimizer: int = 0, line: int = 5) -> OptimizerBuilt:
    return OptimizerBuilt(
        optimizer=optimizer,
        name="optimizer",
        kind="SGD",
        location=at(line),
        groups=[ParameterGroup(parameters=list(parameters), lr=0.1)],
    )


def backward(step: int = 0, *, line: int = 20, **more: Any) -> BackwardRan:
    facts = {"kind": "backward", "root": TensorFacts(shape=[], dtype="float32", name="loss"), **more}
    return BackwardRan(step=step, backward=step, location=at(line), **facts)


def stepped(step: int = 0, norms: dict[int, float] | None = None, *, optimizer: int | None = 0, **more: Any) -> Event:
    """A step that found gradients of these norms."""
    norms = norms or {}
    uses = [GradientUse(parameters=list(norms), backwards=[step], norms=list(norms.values()))] if norms else []
    return OptimizerStepped(step=step, optimizer=optimizer, location=at(21), uses=uses, **more)


def module(number: int, *parameters: int, name: str = "model", **more: Any) -> ModuleSeen:
    facts = {"kind": "Model", "location": at(10), **more}
    return ModuleSeen(module=number, name=name, parameters=list(parameters), **facts)


def forward(step: int = 0, *, number: int = 0, line: int = 18, **more: Any) -> ForwardRan:
    """A training pass, unless said otherwise."""
    facts = {"training": True, "grad_enabled": True, "builds_graph": True, **more}
    return ForwardRan(step=step, module=number, location=at(line), **facts)


def switch(form: str = "block", *, kind: str = "no_grad", line: int = 12) -> GradSwitch:
    return GradSwitch(kind=kind, form=form, location=at(line), function="forward" if form == "decorator" else "")


def steps(count: int, norms: dict[int, float], **more: Any) -> list[Event]:
    """So many rounds of a backward that wrote to the parameters of `norms`, and a step that used them."""
    wrote = list(norms)
    facts = {"values": wrote, "reached": wrote, "wrote": wrote, **more.pop("backward", {})}
    return [event for step in range(count) for event in (backward(step, **facts), stepped(step, norms, **more))]


def updated(step: int, updates: dict[int, float], *, weight: float = 1.0, optimizer: int = 0) -> UpdatesMeasured:
    """What a step added to parameters whose values were all of one size."""
    weights = [weight] * len(updates)
    return UpdatesMeasured(
        step=step, optimizer=optimizer, parameters=list(updates), weights=weights, updates=list(updates.values())
    )


def clipped(*parameters: int, norm: float | None = 10.0, limit: float = 1.0, kind: str = "norm") -> GradientsClipped:
    held = list(parameters)
    facts = {"fresh": held, "missing": [], "location": at(21)}
    return GradientsClipped(parameters=held, limit=limit, norm=norm, kind=kind, **facts)  # type: ignore[arg-type]


def targets_seen(**more: Any) -> TargetsSeen:
    facts: dict[str, Any] = {"location": at(12), "operation": "cross_entropy", "name": "y", "since": 0, "steps": 10}
    facts |= {"elements": 400, "classes": {0: 400}, "class_count": 1, "low": 0.0, "high": 0.0, "logits": 3}
    facts |= {"all_ignored": 0, "ignore_index": -100, "weighted": False, "per_sample": True, "stateful": False}
    facts |= {"source": "drawn", "chosen_at": at(3), "rows": 400, "in_order": False, "loader": "loader"}
    return TargetsSeen(**{**facts, "clustered": 0.0, "deviations": 0.0, **more})
