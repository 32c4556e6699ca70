"""AD110: every observed step of a parameter group ran with a learning rate of zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParametersAdded
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.learning import may_be_control, may_rise, rate_before
from autograd_doctor.views.siblings import steps_of_siblings
from autograd_doctor.views.so_far import may_learn_later
from autograd_doctor.views.step_cycle import called, groups_of, ordinal, related, steps_by_optimizer
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, steps in steps_by_optimizer(trace).items():
        if optimizer is None or len(steps) < tunables["minimum_steps"]:
            continue
        moved = {parameter for step in steps for parameter in step.moved or ()} | _brought(steps)
        groups = _still_groups(steps, int(tunables["minimum_steps"]))
        still = [group for group in groups if moved.isdisjoint(_parameters(trace, optimizer, [group]))]
        if still and not may_rise(trace, optimizer) and not _is_control(trace, optimizer):
            yield _finding(trace, optimizer, steps, still)
        before = _late_start(trace, optimizer, steps)
        if before and _calls(trace, optimizer) and _wasted(trace, optimizer, before) >= tunables["wasted_steps"]:
            yield _late(trace, optimizer, before)


def _brought(steps: list[OptimizerStepped]) -> set[int]:
    """Parameters that get new values between steps again and again, as those that another rank steps."""
    looked_at = [step for step in steps if step.moved is not None]
    times = Counter(parameter for step in looked_at for parameter in step.rewritten)
    return {parameter for parameter, count in times.items() if 2 * count > len(looked_at) > 2}


def _is_control(trace: Trace, optimizer: int) -> bool:
    """Whether the same lines train other models with a rate above 0, as a sweep does beside a run at rate 0."""
    return any(any(step.learning_rates) for step in steps_of_siblings(trace, optimizer))


def _still_groups(steps: list[OptimizerStepped], minimum: int) -> list[int]:
    """Positions of the groups whose rate was 0 in every step that they took part in."""
    still = []
    for group in range(len(steps[-1].learning_rates)):
        rates = [step.learning_rates[group] for step in steps if len(step.learning_rates) > group]
        if len(rates) >= minimum and all(rate == 0 for rate in rates):
            still.append(group)
    return still


def _parameters(trace: Trace, optimizer: int, which: list[int]) -> list[int]:
    groups = groups_of(trace, optimizer)
    return [parameter for index in which if index < len(groups) for parameter in groups[index].parameters]


def _taught_by_others(trace: Trace, optimizer: int, parameters: list[int]) -> bool:
    """Whether steps of others move all of these parameters: then they learn all the same."""
    found: set[int] = set()
    for step in trace.steps:
        if step.optimizer != optimizer:
            found.update(step.moved or ())
            with_rate = any(step.learning_rates) and step.moved is None
            found.update(p for use in step.uses if with_rate for p in use.parameters)
    return bool(parameters) and found.issuperset(parameters)


def _calls(trace: Trace, optimizer: int) -> list[SchedulerStepped]:
    return [call for call in trace.of(SchedulerStepped) if call.optimizer == optimizer]


def _late_start(trace: Trace, optimizer: int, steps: list[OptimizerStepped]) -> list[OptimizerStepped]:
    """The recorded steps before the rate of any group rose above 0, if it did, and no other optimizer stepped then.

    None where it was above 0 earlier in the run, and has only risen again.
    """
    if rate_before(trace, optimizer):
        return []
    risen = next((step for step in steps if any(step.learning_rates)), None)
    before = [step for step in trace.steps if risen is not None and step.sequence < risen.sequence]
    return before if all(step.optimizer == optimizer and step.learning_rates for step in before) else []


def _wasted(trace: Trace, optimizer: int, before: list[OptimizerStepped]) -> int:
    """How many steps are known to have had a rate of 0: up to the last of these, or to a call that raised it."""
    first = next((call for call in _calls(trace, optimizer) if not call.first), None)
    raised = first.step if first is not None and any(first.learning_rates) else 0
    return max(ordinal(before[-1]), raised)


def _late(trace: Trace, optimizer: int, before: list[OptimizerStepped]) -> Finding:
    calls = [call for call in _calls(trace, optimizer) if not call.first]
    made_at, count = _cause(trace, optimizer), _wasted(trace, optimizer, before)
    return RULE.finding(
        f"the learning rate of {called(trace, optimizer)} was 0 in its first {plural(count, 'step')}: nothing was "
        "learned until then",
        subject=trace.optimizer_name(optimizer),
        location=calls[0].location if calls else made_at,
        help="step the scheduler in the unit that its factors count, such as after every optimizer step, or begin "
        "with a rate above 0",
        severity="warning",
        evidence={"steps_at_rate_0": count},
        related=related(
            ("the scheduler was made here", made_at if calls else None),
            ("the steps are taken here", before[0].location),
        ),
        step_first=ordinal(before[0]),
        step_count=count,
        parameters=_parameters(trace, optimizer, list(range(len(groups_of(trace, optimizer))))),
    )


def _finding(trace: Trace, optimizer: int, steps: list[OptimizerStepped], still: list[int]) -> Finding:
    parameters = _parameters(trace, optimizer, still)
    total = len(steps[-1].learning_rates)
    which = "" if len(still) == total else f" of {len(still)} of its {total} parameter groups"
    before = rate_before(trace, optimizer, still)
    if len(still) == total and _taught_by_others(trace, optimizer, parameters):
        return _beside_others(trace, optimizer, steps, parameters)
    was = f", after up to {before:g} earlier in the run" if before else ""
    return RULE.finding(
        f"the learning rate{which} of {called(trace, optimizer)} was 0 in all {plural(len(steps), 'step')}{was}: "
        f"{trace.parameter_names(parameters)} did not learn",
        subject=trace.optimizer_name(optimizer),
        location=_cause(trace, optimizer) or steps[0].location,
        help=_advice(bool(_calls(trace, optimizer)), has_ended=before > 0),
        severity="error" if len(still) == total and not before else "warning",
        so_far=not before and (may_learn_later(trace, parameters) or may_be_control(trace, optimizer)),
        confidence="medium" if before or _calls(trace, optimizer) or len(still) < total else "high",
        evidence={"steps": len(steps), "groups": len(still)},
        related=related(("the steps are taken here", steps[0].location)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=parameters,
    )


def _beside_others(trace: Trace, optimizer: int, steps: list[OptimizerStepped], parameters: list[int]) -> Finding:
    """A hint where it has a state and no schedule: it may be there to keep moments of the gradients."""
    keeps = steps[-1].keeps_state and not _calls(trace, optimizer)
    what = "they change nothing but its own state" if keeps else "they change nothing"
    note = f"if {called(trace, optimizer)} is there to gather moments of the gradients, it is right"
    return RULE.finding(
        f"the learning rate of {called(trace, optimizer)} was 0 in all {plural(len(steps), 'step')}: {what}; "
        f"{trace.parameter_names(parameters)} learn by the steps of others",
        subject=trace.optimizer_name(optimizer),
        location=_cause(trace, optimizer) or steps[0].location,
        help=_advice(bool(_calls(trace, optimizer)), has_ended=False),
        severity="info" if keeps else "warning",
        confidence="low" if keeps else "medium",
        notes=(note,) if keeps else (),
        evidence={"steps": len(steps), "groups": len(steps[-1].learning_rates)},
        related=related(("the steps are taken here", steps[0].location)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=parameters,
    )


def _advice(scheduled: bool, *, has_ended: bool) -> str:
    if has_ended:
        return (
            "end the training where its schedule ends, or let the schedule be as long as the training, or end above 0"
        )
    if scheduled:
        return (
            "look at the factors of this schedule, which have all been 0 until now: a warm-up should rise step by step"
        )
    return "give the group a rate above 0, or leave its parameters out of the optimizer if they are to stay fixed"


def _cause(trace: Trace, optimizer: int) -> Location | None:
    """The line that made the scheduler, if there is one, else the one that made the optimizer."""
    scheduled = next((call.location for call in _calls(trace, optimizer)), None)
    return scheduled or trace.optimizers[optimizer].location


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)  # <- AD110
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_schedule_by_integer_division() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    warmup = 100
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step // warmup))  # <- AD110
    for _ in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


def bad_schedule_by_steps_is_stepped_by_epochs() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 50))
    for _ in range(4):
        for _ in range(25):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()  # <- AD110


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_warm_up_from_zero() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    warmup = 4
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / warmup))
    for _ in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


RULE = Rule(
    code="AD110",
    name="learning-rate-zero",
    severity="error",
    title="an optimizer stepped with a learning rate of zero throughout",
    observes="The rate of every parameter group at every step, and the calls of the scheduler that sets it.",
    why="The loop looks alive, with losses and gradients, while the weights never change.",
    fix="Set a rate above 0; in a schedule look for integer division, a factor of 0 and a warm-up that never ends.",
    fine=(
        "A rate that was above 0 earlier in a run is a warning: a stage may rest. "
        "A warm-up that starts at 0 and rises at once; one that holds everything at 0 for a while is a warning. Where "
        "a scheduler has hardly stepped within the run, the rate may still rise, and nothing is said. A single group "
        "that is held at 0 beside others that learn is only a warning. A run at rate 0 before or after others of the "
        "same lines is their control; where a loop may still bring these others, it is a warning. Parameters that get "
        "new values between the steps, as from another rank. Where steps of others move the parameters, it is a "
        "warning, and an `info` if the optimizer has a state and no schedule: it may gather moments of the gradients."
    ),
    needs=(OptimizerBuilt, OptimizerStepped, ParametersAdded, RunEnded, SchedulerStepped),
    examine=examine,
    bad=(bad, bad_schedule_by_integer_division, bad_schedule_by_steps_is_stepped_by_epochs),
    good=(good, good_warm_up_from_zero),
    tunables={
        "minimum_steps": Tunable(
            3,
            "fewest steps, all of them at a rate of 0",
            "chosen: a schedule that counts steps leaves 0 after the first",
        ),
        "wasted_steps": Tunable(
            20,
            "fewest steps at a rate of 0 before it rises",
            "chosen: a warm-up that counts steps has long begun by then",
        ),
    },
    folds=("AD111", "AD116"),
    about="loop",
    lasting=True,
)
