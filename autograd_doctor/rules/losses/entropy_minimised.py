"""AD631 entropy-minimised: the entropy of a policy has the wrong sign in its loss."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import EntropyInLoss
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.views.losses import descends, elsewhere


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    raised = [event for event in trace.of(EntropyInLoss) if not event.minimised]
    lines, backwards = {event.location for event in raised}, {event.backward for event in raised}
    lowered = [
        event
        for event in trace.of(EntropyInLoss)
        if event.minimised and event.location not in lines and event.backward not in backwards
    ]
    trained = [event for event in lowered if descends(trace, event.backward)]
    for events in in_several_steps(trace, trained, lambda event: event.location, tunables["steps"]):
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[EntropyInLoss]) -> Finding:
    first = events[0]
    backward = trace.backwards.get(first.backward)
    where = backward.location if backward is not None else None
    return RULE.finding(
        "the entropy of the policy goes into its loss with a positive sign, beside log-probabilities that are weighted "
        "by what came of the actions: each step makes the policy surer of itself, and it explores less and less",
        subject="entropy",
        location=first.location,
        help="subtract it: `loss = policy_loss - coefficient * entropy.mean()`",
        evidence={"steps": len(events)},
        related=(
            *beside(first.location, ("it is added to the loss here", first.added_at)),
            *elsewhere("the loss goes backward here", where, first.location, first.added_at),
        ),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(8):
        states = torch.randn(32, 3)
        choices = torch.distributions.Categorical(logits=policy(states))
        actions = choices.sample()
        returns = states[:, 0] * (actions == 1) - 0.1
        gained = (choices.log_prob(actions) * returns).mean()
        entropy = choices.entropy().mean()  # <- AD631
        loss = -gained + 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for step in range(9):
        states = torch.randn(32, 3)
        choices = torch.distributions.Categorical(logits=policy(states))
        actions = choices.sample()
        returns = states[:, 0] * (actions == 1) - 0.1
        gained = (choices.log_prob(actions) * returns).mean()
        entropy = choices.entropy()
        if step % 3 == 0:
            loss = -gained - 0.01 * entropy.mean()
        elif step % 3 == 1:
            loss = -(gained + 0.01 * entropy.mean())
        else:
            loss = -gained + 0.01 * (-entropy).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_sure_of_what_has_no_label() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x, unlabelled = torch.randn(32, 3), torch.randn(64, 3)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        loss = loss + 0.1 * torch.distributions.Categorical(logits=model(unlabelled)).entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD631",
    name="entropy-minimised",
    severity="warning",
    title="the entropy of a policy has the wrong sign in its loss",
    observes="Sums and numbers between `entropy()` of a distribution, or probabilities times their logarithms, and a "
    "backward, in whose loss log-probabilities of what was drawn are multiplied by data as well.",
    why="The entropy is there to keep the policy from settling too early. Added to what is minimised it does the "
    "opposite: the policy collapses to one action.",
    fix="Subtract the entropy from the loss, or add it to what is maximised before that is negated.",
    fine="Entropies of what has no label, in losses without weighted log-probabilities, and those whose sign changes "
    "or cannot be told; two entropies of which one is raised, as in a mutual information. What the program adds to "
    "its parameters by itself, without an optimizer, may climb.",
    needs=(BackwardRan, EntropyInLoss),
    examine=examine,
    bad=(bad,),
    good=(good, good_sure_of_what_has_no_label),
    tunables={"steps": Tunable(2, "fewest steps with an entropy of this sign", MORE_THAN_ONCE)},
    about="loss",
)
