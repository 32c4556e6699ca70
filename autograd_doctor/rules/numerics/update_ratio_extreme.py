"""AD412 update-ratio-extreme: steps so large or so small against the weights that the rate is off by far."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from statistics import fmean, median

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.numerics import LossesFollowed, UpdatesMeasured
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterGroup
from autograd_doctor.findings import Finding
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.curves import Curve, curves
from autograd_doctor.views.lines import beside
from autograd_doctor.views.magnitudes import (
    Relative,
    against_the_first,
    clipped_away,
    collapse,
    gradient_totals,
    relative_updates,
    root_of_numel,
)
from autograd_doctor.views.rates import known, rate_given
from autograd_doctor.wording import plural

_USUAL = 0.001
_FAR_BELOW = 1e-3
"""Of the highest rate of all groups: rates that fall from layer to layer end at a hundredth, or a bit less."""
_SEVERAL = 2
"""Matrices: what passes through two that are next to nothing is nothing."""
_FIRST = 3
"""Losses that tell where it began."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer in trace.optimizer_parameters:
        measured = relative_updates(trace, optimizer)
        if len(measured) < tunables["steps"]:
            continue
        ratio = median(each.typical for each in measured)
        does = f"each step of `{trace.optimizer_name(optimizer)}` changes the weights by {ratio:.1e} times their size"
        is_small = all(0 < each.typical <= tunables["small"] for each in measured)
        is_small = is_small and not _warms_up(trace, optimizer) and not _teaches(trace, optimizer, tunables)
        clip = clipped_away(trace, optimizer) if is_small else None
        is_small = is_small and not _goes_on(trace, optimizer)
        if all(each.typical >= tunables["large"] for each in measured):
            yield _finding(trace, optimizer, measured, ratio, f"{does}, which overwrites most of their content")
        elif clip is not None:
            yield _clipped(trace, optimizer, measured, ratio, does, clip)
        elif groups := list(_of_groups(trace, optimizer, measured, tunables, are_most=is_small)):
            yield from groups
        elif is_small:
            yield _finding(trace, optimizer, measured, ratio, f"{does}, which leaves them almost unchanged")
        elif beginning := _overshoots(trace, optimizer, measured, tunables):
            yield _of_beginning(trace, optimizer, measured[:beginning])
        elif _decays_away(trace, optimizer, tunables):
            yield _decayed(trace, optimizer, measured)


def _of_groups(
    trace: Trace, optimizer: int, measured: list[Relative], tunables: Tunables, *, are_most: bool
) -> Iterator[Finding]:
    """Groups whose weights hardly move, at a rate far below that of others. A few may be meant to rest."""
    built = trace.optimizers.get(optimizer)
    rates = [group.lr or 0.0 for group in built.groups] if built is not None else []
    for number, group in enumerate(built.groups if built is not None else ()):
        own = [each.of(group.parameters) for each in measured]
        ratios = [each.typical for each in own if each.ratios]
        is_low = 0 < rates[number] <= _FAR_BELOW * max(rates)
        is_still = len(ratios) == len(measured) and all(ratio <= tunables["small"] for ratio in ratios)
        if is_low and is_still and not _warms_up(trace, optimizer, number):
            name, ratio = trace.optimizer_name(optimizer), median(ratios)
            text = (
                f"each step of `{name}` changes the weights of group {number} by {ratio:.1e} times their size, at a "
                f"rate of {rates[number]:g} beside one of {max(rates):g}, which leaves them almost unchanged"
            )
            yield _finding(trace, optimizer, own, ratio, text, group=number, is_hint=not are_most)


def _overshoots(trace: Trace, optimizer: int, measured: list[Relative], tunables: Tunables) -> int:
    """How many of the first steps each moved every matrix further than it was large at first, if the loss rose for it;
    0 for a few only, unless nothing moves any more since then.

    The weights have become so large by then that the steps are small against them.
    """
    moved = against_the_first(trace, optimizer)
    beginning = next((place for place, ratio in enumerate(moved) if ratio < tunables["large"]), len(moved))
    since = [max(each.ratios.values()) for each in measured if each.step >= beginning]
    dead = beginning > 0 and len(since) >= tunables["steps"] and not any(since)
    return beginning if (dead or beginning >= tunables["steps"]) and _rises(trace, optimizer, beginning) else 0


