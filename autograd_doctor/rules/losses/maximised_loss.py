"""AD609 maximised-loss: what is minimised is the negative of something that is never below zero, and falls on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autograd_doctor.events.data import TargetsSeen, WeightsLoaded
from autograd_doctor.events.losses import LossSignSeen, ObjectiveMinimised, TermWeightTurned
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.curves import Course, falls_on, is_contested, is_shared, steps_on_others
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.views.loaded import loaded_before
from autograd_doctor.views.losses import descends, elsewhere
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    seen: dict[Location | None, list[LossSignSeen]] = {}
    for event in trace.of(LossSignSeen):
        seen.setdefault(event.location, []).append(event)
    for location, events in seen.items():
        runs = [ran for ran in trace.of(BackwardRan) if ran.location == location and ran.kind == "backward"]
        taught = {parameter for ran in runs for parameter in ran.reached}
        if not all(event.negated for event in events):
            continue
        is_game = is_contested(trace, runs, taught)
        if is_game and not _is_lost_by_itself(trace, events, runs, taught):
            continue
        course = [(ran.step, -ran.loss if _climbs(events) else ran.loss) for ran in runs if ran.loss is not None]
        course = [(step, loss) for step, loss in course if loss == loss]
        if falls_on(course, tunables["slowing"], tunables["minimum_steps"]):
            doubt = _doubt(trace, events[0], course, taught & trace.optimized, tunables["known"])
            if is_game:
                doubt = _Doubt("another network has a part in it", "the game is meant to be one of these")
            yield _finding(trace, events[0], course, sorted(taught & trace.optimized), doubt)
    lower = [event for event in trace.of(ObjectiveMinimised) if descends(trace, event.backward)]
    for found in in_several_steps(trace, lower, lambda event: event.location, tunables["minimum_bounds"]):
        yield _objective(found)
    for turned in trace.of(TermWeightTurned):
        if min(turned.looks, turned.before) >= tunables["looks"]:
            yield _turned(turned)


def _is_lost_by_itself(trace: Trace, events: Sequence[LossSignSeen], runs: list[BackwardRan], taught: set[int]) -> bool:
    """Whether a part that falls is of the data and the network alone, which nothing else moves: the other network of a
    game has no say in that."""
    if is_shared(trace, taught) or taught & trace.moved_by_hand:
        return False
    return all(event.alone and not event.limited for event in events) and not steps_on_others(trace, runs, taught)


def _climbs(events: Sequence[LossSignSeen]) -> bool:
    return events[0].maximises is not None


def _chance(trace: Trace, event: LossSignSeen) -> float | None:
    """What the loss is for a model that knows nothing of the classes; None if it is not about classes."""
    seen = (each for each in trace.of(TargetsSeen) if each.location == event.bounded_at and each.logits > 1)
    return next((math.log(each.logits) for each in seen), None)


class _Doubt(NamedTuple):
    """What lets one think that it is meant: what was seen, and what it would be meant for."""

    seen: str
    purpose: str


def _doubt(trace: Trace, event: LossSignSeen, course: Course, taught: set[int], known: float) -> _Doubt | None:
    if event.limited:
        return _Doubt("both sides are confined, so that it cannot grow for ever", "the two are to be driven apart")
    chance, purpose = _chance(trace, event), "the model is to forget these data"
    if chance is not None and abs(course[0][1]) < known * chance:
        seen = f"guessing has {chance:.3g}, so that the model knew what it is driven from before the first of them"
        return _Doubt(seen, purpose)
    if taught <= loaded_before(trace, course[0][0]):
        return _Doubt("all that it teaches was loaded before", purpose)
    return None


def _finding(trace: Trace, event: LossSignSeen, course: Course, parameters: list[int], doubt: _Doubt | None) -> Finding:
    first, last = course[0][1], course[-1][1]
    built = trace.optimizers.get(event.maximises) if event.maximises is not None else None
    location = built.location if built is not None else event.negated_at or event.location
    how = f"`{trace.optimizer_name(event.maximises)}` maximises" if built is not None else "what is minimised is minus"
    places = (
        (f"`{event.operation}` is never below zero", event.bounded_at),
        ("the backward ran here", event.location),
    )
    return RULE.finding(
        f"{how} `{event.operation}`, which is never below zero, and that went from {abs(first):.4g} to {abs(last):.4g} "
        f"in {plural(course[-1][0] + 1, 'step')} without slowing down"
        + (f"; {doubt.seen}" if doubt is not None else ""),
        subject=event.operation,
        location=location,
        severity="error" if doubt is None else "warning",
        help=("leave `maximize=True` out" if built is not None else "minimise it: leave the minus out")
        + (f", unless {doubt.purpose}" if doubt is not None else ""),
        confidence="high" if event.is_loss and doubt is None else "medium",
        evidence={"loss_first": first, "loss_last": last, "steps": course[-1][0] + 1},
        related=beside(location, *places),
        step_first=course[0][0] + 1,
        step_count=len(course),
        parameters=parameters,
    )


def _turned(event: TermWeightTurned) -> Finding:
    """A warning: a controller or a game may weigh a term by any number."""
    term = f"`{event.operation}`" if event.operation else "a KL divergence"
    return RULE.finding(
        f"the weight of {term}, which is never below zero, fell from {event.first:.3g} to {event.last:.3g} in the "
        f"steps that were looked at, and is below zero from step {event.since + 1} on: what was to be small is driven "
        "up since then",
        subject=event.operation or "divergence",
        location=event.location,
        severity="warning",
        confidence="medium",
        help="let the weight end at zero: `max(0.0, weight)`",
        evidence={"weight_first": event.first, "weight_last": event.last, "steps": event.before + event.looks},
        related=beside(
            event.location,
            ("the term is computed here", event.computed_at),
            ("the loss goes backward here", event.backward_at),
        ),
        step_first=event.since + 1,
        step_count=event.looks,
    )


def _objective(events: list[ObjectiveMinimised]) -> Finding:
    """A warning: with a cost for an advantage the direction may be meant, and only what is clipped is wrong."""
    first = events[0]
    which, sign, harm = "lower", "plus", "what was worth more is made less likely, and the clip holds nothing back"
    if first.higher:
        which, sign, harm = "higher", "minus", "the clip holds nothing back where it should"
    return RULE.finding(
        f"the {which} of a ratio times its weights, and of the clipped ratio times the same, goes into the loss with a "
        f"{sign}: {harm}",
        subject="objective",
        location=first.location,
        severity="warning",
        confidence="medium",
        help="`loss = -torch.min(ratio * advantage, clipped * advantage).mean()`; of costs, which are to go down, the "
        "higher of the two is added",
        evidence={"steps": len(events)},
        related=elsewhere("the loss goes backward here", first.backward_at, first.location),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        x = torch.randn(64, 4)
        loss = -nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))  # <- AD609
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_climbing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, maximize=True)  # <- AD609
    for _ in range(20):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_objective() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(6):
        states = torch.randn(64, 3)
        with torch.no_grad():
            before = torch.distributions.Categorical(logits=policy(states))
            actions = before.sample()
        gained = (actions == states.argmax(1)).float()
        for _ in range(2):
            now = torch.distributions.Categorical(logits=policy(states))
            ratio = (now.log_prob(actions) - before.log_prob(actions)).exp()
            weights = gained - gained.mean()
            loss = torch.min(ratio * weights, ratio.clamp(0.8, 1.2) * weights).mean()  # <- AD609
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, maximize=True)
    for _ in range(20):
        x = torch.randn(64, 4)
        likelihood = -0.5 * (model(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        likelihood.backward()
        optimizer.step()


def good_variance() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    direction = nn.Parameter(torch.randn(6))
    optimizer = torch.optim.SGD([direction], lr=0.1)
    spread = torch.tensor([3.0, 1.0, 1.0, 0.5, 0.5, 0.1])
    for _ in range(30):
        x = torch.randn(128, 6) * spread
        loss = -(x @ nn.functional.normalize(direction, dim=0)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_adversary() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    of_generator = torch.optim.Adam(generator.parameters(), lr=0.01)
    of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
    judge = nn.functional.binary_cross_entropy_with_logits
    for _ in range(20):
        real, fake = torch.randn(32, 6) + 1, generator(torch.randn(32, 4))
        told = judge(critic(real), torch.ones(32, 1)) + judge(critic(fake.detach()), torch.zeros(32, 1))
        of_critic.zero_grad()
        told.backward()
        of_critic.step()
        fooled = -judge(critic(fake), torch.zeros(32, 1))
        of_generator.zero_grad()
        fooled.backward()
        of_generator.step()


RULE = Rule(
    code="AD609",
    name="maximised-loss",
    severity="error",
    title="a loss is maximised",
    observes="The root of a backward was the negative of a loss function of torch, or of the size of differences from "
    "data, up to constants, positive weights and penalties on parameters alone, or its optimizer climbs. The value "
    "fell as long as the run lasted, without slowing down, and nothing else taught the "
    "parameters, or had a say in a summand of it. Or the lower of a "
    "ratio times data and the same of a ratio kept near 1, which bounds a gain from below, was a term of the loss. Or "
    "the weight of a term that is never below zero faded away, step by step, and went on falling below zero.",
    why="There is no lowest value to come to: the model is driven away from its targets, further in each step.",
    fix="Take the minus away, or `maximize=True` out of the optimizer.",
    fine="Log-likelihoods, policy gradients, critics and similarities, whose negatives have a lowest value or are no "
    "such loss; adversaries, which something else holds back; costs, of which the higher of two is a term; weights of "
    "constraints, and weights that go up and down, as those of a controller do. It is a warning where the loss cannot "
    "grow for ever, as the distance of unit vectors, and where a model that was loaded, or that begins far below the "
    "loss of guessing, may be meant to forget.",
    needs=(
        *(BackwardRan, LossSignSeen, ObjectiveMinimised, OptimizerBuilt, OptimizerStepped, ParameterSeen),
        *(TargetsSeen, TermWeightTurned),
        WeightsLoaded,
    ),
    examine=examine,
    bad=(bad, bad_climbing, bad_objective),
    good=(good, good_variance, good_adversary),
    tunables={
        "minimum_steps": Tunable(
            8, "fewest losses that were seen", "chosen: the course is cut into three parts, of two losses at least"
        ),
        "slowing": Tunable(
            0.5,
            "share of its first slope that the loss still falls with at the end",
            "chosen: what comes near a limit has slowed down to less",
        ),
        "looks": Tunable(3, "fewest steps with a weight on either side of zero", NO_BEGINNING),
        "minimum_bounds": Tunable(2, "fewest steps with such an objective", MORE_THAN_ONCE),
        "known": Tunable(
            0.5,
            "share of the loss of a model that guesses, below which the first loss shows that this one knew its data",
            "chosen: a model that has learned is far below it, one that begins is at it",
        ),
    },
    folds=("AD401", "AD402", "AD405", "AD406", "AD409", "AD412", "AD413", "AD620"),
    about="loss",
)
