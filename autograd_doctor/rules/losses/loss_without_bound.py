"""AD620 loss-without-bound: what is minimised has no lowest value, and runs away to minus infinity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from statistics import median

from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.curves import Course, Curve, curves, falls_on, is_contested
from autograd_doctor.views.growing import is_difference_of_distances
from autograd_doctor.views.losses import elsewhere


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for curve in curves(trace):
        runs, course = [ran for ran in curve.backwards if ran.kind == "backward"], curve.course
        taught = {parameter for ran in runs for parameter in ran.reached}
        if is_contested(trace, runs, taught):
            continue
        is_steady = falls_on(course, tunables["slowing"], tunables["minimum_points"])
        if _runs_away(course, tunables):
            yield _finding(curve, runs, course, sorted(taught & trace.optimized))
        elif is_steady and _grows_with_scale(trace, runs, taught):
            yield _finding(curve, runs, course, sorted(taught & trace.optimized), is_difference=True)


def _grows_with_scale(trace: Trace, runs: list[BackwardRan], taught: set[int]) -> bool:
    """Whether each loss is a difference of distances, and nothing holds what they are computed from."""
    made_at = {ran.root.made_at for ran in runs} - {None}
    roots = [root for tape in trace.tapes for root in tape.roots if root.by is not None and root.by.location in made_at]
    rewritten = {parameter for step in trace.of(OptimizerStepped) for parameter in step.rewritten}
    is_held = not taught.isdisjoint(trace.moved_by_hand | rewritten)
    return bool(roots) and not is_held and all(map(is_difference_of_distances, roots))


def _runs_away(course: Course, tunables: Tunables) -> bool:
    """Whether a loss ends far below zero, in terms of what it was at first, and has fallen faster and faster there: the
    last third lies lower than the second by more than a steady fall would have it, which is by two thirds."""
    losses = [loss for _, loss in course]
    below = list(takewhile(lambda loss: loss < 0, reversed(losses)))[::-1]
    third = len(below) // 3
    if len(below) < tunables["minimum_points"]:
        return False
    first, second, last = below[:third], below[third:-third], below[-third:]
    size = max(1.0, median(map(abs, losses[: len(losses) // 3])))
    far = max(last) < min(first) and max(last[-3:]) < -tunables["factor"] * size
    return far and median(last) < tunables["acceleration"] * median(second)


def _finding(
    curve: Curve, runs: list[BackwardRan], course: Course, parameters: list[int], *, is_difference: bool = False
) -> Finding:
    (first_at, first), (last_at, last) = course[0], course[-1]
    made_at = next((ran.root.made_at for ran in runs if ran.root.made_at is not None), None)
    location = made_at or curve.location
    how, why = "ever faster", "there is no lowest value that it could come to"
    if is_difference:
        how = "without slowing down"
        why = "it is the difference of distances between what is learned, and falls for ever as all that grows"
    return RULE.finding(
        f"the loss went from {first:.3g} to {last:.3g} in {last_at - first_at + 1} steps, {how}: {why}",
        subject=next((ran.root.name for ran in runs if ran.root.name), "the loss"),
        location=location,
        help="stop at a margin: `relu(near - far + margin)`, or give all of it a length of 1"
        if is_difference
        else "look for the term that falls without end: a sign that is turned around, or a distance, variance or "
        "divergence that is to be small and is made large",
        evidence={"losses": curve.told()},
        related=elsewhere("the backward ran here", curve.location, location),
        step_first=first_at + 1,
        step_count=last_at - first_at + 1,
        parameters=parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    decoder = nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.05)
    for _ in range(30):
        x = torch.randn(32, 8)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = 0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        loss = nn.functional.mse_loss(decoder(code), x) + divergence  # <- AD620
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 4), nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(60):
        x = torch.randn(32, 8)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        loss = nn.functional.mse_loss(decoder(code), x) + 0.1 * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_likelihood() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, log_scale = nn.Linear(3, 200), nn.Parameter(torch.zeros(200))
    optimizer = torch.optim.Adam([*model.parameters(), log_scale], lr=0.05)
    for _ in range(60):
        x = torch.randn(64, 3)
        wanted = x.sum(1, keepdim=True) + 0.01 * torch.randn(64, 200)
        given = torch.distributions.Normal(model(x), log_scale.exp())
        loss = -given.log_prob(wanted).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_actor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
    acts = torch.optim.Adam(actor.parameters(), lr=0.01)
    judges = torch.optim.Adam(critic.parameters(), lr=0.05)
    for step in range(60):
        state = torch.randn(32, 4)
        value = critic(torch.cat([state, actor(state).detach()], 1))
        judges.zero_grad()
        (value - 0.4 * step).square().mean().backward()
        judges.step()
        acts.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        acts.step()


RULE = Rule(
    code="AD620",
    name="loss-without-bound",
    severity="warning",
    title="a loss falls without end",
    observes="The losses of a line, from step to step, where nothing but this loss teaches the parameters that it was "
    "computed from: whether the last of them lie a thousand times as far below zero as the first lay from it, and "
    "they fall faster in the end than at first. Of a loss that is a difference of distances between what is learned, "
    "with nothing that holds its scale, whether it is below zero and falls without slowing down.",
    why="Minimising what has no lowest value makes the numbers large and nothing better: the part that can fall "
    "without end is all that counts.",
    fix="Turn the sign of that term around, or bound it.",
    fine="Losses of adversaries, critics and actors, which something else holds back, and those that fall below zero "
    "to some level. A negative log-likelihood falls by the logarithm of the scale only: by a factor of ten where a "
    "scale of 1 has shrunk to a millionth.",
    needs=(BackwardRan, LossesFollowed, OptimizerBuilt, OptimizerStepped, ParameterSeen, TapeSealed),
    examine=examine,
    bad=(bad,),
    good=(good, good_likelihood, good_actor),
    tunables={
        "minimum_points": Tunable(
            9, "fewest losses below zero at the end of the course", "chosen: three in each of its three parts"
        ),
        "factor": Tunable(
            1000.0,
            "how far below zero the loss must be, in sizes of what it was at first",
            "chosen: logarithms of densities, which may be negative, do not come as far",
        ),
        "slowing": Tunable(
            0.5,
            "share of its first slope that a difference of distances still falls with at the end",
            "chosen: what comes near a limit has slowed down to less",
        ),
        "acceleration": Tunable(
            2.0,
            "how far down the last part must lie, as a multiple of the part before",
            "arithmetic: a steady fall makes it 1.67 times",
        ),
    },
    folds=("AD401", "AD402", "AD404", "AD406", "AD409", "AD412", "AD413"),
    about="loss",
)