def _rises(trace: Trace, optimizer: int, steps: int) -> bool:
    """Whether every loss of these parameters was higher than at first when so many steps were over, and was not to."""
    built = trace.optimizers.get(optimizer)
    if built is not None and built.climbs:
        return False
    held = trace.optimizer_parameters[optimizer]
    own = [curve for curve in curves(trace) if any(held & set(backward.reached) for backward in curve.backwards)]
    return bool(own) and all(_is_higher(curve, steps) for curve in own)


def _is_higher(curve: Curve, steps: int) -> bool:
    last = next((stretch for stretch in reversed(curve.stretches) if stretch.first < steps), curve.stretches[0])
    level = last.low if last is not curve.stretches[0] else last.last
    return level is not None and curve.opening is not None and level > curve.opening


def _decays_away(trace: Trace, optimizer: int, tunables: Tunables) -> bool:
    """Whether the decay of weights has left next to nothing of several matrices, and no loss of theirs has fallen.

    A network that shrinks and learns has its scale elsewhere, as in a normalisation.
    """
    left = collapse(trace, optimizer)
    if len(left) < _SEVERAL or fmean(map(log, map(_above_zero, left.values()))) > log(tunables["left"]):
        return False
    built = trace.optimizers.get(optimizer)
    decaying = [group for group in built.groups if group.weight_decay > 0] if built is not None else []
    decayed = {parameter for group in decaying for parameter in group.parameters}
    steps = trace.steps_by_optimizer[optimizer]
    is_rate = all((group.lr or 0.0) * group.weight_decay * steps >= -log(tunables["left"]) for group in decaying)
    is_cause = is_rate or all(_outweighs(trace, optimizer, group) for group in decaying)
    return left.keys() <= decayed and is_cause and not _has_fallen(trace, optimizer, tunables["fallen"])


def _above_zero(share: float) -> float:
    return max(share, 1e-12)


def _outweighs(trace: Trace, optimizer: int, group: ParameterGroup) -> bool:
    """Whether what the decay adds to gradients was larger than most of them in the first step that was measured."""
    weights = next((event for event in trace.of(UpdatesMeasured) if event.optimizer == optimizer), None)
    norms = next((norms for _, number, _, norms in gradient_totals(trace) if number == optimizer), {})
    sizes = dict(zip(weights.parameters, weights.weights, strict=True)) if weights is not None else {}
    found = [
        group.weight_decay * sizes[p] * root_of_numel(trace, p) > norms[p]
        for p in group.parameters
        if p in sizes and p in norms
    ]
    return 2 * sum(found) > len(found)


def _has_fallen(trace: Trace, optimizer: int, share: float) -> bool:
    """Whether a loss of these parameters is lower in the second half than it was at first, or none was followed."""
    courses = _courses(trace, optimizer)
    return not courses or any(_is_lower(course, share) for course in courses)


def _teaches(trace: Trace, optimizer: int, tunables: Tunables) -> bool:
    """Whether every loss of these parameters falls, and nothing else can be why: no other optimizer steps, and what it
    holds beside its matrices moves as little. A large number of which the loss heeds the last digits is like this."""
    courses, share = _courses(trace, optimizer), tunables["fallen"]
    falls = bool(courses) and all(_is_long(course) and _is_lower(course, share) for course in courses)
    is_alone = {event.optimizer for event in trace.steps} == {optimizer}
    return falls and is_alone and _is_all_still(trace, optimizer, tunables["small"])


def _is_long(course: list[float]) -> bool:
    """Whether there are enough losses, of a kind that has a share."""
    return len(course) >= 2 * _FIRST and fmean(course[:_FIRST]) > 0


def _is_all_still(trace: Trace, optimizer: int, small: float) -> bool:
    """Whether no step moved anything by more than so large a part of it, vectors and what began at zero included."""
    own = (event for event in trace.of(UpdatesMeasured) if event.optimizer == optimizer)
    return all(
        update <= small * weight for event in own for weight, update in zip(event.weights, event.updates, strict=True)
    )


