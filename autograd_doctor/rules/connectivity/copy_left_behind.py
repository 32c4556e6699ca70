"""AD227 copy-left-behind: a copy of the model gets no new weights any more, or those of one that nobody trains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.connectivity import CopyKept
from autograd_doctor.events.cycle import AveragesDiscarded, AverageWeighed, UntaughtAveraged
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, ParameterCopied, ParameterSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.views.step_cycle import ordinal
from autograd_doctor.views.weight_averages import is_average
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(CopyKept):
        since = event.seen - event.changed
        had_rhythm = event.changes >= tunables["changes"]
        lost_it = since >= max(tunables["steps"], tunables["rhythm"] * event.longest) and event.calls > 1
        copied, after = trace.module_parameters(event.module), event.changed + event.longest
        if had_rhythm and lost_it and _learns(trace, copied, after):
            yield _finding(trace, event)
    of_trained = {event.location for event in trace.of(AverageWeighed)}
    still = [event for event in trace.of(UntaughtAveraged) if event.location not in of_trained]
    for events in in_several_steps(trace, still, lambda event: event.location, tunables["averages"]):
        first, stays = events[0], not any(event.moved for event in events)
        follows = stays and is_average(first.own, first.new, tunables["rounding"])
        if follows and _learns(trace, first.parameters, first.step):
            yield _of_another(trace, events)
    yield from _in_vain(trace, tunables["averages"])


def _learns(trace: Trace, copied: Sequence[int], after: int) -> bool:
    """Whether parameters of the same shapes have learned since a step: those of the model that these are a copy of."""
    since = [step for step in trace.steps if step.step > after]
    learned = {parameter for step in since for use in step.uses for parameter in use.parameters}
    mine = [trace.parameters[p].shape for p in copied if p in trace.parameters]
    shapes = [trace.parameters[p].shape for p in learned if p in trace.parameters]
    return bool(mine) and all(mine.count(shape) <= shapes.count(shape) for shape in mine)


def _of_another(trace: Trace, events: Sequence[UntaughtAveraged]) -> Finding:
    first, steps = events[0], len({event.step for event in events})
    names = trace.parameter_names(first.parameters)
    return RULE.finding(
        f"each update adds {first.new:.6g} of {names}, which no optimizer holds and which had the same values in all "
        f"{plural(steps, 'step')} that were looked at, while weights of the same shapes were trained: the average "
        "follows a model that nobody trains",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        confidence="medium",
        help="take the average of the model that the optimizer holds: if that was copied or built anew, the average "
        "still has the one from before",
        evidence={"kept": first.own, "added": first.new, "steps": steps, "parameters": len(first.parameters)},
        step_first=first.step + 1,
        step_count=steps,
        parameters=first.parameters,
    )


def _finding(trace: Trace, event: CopyKept) -> Finding:
    name, location = trace.module_name(event.module), event.written_at or event.location
    since = plural(event.seen - event.changed, "step")
    return RULE.finding(
        f"`{name}`, which no optimizer moves, was given new weights at least every {plural(event.longest, 'step')} "
        f"until step {event.changed}, and none in the {since} since then, although it is still called",
        subject=name,
        location=location,
        severity=None if event.by_remainder else "info",
        confidence="medium" if event.by_remainder else "low",
        notes=() if event.by_remainder else ("if a second phase is to keep the copy as it is, this is right",),
        help="check the condition that copies the weights: a counter that goes up by more than 1 may never be a "
        "multiple again",
        evidence={
            "updates": event.changes,
            "longest_pause": event.longest,
            "last_update": event.changed,
            "steps_since": event.seen - event.changed,
        },
        related=beside(location, ("it is called here", event.location)),
        step_first=event.changed + 1,
        parameters=trace.module_parameters(event.module),
    )


def _in_vain(trace: Trace, minimum: float) -> Iterator[Finding]:
    """Averages that nobody keeps, of weights that nothing else made like the others since."""
    by_line: dict[Location | None, list[AveragesDiscarded]] = {}
    for event in trace.of(AveragesDiscarded):
        by_line.setdefault(event.location, []).append(event)
    for location, events in by_line.items():
        begun = events[0].sequence  # a copy before that made them start alike
        copied = {event.parameter for event in trace.of(ParameterCopied) if event.sequence > begun}
        parameters = sorted({p for event in events for p in event.parameters} - copied)
        if parameters and len(events) >= minimum:
            yield RULE.finding(
                f"averages of {trace.parameter_names(parameters)} with parameters that learn are computed here and "
                f"bound to a name that nothing reads, in {plural(len(events), 'step')}: they never follow",
                subject=trace.parameter_name(parameters[0]),
                location=location,
                severity="error",
                help="change the parameter itself: `slow.lerp_(fast, rate)`, or `slow.copy_(average)`, under "
                "`torch.no_grad()`",
                evidence={"steps": len(events), "parameters": len(parameters)},
                step_first=ordinal(events[0]),
                step_count=len(events),
                parameters=parameters,
            )


def bad() -> None:
    import copy
    import random
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    random.seed(0)
    critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    target = copy.deepcopy(critic).requires_grad_(False)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    memory: deque[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = deque(maxlen=9)
    for _ in range(60):
        state = torch.randn(32, 4)
        memory.append((state, state.sum(1, keepdim=True), 0.9 * state + 0.1 * torch.randn(32, 4)))
        before, reward, after = random.choice(memory)
        with torch.no_grad():
            goal = reward + 0.9 * target(after)
        loss = nn.functional.mse_loss(critic(before), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if len(memory) % 2 == 0:
            target.load_state_dict(critic.state_dict())  # <- AD227


def bad_target_network_is_bound_anew() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    target = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        with torch.no_grad():
            wanted = inputs.sum(dim=1, keepdim=True) + 0.5 * target(inputs)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), wanted).backward()
        optimizer.step()
        with torch.no_grad():
            pairs: list[tuple[torch.Tensor, torch.Tensor]] = list(
                zip(target.parameters(), model.parameters(), strict=True)
            )
            for slow, fast in pairs:
                slow = 0.9 * slow + 0.1 * fast  # <- AD227


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    target = copy.deepcopy(critic).requires_grad_(False)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for step in range(60):
        state = torch.randn(32, 4)
        reward, after = state.sum(1, keepdim=True), 0.9 * state + 0.1 * torch.randn(32, 4)
        with torch.no_grad():
            goal = reward + 0.9 * target(after)
        loss = nn.functional.mse_loss(critic(state), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            target.load_state_dict(critic.state_dict())


def good_teacher() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    teacher = copy.deepcopy(student)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    for _ in range(60):
        x = torch.randn(32, 4)
        with torch.no_grad():
            wanted = teacher(x)
        loss = nn.functional.mse_loss(student(x + 0.1 * torch.randn_like(x)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD227",
    name="copy-left-behind",
    severity="warning",
    title="a copy of the model is no longer updated",
    observes="The steps in which a model that no optimizer holds was called, and those between which its weights "
    "changed: at least four times, and then not for eight times the longest pause. And whether a remainder "
    "decides if they change, as of a count. Moving averages of weights that no optimizer holds and that keep their "
    "values, while such of the same shapes are trained. And averages of such weights with others that are bound to a "
    "name and die unread (an error).",
    why="A target network, a teacher or an old policy that falls ever further behind gives the targets of an outdated "
    "model.",
    fix="Count what the copy follows, such as updates, and compare with `>=`; reset the count at each copy.",
    fine="Teachers that never change, copies of a model that is not trained meanwhile, copies that are not called any "
    "more, opponents that change at irregular times, and pauses that are long from the start. Where no remainder "
    "decides whether it is updated, as of a count, or an order of two values does as well, as in `step < warmup`, a "
    "phase may have ended: an `info`.",
    needs=(
        AveragesDiscarded,
        AverageWeighed,
        CopyKept,
        ModuleSeen,
        OptimizerStepped,
        ParameterCopied,
        ParameterSeen,
        UntaughtAveraged,
    ),
    examine=examine,
    bad=(bad, bad_target_network_is_bound_anew),
    good=(good, good_teacher),
    tunables={
        "changes": Tunable(4, "fewest times that the copy was given new weights", "chosen: fewer make no rhythm"),
        "rhythm": Tunable(
            8,
            "how many of its longest pauses the copy has been left alone for",
            "chosen: a rhythm that slows down does not do so at once by as much",
        ),
        "averages": Tunable(4, "fewest steps with an average of weights that nobody trains", MORE_THAN_ONCE),
        "rounding": Tunable(
            0.001,
            "most that the two weights of an average may add up to beside 1",
            "arithmetic: float16 rounds a weight by up to 5e-4",
        ),
        "steps": Tunable(
            16, "fewest steps that the copy has been left alone for", "chosen: a pause of a few steps is no end"
        ),
    },
    about="loop",
)
