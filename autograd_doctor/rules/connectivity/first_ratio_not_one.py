"""AD228 first-ratio-not-one: the importance ratio of a policy is not 1 before the first update after the rollout."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_doctor.events.connectivity import FirstRatioSeen
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import related

_MOST = math.log(1e6)
_REASONS = {
    "action": (
        "; the action that is scored anew is not the one whose log-probability was kept: `{operation}` came between",
        "keep the action that was drawn, with its log-probability, and give the environment the changed one: "
        "`env.step(action.clamp(-1, 1))`",
        "the action was changed here",
    ),
    "input": (
        "; only one of the two was computed of an input that `{operation}` has changed",
        "give the policy its input in the same form when actions are drawn and when it is updated",
        "the input was changed here",
    ),
    "order": (
        "; both were computed of the same data, which are in another order than the old log-probabilities",
        "keep actions, observations and log-probabilities side by side, and shape, shift and index all of them alike",
        "",
    ),
    "mode": (
        "; `{operation}` is active in one of the two only",
        "compute both in the same mode, with dropout switched off: call `policy.eval()` before both",
        "this is active on one side only",
    ),
}
"""What is told of each reason, what to change, and what to say of the operation."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(FirstRatioSeen):
        yield _finding(trace, event)


def _finding(trace: Trace, event: FirstRatioSeen) -> Finding:
    why, change, said = _REASONS[event.differs]
    return RULE.finding(
        f"before the policy has moved, {event.apart} of {event.ratios} ratios of its new probabilities to the old ones "
        f"are not 1, but up to {_factor(event.largest)} times as large or small: both sides come from "
        f"{trace.parameter_names(event.parameters)}, which nothing has changed in between"
        f"{why.format(operation=event.operation)}",
        subject=trace.parameter_name(event.parameters[0]),
        location=event.location,
        confidence="medium",
        help=change,
        evidence={"ratios": event.ratios, "not_one": event.apart, "largest_log_ratio": round(event.largest, 4)},
        related=related(("the old side was computed here", event.reference_at), (said, event.operation_at)),
        step_first=event.step + 1,
        step_count=1,
        parameters=tuple(event.parameters),
    )


def _factor(logarithm: float) -> str:
    factor = math.exp(min(logarithm, _MOST))
    return "more than a million" if logarithm > _MOST else f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(6):
        states = torch.randn(64, 3)
        with torch.no_grad():
            choices = Normal(policy(states), 0.8)
            drawn = choices.sample()
            before = choices.log_prob(drawn).sum(1)
        actions = drawn.clamp(-1, 1)
        gains = -(actions - states[:, :2]).square().sum(1)
        for _ in range(3):
            now = Normal(policy(states), 0.8).log_prob(actions).sum(1)
            ratio = (now - before).exp()  # <- AD228
            loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(6):
        states = torch.randn(64, 3)
        with torch.no_grad():
            choices = Normal(policy(states), 0.8)
            drawn = choices.sample()
            before = choices.log_prob(drawn).sum(1)
        gains = -(drawn.clamp(-1, 1) - states[:, :2]).square().sum(1)
        for _ in range(3):
            now = Normal(policy(states), 0.8).log_prob(drawn).sum(1)
            ratio = (now - before).exp()
            loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_warmer_draws() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(6):
        states = 2 * torch.randn(64, 3)
        with torch.no_grad():
            choices = Categorical(logits=policy(states) / 3)
            actions = choices.sample()
            before = choices.log_prob(actions)
        gains = states[:, 0] * (actions == 1) - 0.1
        for _ in range(3):
            now = Categorical(logits=policy(states)).log_prob(actions)
            loss = -((now - before).exp() * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD228",
    name="first-ratio-not-one",
    severity="warning",
    title="the importance ratio of a policy is not 1 before its first update",
    observes="Ratios in a loss that weigh data, as those of the new probabilities of actions to the old ones, in a "
    "step in which both sides were computed: by the same operations, from the same parameters, which nothing has "
    "changed in between, and of what these parameters had a part in drawing. More than 1 in 20 of them are further "
    "from 1 than rounding explains, and it was seen what differs: an action or an observation that was clipped, "
    "squashed, rounded, scaled or normalised on one side only; the same data in another order; dropout that is active "
    "on one side only.",
    why="The ratio corrects for what the policy has learned since the actions were drawn. In the first update it is 1. "
    "Where it is not, it compares probabilities of different things: samples are weighed by a number without meaning, "
    "and clipping leaves out many of them from the start.",
    fix="Keep with each log-probability exactly what it is of: the observation as the policy was given it, and the "
    "action as it was drawn. Shape, shuffle and shift them alike.",
    fine="Ratios to what another policy drew: warmer, mixed with other actions, or with other parameters, whose code "
    "or numbers are other ones. Old log-probabilities of earlier steps. Observations that are altered at random, as by "
    "an augmentation, or scaled by statistics that have moved; other goals; states and actions that are mirrored "
    "together. Contrasts of data with noise, of chosen answers with rejected ones, and of several samples of one "
    "posterior. Dropout that is active on both sides, states of a recurrent policy, and rounding of 16 bits. What went "
    "through NumPy on its way, or was written into a view by `copy_`, is not known.",
    needs=(FirstRatioSeen, ParameterSeen),
    examine=examine,
    bad=(bad,),
    good=(good, good_warmer_draws),
    about="model",
    references=(
        "Huang et al. 2022, The 37 Implementation Details of Proximal Policy Optimization",
        "Schulman et al. 2017, Proximal Policy Optimization Algorithms",
    ),
)
