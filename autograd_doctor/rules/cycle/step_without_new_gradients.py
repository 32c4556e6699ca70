"""AD103: an optimizer stepped although no backward had reached its parameters since its last step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.steps import BackwardRan, ForwardRan, GradientsCleared, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.dropped_losses import advice, forgotten_loss, pointer
from autograd_doctor.views.step_cycle import (
    called,
    first_backward_on,
    is_handmade,
    ordinal,
    related,
    share,
    steps_before_backward,
    steps_by_optimizer,
)
from autograd_doctor.wording import plural

Steps = list[OptimizerStepped]

_STAGE = 10
"""Recorded steps that make a stage of training."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    written = {number for ran in trace.of(BackwardRan) if ran.kind == "backward" for number in ran.wrote}
    for optimizer, steps in steps_by_optimizer(trace).items():
        if optimizer is None or not _could_learn(trace, optimizer):
            continue
        with_new = _with_new(steps) | _retried(trace, steps)
        for at_one_place in _by_place(steps).values():
            without_new = [step for step in at_one_place if id(step) not in with_new]
            again = [step for step in without_new if _found_old(step) and written.intersection(_fed(step))]
            if len(again) >= tunables["minimum_repeats"]:
                yield _stepped_again(trace, optimizer, len(at_one_place), again)
            elif len(without_new) >= tunables["minimum_repeats"] and len(without_new) == len(at_one_place):
                if not _wind_a_schedule(trace, without_new):
                    yield _ran_on_nothing(trace, optimizer, without_new, len(steps))
            elif id(at_one_place[0]) not in with_new and _one_batch_late(
                trace, optimizer, at_one_place, int(tunables["minimum_repeats"])
            ):
                yield _delayed(trace, optimizer, at_one_place)
    idle = _since_when_none(trace, _STAGE)
    if idle:
        yield _stopped(trace, idle)


def _since_when_none(trace: Trace, minimum: int) -> Steps:
    """The steps behind the last one that found a new gradient, of whatever optimizer, if there are many of both kinds.

    Where the loss has reached zero and no backward is called any more, there is nothing to be found.
    """
    with_new = {number for steps in steps_by_optimizer(trace).values() for number in _with_new(steps)}
    trained = [at for at, step in enumerate(trace.steps) if id(step) in with_new or step.optimizer is None]
    idle = [step for step in trace.steps[max(trained, default=-1) + 1 :] if step.uses or step.missing]
    lasts = len(idle) >= minimum and len(_backwards_since(trace, idle[0])) >= minimum
    return idle if lasts and len(with_new) >= minimum else []


def _backwards_since(trace: Trace, step: OptimizerStepped) -> list[BackwardRan]:
    ran = (event for event in trace.of(BackwardRan) if event.kind == "backward" and not event.error)
    return [event for event in ran if event.sequence > step.sequence]


def _stopped(trace: Trace, idle: Steps) -> Finding:
    first, last = idle[0], idle[-1]
    optimizer = first.optimizer
    held = trace.optimizer_parameters.get(optimizer, frozenset()) if optimizer is not None else frozenset()
    since = _backwards_since(trace, first)
    others = sorted({p for backward in since for p in backward.wrote} - trace.optimized)
    backward = next((backward for backward in since if not others or set(others) & set(backward.wrote)), None)
    taught = f"; backwards since then reach {trace.parameter_names(others)}, which no optimizer holds" if others else ""
    return RULE.finding(
        f"from step {ordinal(first)} to step {ordinal(last)}, {called(trace, optimizer)} found no new gradient for any "
        f"parameter, and nothing else was trained, although it was before{taught}",
        subject=trace.optimizer_name(optimizer),
        location=first.location,
        help="check what happened to the model at that step: the loss must be computed from the parameters that the "
        "optimizer holds, with a graph",
        evidence={"steps": last.step - first.step + 1, "recorded": len(idle)},
        related=related(("this backward does not reach what it holds", backward.location if backward else None)),
        step_first=ordinal(first),
        step_count=last.step - first.step + 1,
        parameters=sorted(held),
    )


def _could_learn(trace: Trace, optimizer: int) -> bool:
    """Whether a missing gradient is a matter of the step.

    Backwards that miss these parameters have other causes, unless the parameters have a loss that never went backward.
    """
    held = trace.optimizer_parameters[optimizer]
    if not trace.of(BackwardRan) or not trace.learning.isdisjoint(held):
        return True
    taken_in = {parameter for backward in trace.of(BackwardRan) for parameter in backward.values or ()}
    return held.isdisjoint(taken_in | trace.connected) and forgotten_loss(trace, optimizer, held) is not None


