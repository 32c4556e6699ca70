"""AD206 frozen-parameter-in-optimizer: an optimizer holds parameters that do not require a gradient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_doctor.events.connectivity import MaskedValuesMoved
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterFrozen, ParametersAdded
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import registered
from autograd_doctor.views.step_cycle import groups_of, is_handmade

_MOST_LINES = 3
"""That froze some of them: more would fill the screen."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer in trace.optimizer_parameters:
        yield from _masked(trace, optimizer, tunables["minimum_steps"])
        steps = [step for step in trace.steps if step.optimizer == optimizer]
        given = _given(steps)
        frozen = [set(step.frozen) - given for step in steps]
        if not frozen or not any(frozen):
            continue
        moving = [step for step in steps if not (set(step.frozen) - given).isdisjoint(step.moved or ())]
        moved = sorted({p for step in moving for p in step.frozen if p in (step.moved or ())} - given)
        always = sorted(set.intersection(*frozen))
        if moved:
            yield _finding(trace, optimizer, moved, moving, moved=True)
        elif always and len(steps) >= tunables["minimum_steps"]:
            earlier = _taught_the_rest(trace, optimizer, always)
            if earlier is not None:
                yield _not_thawed(trace, optimizer, earlier, always, steps)
            else:
                yield _finding(trace, optimizer, always, steps, moved=False)
        elif not always:
            yield from _left_frozen(trace, optimizer, steps, int(tunables["minimum_steps"]))


def _masked(trace: Trace, optimizer: int, least: float) -> Iterator[Finding]:
    """Values whose gradient the program sets to 0 step by step, and which the steps move all the same.

    Where a mask of any parameter lets something pass that it has held back before, as where only the largest gradients
    are used, what it holds back is not frozen.
    """
    events = [event for event in trace.of(MaskedValuesMoved) if event.optimizer == optimizer]
    if any(event.lifted for event in events):
        return
    times = Counter(parameter for event in events for parameter, moved in event.moved.items() if moved)
    parameters = sorted(parameter for parameter, count in times.items() if count >= least)
    steps = [step for step in trace.steps if step.optimizer == optimizer]
    decaying = [p for p in parameters if all(p in event.decayed for event in events if event.moved.get(p))]
    others = [parameter for parameter in parameters if parameter not in decaying]
    if parameters and steps:
        yield _masked_in_vain(trace, optimizer, others or decaying, events, steps, only_decay=not others)


def _masked_in_vain(
    trace: Trace,
    optimizer: int,
    parameters: list[int],
    events: list[MaskedValuesMoved],
    steps: list[OptimizerStepped],
    *,
    only_decay: bool,
) -> Finding:
    """Decay alone may be meant for what has no gradient."""
    mine = [event for event in events if not event.moved.keys().isdisjoint(parameters)]
    masked = sum(event.masked.get(parameter, 0) for event in mine for parameter in parameters)
    moved = sum(event.moved.get(parameter, 0) for event in mine for parameter in parameters)
    written = next((event.location for event in mine if event.location is not None), None)
    places = [
        ("gradients are set to 0 here", written),
        ("its settings are given here", trace.optimizers[optimizer].location),
    ]
    name = trace.optimizer_name(optimizer)
    return RULE.finding(
        f"`{name}` moves {moved / masked:.0%} of those values of {trace.parameter_names(parameters)} whose gradients "
        f"are set to 0 before its steps: "
        f"{'weight decay is' if only_decay else _at_work(trace, optimizer, parameters)} at work on them",
        subject=trace.parameter_name(parameters[0]),
        location=next((step.location for step in steps if step.step == mine[0].step), steps[-1].location),
        severity=None if only_decay else "warning",
        help="put these values back after each step, as by `weight.mul_(mask)` under `torch.no_grad()`, or mask the "
        "state of the optimizer, too, and give them no weight decay",
        evidence={"moved": moved / masked, "parameters": len(parameters), "steps": len(mine)},
        related=registered(trace, parameters, *(Related(text, place) for text, place in places if place is not None)),
        step_first=mine[0].step + 1,
        step_count=len(mine),
        parameters=parameters,
    )


def _at_work(trace: Trace, optimizer: int, parameters: list[int]) -> str:
    groups = [group for group in groups_of(trace, optimizer) if not set(group.parameters).isdisjoint(parameters)]
    has_decay, has_momentum = any(group.weight_decay for group in groups), any(group.momentum for group in groups)
    if has_decay and has_momentum:
        return "momentum or weight decay is"
    return "weight decay is" if has_decay else "momentum is" if has_momentum else "what it adds of its own is"


def _given(steps: list[OptimizerStepped]) -> set[int]:
    """Parameters to which the program gives gradients of its own making, as to the float32 copies of weights: they are
    to be stepped, and autograd has no say in it."""
    return {p for step in steps for use in step.uses if is_handmade(use) for p in use.parameters if p in step.frozen}


