"""AD405 loss-diverges: the loss left its early range by orders of magnitude, and the weights went with it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from autograd_doctor.events.losses import TermWeightGrew
from autograd_doctor.events.numerics import CarriedValueMeasured, LossesFollowed, NonFiniteProduced, UpdatesMeasured
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.carried import Carried, carried_values, cause
from autograd_doctor.views.curves import Curve, curves
from autograd_doctor.views.magnitudes import growth, relative_updates
from autograd_doctor.views.rates import rate_given
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for curve in curves(trace):
        optimizer = _alone(trace, curve)
        if optimizer is None:
            continue
        rise, ratio = _rise(curve), _early_ratio(trace, optimizer)
        far = rise >= tunables["large_factor"]
        by_rate = ratio >= tunables["large_ratio"] * (1 if far else 3)
        carried = None if by_rate else _grown(trace, curve, rise, tunables)
        if carried is not None:
            yield _carried_finding(trace, curve, optimizer, carried)
        elif _is_weighed_more(trace, curve, optimizer, tunables):
            continue
        elif rise >= tunables["factor"] and (
            by_rate or (far and growth(trace, optimizer) >= tunables["weight_growth"])
        ):
            yield _finding(trace, curve, optimizer, ratio, by_rate=by_rate)


def _alone(trace: Trace, curve: Curve) -> int | None:
    """The optimizer that minimises this loss, if one alone does.

    Where gradients also reach parameters of another, the two may be adversaries, whose losses rise by turns.
    """
    reached = {parameter for backward in curve.backwards for parameter in backward.reached}
    holders = [optimizer for optimizer, held in trace.optimizer_parameters.items() if held & reached]
    built = trace.optimizers.get(holders[0]) if len(holders) == 1 else None
    return None if built is None or built.climbs else built.optimizer


def _rise(curve: Curve) -> float:
    """The last losses divided by the first: one that is minimised should not rise. One that falls below 0 does not."""
    opening, closing = curve.opening, curve.closing
    return closing / abs(opening) if opening and closing is not None and curve.count > 2 else 0.0


def _is_weighed_more(trace: Trace, curve: Curve, optimizer: int, tunables: Tunables) -> bool:
    """Whether the program raised the weight of a term by more than the loss rose, while the term itself did not grow
    and steps became small: a penalty that it follows a path of minima with, not a run that left them."""
    grown = [
        event.last / event.first
        for event in trace.of(TermWeightGrew)
        if event.backward_at == curve.location and _is_kept_down(event)
    ]
    late = [each.typical for each in relative_updates(trace, optimizer)[-5:]]
    is_settled = bool(late) and median(late) < tunables["large_ratio"] and not curve.ends_non_finite
    return is_settled and _rise(curve) <= max(grown, default=0.0)


def _is_kept_down(event: TermWeightGrew) -> bool:
    return event.size_first is not None and event.size_last is not None and event.size_last <= event.size_first


def _early_ratio(trace: Trace, optimizer: int) -> float:
    """Updates relative to weights while the loss was on its way: the typical one of the first steps."""
    measured = relative_updates(trace, optimizer)
    return median(each.typical for each in measured[:5]) if measured else 0.0


def _grown(trace: Trace, curve: Curve, rise: float, tunables: Tunables) -> Carried | None:
    """What the program keeps from step to step, and has grown by itself, if that has spoiled this loss."""
    return cause(
        carried
        for carried in carried_values(trace)
        if carried.in_loss
        and carried.by_itself >= tunables["carried_growth"]
        and (_is_explained(carried, rise, tunables) or (curve.ends_non_finite and _overflowed(trace, carried)))
    )


def _is_explained(carried: Carried, rise: float, tunables: Tunables) -> bool:
    """Whether a loss that has risen so much did so because of it. A single number may be a schedule, or count."""
    if carried.last.numel == 1:
        return carried.feeds_on_itself and rise >= tunables["large_factor"]
    return (carried.feeds_on_itself or carried.keeps_adding) and rise >= tunables["factor"]


def _overflowed(trace: Trace, carried: Carried) -> bool:
    """Whether the value that is not finite was born of operands as large as this has become."""
    return carried.feeds_on_itself and any(
        abs(edge) >= carried.last.size / 2
        for born in trace.of(NonFiniteProduced)
        for operand in born.operands
        for edge in (operand.low, operand.high)
        if edge is not None
    )


def _carried_finding(trace: Trace, curve: Curve, optimizer: int, carried: Carried) -> Finding:
    first, last = carried.measured[0], carried.last
    fast = carried.feeds_on_itself
    end = "is no longer finite" if curve.ends_non_finite else f"has risen to {curve.closing or 0:.3g}"
    grows = "feeds on itself" if fast else "is a sum that is never reset"
    kept = Related("and it is stored here", last.kept_at) if last.kept_at else None
    lost = Related("`backward()` runs on this loss", curve.location) if curve.location else None
    return RULE.finding(
        f"the result of `{last.operation}` {grows}: carried over from step to step, it has grown from "
        f"{first.size:.3g} to {last.size:.3g} within {plural(last.step - first.step, 'step')}, and the loss {end}",
        subject=last.operation,
        location=last.location,
        help="keep it bounded: a factor below 1, a mean instead of a sum, normalisation, or a reset",
        severity=None if fast else "warning",
        confidence="high" if fast and last.numel > 1 else "medium",
        evidence={
            "sizes": carried.told(),
            "growth_by_itself": carried.by_itself,
            "losses": curve.told(),
            "backwards": curve.count,
        },
        related=tuple(each for each in (kept, lost) if each is not None),
        notes=tuple(_overflows(trace)),
        step_first=first.step + 1,
        step_count=curve.stretches[-1].step - first.step,
        parameters=sorted(trace.optimizer_parameters.get(optimizer, ())),
    )


def _overflows(trace: Trace) -> Iterator[str]:
    born = next(iter(trace.of(NonFiniteProduced)), None)
    if born is not None:
        where = f" in line {born.location.line}" if born.location else ""
        yield f"finally, `{born.operation}`{where} overflowed in step {born.step + 1}"


def _finding(trace: Trace, curve: Curve, optimizer: int, ratio: float, *, by_rate: bool) -> Finding:
    built, name = trace.optimizers.get(optimizer), trace.optimizer_name(optimizer)
    root = curve.backwards[0].root
    end = "and then is no longer finite" if curve.ends_non_finite else "and stays there"
    grown = growth(trace, optimizer)
    cause = f": each step changes the weights by {ratio:.2g} times their size" if by_rate else ""
    made_at = root.made_at or curve.location
    return RULE.finding(
        f"the loss rises from {curve.opening:.3g} to {curve.closing:.3g} within "
        f"{plural(curve.count, 'backward')} {end}{cause}",
        subject=name if by_rate else root.name or "loss",
        location=(built.location if built and by_rate else None) or made_at,
        help=f"lower the learning rate of `{name}`, first by a factor of 10, or clip the gradients"
        if by_rate
        else "look for something that amplifies itself: a sum that is never reset, missing normalisation, a wrong sign",
        confidence="high" if by_rate else "medium",
        evidence={
            "losses": curve.told(),
            "backwards": curve.count,
            "update_to_weight_ratio": ratio,
            "weight_growth": grown,
            **rate_given(built),
        },
        related=(Related("`backward()` runs on this loss", curve.location),) if curve.location else (),
        notes=("the ratio of updates to weights is around 0.001 in most trainings",) if by_rate else (),
        step_first=1,
        step_count=curve.stretches[-1].step + 1,
        parameters=sorted(trace.optimizer_parameters.get(optimizer, ())),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=3.0)  # <- AD405
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_slowly() -> None:
    import torch

    torch.manual_seed(0)
    weights = torch.nn.Parameter(torch.randn(20, 3) * 0.1)
    x = torch.randn(200, 20) * 3
    y = torch.randn(200, 3)
    optimizer = torch.optim.SGD([weights], lr=0.13)  # <- AD405
    for _ in range(60):
        optimizer.zero_grad()
        loss = (x @ weights - y).square().sum(1).mean()
        loss.backward()
        optimizer.step()


def bad_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    memory = torch.zeros(8)
    for _ in range(60):
        x = torch.randn(64, 8)
        memory = 1.3 * memory + x.mean(0)  # <- AD405
        loss = nn.functional.mse_loss(model(x) + memory.sum(), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    memory = torch.zeros(8)
    for _ in range(60):
        x = torch.randn(64, 8)
        memory = 0.9 * memory + x.mean(0)
        loss = nn.functional.mse_loss(model(x) + memory.sum(), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_growing_returns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=3e-3)
    for episode in range(40):
        states = torch.randn(32, 4)
        returns = (states.sum(1, keepdim=True) + 1) * 1.4**episode
        loss = nn.functional.mse_loss(value(states), returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD405",
    name="loss-diverges",
    severity="error",
    title="the loss rises by orders of magnitude",
    observes="A loss that rose by orders of magnitude above its first value and did not come back, or ended "
    "non-finite, while one of these happened: the weights grew; each step changed them by a large part of their size; "
    "or a value that the program carries over from step to step, and that enters the loss, grew out of itself.",
    why="The steps overshoot, or a state amplifies itself, further each time, until a value overflows. What was "
    "learned is lost.",
    fix="Lower the learning rate, warm it up, or clip gradients; normalise large inputs and targets; keep values that "
    "are carried over from step to step bounded.",
    fine="Growing targets, such as returns in reinforcement learning, and harder tasks raise a loss, but not the "
    "weights. States that grow because their inputs grow, counters, schedules, and means that converge are fine. So is "
    "a loss that rises by no more than a number that the program multiplies one of its terms by, as that of a penalty, "
    "while the term itself does not grow and steps become small. Adversarial losses, which rise in turns, losses of "
    "which an optimizer seeks the maximum (`maximize=True`), and losses that fall below zero are not judged.",
    needs=(
        LossesFollowed,
        UpdatesMeasured,
        BackwardRan,
        OptimizerBuilt,
        OptimizerStepped,
        CarriedValueMeasured,
        NonFiniteProduced,
        TermWeightGrew,
    ),
    examine=examine,
    bad=(bad, bad_slowly, bad_state),
    good=(good, good_state, good_growing_returns),
    tunables={
        "factor": Tunable(
            100.0,
            "smallest rise of the loss, as a factor",
            "measured: in the healthy test programs, losses rise by a factor of at most 100, unless their targets grow",
        ),
        "large_factor": Tunable(
            1e4,
            "smallest rise that smaller updates, or large weights, can explain",
            "chosen: a hundred times what was measured in healthy programs",
        ),
        "large_ratio": Tunable(
            0.1,
            "smallest typical first updates that are large, relative to the weights; three times as much below "
            "`large_factor`",
            "measured: in the healthy test programs they are smaller",
        ),
        "weight_growth": Tunable(
            10.0,
            "smallest growth of the weights that is large, as a factor",
            "measured: in the healthy test programs they do not grow tenfold",
        ),
        "carried_growth": Tunable(
            10.0,
            "smallest growth out of itself, as a factor, of the largest entry of what is carried over from step to "
            "step",
            "chosen: as for weights",
        ),
    },
    folds=(
        "AD401",
        "AD402",
        "AD404",
        "AD406",
        "AD412",
        "AD413",
        "AD414",
        "AD408",
        "AD409",
        "AD410",
        "AD111",
        "AD116",
        "AD599",
    ),
    about="loss",
)