def _by_place(steps: Steps) -> dict[Location | None, Steps]:
    grouped: dict[Location | None, Steps] = {}
    for step in steps:
        if not (step.in_closure or step.in_backward) and (step.uses or step.missing):
            grouped.setdefault(step.location, []).append(step)
    return grouped


def _with_new(steps: Steps) -> set[int]:
    """Identities of the steps that found a gradient which this optimizer, whatever others did, had not used yet.

    One whose steps move nothing uses nothing up.
    """
    with_new, used = set(), set[int]()
    if _moves_nothing(steps):
        return {id(step) for step in steps if _found_old(step) or any(map(is_handmade, step.uses))}
    for step in steps:
        if any(not used.issuperset(use.backwards) or is_handmade(use) or use.altered for use in step.uses):
            with_new.add(id(step))
        used.update(backward for use in step.uses for backward in use.backwards)
    return with_new


def _moves_nothing(steps: Steps) -> bool:
    """Whether no step moved a parameter that was looked at, found gradients and had a rate: it may move momenta."""
    looked = [step for step in steps if step.moved is not None and any(any(use.norms) for use in step.uses)]
    with_rate = [step for step in looked if any(rate != 0 for rate in step.learning_rates)]
    return bool(with_rate) and not any(step.moved for step in looked)


def _retried(trace: Trace, steps: Steps) -> set[int]:
    """Identities of the steps that try once more how far to go, from the old values or at a rate of the program's, and
    of those that are taken back before the next one, as a look ahead is.

    A schedule that has stepped in between says nothing of a second step. Values are compared in a few steps only: what
    all of these do at a line, the others do as well.
    """
    scheduled = [event.sequence for event in trace.of(SchedulerStepped)]
    found = set()
    for before, step in pairwise(steps):
        by_schedule = any(before.sequence < at < step.sequence for at in scheduled)
        other_rate = before.learning_rates != step.learning_rates and not by_schedule
        if _found_old(step) and (step.undone or other_rate):
            found.add(id(step))
        if _found_old(before) and step.undone:
            found.add(id(before))
    compared = [step for step, after in pairwise(steps) if step.moved is not None and after.moved is not None]
    for at_one_place in _by_place(steps).values():
        old = [step for step in at_one_place if _found_old(step)]
        looked_at = {id(step) for step in old} & {id(step) for step in compared}
        if looked_at and looked_at <= found:
            found.update(map(id, old))
    return found


def _found_old(step: OptimizerStepped) -> bool:
    return any((use.backwards or use.left_over) and any(use.norms) for use in step.uses)


def _wind_a_schedule(trace: Trace, steps: Steps) -> bool:
    """Whether nothing is computed from one of them to the next, only a schedule goes on: to where a run had been, or to
    be drawn."""
    span = range(steps[0].sequence, steps[-1].sequence)
    computed = any(event.sequence in span for event in (*trace.of(ForwardRan), *trace.of(BackwardRan)))
    scheduled = sum(event.sequence in span for event in trace.of(SchedulerStepped))
    return not computed and scheduled >= len(steps) - 1


def _fed(step: OptimizerStepped) -> set[int]:
    """What it found gradients for. Where no backward ever writes one, the program decides how long to go on with it."""
    return {parameter for use in step.uses for parameter in use.parameters}


def _one_batch_late(trace: Trace, optimizer: int, steps: Steps, repeats: int) -> bool:
    """Whether the first step found nothing, and each later one the gradients of the batch before its own.

    A forward pass in training between the newest backward and the step gives that away.
    """
    if len(steps) <= repeats or not steps_before_backward(trace, optimizer):
        return False
    held = trace.optimizer_parameters[optimizer]
    late, forward_since = [], False
    for event in trace.events:
        if isinstance(event, BackwardRan):
            forward_since = False
        elif isinstance(event, ForwardRan):
            module = trace.modules.get(event.module)
            forward_since |= event.builds_graph and module is not None and not held.isdisjoint(module.parameters)
        elif event in steps:
            late.append(forward_since)
    return all(late[1:])


def _ran_on_nothing(trace: Trace, optimizer: int, without_new: Steps, total: int) -> Finding:
    first = without_new[0]
    held = [*first.missing, *(parameter for use in first.uses for parameter in use.parameters)]
    backward = first_backward_on(trace, held)
    loss = forgotten_loss(trace, optimizer, held)
    never = not trace.of(BackwardRan)
    if never:
        seen, wanted = "and `backward()` was never called", "call `loss.backward()` before the step"
    elif loss is not None:
        seen, wanted = "and no backward was meant for it", advice(loss, called(trace, optimizer))
    elif steps_before_backward(trace, optimizer):
        seen, wanted = "before the backward that was to feed it", "move the step after `backward()`"
    else:
        seen = "since the gradients had been used, or cleared, before"
        wanted = "step once per backward, and before the gradients are cleared"
    return RULE.finding(
        f"{called(trace, optimizer)} stepped without a gradient for any of its {plural(len(held), 'parameter')}, "
        f"{seen}, in "
        f"{share(len(without_new), total)}",
        subject=trace.optimizer_name(optimizer),
        location=first.location,
        help=wanted,
        evidence={"steps": len(without_new), "without_gradient": len(first.missing)},
        related=pointer(loss)
        or related(("the backward that reaches these parameters", backward.location if backward else None)),
        step_first=ordinal(first),
        step_count=len(without_new),
        parameters=held,
    )


