"""AD109: the optimizer over the same parameters was built anew, and its state was lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from autograd_doctor.events.cycle import FactorRenewed, StateRenewed, StateUnused, WeightsDrawnAnew
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import BackwardRan, BatchDrawn, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import ordinal, related, steps_by_optimizer
from autograd_doctor.wording import plural

_TIMES = 2
"""How often a step must begin with a higher loss than the one before ended, so that it is no accident."""
_ROUNDING = 1e-6
"""Relative to a loss in float32."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lives = trace.steps_by_optimizer
    reported: set[Location | None] = set()
    renewed = {event.optimizer: event for event in reversed(trace.of(FactorRenewed))}
    for builds in _rebuilt_in_place(trace):
        lost = [lives[build.optimizer] for build in builds[:-1]]
        often = len(lost) >= tunables["minimum_rebuilds"] and builds[0].location not in reported
        longest = tunables["longest_life" if len(lost) < tunables["many_rebuilds"] else "longest_of_many"]
        if not often or _loses_nothing(trace, builds) or _solves_another(trace, builds):
            continue
        if max(lost) <= longest or _one_pass_each(trace, builds):
            reported.add(builds[0].location)
            yield _finding(trace, builds, lost, [renewed[each] for each in _numbers(builds) if each in renewed])
    for event in trace.of(StateUnused):
        if trace.optimizers[event.optimizer].location not in reported and _is_replaced(trace, event):
            reported.add(trace.optimizers[event.optimizer].location)
            yield _replaced(trace, event)
    for events in _renewed_in_each_step(trace, tunables["renewed_steps"]):
        yield _renewed(trace, events)
    for drawn in _drawn_again_and_again(trace, tunables):
        yield _drawn_anew(trace, drawn)


def _drawn_again_and_again(trace: Trace, tunables: Tunables) -> Iterator[list[WeightsDrawnAnew]]:
    """Of each optimizer and line the initialisations of the same weights, if they are as frequent as a slip.

    A stage that lasts long begins with averages of its own. Where all that an optimizer teaches begins anew, and its
    state too, it is another trial; where others step meanwhile, it is an inner loop.
    """
    lines: dict[tuple[int, Location | None], list[WeightsDrawnAnew]] = {}
    for event in trace.of(WeightsDrawnAnew):
        lines.setdefault((event.optimizer, event.location), []).append(event)
    for (optimizer, _), events in lines.items():
        longest = tunables["longest_life" if len(events) < tunables["many_rebuilds"] else "longest_of_many"]
        is_loop = len(events) >= tunables["many_rebuilds"] and all(event.keeps_state for event in events)
        is_soon = max(event.steps for event in events) <= longest
        is_often = len(events) >= tunables["minimum_rebuilds"] and (is_soon or is_loop)
        is_whole = any(len(event.parameters) == event.of for event in events)
        others = any(step.optimizer != optimizer for step in trace.steps if events[0].step <= step.step)
        if is_often and not (is_whole and (others or not all(event.keeps_state for event in events))):
            yield events


def _renewed_in_each_step(trace: Trace, fewest: float) -> Iterator[list[StateRenewed]]:
    """Of each optimizer the looks at its state, if it was made anew in all of them."""
    by_optimizer: dict[int, list[StateRenewed]] = {}
    for event in trace.of(StateRenewed):
        by_optimizer.setdefault(event.optimizer, []).append(event)
    for events in by_optimizer.values():
        if len(events) >= fewest and set.intersection(*(set(event.parameters) for event in events)):
            yield events


def _loses_nothing(trace: Trace, builds: list[OptimizerBuilt]) -> bool:
    """Whether each optimizer begins with other weights, put in place for a task, client or episode, or drawn anew, as
    are factors that were merged; or with a state."""
    lives = steps_by_optimizer(trace)
    first = [lives[build.optimizer][0] for build in builds[1:] if build.optimizer in lives]
    drawn = {event.optimizer for event in trace.of(WeightsDrawnAnew) if _is_new(trace, event)}
    others = all(step.rewritten or step.optimizer in drawn for step in first)
    return others or all(step.given_state for step in first)


def _is_new(trace: Trace, event: WeightsDrawnAnew) -> bool:
    """Whether half of the matrices or more, as one of each two factors, were drawn before the optimizer began."""
    steps = steps_by_optimizer(trace).get(event.optimizer, [])
    is_first = not event.keeps_state and bool(steps) and event.step <= steps[0].step
    return is_first and 2 * len(event.parameters) >= event.of


