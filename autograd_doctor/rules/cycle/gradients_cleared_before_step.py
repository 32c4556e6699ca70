"""AD102: what a backward had computed was cleared before the step that should have used it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.events.cycle import GradientsTakenIn, ScalerUsed
from autograd_doctor.events.steps import BackwardRan, BatchDrawn, GradientsCleared, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.dropped_losses import advice, forgotten_loss, pointer
from autograd_doctor.views.step_cycle import (
    called,
    has_new,
    is_empty,
    ordinal,
    related,
    same_objective,
    share,
    steps_before_backward,
    steps_by_optimizer,
)
from autograd_doctor.wording import plural

_PASSES = 2
"""Incomplete windows that tell how many steps a pass has."""

Loss = tuple[OptimizerStepped, GradientsCleared, BackwardRan, list[int]]
"""A step, the clearing before it, the backward whose gradients were lost, and the parameters that lost them."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, steps in steps_by_optimizer(trace).items():
        if optimizer is None or steps_before_backward(trace, optimizer):
            continue
        losses = _losses(trace, optimizer)
        emptied = [loss for loss in losses if _ran_on_nothing(loss)]
        overwritten = [loss for loss in losses if _kept_only_the_last(trace, loss)]
        if len(emptied) >= tunables["minimum_repeats"]:
            is_rule = _at_every_one(trace, emptied, steps)
            yield _emptied(trace, optimizer, len(steps), emptied, at_times=not is_rule)
        elif len(overwritten) >= tunables["minimum_repeats"] and _at_every_one(trace, overwritten, steps):
            yield _overwritten(trace, optimizer, overwritten)
        elif len(losses) >= tunables["minimum_repeats"] and _at_every_one(trace, losses, steps):
            yield from _stepped_on_nothing(trace, optimizer, losses)
        elif not any(drawn.cut for drawn in trace.of(BatchDrawn)):  # else the doctor itself made passes shorter
            yield from _left_over(trace, optimizer, [loss for loss in losses if _is_of_a_window(trace, loss)], steps)


def _losses(trace: Trace, optimizer: int) -> list[Loss]:
    """Per step, the latest clearing since the step before that threw away gradients of its parameters."""
    held = trace.optimizer_parameters[optimizer]
    wrote: dict[int, BackwardRan] = {}
    lost: tuple[GradientsCleared, BackwardRan, list[int]] | None = None
    found = []
    for event in trace.events:
        if isinstance(event, BackwardRan):
            wrote.update(dict.fromkeys(held.intersection(event.wrote), event))
        elif isinstance(event, GradientsCleared):
            unused = [parameter for parameter in event.unused if parameter in wrote]
            lost = (event, wrote[unused[0]], unused) if unused else lost
        elif (
            isinstance(event, ScalerUsed) and event.call == "step" and event.optimizer == optimizer and event.found_inf
        ):
            lost = None
        elif isinstance(event, OptimizerStepped) and event.optimizer == optimizer:
            if lost and not event.skipped:
                found.append((event, *lost))
            lost = None
    return found


def _at_every_one(trace: Trace, losses: Sequence[Loss], steps: Sequence[OptimizerStepped]) -> bool:
    """Whether gradients were lost before each of the steps; nobody knows of one after a gap between recorded steps."""
    recorded = {step.step for step in trace.of(OptimizerStepped)}
    lost = {step.step for step, *_ in losses}
    return all(step.step in lost for step in steps if step.step == 0 or step.step - 1 in recorded)


def _ran_on_nothing(loss: Loss) -> bool:
    """Whether the step found nothing where the gradients had been, nor anything newer elsewhere.

    Leftovers and probing passes are cleared too, but other backwards come after them.
    """
    step, _, backward, parameters = loss
    present = {parameter for use in step.uses if not is_empty(use) for parameter in use.parameters}
    newer = any(has_new(use) and use.backwards[-1] != backward.backward for use in step.uses)
    return not newer and not _rests(loss) and present.isdisjoint(parameters)


def _rests(loss: Loss) -> bool:
    """Whether the step used what the same backward had given other parameters: only a part was taken away.

    Taking the gradients of single parameters away, and stepping the others, is how a layer is made to rest for a while.
    """
    step, _, backward, _ = loss
    return any(has_new(use) and use.backwards[-1] == backward.backward for use in step.uses)