def _stepped_again(trace: Trace, optimizer: int, total: int, again: Steps) -> Finding:
    first = again[0]
    held = [parameter for use in first.uses for parameter in use.parameters]
    newest = next((use.backwards[-1] for use in first.uses if use.backwards), None)
    source = trace.backwards.get(newest) if newest is not None else None
    return RULE.finding(
        f"{called(trace, optimizer)} stepped once more on gradients that it had used already, with no backward in "
        f"between, in {share(len(again), total)} at this line",
        subject=trace.optimizer_name(optimizer),
        location=first.location,
        help="take this step out, or compute new gradients before it",
        evidence={"steps": len(again)},
        related=related(("the gradients are those of this backward", source.location if source else None)),
        step_first=ordinal(first),
        step_count=len(again),
        parameters=held,
    )


def _delayed(trace: Trace, optimizer: int, steps: Steps) -> Finding:
    held = [*steps[0].missing, *(parameter for use in steps[0].uses for parameter in use.parameters)]
    backward = first_backward_on(trace, held)
    return RULE.finding(
        f"{called(trace, optimizer)} stepped before the backward of its own batch: on nothing in step "
        f"{ordinal(steps[0])}, and on the gradients of the batch before in the {plural(len(steps) - 1, 'step')} after "
        "it",
        subject=trace.optimizer_name(optimizer),
        location=steps[0].location,
        help="move the step after `backward()`",
        confidence="medium",
        evidence={"steps": len(steps)},
        related=related(("the backward of the batch comes later", backward.location if backward else None)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=held,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.step()  # <- AD103
        loss.backward()


def bad_forgotten_backward() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        optimizer.step()  # <- AD103
    print(loss.item())


def bad_step_twice() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(4, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

        def optimize(self, loss: torch.Tensor) -> None:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(8):
        inputs = torch.randn(16, 4)
        trainer.optimize((trainer.model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean())
        trainer.optimizer.step()  # <- AD103


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()


def good_experts_that_take_turns() -> None:
    import torch

    torch.manual_seed(0)
    experts = [torch.nn.Linear(4, 1) for _ in range(3)]
    optimizers = [torch.optim.SGD(expert.parameters(), lr=0.01) for expert in experts]
    for batch in range(12):
        inputs = torch.randn(16, 4)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(experts[batch % 3](inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()


def good_closure() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)

        def closure(inputs: torch.Tensor = inputs) -> float:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            loss.backward()
            return loss.item()

        optimizer.step(closure)


RULE = Rule(
    code="AD103",
    name="step-without-new-gradients",
    severity="error",
    title="an optimizer stepped with no new gradients to step on",
    observes=(
        "What each step finds: gradients that no step has used yet, gradients that the optimizer has used already, "
        "or none at all. It is a fault if a line steps on nothing every time, or on used gradients repeatedly; or if "
        "no optimizer finds a new gradient from some step on, while backwards go on."
    ),
    why="The step does nothing, repeats the last update, or follows the batch before, while the loop looks complete.",
    fix="Keep the order `zero_grad()`, forward, `backward()`, `step()`, with one step per backward or group of them.",
    fine=(
        "Closures, gradients that the program computes by itself, steps that a gradient scaler skips, trials of a line "
        "search at several rates or from the same values, a look ahead that is taken back, steps on nothing by which a "
        "schedule is wound forward or drawn, experts or heads that take part in some batches only, and optimizers of "
        "which no step moves a parameter, as where they move momenta, are not reported."
    ),
    needs=(
        BackwardRan,
        ForwardRan,
        GradientsCleared,
        OptimizerBuilt,
        OptimizerStepped,
        SchedulerStepped,
        LossDropped,
        TermIdle,
        TermUsed,
    ),
    examine=examine,
    bad=(bad, bad_forgotten_backward, bad_step_twice),
    good=(good, good_experts_that_take_turns, good_closure),
    tunables={"minimum_repeats": Tunable(2, "fewest steps that found no new gradient", MORE_THAN_ONCE)},
    needs_phases=(),
    folds=("AD111", "AD203", "AD116", "AD219"),
    about="loop",
)
