"""AD632 advantage-not-detached: what weighs the log-probabilities of a policy learns from its loss, too."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import WeightLearns
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.losses import elsewhere


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    used = {
        (backward, parameter)
        for step in trace.of(OptimizerStepped)
        for use in step.uses
        for backward in use.backwards
        for parameter in use.parameters
    }
    learned = [
        event for event in trace.of(WeightLearns) if any((event.backward, each) in used for each in event.parameters)
    ]
    for events in in_several_steps(trace, learned, lambda event: event.location, tunables["steps"]):
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[WeightLearns]) -> Finding:
    first = events[0]
    backward = trace.backwards.get(first.backward)
    where = backward.location if backward is not None else None
    return RULE.finding(
        f"log-probabilities of actions are multiplied by something that has a graph to "
        f"{trace.parameter_names(first.parameters)}, and steps use that gradient: where an action was likely, the loss "
        "falls when its weight grows, whatever came of it",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        help="weigh by numbers: `-(log_prob * advantage.detach()).mean()`, and let what estimates values learn from a "
        "loss of its own",
        evidence={"number_of_parameters": len(first.parameters)},
        related=elsewhere("the loss goes backward here", where, first.location),
        step_first=first.step + 1,
        step_count=len(events),
        parameters=first.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
    value = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-3)
    for _ in range(8):
        states = torch.randn(32, 3)
        choices = torch.distributions.Categorical(logits=policy(states))
        actions = choices.sample()
        returns = states[:, 0] * (actions == 1) - 0.1
        advantage = returns - value(states).squeeze(1)
        loss = -(choices.log_prob(actions) * advantage).mean() + advantage.pow(2).mean()  # <- AD632
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
    value = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-3)
    for _ in range(8):
        states = torch.randn(32, 3)
        choices = torch.distributions.Categorical(logits=policy(states))
        actions = choices.sample()
        returns = states[:, 0] * (actions == 1) - 0.1
        advantage = returns - value(states).squeeze(1)
        loss = -(choices.log_prob(actions) * advantage.detach()).mean() + advantage.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_actor_with_an_optimizer_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
    value = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    actor = torch.optim.Adam(policy.parameters(), lr=1e-3)
    critic = torch.optim.Adam(value.parameters(), lr=1e-3)
    for _ in range(8):
        states = torch.randn(32, 3)
        choices = torch.distributions.Categorical(logits=policy(states))
        actions = choices.sample()
        returns = states[:, 0] * (actions == 1) - 0.1
        advantage = returns - value(states).squeeze(1)
        critic.zero_grad()
        advantage.pow(2).mean().backward()
        critic.step()
        actor.zero_grad()
        guess = (returns - value(states).squeeze(1)).detach()
        (-(choices.log_prob(actions) * guess).mean()).backward()
        actor.step()


def good_mixture() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, means = nn.Linear(2, 3), nn.Linear(2, 3)
    optimizer = torch.optim.Adam([*gate.parameters(), *means.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 2)
        observed = x[:, :1] + 0.1 * torch.randn(32, 1)
        likely = torch.distributions.Normal(means(x), 1.0).log_prob(observed)
        loss = -(gate(x).softmax(dim=1) * likely).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD632",
    name="advantage-not-detached",
    severity="warning",
    title="what weighs a policy's log-probabilities learns from the policy's loss",
    observes="Products of a log-probability of what was drawn in the step, or of a ratio of two probabilities, with "
    "something of more than one value that has a graph, behind a backward whose gradients a step used for it.",
    why="The gradient of what a policy expects is that of the log-probability times a number. Through the weight the "
    "loss pulls the values that were estimated to where it is low, which is not where they are right.",
    fix="Detach the advantage in the loss of the policy.",
    fine="Gradients of the weight that no step uses, single numbers such as a temperature that learns, likelihoods "
    "of data, and costs that are multiplied by `exp(x - x.detach())`, which may themselves hold log-probabilities.",
    needs=(BackwardRan, OptimizerStepped, WeightLearns),
    examine=examine,
    bad=(bad,),
    good=(good, good_actor_with_an_optimizer_of_its_own, good_mixture),
    tunables={"steps": Tunable(2, "fewest steps with a weight that learns", MORE_THAN_ONCE)},
    folds=("AD618",),
    about="loss",
)