def _left_frozen(trace: Trace, optimizer: int, steps: list[OptimizerStepped], least: int) -> Iterator[Finding]:
    """Parameters that were trained, were frozen for the steps of another optimizer, and stayed so ever after."""
    since = next(place for place, step in enumerate(steps) if step.frozen)
    frozen = set.intersection(*(set(step.frozen) for step in steps[since:]))
    trained = {p for step in steps[:since] for use in step.uses for p in use.parameters}
    parameters = sorted(frozen & trained)
    if not parameters or len(steps) - since < least:
        return
    between = range(steps[since - 1].sequence, steps[since].sequence)
    stepped = {step.optimizer for step in trace.steps if step.sequence in between}
    for number, built in trace.optimizers.items():
        is_beside = trace.optimizer_parameters[number].isdisjoint(parameters)
        if built.sequence in between and number in stepped and is_beside:
            yield _not_thawed_again(trace, optimizer, built, parameters, steps[since:])
            return


def _not_thawed_again(
    trace: Trace, optimizer: int, probe: OptimizerBuilt, parameters: list[int], steps: list[OptimizerStepped]
) -> Finding:
    """In a step that was not recorded, the line that froze them was not seen: it is near that of the new optimizer."""
    name = trace.optimizer_name(optimizer)
    lines = _frozen_at(trace, parameters, until=steps[0].step)
    places = [("what stepped meanwhile was built here", probe.location)] if lines else []
    places.append((f"`{name}` goes on without them", steps[0].location))
    return RULE.finding(
        f"{trace.parameter_names(parameters)} were frozen while another optimizer stepped, and were not unfrozen: "
        f"`{name}`, which had trained them, goes on without them",
        subject=trace.parameter_name(parameters[0]),
        location=lines[0] if lines else probe.location,
        severity="warning",
        confidence="medium",
        help="unfreeze them when the other optimizer is done (`module.requires_grad_(True)`), or train the other part "
        "on `module(x).detach()`",
        evidence={
            "frozen": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "number_of_parameters": len(parameters),
            "steps": len(steps),
        },
        related=tuple(Related(text, place) for text, place in places if place is not None),
        step_first=steps[0].step + 1,
        step_count=len(steps),
        parameters=parameters,
    )


def _taught_the_rest(trace: Trace, optimizer: int, frozen: list[int]) -> int | None:
    """An optimizer that had stepped before this one was built, on all that this one holds but what is frozen."""
    held, built = trace.optimizer_parameters, trace.optimizers[optimizer]
    stepped = {step.optimizer for step in trace.steps if step.step < built.step}
    rest = held[optimizer] - set(frozen)
    return next((other for other in stepped if other is not None and other != optimizer and held[other] == rest), None)


def _not_thawed(
    trace: Trace, optimizer: int, earlier: int, frozen: list[int], steps: list[OptimizerStepped]
) -> Finding:
    """What is given to a new optimizer beside what another one has taught is to learn now, as in a second stage."""
    name, before = trace.optimizer_name(optimizer), trace.optimizer_name(earlier)
    taught = f"`{before}`" if before != name else "the optimizer before it"
    places = [Related("they were frozen here", place) for place in _frozen_at(trace, frozen, until=steps[-1].step)]
    return RULE.finding(
        f"`{name}` was given {trace.parameter_names(frozen)} besides what {taught} had trained; they are still frozen, "
        "so it trains the same parameters as before",
        subject=trace.parameter_name(frozen[0]),
        location=trace.optimizers[optimizer].location,
        severity="warning",
        confidence="medium",
        help="unfreeze them before the second stage: `module.requires_grad_(True)`",
        evidence={
            "frozen": [trace.parameter_name(parameter) for parameter in frozen[:20]],
            "number_of_parameters": len(frozen),
            "steps": len(steps),
        },
        related=tuple(places),
        step_first=trace.optimizers[optimizer].step + 1,
        step_count=len(steps),
        parameters=frozen,
    )


def _finding(
    trace: Trace, optimizer: int, parameters: list[int], steps: list[OptimizerStepped], *, moved: bool
) -> Finding:
    built = trace.optimizers[optimizer].location
    frozen_at = _frozen_at(trace, parameters, until=max(step.step for step in steps if step.frozen))
    others = [Related("others of them were frozen here", place) for place in frozen_at[1:]]
    if frozen_at and built is not None:
        others.insert(0, Related("this optimizer holds them", built))
    name, names = trace.optimizer_name(optimizer), trace.parameter_names(parameters)
    verb = "is" if len(parameters) == 1 else "are"
    message = f"{names} {verb} frozen and {verb} held by `{name}`"
    return RULE.finding(
        f"{message}, which still changes them (momentum, weight decay or an old gradient)" if moved else message,
        subject=trace.parameter_name(parameters[0]),
        location=frozen_at[0] if frozen_at else built,
        help="clear their gradients when freezing them (`p.grad = None`), or build the optimizer without them"
        if moved
        else "give the optimizer only what learns: `(p for p in model.parameters() if p.requires_grad)`",
        severity="warning" if moved else None,
        evidence={
            "frozen": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "number_of_parameters": len(parameters),
            "steps": len(steps),
        },
        related=registered(trace, parameters, *others),
        step_first=1,
        step_count=len(steps),
        parameters=parameters,
    )