def _numbers(builds: list[OptimizerBuilt]) -> list[int]:
    return [build.optimizer for build in builds]


def _solves_another(trace: Trace, builds: list[OptimizerBuilt]) -> bool:
    """Whether each step called its closure several times, and some began with a higher loss than the one before ended.

    Such an optimizer goes down by itself within a step, and what its state holds is the curvature of what it was given:
    where weights and objective are the same, it begins where it ended.
    """
    losses: dict[int | None, list[float | None]] = {}
    for backward in trace.of(BackwardRan):
        if backward.inside_step is not None and backward.kind == "backward":
            losses.setdefault(backward.inside_step, []).append(backward.loss)
    each = [losses.get(build.optimizer, []) for build in builds]
    steps = [trace.steps_by_optimizer[build.optimizer] for build in builds]
    if not all(len(values) > count for values, count in zip(each[:-1], steps[:-1], strict=True)):
        return False
    ends = [(before[-1], after[0]) for before, after in pairwise(each) if before and after]
    higher = sum(one is not None and other is not None and _is_higher(other, one) for one, other in ends)
    return higher >= _TIMES


def _is_higher(after: float, before: float) -> bool:
    """By more than rounding."""
    return after - before > _ROUNDING * max(abs(after), abs(before))


def _is_replaced(trace: Trace, event: StateUnused) -> bool:
    """Whether a new optimizer does what one does not whose state was loaded: it is of the same kind, over the same
    parameters and with the same settings, and the other one never steps."""
    new, loaded = (trace.optimizers[each] for each in (event.optimizer, event.loaded))
    is_alike = (new.kind, new.groups) == (loaded.kind, loaded.groups)
    return is_alike and not trace.steps_by_optimizer[loaded.optimizer]


def _rebuilt_in_place(trace: Trace) -> Iterator[list[OptimizerBuilt]]:
    """Runs of optimizers built at one line, over the same parameters with the same settings, that step, with a state.

    Plain gradient descent has none to lose, nor has one that is built to clear gradients only; another rate or other
    parameters begin another phase.
    """
    stateless = {step.optimizer for step in trace.steps} - {step.optimizer for step in trace.steps if step.keeps_state}
    places: dict[Location | None, list[OptimizerBuilt]] = {}
    for build in trace.optimizers.values():
        steps = trace.steps_by_optimizer[build.optimizer]
        if steps and build.optimizer not in stateless and build.location is not None:
            places.setdefault(build.location, []).append(build)
    for builds in places.values():
        for _, run in groupby(builds, key=lambda build: (build.kind, build.groups)):
            yield list(run)


def _one_pass_each(trace: Trace, builds: list[OptimizerBuilt]) -> bool:
    """Whether each optimizer lived for one pass over the very same loader: it is built anew every epoch."""
    passes: dict[int, list[int]] = {build.optimizer: [] for build in builds}
    current: list[int] = []
    for event in trace.events:
        if isinstance(event, OptimizerBuilt) and event.optimizer in passes:
            current = passes[event.optimizer]
        elif isinstance(event, BatchDrawn) and not event.ended:
            current.append(event.loader)
    complete = [passes[build.optimizer] for build in builds[:-1]]
    shared = set.intersection(*(set(loaders) for loaders in complete))
    return any(all(loaders.count(loader) == 1 for loaders in complete) for loader in shared)


def _finding(trace: Trace, builds: list[OptimizerBuilt], lives: list[int], renewed: list[FactorRenewed]) -> Finding:
    """A hint where, most times, the next one had a loss of another make: it may be another problem each time."""
    first, again = builds[0], builds[1]
    parameters = [parameter for group in again.groups for parameter in group.parameters]
    longest = max(lives)
    each = "every step" if longest == 1 else f"every {min(lives)} to {longest} steps"
    each = f"every {longest} steps" if min(lives) == longest > 1 else each
    name = again.name or again.kind
    is_other = bool(renewed) and 2 * len(renewed) >= len(builds) - 2
    note = f"a number in the loss went from {renewed[0].before:g} to {renewed[0].after:g}" if is_other else ""
    return RULE.finding(
        f"`{name}` ({again.kind}) was built {len(builds)} times over the same {plural(len(parameters), 'parameter')}, "
        f"{each}, and lost its state each time"
        f"{f'; {len(renewed)} times, a number in the loss changed with it' if is_other else ''}",
        subject=name,
        location=again.location,
        severity="info" if is_other else None,
        confidence="low" if is_other else "high" if longest == 1 else "medium",
        notes=(f"{note} with it: if each optimizer has a problem of its own to solve, it is right",)
        if is_other
        else (),
        help="build the optimizer once, before the loop",
        evidence={"builds": len(builds), "longest_life": longest, "parameters": len(parameters)},
        step_first=ordinal(first),
        step_count=sum(lives),
        parameters=parameters,
    )


