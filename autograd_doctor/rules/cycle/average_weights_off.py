"""AD121 average-weights-off: a moving average of weights is no average, for its own weights do not add up to one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import (
    AverageRounded,
    AverageWeighed,
    EvaluatedWeightsKept,
    SpectralVectorsOff,
    TrainedAveraged,
)
from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.losses import elsewhere
from autograd_doctor.views.weight_averages import is_average

_FIRST = 2
"""The step by whose end it is known what became of an average that follows the first one."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    off = [event for event in trace.of(AverageWeighed) if _is_off(event, tunables["rounding"])]
    for events in in_several_steps(trace, off, lambda event: event.location, tunables["steps"]):
        yield _finding(trace, events)
    drawn = [each for each in trace.of(TrainedAveraged) if is_average(each.own, each.new, tunables["rounding"])]
    for turned in in_several_steps(trace, drawn, lambda event: event.location, tunables["steps"]):
        if not any(event.moved for event in turned) and _runs_beside(trace, turned):
            yield _turned_round(trace, turned)
    for event in trace.of(SpectralVectorsOff):
        yield _unit_vectors(trace, event)
    for rounded in trace.of(AverageRounded):
        if rounded.same >= tunables["same"] * rounded.due:
            yield _does_not_follow(trace, rounded)
    for kept in trace.of(EvaluatedWeightsKept):
        follows = _follows(trace, set(kept.parameters), tunables["rounding"])
        if kept.times >= tunables["steps"] and follows is not None:
            yield _left_in(trace, kept, follows)


def _follows(trace: Trace, parameters: set[int], rounding: float) -> AverageWeighed | None:
    """An average of these that is brought up to date in each step, and not just before it takes the place of them."""
    found = {
        event.step: event
        for event in trace.of(AverageWeighed)
        if parameters & set(event.parameters) and event.own > event.new > 0 and not _is_off(event, rounding)
    }
    return next((event for step, event in found.items() if step + 1 in found), None)


def _left_in(trace: Trace, event: EvaluatedWeightsKept, average: AverageWeighed) -> Finding:
    """A hint: there are methods that begin anew from the average of an epoch."""
    name = trace.module_name(event.module)
    return RULE.finding(
        f"`{name}` was evaluated {event.times} times with weights that were written since the last step, and training "
        "went on from them, beside an average of its weights that follows them step by step: if that was put in to be "
        "evaluated, what the last steps have learned is gone each time",
        subject=name,
        location=event.location,
        severity="info",
        confidence="low",
        help="keep the weights before the average takes their place, and put them back after the evaluation; or "
        "evaluate a copy of the model that holds the average",
        evidence={"times": event.times, "evaluations": event.evaluations, "kept": average.own, "added": average.new},
        related=elsewhere("the average is brought up to date here", average.location, event.location),
        step_first=event.step,
        parameters=event.parameters,
    )


def _does_not_follow(trace: Trace, event: AverageRounded) -> Finding:
    names = trace.parameter_names(event.parameters)
    return RULE.finding(
        f"the average of {names} does not follow: of {event.due} numbers that should have moved by now, "
        f"{event.same} are the same to the bit, for {event.dtype} rounds away what each update adds",
        subject=trace.parameter_name(event.parameters[0]),
        location=event.location,
        severity="warning",
        help="keep the average in float32, and cast it where it is used",
        evidence={
            "numbers_that_should_have_moved": event.due,
            "the_same": event.same,
            "dtype": event.dtype,
            "added": event.new,
            "parameters": [trace.parameter_name(parameter) for parameter in event.parameters[:20]],
        },
        step_first=event.since + 1,
        step_count=event.step - event.since,
        parameters=event.parameters,
    )


def _unit_vectors(trace: Trace, event: SpectralVectorsOff) -> Finding:
    module, layers = trace.module_name(event.module), ", ".join(f"`{layer}`" for layer in event.layers[:3])
    return RULE.finding(
        f"`{module}` is evaluated with vectors of a spectral norm that are shorter than 1, in {layers}: the norm comes "
        f"out {event.share:.2g} times what it is, and the weights {1 / event.share:.3g} times too large; averages of "
        "unit vectors are no unit vectors",
        subject=module,
        location=event.location or event.evaluated_at,
        severity="warning",
        confidence="high" if event.location else "medium",
        help="average parameters alone, and copy buffers: `for kept, new in zip(average.buffers(), model.buffers()): "
        "kept.copy_(new)`",
        evidence={"layers": event.layers[:20], "share": event.share},
        related=elsewhere("it is evaluated here", event.evaluated_at, event.location or event.evaluated_at),
        step_first=event.step,
    )


def _is_off(event: AverageWeighed, rounding: float) -> bool:
    """Weights that add up to one average, unless one is negative; what is added to a whole one is a sum."""
    if event.own == 1.0 and event.new > 0:
        return False
    return abs(event.own + event.new - 1.0) > rounding or min(event.own, event.new) < -rounding


def _runs_beside(trace: Trace, events: list[TrainedAveraged]) -> bool:
    """Whether a model of what the trained weights are drawn to runs without gradients, one step like the other."""
    drawn_to = set(events[0].towards)
    runs = (ran for ran in trace.of(ForwardRan) if not ran.builds_graph)
    ran_in = {ran.step for ran in runs if drawn_to.issubset(trace.module_parameters(ran.module))}
    return len(ran_in) >= len({event.step for event in events}) - 1