def _frozen_at(trace: Trace, parameters: list[int], *, until: int) -> list[Location]:
    """The lines that were seen to freeze them, the one that froze most of them first."""
    newest = {
        event.parameter: _called(trace, event)
        for event in trace.of(ParameterFrozen)
        if event.parameter in parameters and event.step <= until
    }
    return [place for place, _ in Counter(newest.values()).most_common(_MOST_LINES) if place is not None]


def _called(trace: Trace, frozen: ParameterFrozen) -> Location | None:
    """Where it was frozen: by a helper in another file, the call of that in a file that builds an optimizer."""
    files = {built.location.path for built in trace.optimizers.values() if built.location is not None}
    if frozen.location is None or frozen.location.path in files:
        return frozen.location
    return next((caller for caller in reversed(frozen.callers) if caller.path in files), frozen.location)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].requires_grad_(False)  # <- AD206
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def bad_second_stage() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 1)
    model = nn.Sequential(body, head)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    body.requires_grad_(False)
    probe = torch.optim.SGD(head.parameters(), lr=0.05)
    for _ in range(6):
        probe.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        probe.step()
    whole = torch.optim.SGD(model.parameters(), lr=0.01)  # <- AD206
    for _ in range(6):
        whole.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        whole.step()


def bad_frozen_for_a_probe() -> None:
    import torch
    from torch import nn

    def probe(encoder: nn.Module) -> float:
        for weight in encoder.parameters():
            weight.requires_grad_(False)  # <- AD206
        head = nn.Linear(8, 1)
        learns = torch.optim.Adam(head.parameters(), lr=0.05)
        for _ in range(8):
            x = torch.randn(32, 6)
            loss = nn.functional.mse_loss(head(encoder(x)), x[:, :1])
            learns.zero_grad()
            loss.backward()
            learns.step()
        return loss.item()

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        for _ in range(8):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(decoder(encoder(x)), x).backward()
            optimizer.step()
        print(probe(encoder))


def bad_masked_gradients() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    kept = torch.rand(8, 6) > 0.5
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        gradient = model[0].weight.grad
        assert isinstance(gradient, torch.Tensor)
        gradient.mul_(kept)
        optimizer.step()  # <- AD206


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good_frozen_late_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head, other = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 1), nn.Linear(6, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
    beside = torch.optim.SGD(other.parameters(), lr=0.05)
    for step in range(16):
        if step == 8:
            encoder.requires_grad_(False)
        x = torch.randn(32, 6)
        y = x.sum(1, keepdim=True)
        optimizer.zero_grad()
        beside.zero_grad()
        (nn.functional.mse_loss(head(encoder(x)), y) + nn.functional.mse_loss(other(x), y)).backward()
        beside.step()
        optimizer.step()


def good_staged_unfreezing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for step in range(10):
        if step == 4:
            model[0].requires_grad_(True)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


RULE = Rule(
    code="AD206",
    name="frozen-parameter-in-optimizer",
    severity="info",
    title="an optimizer holds frozen parameters",
    observes="Parameters of an optimizer that do not require a gradient in any step; a warning when their values "
    "change anyway, when an optimizer gets them besides those that an earlier one trained without them, and "
    "when they were frozen while a new optimizer stepped, and stayed frozen; and when the program sets a part of a "
    "gradient to 0 step by step, and what the steps do to the values there lasts until the next ones.",
    why="They are skipped as long as they have no gradient. One that is left over from before the freezing, even if it "
    "was set to zero, keeps momentum and weight decay at work on them, as a mask of gradients does.",
    fix="Build the optimizer from the parameters that require a gradient, and set the others' `.grad` to None.",
    fine="Staged unfreezing, where the parameters are frozen for some steps only, and copies of weights to which the "
    "program gives gradients of its own making, to be stepped and written back. Masks of gradients that are put on the "
    "weights after the step, too, that hold back other values in each step, as where the largest alone are used, or "
    "that let pass later what they held back; and what a `step` or a hook of the program's own does to such values.",
    needs=(MaskedValuesMoved, OptimizerBuilt, OptimizerStepped, ParameterFrozen, ParametersAdded),
    examine=examine,
    bad=(bad, bad_second_stage, bad_frozen_for_a_probe, bad_masked_gradients),
    good=(good, good_frozen_late_on_purpose, good_staged_unfreezing),
    tunables={
        "minimum_steps": Tunable(3, "fewest steps in which a parameter, or a part of it, was frozen", NO_BEGINNING)
    },
)
