"""What a single number that is made a share of itself, as by a softmax over one, keeps from learning."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.trace import Trace


def behind_lone_shares(trace: Trace) -> set[int]:
    """Parameters that nothing but such shares could teach, in each backward that lost their gradient, and that nothing
    ever taught."""
    zeroings = [zeroing for event in trace.of(BackwardRan) for zeroing in event.zeroings]
    others = {p for zeroing in zeroings for p in set(zeroing.parameters).difference(zeroing.of_one)}
    taught = {p for p, norms in trace.gradient_norms.items() if any(norms)}
    return {p for zeroing in zeroings for p in zeroing.of_one} - others - taught


def teaches(trace: Trace, backwards: Iterable[int]) -> bool:
    """Whether a parameter that these backwards wrote to had a gradient in some step."""
    ran = [trace.backwards[backward] for backward in backwards if backward in trace.backwards]
    return any(any(trace.gradient_norms.get(p, ())) for event in ran for p in event.wrote)
