"""What may still change: claims that something never happens, or always, of a run that was left before its end.

A counter, an epoch or a schedule may have it otherwise later: a part that is warmed up first, a term that begins late.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.events.steps import BatchDrawn, Cut, LengthShortened
from autograd_doctor.trace import Trace


def has_ended(trace: Trace) -> bool:
    """Whether the program came to its end, by itself and in all its steps: what had not come by then does not come.

    Where passes over data were cut, what counts its steps came less far than it does without a check.
    """
    was_cut = trace.of(LengthShortened) or any(event.cut for event in trace.of(BatchDrawn))
    return trace.ended_by_itself and not was_cut


def may_learn_later(trace: Trace, parameters: Iterable[int]) -> bool:
    """Whether parameters that do not learn may be waiting for a later stage of the training.

    Only beside others that learn meanwhile: no stage trains nothing; but that of a chapter of a run may be one for
    other things.
    """
    return not has_ended(trace) and (trace.steps_before > 0 or not _learned(trace) <= set(parameters))


def _learned(trace: Trace) -> set[int]:
    """Parameters that a step moved, or that one with a rate above 0 found a gradient of."""
    found: set[int] = set()
    for step in trace.steps:
        found.update(step.moved or ())
        if any(step.learning_rates) or not step.learning_rates:
            found.update(p for use in step.uses for p, norm in zip(use.parameters, use.norms, strict=True) if norm)
    return found


def may_be_undone(trace: Trace, causes: Iterable[Cut | GradSwitch]) -> bool:
    """Whether what these places do may be done otherwise in a later step: a choice of the program's leads to one."""
    return not has_ended(trace) and any(cause.conditional for cause in causes)
