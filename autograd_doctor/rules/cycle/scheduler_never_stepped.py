"""AD118 scheduler-never-stepped: a learning-rate scheduler was built, and the run ended without a step of it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import SchedulerIdle
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import BatchDrawn, LengthShortened, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    if not has_ended(trace):
        return
    idle: dict[Location | None, SchedulerIdle] = {}
    for event in trace.of(SchedulerIdle):
        idle.setdefault(event.location, event)
    for event in idle.values():
        steps = trace.steps_by_optimizer[event.optimizer]
        if steps >= tunables["steps"]:
            yield _finding(trace, event, steps)


def _finding(trace: Trace, event: SchedulerIdle, steps: int) -> Finding:
    name = trace.optimizer_name(event.optimizer)
    return RULE.finding(
        f"the `{event.kind}` that was built for `{name}` here never stepped before the program ended, while the "
        f"optimizer took {plural(steps, 'step')}: its rate never followed the schedule",
        subject=event.kind,
        location=event.location,
        help="call `scheduler.step()` after `optimizer.step()`, once in each epoch or in each step, as the schedule "
        "was made; or leave it out",
        evidence={"steps": steps, "kind": event.kind},
        notes=("a step that waits for a condition, such as the end of a warm-up, may not have been due",),
        step_first=1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)  # <- AD118
    for epoch in range(4):
        for _ in range(6):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        print(epoch, scheduler.get_last_lr())


def good() -> None:
    import torch
    from torch import nn
    from torch.optim import lr_scheduler

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    warm = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=4)
    late = lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warm, late], milestones=[40])
    for _ in range(4):
        for _ in range(6):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        scheduler.step()


def good_with_a_step_of_its_own() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR

    class PerBatch(LambdaLR):
        def step(self, epoch: int | None = None) -> None:
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.99

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = PerBatch(optimizer, lambda step: 1.0)
    for _ in range(24):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        scheduler.step()


RULE = Rule(
    code="AD118",
    name="scheduler-never-stepped",
    severity="info",  # a run that is tried out may end before the first step is due
    title="a learning-rate scheduler never steps",
    observes="Schedulers that were built for an optimizer which stepped, and did not step themselves until the program "
    "ended by itself.",
    why="The rate stays what it was at first: warm-up, decay and restarts do not happen.",
    fix="Call `scheduler.step()` in the loop.",
    fine="Runs that were stopped before the end, parts of a scheduler that steps them in their turn, schedulers "
    "with a `step` of the program's own, and those whose count is moved by hand and that are asked for rates.",
    needs=(BatchDrawn, LengthShortened, LightStepsCounted, OptimizerBuilt, OptimizerStepped, SchedulerIdle),
    examine=examine,
    bad=(bad,),
    good=(good, good_with_a_step_of_its_own),
    tunables={
        "steps": Tunable(
            20,
            "fewest steps of the optimizer without one of its scheduler",
            "chosen: a program that is tried out for a few steps ends before its first epoch does",
        )
    },
    references=("https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",),
)
