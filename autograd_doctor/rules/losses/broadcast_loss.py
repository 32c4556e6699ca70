"""AD604 broadcast-loss: prediction and target of different shapes met as all pairs of their values."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import PairsReduced
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import trains
from autograd_doctor.views.pairs import described, evidence, origins, pairs_by_line
from autograd_doctor.wording import shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for events in pairs_by_line(trace, lambda event: trains(trace, event.backward)):
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[PairsReduced]) -> Finding:
    first = events[0]
    values, is_even = first.left.numel, all(event.even for event in events)
    may_be_meant = all(event.of_parameters for event in events)
    pairs = 1
    for size in first.shape:
        pairs *= size
    return RULE.finding(
        f"`{first.operation}` broadcast {described(first.left)} and {described(first.right)} to {shape(first.shape)}: "
        + (
            f"the mean of these {pairs:,} sums is that of the {values:,} that were meant, as long as nothing else is "
            "done with them"
            if is_even
            else f"the loss sums up {pairs:,} pairs of values instead of {values:,}, each with all the others"
        ),
        subject=first.left.name or first.right.name,
        location=first.location,
        help="give both the same shape: `.squeeze(…)` on the "
        "one with the dimension of size one, or `.unsqueeze` on the other",
        severity="info" if is_even or may_be_meant else None,
        confidence="low" if may_be_meant else "high",
        notes=(
            "one side is made of parameters or random numbers alone: if it belongs to no sample, all pairs are meant",
        )
        if may_be_meant
        else (),
        evidence=evidence(events),
        related=origins(first),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        target = x[:, 0] - x[:, 1]
        prediction = model(x)
        loss = criterion(prediction, target)  # <- AD604
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    inputs = torch.randn(48, 6)
    labels = (inputs @ torch.randn(6)).unsqueeze(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        error = model(inputs).squeeze() - labels  # <- AD604
        loss = (error**2).mean() + 1e-3 * model.weight.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_advantages() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(10):
        state = torch.randn(40, 4)
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        returns = (action == state[:, :3].argmax(1)).float().unsqueeze(1)
        values = value(state)
        advantage = (returns - values).detach()
        actor = -(choice.log_prob(action) * advantage).mean()  # <- AD604
        loss = actor + nn.functional.mse_loss(values, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, slow = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(10):
        state, following, reward = torch.randn(40, 4), torch.randn(40, 4), torch.rand(40)
        with torch.no_grad():
            target = reward + 0.9 * slow(following)  # <- AD604
        loss = nn.functional.smooth_l1_loss(critic(state), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        target = x[:, 0] - x[:, 1]
        loss = criterion(model(x).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_pairwise_ranking() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        relevance, scores = x[:, 0], model(x).squeeze(1)
        wanted = (relevance.unsqueeze(1) - relevance).sign()
        loss = torch.relu(0.5 - wanted * (scores.unsqueeze(1) - scores)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_kernel_distance() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    for _ in range(10):
        fake, real = generator(torch.randn(32, 2)), 1 + 2 * torch.randn(32, 1)
        column = real.squeeze(1)
        across = torch.exp(-((fake - real.T) ** 2)).mean()
        within = torch.exp(-((fake[:, None, 0] - fake[:, 0]) ** 2)).mean()
        loss = within - 2 * across + 0.1 * (fake.squeeze(1)[:, None] - column).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_quantiles() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    levels = (torch.arange(8) + 0.5) / 8
    for _ in range(10):
        x = torch.randn(8, 3)
        error = x.sum(1, keepdim=True) - model(x)
        loss = torch.maximum(levels * error, (levels - 1) * error).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD604",
    name="broadcast-loss",
    severity="error",
    title="the loss compares every prediction with every target",
    observes="An elementwise loss, or a difference or product that reaches a sum or a mean, broadcast two tensors of "
    "as many values and different numbers of dimensions, such as (N, 1) and (N,), into all N×N pairs, and a backward "
    "went through it. Targets that were broadcast so before they met the prediction count as well.",
    why="Each prediction is drawn towards every target at once: the model learns their mean, and the loss goes down as "
    "far as that and no further. Nothing crashes.",
    fix="Give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`.",
    fine="Differences across that were meant: of a tensor with itself, of two that are both learned, of tensors of as "
    "many dimensions, such as (N, 1) and (1, N), with a dimension that was put in on the spot, or where differences of "
    "a prediction with itself are in the loss as well. Sums across that are averaged at once give what was meant: "
    "`info`.",
    needs=(BackwardRan, PairsReduced),
    examine=examine,
    bad=(bad, bad_by_hand, bad_advantages, bad_target),
    good=(good, good_pairwise_ranking, good_kernel_distance, good_quantiles),
    folds=("AD116", "AD405", "AD410", "AD412", "AD616"),
    about="loss",
    references=("https://docs.pytorch.org/docs/stable/notes/broadcasting.html",),
)
