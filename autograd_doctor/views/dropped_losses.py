"""Losses that were computed and never went backward, to explain why parameters have no gradients."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Related
from autograd_doctor.trace import Trace
from autograd_doctor.views.cuts import called

Dropped = LossDropped | TermIdle
"""The latter where nobody read it either."""
ADVICE = (
    "`backward()` never runs on this loss: add it to the loss that is backpropagated, or call `backward()` on it "
    "before the step"
)


def dropped_loss(trace: Trace, parameters: Iterable[int]) -> Dropped | None:
    """Of the scalars with a graph to some of these parameters that never went backward, the one with most of them."""
    wanted = set(parameters)
    used = {(event.location, event.operation) for event in trace.of(TermUsed)}
    losses: list[Dropped] = [*trace.of(LossDropped), *trace.of(TermIdle)]
    fitting = [loss for loss in losses if (loss.location, loss.operation) not in used and wanted & {*loss.parameters}]
    return max(fitting, key=lambda loss: len(wanted & {*loss.parameters}), default=None)


def forgotten_loss(trace: Trace, optimizer: int, parameters: Iterable[int]) -> Dropped | None:
    """The loss that was to teach what an optimizer holds, if all backwards that did were those of other optimizers."""
    others = [step for step in trace.steps if step.optimizer != optimizer]
    theirs = {backward for step in others for use in step.uses for backward in use.backwards}
    wanted = set(parameters)
    own = (ran for ran in trace.of(BackwardRan) if ran.backward not in theirs and not wanted.isdisjoint(ran.wrote))
    return dropped_loss(trace, wanted) if next(own, None) is None else None


def words(loss: Dropped) -> str:
    """What a reader would call it."""
    return f"`{loss.name}`" if loss.name else f"what {called(loss.operation)} made"


def advice(loss: Dropped, optimizer: str) -> str:
    """What to do about it."""
    return f"`backward()` never runs on {words(loss)}: call it before the step of {optimizer}"


def pointer(loss: Dropped | None) -> tuple[Related, ...]:
    """Where it is computed."""
    if loss is None or loss.location is None:
        return ()
    return (Related(f"{words(loss)} is computed here, and `backward()` never runs on it", loss.location),)