def _drawn_anew(trace: Trace, events: list[WeightsDrawnAnew]) -> Finding:
    """A hint where only a part begins anew: it may have another task each time."""
    first, name = events[0], trace.optimizer_name(events[0].optimizer)
    parameters = sorted({parameter for event in events for parameter in event.parameters})
    is_whole = all(len(event.parameters) == event.of for event in events)
    lives = [event.steps for event in events]
    done = "given the same values" if first.loaded else "initialised"
    each = f"{min(lives)} to {max(lives)}" if min(lives) < max(lives) else f"{max(lives)}"
    state = (
        f", and `{name}` keeps its averages of their gradients" if all(event.keeps_state for event in events) else ""
    )
    return RULE.finding(
        f"{trace.parameter_names(parameters)} {'was' if len(parameters) == 1 else 'were'} {done} again "
        f"{len(events)} times, after {each} steps: what was learned there is lost each time{state}",
        subject=trace.parameter_names(parameters),
        location=first.location,
        severity="warning" if is_whole else "info",
        confidence="medium" if is_whole else "low",
        help="initialise weights once, where the model is built; for a fresh start, build model and optimizer anew",
        evidence={"times": len(events), "longest_life": max(lives), "parameters": len(parameters)},
        related=related(("stepped by the optimizer built here", trace.optimizers[first.optimizer].location)),
        step_first=ordinal(first),
        step_count=events[-1].step - first.step + 1,
        parameters=parameters,
    )


def _replaced(trace: Trace, event: StateUnused) -> Finding:
    new, loaded = (trace.optimizers[each] for each in (event.optimizer, event.loaded))
    steps = trace.steps_by_optimizer[new.optimizer]
    parameters = [parameter for group in new.groups for parameter in group.parameters]
    name = new.name or new.kind
    return RULE.finding(
        f"`{name}` ({new.kind}) was built over {plural(len(parameters), 'parameter')} for which another one of the "
        f"same settings had been given its state; that one never stepped, and `{name}` took {plural(steps, 'step')} "
        "from none",
        subject=name,
        location=new.location,
        help="build the optimizer first, load its state into it, and step that one; leave the load out if it is to "
        "begin anew",
        confidence="medium",
        so_far=not trace.ended_by_itself,
        evidence={"steps": steps, "parameters": len(parameters)},
        related=related(("its state was loaded here", event.loaded_at), ("into the one built here", loaded.location)),
        step_first=ordinal(event),
        step_count=steps,
        parameters=parameters,
    )


def _renewed(trace: Trace, events: list[StateRenewed]) -> Finding:
    first, entries = events[0], ", ".join(f"`{entry}`" for entry in events[0].entries)
    always = sorted(set.intersection(*(set(event.parameters) for event in events)))
    name = trace.optimizer_name(first.optimizer)
    return RULE.finding(
        f"after each step of `{name}`, {entries} of {trace.parameter_names(always)} holds nothing but its gradient, in "
        f"all {len(events)} steps that were looked at: what was there before is lost each time",
        subject=name,
        location=events[-1].location,
        help="make the buffer once, where the state has none yet: `if not self.state[p]: ...`",
        evidence={"entries": first.entries, "parameters": len(always), "steps": len(events)},
        step_first=ordinal(first),
        step_count=len(events),
        parameters=always,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    for _ in range(8):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # <- AD109
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_every_epoch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def train_one_epoch(model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]]) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)  # <- AD109
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    torch.manual_seed(0)
    inputs = torch.randn(48, 4)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
    model = nn.Linear(4, 1)
    for _ in range(4):
        train_one_epoch(model, loader)