def _courses(trace: Trace, optimizer: int) -> list[list[float]]:
    """The values of each loss of its parameters."""
    held = trace.optimizer_parameters[optimizer]
    own = [curve for curve in curves(trace) if any(held & set(backward.reached) for backward in curve.backwards)]
    return [[loss for _, loss in curve.course] for curve in own]


def _is_lower(course: list[float], share: float) -> bool:
    first, last = course[:_FIRST], course[len(course) // 2 :]
    return not _is_long(course) or fmean(last) < share * fmean(first)


def _warms_up(trace: Trace, optimizer: int, group: int | None = None) -> bool:
    """Whether the rate, of one group or the highest, is on its way up: it was never higher than at the end, and has
    risen."""
    own = (event.learning_rates for event in trace.steps if event.optimizer == optimizer)
    each = (rates if group is None else rates[group : group + 1] for rates in own)
    rates = [max(rates) for rates in map(known, each) if rates]
    return bool(rates) and rates[-1] == max(rates) > rates[0]


def _goes_on(trace: Trace, optimizer: int) -> bool:
    """Whether it had stepped before it was watched: a rate that has decayed by then leaves weights as they are."""
    first = next((event for event in trace.steps if event.optimizer == optimizer), None)
    return first is not None and first.given_state


def _of_beginning(trace: Trace, optimizer: int, measured: list[Relative]) -> Finding:
    """Ratios to the size that the weights began with, not to the one that they have come to."""
    ratio = median(against_the_first(trace, optimizer)[: len(measured)])
    steps, name = plural(len(measured), "step"), trace.optimizer_name(optimizer)
    text = (
        f"{steps} of `{name}` at the beginning changed the weights by {ratio:.1e} times their initial size, and the "
        "loss rose: nothing is left of their initial values"
    )
    return _finding(trace, optimizer, measured, ratio, text)


def _decayed(trace: Trace, optimizer: int, measured: list[Relative]) -> Finding:
    left, built, name = collapse(trace, optimizer), trace.optimizers[optimizer], trace.optimizer_name(optimizer)
    group = max(built.groups, key=lambda group: group.weight_decay)
    kept = exp(fmean(map(log, map(_above_zero, left.values()))))
    return RULE.finding(
        f"the decay of `{name}` has left {kept:.1e} of the size that {len(left)} matrices of weights had at first, and "
        "the loss has not fallen: what a step learns is gone before others can build on it",
        subject=name,
        location=built.location,
        help=f"lower `weight_decay` ({group.weight_decay:g}) by orders of magnitude: it is usually from 0.0001 to 0.1, "
        "and takes learning rate times decay of a weight in each step",
        confidence="medium",
        evidence={
            "left": kept,
            "matrices": len(left),
            "weight_decay": group.weight_decay,
            **rate_given(built),
        },
        step_first=measured[0].step + 1,
        step_count=measured[-1].step - measured[0].step + 1,
        parameters=sorted(left),
    )


def _clipped(
    trace: Trace, optimizer: int, measured: list[Relative], ratio: float, does: str, clip: GradientsClipped
) -> Finding:
    built, norm = trace.optimizers.get(optimizer), clip.norm or 0.0
    return RULE.finding(
        f"{does}, which leaves them almost unchanged: gradients with a norm of {norm:.2g} are clipped to "
        f"{clip.limit:.1e}",
        subject=trace.optimizer_name(optimizer),
        location=clip.location,
        confidence="medium",
        help="raise the limit of the clipping to the norms that gradients usually have; take a limit that follows them "
        "from the norms before the clipping, which `clip_grad_norm_` returns",
        evidence={
            "update_to_weight_ratio": ratio,
            "steps": len(measured),
            "gradient_norm": norm,
            "limit": clip.limit,
            **rate_given(built),
        },
        related=beside(clip.location, ("the optimizer is made here", built.location if built else None)),
        step_first=measured[0].step + 1,
        step_count=measured[-1].step - measured[0].step + 1,
        parameters=sorted(trace.optimizer_parameters[optimizer]),
    )


def _finding(
    trace: Trace,
    optimizer: int,
    measured: list[Relative],
    ratio: float,
    text: str,
    *,
    group: int | None = None,
    is_hint: bool = False,
) -> Finding:
    built, last = trace.optimizers.get(optimizer), measured[-1].ratios
    is_large = ratio > _USUAL
    furthest = (max if is_large else min)(last, key=lambda parameter: last[parameter])
    return RULE.finding(
        text,
        subject=trace.optimizer_name(optimizer),
        location=built.location if built else None,
        help=("lower" if is_large else "raise") + " the learning rate by orders of magnitude: updates are usually "
        f"around {_USUAL} of the weights, from 0.0001 to 0.01",
        severity="info" if is_hint else None,
        confidence="medium",
        evidence={
            "update_to_weight_ratio": ratio,
            "steps": len(measured),
            "matrices": len(last),
            "furthest": f"{trace.parameter_name(furthest)} at {last[furthest]:.1e}",
            **rate_given(built, group),
        },
        step_first=measured[0].step + 1,
        step_count=measured[-1].step - measured[0].step + 1,
        parameters=sorted(last if group is not None else trace.optimizer_parameters[optimizer]),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-9)  # <- AD412
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_jumps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5)  # <- AD412
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.cross_entropy(3 * model(x), (x[:, 0] * x[:, 1] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_limit() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-6)  # <- AD412
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_limit() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-4)
        optimizer.step()


