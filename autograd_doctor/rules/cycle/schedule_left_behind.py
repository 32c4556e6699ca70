"""AD119 schedule-left-behind: a run goes on from a file, and the schedule of its learning rate begins anew."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import ScheduleLeftBehind
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import called, ordinal, related
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(ScheduleLeftBehind):
        yield RULE.finding(
            _message(trace, event),
            subject=trace.optimizer_name(event.optimizer),
            location=event.loaded_at or event.made_at,
            severity="info" if event.level else None,
            confidence="low" if event.level else "high" if event.steps else "medium",
            notes=("a schedule of another shape may be meant: no file keeps its function",) if event.level else (),
            help=("" if event.steps else "save the state of the scheduler beside that of the optimizer, and ")
            + "load the state of the scheduler as well: `scheduler.load_state_dict(checkpoint["
            f"{event.entry or 'scheduler'!r}])`",
            evidence={**({"steps_in_the_file": event.steps} if event.steps else {}), "steps_now": 0},
            related=related(("the scheduler was made here", event.made_at)),
            step_first=ordinal(event),
        )


def _message(trace: Trace, event: ScheduleLeftBehind) -> str:
    rates = ", ".join(f"{rate:.3g}" for rate in event.learning_rates if rate is not None)
    if not event.steps:
        return (
            f"{called(trace, event.optimizer)} got its state from a file that was written in the middle of a schedule, "
            f"at a rate of {rates}, and holds no state of that; it went on with a new schedule that had taken no step"
        )
    entry = f"`{event.entry}`" if event.entry else "an entry"
    return (
        f"{called(trace, event.optimizer)} got its state from a file in which {entry} holds a schedule after "
        f"{plural(event.steps, 'step')}; it went on with a new schedule that had taken none"
        + (f", at a rate of {rates}" if rates else "")
        + (", as the file has it" if event.level else "")
    )


def bad() -> None:
    import io

    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ExponentialLR

    def build() -> tuple[nn.Linear, torch.optim.SGD, ExponentialLR]:
        torch.manual_seed(0)
        model = nn.Linear(6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return model, optimizer, ExponentialLR(optimizer, 0.8)

    def train(model: nn.Linear, optimizer: torch.optim.SGD, scheduler: ExponentialLR) -> None:
        for _ in range(5):
            x = torch.randn(16, 6)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()

    file = io.BytesIO()
    model, optimizer, scheduler = build()
    train(model, optimizer, scheduler)
    states = {"model": model.state_dict(), "opt": optimizer.state_dict(), "sched": scheduler.state_dict()}
    torch.save(states, file)
    file.seek(0)
    checkpoint = torch.load(file)
    model, optimizer, scheduler = build()
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["opt"])  # <- AD119
    train(model, optimizer, scheduler)


def good() -> None:
    import io

    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ExponentialLR

    def build() -> tuple[nn.Linear, torch.optim.SGD, ExponentialLR]:
        torch.manual_seed(0)
        model = nn.Linear(6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return model, optimizer, ExponentialLR(optimizer, 0.8)

    def train(model: nn.Linear, optimizer: torch.optim.SGD, scheduler: ExponentialLR) -> None:
        for _ in range(5):
            x = torch.randn(16, 6)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()

    file = io.BytesIO()
    model, optimizer, scheduler = build()
    train(model, optimizer, scheduler)
    states = {"model": model.state_dict(), "opt": optimizer.state_dict(), "sched": scheduler.state_dict()}
    torch.save(states, file)
    file.seek(0)
    checkpoint = torch.load(file)
    model, optimizer, scheduler = build()
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["opt"])
    scheduler.load_state_dict(checkpoint["sched"])
    train(model, optimizer, scheduler)


def good_fine_tuning_from_weights() -> None:
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    file = io.BytesIO()
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rate in (0.1, 0.01):
        for group in optimizer.param_groups:
            group["lr"] = rate
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
        for _ in range(6):
            x = torch.randn(16, 6)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        file.seek(0)
        torch.save({"model": model.state_dict(), "sched": scheduler.state_dict()}, file)
        file.seek(0)
        model.load_state_dict(torch.load(file)["model"])


RULE = Rule(
    code="AD119",
    name="schedule-left-behind",
    severity="warning",
    title="a run resumes from a checkpoint, and its learning-rate schedule starts over",
    observes="Files read by `torch.load` that hold the state of a scheduler, the optimizers that were given their "
    "state from the same file, and how many steps the schedulers of these had taken at their first step after that. "
    "In a file without one, the groups of the optimizer tell: at what rate their schedule began (`initial_lr`), and to "
    "which it had come. A scheduler of no steps that has set other rates, and by its first "
    "step goes on from these, begins anew.",
    why="The rate jumps back to where it began, through the warm-up or from the top: this disturbs weights that had "
    "settled, and the schedule ends late or never.",
    fix="Load the state of the scheduler together with that of the optimizer, or begin with `last_epoch`.",
    fine="New schedules for weights alone, schedules made after such a load, which begin at the rate that they find, "
    "schedules that follow a metric or a count of the program's own, a new schedule of another class or with other "
    "settings than the one in the file, and one from a rate that the program has set after the load, as where a model "
    "is trained on. A schedule by a function, whose first rate is that of the file, is an `info`.",
    needs=(OptimizerBuilt, OptimizerStepped, ScheduleLeftBehind),
    examine=examine,
    bad=(bad,),
    good=(good, good_fine_tuning_from_weights),
    about="loop",
)