def _kept_only_the_last(trace: Trace, loss: Loss) -> bool:
    """Whether micro-batches of one objective were backpropagated and all but the last one thrown away.

    A backward that also wrote gradients of an input was there to probe, and a closure runs anew for every evaluation.
    One that another optimizer's step has used was its turn: these parameters rested, and have turns of their own.
    Where parameters were moved in between, the next backward ran at another point, to which these had shown the way.
    A gradient from which something was computed was wanted for that, and one that was changed before the step may have
    got back what was kept of the others.
    """
    step, cleared, backward, parameters = loss
    uses = [use for use in step.uses if has_new(use) and set(use.parameters) & set(parameters)]
    return (
        bool(uses)
        and not step.in_closure
        and not cleared.moved
        and all(len(use.backwards) == 1 and not use.reworked for use in uses)
        and all(same_objective(trace, backward.backward, use.backwards[0]) for use in uses)
        and trace.optimized.issuperset(backward.wrote)
        and not _was_used(trace, backward)
        and all(taken.backward != backward.backward for taken in trace.of(GradientsTakenIn))
    )


def _is_of_a_window(trace: Trace, loss: Loss) -> bool:
    """Whether what was lost had been gathered for a step that never came: fewer backwards of the same objective."""
    step, cleared, backward, parameters = loss
    uses = [use for use in step.uses if has_new(use)]
    return (
        bool(uses)
        and {parameter for use in uses for parameter in use.parameters} == set(parameters)
        and not step.in_closure
        and not cleared.moved
        and all(same_objective(trace, backward.backward, number) for use in uses for number in use.backwards)
        and trace.optimized.issuperset(backward.wrote)
        and not _was_used(trace, backward)
    )


def _left_over(
    trace: Trace, optimizer: int, losses: Sequence[Loss], steps: Sequence[OptimizerStepped]
) -> Iterator[Finding]:
    """Windows of an accumulation that each pass leaves incomplete: after as many steps, as many backwards.

    What is thrown away because it is not finite, or too large, comes at no such times.
    """
    last = {step.step: max(use.backwards[-1] for use in step.uses if has_new(use)) for step in steps if _sums(step)}
    sizes = {len(use.backwards) for step in steps for use in step.uses if has_new(use)}
    losses = [loss for loss in losses if loss[1].step - 1 in last]
    if len({cleared.step for _, cleared, *_ in losses}) < _PASSES or len(sizes) != 1 or len(last) < len(steps):
        return
    left = {backward.backward - last[cleared.step - 1] for _, cleared, backward, _ in losses}
    every, size = losses[0][1].step, sizes.pop()
    lost = {step.step for step, *_ in losses}
    due = {step.step for step in steps if step.step and step.step % every == 0 and step.step - 1 in last}
    if lost == due and len(left) == 1 and 0 < min(left) < size:
        yield _incomplete(trace, optimizer, losses, every, size, min(left))


def _sums(step: OptimizerStepped) -> bool:
    """Whether it used the gradients of several backwards, and of no others."""
    return any(map(has_new, step.uses)) and all(len(use.backwards) > 1 for use in step.uses if has_new(use))


def _was_used(trace: Trace, backward: BackwardRan) -> bool:
    """Whether a step found gradients of this backward, if only of other parameters."""
    return any(backward.backward in use.backwards for step in trace.steps for use in step.uses)


def _stepped_on_nothing(trace: Trace, optimizer: int, losses: list[Loss]) -> Iterator[Finding]:
    """Parameters that lose their gradients before every step, while no step of any optimizer ever finds one."""
    found = {p for step in trace.steps for use in step.uses if not is_empty(use) for p in use.parameters}
    parameters = [p for p in losses[0][3] if p not in found and all(p in loss[3] for loss in losses)]
    if parameters and not all(map(_rests, losses)):
        first, cleared, backward, _ = losses[0]
        empty = [(first, cleared, backward, parameters), *losses[1:]]
        yield _emptied(trace, optimizer, len(losses), empty, left="found none of them")


def _emptied(
    trace: Trace,
    optimizer: int,
    total: int,
    losses: list[Loss],
    left: str = "ran on nothing",
    *,
    at_times: bool = False,
) -> Finding:
    """at_times: other steps found their gradients, so that these may have been dropped under some condition."""
    first, cleared, backward, parameters = losses[0]
    loss = forgotten_loss(trace, optimizer, parameters)
    return RULE.finding(
        f"the gradients of {trace.parameter_names(parameters)} were cleared between `backward()` and the step of "
        f"{called(trace, optimizer)}, which {left} in {share(len(losses), total)}",
        subject=trace.optimizer_name(optimizer),
        location=cleared.location,
        help="move the clearing before `backward()`, or after the step"
        if loss is None
        else advice(loss, called(trace, optimizer)),
        severity="info" if at_times else None,
        confidence="low" if at_times else "high",
        notes=("other steps found their gradients: if outliers were dropped here, or a turn skipped, all is well",)
        if at_times
        else (),
        evidence={"steps": len(losses), "cleared_by": cleared.how},
        related=pointer(loss)
        + related(
            ("the gradients came from this backward", backward.location),
            ("this step found none of them", first.location),
        ),
        step_first=ordinal(first),
        step_count=len(losses),
        parameters=parameters,
    )