def good_fine_tuning() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_warm_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) * 1e-6)
    x = torch.randn(64, 8)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


RULE = Rule(
    code="AD412",
    name="update-ratio-extreme",
    severity="warning",
    title="steps are far too large or too small for the weights",
    observes="The root mean square of the change in a step, divided by that of the weights, for every weight matrix "
    "in every recorded step: the typical matrix is beyond the limits in all of them, or that of one group of "
    "parameters, whose rate is a thousandth of another's, or less. Or each of the first steps changes every matrix by "
    "more than its initial size, and the loss rises. Or weights that decay to next to nothing, while the loss stays. "
    "Where steps are too small, whether clipping left no more than a thousandth of the gradients in all of them, and "
    "the rate is what it was.",
    why="Steps as large as the weights erase in each step what was learned before; steps a million times smaller need "
    "millions of steps to change anything.",
    fix="Change the learning rate by orders of magnitude, towards updates of about 0.001 of the weights; or the limit "
    "of the clipping, if that makes them small.",
    fine="Steps that are large at first and lower the loss, warm-up, fine-tuning with small learning rates, vectors "
    "such as biases and scales, and weights that start at zero. Rates that have fallen until the end of a schedule. "
    "Clipping to a small part of the gradients, if the rate is high enough for it, or if steps do not follow the size "
    "of gradients. Weights that shrink while the loss falls. Steps that are small against large values, such as "
    "frequencies, where the loss falls and nothing else moves. A group that hardly moves while most others do may be "
    "meant to rest: it is an `info`.",
    needs=(BackwardRan, GradientsClipped, LossesFollowed, OptimizerBuilt, OptimizerStepped, UpdatesMeasured),
    examine=examine,
    bad=(bad, bad_jumps, bad_limit),
    good=(good, good_limit, good_fine_tuning, good_warm_up),
    tunables={
        "large": Tunable(
            1.0,
            "typical update that is too large, relative to the weights, in every step",
            "published: usual is about 0.001 (Karpathy, CS231n notes, Neural Networks Part 3); this is beyond all "
            "healthy test programs",
        ),
        "small": Tunable(
            1e-6,
            "typical update that is too small, relative to the weights, in every step",
            "published: as for `large`; below 6e-8 float32 does not even represent the new value",
        ),
        "left": Tunable(
            0.125,
            "largest share of their first size that decay has left of matrices, by the mean of its logarithm",
            "arithmetic: of what passes through two such layers a sixty-fourth is left",
        ),
        "fallen": Tunable(
            0.75,
            "share of the first losses below which a loss has fallen",
            "chosen: batches differ by less than a quarter",
        ),
        "steps": Tunable(6, "fewest measured steps", NO_BEGINNING),
    },
    folds=("AD111", "AD408", "AD409", "AD413", "AD414"),
    about="loop",
)
