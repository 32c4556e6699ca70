"""AD619 weights-after-reduction: weights for each value multiply a loss that is one number already."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import WeightedTooLate
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.operations import TOTALS
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.losses import elsewhere, trains
from autograd_doctor.views.pairs import described
from autograd_doctor.wording import shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    taught = (event for event in trace.of(WeightedTooLate) if trains(trace, event.backward))
    for events in in_several_steps(trace, taught, lambda event: event.location, tunables["minimum_steps"]):
        yield _finding(events)


def _finding(events: list[WeightedTooLate]) -> Finding:
    event, weights = events[0], events[0].weights
    is_by_hand = event.operation in TOTALS
    how = "keep the values of single samples" if is_by_hand else 'compute the loss with `reduction="none"`'
    return RULE.finding(
        f"{described(weights)} multiplies what `{event.operation}` has made of {event.values:,} "
        "values: it is one number by now, so that none of them weighs more than another",
        subject=weights.name or event.operation,
        location=event.location,
        help=f"{how}, weigh {'them' if is_by_hand else 'it'}, and take the mean after that",
        evidence={"values": event.values, "shape_of_weights": shape(weights.shape)},
        related=elsewhere("the loss is reduced here", event.reduced_at, event.location),
        step_first=event.step + 1,
        step_count=len({each.step for each in events}),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        labels, trust = x[:, :3].argmax(1), torch.rand(32)
        losses = criterion(model(x), labels)
        loss = (losses * trust).mean()  # <- AD619
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(12, 16), nn.Linear(16, 12))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        tokens = torch.randint(1, 12, (8, 7))
        tokens[:4, 4:] = 0
        mask = (tokens != 0).float()
        loss = nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens)
        loss = (loss * mask).sum() / mask.sum()  # <- AD619
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    criterion = nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        labels, trust = x[:, :3].argmax(1), torch.rand(32)
        loss = (criterion(model(x), labels) * trust).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_one_by_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(8):
        states, actions, returns = torch.randn(12, 4), torch.randint(0, 2, (12,)), torch.randn(12)
        losses = []
        for state, action, reached in zip(states, actions, returns, strict=True):
            losses.append(nn.functional.cross_entropy(policy(state[None]), action[None]) * reached)
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()


def good_weights_of_tasks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scales = torch.tensor([1.0, 0.5, 0.25])
    for _ in range(8):
        x = torch.randn(32, 6)
        fit = nn.functional.mse_loss(model(x), x[:, :4].abs())
        optimizer.zero_grad()
        (fit * scales).sum().backward()
        optimizer.step()


RULE = Rule(
    code="AD619",
    name="weights-after-reduction",
    severity="warning",
    title="weights multiply a loss that has been reduced already",
    observes="Products of what a loss function of torch has reduced to one number with data of as many values as it "
    "was computed from, or one for each sample, that are not all the same, when a backward runs through them. As well "
    "of the mean of values that were compared with data one by one, such as squared differences, or log-probabilities "
    "of what was done, if such a product is a term of the loss, which holds these values in no other way.",
    why="Loss functions take the mean unless they are told otherwise. A mask then masks nothing, and the returns or "
    "weights of single samples count by their sum alone.",
    fix='Pass `reduction="none"` to the loss function, or keep the values of samples, and reduce after weighing.',
    fine="Weights of other things than samples or values, and losses of one sample each; the log-probability of a "
    "whole episode, which is a sum, times its rewards.",
    needs=(WeightedTooLate, BackwardRan),
    examine=examine,
    bad=(bad, bad_mask),
    good=(good, good_one_by_one, good_weights_of_tasks),
    tunables={"minimum_steps": Tunable(2, "fewest steps with weights that come too late", MORE_THAN_ONCE)},
    about="loss",
)