def _turned_round(trace: Trace, events: list[TrainedAveraged]) -> Finding:
    """It may be meant where the values that stay were learned before; those of a copy that is as new teach nothing."""
    first, steps = events[0], len({event.step for event in events})
    trained, still = trace.parameter_names(first.parameters), trace.parameter_names(first.towards)
    return RULE.finding(
        f"each update keeps {first.own:.6g} of {trained}, which is trained, and adds {first.new:.6g} of {still}, which "
        "no optimizer holds and nothing moves: the average is written into the weights that it is to be taken of",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        severity="warning" if first.step <= _FIRST else "info",
        confidence="medium",
        help="exchange the two, so that the copy follows: `copy.lerp_(weights, 1 - decay)`; where the weights are to "
        "be held near a copy that stays as it is, this may be meant",
        evidence={
            "kept": first.own,
            "added": first.new,
            "parameters": [trace.parameter_name(parameter) for parameter in first.parameters[:20]],
            "number_of_parameters": len(first.parameters),
            "steps": steps,
        },
        step_first=first.step + 1,
        step_count=steps,
        parameters=first.parameters,
    )


def _finding(trace: Trace, events: list[AverageWeighed]) -> Finding:
    first, steps = events[0], len({event.step for event in events})
    leaves = first.own > 1.0 and first.new < 0.0
    names = trace.parameter_names(first.parameters)
    if leaves:
        becomes = f"moves away from {names}, further with each step"
    elif abs(first.own) < 1.0:
        becomes = f"comes to {first.new / (1.0 - first.own):.3g} times {names}"
    else:
        becomes = f"is no average of {names}, and grows"
    return RULE.finding(
        f"each update keeps {first.own:.6g} of the average and adds {first.new:.6g} of the new weights: it {becomes}",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        severity="error" if leaves else "warning",
        confidence="high" if leaves else "medium",
        help="let the two add up to 1, none below 0: `average.mul_(decay).add_(weights, alpha=1 - decay)`, or "
        "`average.lerp_(weights, 1 - decay)`",
        evidence={
            "kept": first.own,
            "added": first.new,
            "parameters": [trace.parameter_name(parameter) for parameter in first.parameters[:20]],
            "number_of_parameters": len(first.parameters),
            "steps": steps,
        },
        step_first=first.step + 1,
        step_count=steps,
        parameters=first.parameters,
    )


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    average = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters(), strict=True):
                kept.add_(0.01 * (kept - new))  # <- AD121
    average(x)


def bad_weights_of_two_decays() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    target = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        goal = x.sum(dim=1, keepdim=True) + 0.9 * target(x)
        loss = nn.functional.mse_loss(model(x), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for kept, new in zip(target.parameters(), model.parameters(), strict=True):
            kept.data.mul_(0.99).add_(new.data, alpha=0.1)  # <- AD121


def bad_average_in_half_precision() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    average = [weight.detach().clone().bfloat16() for weight in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(30):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average, model.parameters(), strict=True):
                kept.lerp_(new.bfloat16(), 0.001)  # <- AD121


def good_average_in_half_precision_that_follows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    average = [weight.detach().clone().bfloat16() for weight in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(30):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average, model.parameters(), strict=True):
                kept.lerp_(new.bfloat16(), 0.1)


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    average = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(8):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay = min(0.99, (1 + step) / (10 + step))
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters(), strict=True):
                kept.sub_((1 - decay) * (kept - new))
    average(x)


def good_sum_of_snapshots() -> None:
    """Weights are added up, and divided by their number at the end."""
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    total = [torch.zeros_like(weight) for weight in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(total, model.parameters(), strict=True):
                kept.add_(new)
    soup = copy.deepcopy(model)
    with torch.no_grad():
        for weight, kept in zip(soup.parameters(), total, strict=True):
            weight.copy_(kept / 8)
    soup(x)


RULE = Rule(
    code="AD121",
    name="average-weights-off",
    severity="error",
    title="a moving average of weights is no average",
    observes="What is written in place to tensors that no optimizer holds, or computed anew of what the same line made "
    "in an earlier step: how much of what was there stays, and how much of a trained parameter is added. And the same "
    "the other way round: averages written into trained parameters, of these and of a model that runs beside them "
    "without gradients and never changes. Also modules that are evaluated with vectors of a spectral norm that are no "
    "unit vectors; and, as a hint, those whose weights are written before each evaluation and trained on afterwards, "
    "beside an average that follows them. And averages in half precision of which the numbers that should "
    "have moved by several units in the last place are the same to the bit.",
    why="An exponential moving average keeps a share of itself and takes the rest from the new weights. With a sign "
    "turned it runs away from them; with shares that do not add up to 1 it settles at a multiple of them; and where "
    "each update adds less than rounding takes, it stays what it was at first. Whatever is evaluated, or taken as a "
    "target, is not the model that was trained.",
    fix="Let both shares add up to 1: `average.lerp_(weights, 1 - decay)`; keep it in float32.",
    fine="Sums of weights that are divided by their number later, and copies. Trained weights that are drawn to values "
    "which no model uses meanwhile, or which follow them. Only an `info` where something had been learned before: "
    "weights may be held near a copy of those that they began with.",
    needs=(AverageRounded, AverageWeighed, EvaluatedWeightsKept, ForwardRan, SpectralVectorsOff, TrainedAveraged),
    examine=examine,
    bad=(bad, bad_weights_of_two_decays, bad_average_in_half_precision),
    good=(good, good_sum_of_snapshots, good_average_in_half_precision_that_follows),
    tunables={
        "steps": Tunable(2, "fewest steps with such an average", MORE_THAN_ONCE),
        "same": Tunable(
            0.3,
            "smallest share that is the same to the bit of the numbers of an average that should have moved",
            "arithmetic: stochastic rounding leaves exp(-2) of what should have moved by two units",
        ),
        "rounding": Tunable(
            0.001,
            "most that the two weights may add up to beside 1",
            "arithmetic: float16 rounds a weight by up to 5e-4",
        ),
    },
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema",),
)
