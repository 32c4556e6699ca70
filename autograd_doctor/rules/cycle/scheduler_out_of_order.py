"""AD108: a learning-rate scheduler stepped too early, or drives an optimizer that is not the one stepped."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import ScalerUsed, SchedulerStepped
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.rates import known, rates_of
from autograd_doctor.views.step_cycle import called, ordinal, prepared, related, steps_by_optimizer
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for calls in _calls_by_scheduler(trace).values():
        optimizer = calls[0].optimizer
        if optimizer is None:
            continue
        early = _early(trace, calls, optimizer)
        other = _stepped_instead(trace, calls, optimizer, int(tunables["minimum_repeats"]))
        if other is not None:
            yield _wrong_optimizer(trace, calls, optimizer, other)
        elif early:
            yield _too_early(trace, early, optimizer)


def _calls_by_scheduler(trace: Trace) -> dict[int, list[SchedulerStepped]]:
    grouped: dict[int, list[SchedulerStepped]] = {}
    for call in trace.of(SchedulerStepped):
        if not call.first:
            grouped.setdefault(call.scheduler, []).append(call)
    return grouped


def _early(trace: Trace, calls: list[SchedulerStepped], optimizer: int) -> list[SchedulerStepped]:
    """Calls before the optimizer's first step, at a line that is reached again after it.

    A call that is told where the schedule is, and leaves it at its beginning, does not count, nor one that is told a
    metric: what the untrained model reaches is one, too. A line that only ever runs before winds a schedule forward, as
    programs that resume do; what had stepped before it was watched had taken its first step then. A step that a
    gradient scaler skipped counts: the program did ask for it; and so does one that was not recorded, as the first step
    of an optimizer may be that is built while others train.
    """
    early: list[SchedulerStepped] = []
    for event in trace.events:
        if isinstance(event, SchedulerStepped) and event in calls and event.count > 0 and not event.follows_metric:
            early.append(event)
        elif isinstance(event, OptimizerStepped) and event.optimizer == optimizer and event.given_state:
            return []
        elif _has_stepped(event, optimizer):
            break
    else:
        return []
    again = {call.location for call in calls[len(early) :]}
    return [call for call in early if call.location in again]


def _has_stepped(event: Event, optimizer: int) -> bool:
    if isinstance(event, LightStepsCounted):
        return event.by_optimizer.get(optimizer, 0) > 0
    if isinstance(event, ScalerUsed) and event.call != "step":
        return False
    return isinstance(event, OptimizerStepped | ScalerUsed) and event.optimizer == optimizer


def _stepped_instead(trace: Trace, calls: list[SchedulerStepped], optimizer: int, repeats: int) -> int | None:
    """Another optimizer over the same parameters that steps while the scheduler's own one does not.

    Programs that copy the scheduler's rate to the other optimizer drive it by hand.
    """
    since = calls[0].step
    steps = {other: [s for s in taken if s.step >= since] for other, taken in steps_by_optimizer(trace).items()}
    if len(calls) < repeats or steps.get(optimizer):
        return None
    rates = {rate for call in calls for rate in known(call.learning_rates)}
    mine = trace.optimizer_parameters.get(optimizer, frozenset())
    for other, taken in steps.items():
        if other is None or len(taken) < repeats or mine.isdisjoint(trace.optimizer_parameters[other]):
            continue
        if rates.isdisjoint(rates_of(taken)) or _constant(taken):
            return other
    return None


def _constant(steps: list[OptimizerStepped]) -> bool:
    return len({tuple(step.learning_rates) for step in steps}) == 1


def _subject(call: SchedulerStepped) -> str:
    return call.name or call.kind


def _too_early(trace: Trace, early: list[SchedulerStepped], optimizer: int) -> Finding:
    first = early[0]
    name = trace.optimizer_name(optimizer)
    step = next(step for step in trace.of(OptimizerStepped) if step.optimizer == optimizer)
    return RULE.finding(
        f"`{_subject(first)}` stepped {'once' if len(early) == 1 else f'{len(early)} times'} before `{name}` took its "
        "first step, so that the schedule runs ahead",
        subject=_subject(first),
        location=first.location,
        help=prepared(trace, first, f"call `{_subject(first)}.step()` after `{name}.step()`"),
        evidence={
            "early_calls": len(early),
            "learning_rates": ", ".join(f"{rate:g}" for rate in known(first.learning_rates)),
        },
        related=related((f"the first step of `{name}` came later", step.location)),
        step_first=ordinal(first),
        step_count=len(early),
        parameters=sorted(trace.optimizer_parameters[optimizer]),
    )


def _wrong_optimizer(trace: Trace, calls: list[SchedulerStepped], optimizer: int, other: int) -> Finding:
    first = calls[0]
    built, stepped = trace.optimizers[optimizer], trace.optimizers[other]
    return RULE.finding(
        f"`{_subject(first)}` stepped {plural(len(calls), 'time')} and drives an optimizer that never stepped "
        "meanwhile: "
        f"{called(trace, other)}, over the same parameters, steps in its place at an unscheduled rate",
        subject=_subject(first),
        location=first.location,
        help=f"build the scheduler over `{trace.optimizer_name(other)}`, after that optimizer is built",
        evidence={"calls": len(calls)},
        related=related(
            ("the scheduler's optimizer is built here", built.location),
            ("the optimizer that steps is built here", stepped.location),
        ),
        step_first=ordinal(first),
        step_count=len(calls),
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.8)
    for _ in range(4):
        scheduler.step()  # <- AD108
        for _ in range(3):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_drives_the_old_optimizer() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(4, 1)
            self.optimizer: torch.optim.Optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
            self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

        def epoch(self) -> None:
            for _ in range(3):
                inputs = torch.randn(16, 4)
                loss = (self.model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.scheduler.step()  # <- AD108

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(4):
        trainer.epoch()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.8)
    for _ in range(4):
        for _ in range(3):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


def good_several_times_per_step() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=64)
    processes = 4
    for _ in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for _ in range(processes):
            scheduler.step()


def good_resumed_at_epoch_two() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[4, 8])
    for _ in range(2):
        scheduler.step()
    for _ in range(2, 6):
        for _ in range(3):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


RULE = Rule(
    code="AD108",
    name="scheduler-out-of-order",
    severity="warning",
    title="a scheduler stepped out of order with its optimizer",
    observes=(
        "Each call of a scheduler's `step()` and the steps of the optimizer that it drives: calls in the loop before "
        "that optimizer's first step, and schedulers whose optimizer rests while another one over the same "
        "parameters steps."
    ),
    why=(
        "A schedule that runs ahead skips its first rate, often the highest or the start of the warm-up. One that "
        "drives the wrong optimizer changes nothing: training goes on at a constant rate."
    ),
    fix="Step the optimizer first and the scheduler after it, and build the scheduler over the optimizer that steps.",
    fine=(
        "Wrappers that step a scheduler several times per step, schedules wound forward before training resumes, those "
        "that are told what the untrained model reaches, and first steps that a gradient scaler skipped are not "
        "reported."
    ),
    needs=(LightStepsCounted, OptimizerBuilt, OptimizerStepped, ScalerUsed, SchedulerStepped),
    examine=examine,
    bad=(bad, bad_drives_the_old_optimizer),
    good=(good, good_several_times_per_step, good_resumed_at_epoch_two),
    tunables={
        "minimum_repeats": Tunable(
            2,
            "fewest steps of a scheduler whose optimizer stands still, and of the optimizer that steps instead",
            MORE_THAN_ONCE,
        )
    },
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/optim.html",),
)
