"""What a single number that is made a share of itself, as by a softmax over one, keeps from learning."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.trace import Trace


def behind_lone_shares(trace: Trace) -> set[int]:
    """Parameters that nothing but such shares could teach in all backwards, and that nothing ever taught."""
    behind = {p for event in trace.of(BackwardRan) for p in event.of_one}
    others = (
        {p for event in trace.of(BackwardRan) for p in {*event.wrote}.difference(event.of_one)} if behind else set()
    )
    return behind - others - {p for p in behind if any(trace.gradient_norms.get(p, ()))}


def teaches(trace: Trace, backwards: Iterable[int]) -> bool:
    """Whether a parameter that these backwards wrote to had a gradient in some step."""
    ran = [trace.backwards[backward] for backward in backwards if backward in trace.backwards]
    return any(any(trace.gradient_norms.get(p, ())) for event in ran for p in event.wrote)
