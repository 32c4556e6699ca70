"""AD218 sample-without-gradient: what `sample()` drew goes into a loss that trains the distribution by other terms."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import SamplesUsed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace

_NORMAL = "torch.normal"


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[Location | None, list[SamplesUsed]] = {}
    for event in trace.of(SamplesUsed):
        if _trained(trace, event):
            lines.setdefault(event.location, []).append(event)
    for events in lines.values():
        lacking = [event for event in events if not event.estimated]
        if len(lacking) >= tunables["backwards"] and 2 * len(lacking) >= len(events):
            yield _finding(trace, lacking)


def _trained(trace: Trace, event: SamplesUsed) -> frozenset[int]:
    """The parameters behind those tensors of the distribution that the same loss trains: all of one, or it is none.

    Some of them may merely be shared with something else, as a trunk is.
    """
    backward = trace.backwards.get(event.backward)
    if backward is None:
        return frozenset()
    learning = (frozenset(parameters) - trace.frozen for parameters in event.parameters)
    return frozenset().union(*(parameters for parameters in learning if parameters <= set(backward.reached)))


def _finding(trace: Trace, events: list[SamplesUsed]) -> Finding:
    first = events[0]
    trained = sorted(frozenset().union(*(_trained(trace, event) for event in events)))
    backward = trace.backwards[first.backward]
    by_operation = first.kind == _NORMAL
    return RULE.finding(
        f"what `{first.kind if by_operation else f'{first.kind}.sample()'}` drew flows into the loss and has no "
        f"gradient: nothing computed from it trains {trace.parameter_names(trained)}",
        subject=first.kind,
        location=first.location,
        help=f"draw {'`mean + std * torch.randn_like(std)`' if by_operation else 'with `rsample()`'}; if no gradient "
        "should flow through the sample, draw it under `torch.no_grad()`",
        confidence="medium",
        evidence={
            "distribution": first.kind,
            "made_from": [trace.parameter_name(parameter) for parameter in trained[:20]],
            "number_of_parameters": len(trained),
            "backwards": len(events),
        },
        related=(Related("this backward takes no gradient through it", backward.location),)
        if backward.location is not None
        else (),
        step_first=backward.step + 1,
        step_count=len(events),
        parameters=trained,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 4), nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    prior = Normal(torch.zeros(2), torch.ones(2))
    x = torch.randn(64, 2) @ torch.randn(2, 8)
    for _ in range(10):
        mean, log_scale = encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, log_scale.exp())
        code = posterior.sample()  # <- AD218
        rebuilt = decoder(code)
        loss = (rebuilt - x).square().sum(1).mean() + kl_divergence(posterior, prior).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_actor() -> None:
    import torch
    from torch import nn
    from torch.distributions import Independent, Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 4), nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(10):
        state, action = torch.randn(64, 4), torch.randn(64, 2)
        value = critic(torch.cat([state, action], dim=1))
        critic_loss = (value.squeeze(1) + (action - state[:, :2]).square().sum(1)).square().mean()
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()

        mean, log_scale = actor(state).chunk(2, dim=1)
        policy = Independent(Normal(mean, log_scale.clamp(-4, 1).exp()), 1)
        chosen = policy.sample()  # <- AD218
        log_probability = policy.log_prob(chosen)
        actor_loss = (0.1 * log_probability - critic(torch.cat([state, chosen], dim=1)).squeeze(1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()


def bad_normal() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 4), nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(64, 2) @ torch.randn(2, 8)
    for _ in range(10):
        mean, log_scale = encoder(x).chunk(2, dim=1)
        code = torch.normal(mean, log_scale.exp())  # <- AD218
        divergence = 0.5 * (mean**2 + (2 * log_scale).exp() - 1 - 2 * log_scale).sum(1).mean()
        loss = (decoder(code) - x).square().sum(1).mean() + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 4), nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    prior = Normal(torch.zeros(2), torch.ones(2))
    x = torch.randn(64, 2) @ torch.randn(2, 8)
    for _ in range(10):
        mean, log_scale = encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, log_scale.exp())
        rebuilt = decoder(posterior.rsample())
        loss = (rebuilt - x).square().sum(1).mean() + kl_divergence(posterior, prior).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_reinforce() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, value = nn.Linear(4, 2), nn.Linear(6, 1)
    log_scale = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters(), log_scale], lr=0.01)
    for _ in range(10):
        state = torch.randn(64, 4)
        choice = Normal(policy(state), log_scale.exp())
        action = choice.sample()
        reward = -(action - state[:, :2]).square().sum(1)
        predicted = value(torch.cat([state, action], dim=1)).squeeze(1)
        surrogate = -(choice.log_prob(action).sum(1) * (reward - reward.mean())).mean()
        loss = surrogate + (predicted - reward).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_ratio() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(10):
        state = torch.randn(64, 4)
        choice = Normal(policy(state), 0.5)
        action = choice.sample()
        before = choice.log_prob(action).sum(1).detach()
        following = state + 0.1 * torch.cat([action, action], dim=1)
        reward = -following.square().sum(1)
        advantage = reward - reward.mean()
        ratio = (Normal(policy(state), 0.5).log_prob(action).sum(1) - before).exp()
        clipped = ratio.clamp(0.8, 1.2)
        critic = (value(following).squeeze(1) - reward).square().mean()
        loss = critic - torch.minimum(ratio * advantage, clipped * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_target() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    model, value = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *value.parameters()], lr=0.01)
    for _ in range(10):
        state = torch.randn(64, 4)
        dream = Normal(model(state), 1.0)
        with torch.no_grad():
            target = -state.square().sum(1) + 0.9 * value(dream.sample()).squeeze(1)
        wanted = value(state).squeeze(1)
        loss = (wanted - target).square().mean() + (dream.mean - 0.5 * state).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_rollout() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(10):
        position, scores, rewards = torch.randn(32, 2), [], []
        for _ in range(4):
            choice = Normal(policy(position), 0.3)
            move = choice.sample()
            scores.append(choice.log_prob(move).sum(1))
            position = position + move.clamp(-1, 1)
            rewards.append(-position.square().sum(1))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(scores) * (returns - returns.mean(1, keepdim=True))).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD218",
    name="sample-without-gradient",
    severity="warning",
    title="a sample carries no gradient into the loss",
    observes="`sample()` of a distribution that has `rsample()` and whose parameters require gradients, called with "
    "gradients on, or `torch.normal`, which gives these a gradient of zero. What it drew flows by value into a loss "
    "that trains these parameters by other terms, and no loss of the step holds its log-probability weighted by its "
    "outcome.",
    why="The distribution should learn through its samples, and `sample()` cuts them off: an encoder learns only its "
    "prior, an actor learns nothing from its critic. The rest of the loss goes down anyway.",
    fix="Draw with `rsample()`. Where a distribution has none, use an estimator such as "
    "`-(log_prob(sample) * reward)`.",
    fine="Rollouts, targets and weights (draw them under `torch.no_grad()` to say so), policy gradients, models "
    "trained by the likelihood of data that go on from their own samples, and proposals: what they draw is weighed "
    "against their own log-probability without a gradient, as in noise contrastive estimation and importance sampling.",
    needs=(BackwardRan, SamplesUsed),
    examine=examine,
    bad=(bad, bad_actor, bad_normal),
    good=(good, good_reinforce, good_ratio, good_target, good_rollout),
    tunables={"backwards": Tunable(2, "fewest backwards with a sample that has no gradient", MORE_THAN_ONCE)},
    folds=("AD216", "AD217", "AD410"),
)