def _overwritten(trace: Trace, optimizer: int, losses: list[Loss]) -> Finding:
    first, cleared, backward, parameters = losses[0]
    return RULE.finding(
        f"gradients were cleared after each backward, so that every step of {called(trace, optimizer)} used the last "
        f"of several backwards only, in all {plural(len(losses), 'step')}",
        subject=trace.optimizer_name(optimizer),
        location=cleared.location,
        help="to accumulate gradients over several backwards, clear them only once per step",
        severity="warning",
        confidence="medium",
        evidence={"steps": len(losses), "cleared_by": cleared.how},
        related=related(
            ("gradients of this backward were lost", backward.location), ("the step came here", first.location)
        ),
        step_first=ordinal(first),
        step_count=len(losses),
        parameters=parameters,
    )


def _incomplete(trace: Trace, optimizer: int, losses: Sequence[Loss], every: int, size: int, left: int) -> Finding:
    first, cleared, backward, parameters = losses[0]
    often = f"{every} steps" if every > 1 else "step"
    return RULE.finding(
        f"after every {often} of {called(trace, optimizer)}, each on {size} backwards, the gradients of {left} more "
        f"were cleared before a step could use them: {left} of {every * size + left} backwards taught nothing",
        subject=trace.optimizer_name(optimizer),
        location=cleared.location,
        help="step on the last of them as well, at the end of the pass, or have as many batches as fill the windows",
        severity="info",
        evidence={"times": len(losses), "backwards_lost": left, "window": size, "cleared_by": cleared.how},
        related=related(("their gradients came from here", backward.location), ("the steps come here", first.location)),
        step_first=ordinal(first),
        step_count=len(losses),
        parameters=parameters,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.zero_grad()  # <- AD102
        optimizer.step()


def bad_zeros_with_momentum() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

        def backward(self, loss: torch.Tensor) -> None:
            loss.backward()
            self.model.zero_grad(set_to_none=False)  # <- AD102

        def train(self) -> None:
            for _ in range(8):
                inputs = torch.randn(16, 4)
                self.backward((self.model(inputs) - inputs.amax(dim=1, keepdim=True)).square().mean())
                self.optimizer.step()

    torch.manual_seed(0)
    Trainer().train()


def bad_inside_a_closure() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def closure() -> torch.Tensor:
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.zero_grad()  # <- AD102
        return loss

    for _ in range(8):
        optimizer.step(closure)


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_saliency_before_each_step() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4, requires_grad=True)
        model(inputs).sum().backward()
        harder = (inputs + 0.05 * inputs.grad.sign()).detach() if inputs.grad is not None else inputs
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(harder), harder.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()


def good_bad_batches_thrown_away() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in range(12):
        inputs = torch.randn(16, 4) * (50.0 if batch % 4 == 1 else 1.0)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if norm < 100:
            optimizer.step()
        optimizer.zero_grad()


RULE = Rule(
    code="AD102",
    name="gradients-cleared-before-step",
    severity="error",
    title="gradients were thrown away before any step could use them",
    observes=(
        "Gradients that a finished backward had written, that no step had used, and that were cleared. It is a fault "
        "if the next step of their optimizer then found nothing, repeatedly, or if it never found any of these "
        "gradients. Also, as a warning, accumulation in which every micro-batch but the last is cleared; and worth "
        "knowing, accumulation of which each pass leaves fewer backwards over than make a step, and clears them."
    ),
    why="The work of the backward is lost: the step moves nothing, or moves weights by momentum and decay alone.",
    fix="Clear before `backward()` or after `step()`, never between them.",
    fine=(
        "The gradients that a generator's loss leaves in its critic, those of a saliency or adversarial pass, and "
        "batches that are thrown away now and then are cleared on purpose: the step that follows has its own. So are "
        "those of parameters that do not train while another optimizer has its turn on the same loss, or while others "
        "learn from it, those that were used to move to another point, as in sharpness-aware minimisation, and those "
        "of micro-batches that something was computed from before, as the noise in them, or a sum kept elsewhere."
    ),
    needs=(
        BackwardRan,
        BatchDrawn,
        GradientsCleared,
        GradientsTakenIn,
        OptimizerBuilt,
        OptimizerStepped,
        ScalerUsed,
        LossDropped,
        TermIdle,
        TermUsed,
    ),
    examine=examine,
    bad=(bad, bad_zeros_with_momentum, bad_inside_a_closure),
    good=(good, good_saliency_before_each_step, good_bad_batches_thrown_away),
    tunables={"minimum_repeats": Tunable(2, "fewest steps whose gradients were cleared before", MORE_THAN_ONCE)},
    folds=("AD103", "AD104", "AD105", "AD111", "AD116", "AD219", "AD410"),
    about="loop",
)