def bad_after_its_state_was_loaded() -> None:
    import io

    import torch
    from torch import nn

    def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for _ in range(6):
            x = torch.randn(16, 6)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train(model, optimizer)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    states = torch.load(file)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.load_state_dict(states["model"])
    optimizer.load_state_dict(states["optimizer"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # <- AD109
    train(model, optimizer)


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


def good_once_per_phase_and_fold() -> None:
    import torch
    from torch import nn

    def fit(model: nn.Module, inputs: torch.Tensor, rate: float) -> None:
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        for _ in range(4):
            batch = inputs[torch.randperm(len(inputs))[:16]]
            loss = nn.functional.mse_loss(model(batch), batch.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    torch.manual_seed(0)
    for fold in torch.randn(96, 4).chunk(3):
        model = nn.Linear(4, 1)
        for rate in (0.05, 0.01):
            fit(model, fold, rate)


def good_inner_loop() -> None:
    import copy

    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    outer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(6):
        task = torch.randn(4, 1)
        fast = copy.deepcopy(model)
        inner = torch.optim.Adam(fast.parameters(), lr=0.01)
        for _ in range(2):
            inputs = torch.randn(16, 4)
            inner.zero_grad()
            torch.nn.functional.mse_loss(fast(inputs), inputs @ task).backward()
            inner.step()
        outer.zero_grad()
        for slow, adapted in zip(model.parameters(), fast.parameters(), strict=True):
            slow.grad = slow.detach() - adapted.detach()
        outer.step()


def good_reptile() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    for _ in range(4):
        before = {name: value.clone() for name, value in model.state_dict().items()}
        amplitude = 1 + torch.rand(())
        inner = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(3):
            inputs = 6 * torch.rand(16, 1) - 3
            loss = nn.functional.mse_loss(model(inputs), amplitude * inputs.sin())
            inner.zero_grad()
            loss.backward()
            inner.step()
        after = model.state_dict()
        model.load_state_dict({name: before[name] + 0.5 * (after[name] - before[name]) for name in before})


RULE = Rule(
    code="AD109",
    name="optimizer-recreated",
    severity="warning",
    title="the optimizer is built anew, so that its state is lost",
    observes=(
        "Optimizers built at one line, over the same parameters with the same settings, each stepped only a few "
        "times (or for one pass over a loader) before the next one that steps took its place. Optimizers that were "
        "given a state and never step, while a new one with the same settings steps the same parameters from none. And "
        "averages in the state of the program's own optimizers that hold nothing but the gradient of the last step, "
        "times 1 - decay. Or weights that are initialised again, or loaded with the same values, after a few steps "
        "each time, or often while one and the same optimizer goes on to step them with the averages that it has."
    ),
    why=(
        "Momentum and second moments start from zero each time. Adam's first steps move every weight by the full "
        "rate, whatever its gradient, and a schedule attached to the old optimizer drives nothing."
    ),
    fix="Build the optimizer once, before the loop and before its state is loaded, and pass it to the function that "
    "trains.",
    fine=(
        "Building it once per phase or fold, over other parameters or with other settings, in the inner loop of "
        "meta-learning or a federated client (over a copy, or over weights put in place for it), over weights drawn "
        "anew for it, as factors are that were merged, handing its state on to the next one, and plain gradient "
        "descent, which has no state to lose. Optimizers that go down by themselves within a step, by a closure that "
        "they call several times, where the next one begins higher up: with another problem, as of the next time "
        "step or of a larger penalty. Where a number in the loss changes with each optimizer, it is an `info`. A "
        "state that was loaded beside an optimizer of another kind or with other settings, as for a stage that "
        "tunes. States that are no averages, as the gradient of the last step. Weights that are initialised together "
        "with the state of their optimizer, or as those of an inner loop; a part of a model may begin anew for other "
        "tasks, and is an `info`."
    ),
    needs=(
        *(BackwardRan, BatchDrawn, FactorRenewed, LightStepsCounted, OptimizerBuilt, OptimizerStepped, StateRenewed),
        *(StateUnused, WeightsDrawnAnew),
    ),
    examine=examine,
    bad=(bad, bad_every_epoch, bad_after_its_state_was_loaded),
    good=(good, good_once_per_phase_and_fold, good_inner_loop, good_reptile),
    tunables={
        "minimum_rebuilds": Tunable(2, "fewest optimizers that were replaced by the next", MORE_THAN_ONCE),
        "longest_life": Tunable(
            12,
            "most steps that an optimizer took before it was replaced",
            "arithmetic: Adam forgets half of its first moment in 7 steps, so that below 12 it never gets going",
        ),
        "many_rebuilds": Tunable(
            6,
            "replacements from which on `longest_of_many` holds in place of `longest_life`",
            "chosen: it is a loop that does it so often, not the phases of a training",
        ),
        "longest_of_many": Tunable(
            50, "the same as `longest_life`, where replacements are many", "chosen: phases of a training are longer"
        ),
        "renewed_steps": Tunable(
            3, "fewest steps after which an average in the state was the last gradient alone", MORE_THAN_ONCE
        ),
    },
    folds=("AD108",),
    about="loop",
)
