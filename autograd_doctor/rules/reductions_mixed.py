"""AD628 reductions-mixed: one term of a loss is a sum over the batch, and another a mean."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import BackwardRan, ReductionsMixed
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.views.losses import trains


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = [event for event in trace.of(ReductionsMixed) if trains(trace, event.backward)]
    for first, *others in in_several_steps(trace, events, lambda event: event.location, int(tunables["steps"])):
        yield _finding(first, 1 + len(others))


def _finding(event: ReductionsMixed, steps: int) -> Finding:
    places = (
        (f"`{event.sum_of}` adds up {event.summed:,} values", event.sum_at),
        (f"`{event.mean_of}` takes the mean of {event.averaged:,}", event.mean_at),
    )
    return RULE.finding(
        f"one term of the loss is the sum of {event.summed:,} values (`{event.sum_of}`), the other the mean of "
        f"{event.averaged:,} (`{event.mean_of}`), of a batch of {event.samples}: a value counts {event.averaged:,} "
        "times as much in the first as in the second, and more in larger batches",
        subject="loss",
        location=event.location,
        confidence="medium",
        help="reduce both alike: sum the values of a sample and take the mean over the samples "
        "(`.flatten(1).sum(1).mean()`), or sum both and divide by the batch size; give a term a weight if it is to "
        "count more",
        evidence={"summed": event.summed, "averaged": event.averaged, "samples": event.samples},
        related=beside(event.location, *places),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(20, 8), nn.Linear(4, 20)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.rand(32, 20)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        rebuilt = decoder(mean + torch.randn(32, 4) * (0.5 * log_variance).exp())
        error = nn.functional.mse_loss(rebuilt, x)
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
        loss = error + divergence  # <- AD628
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(20, 8), nn.Linear(4, 20)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    for step in range(9):
        x = torch.rand(32, 20)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        rebuilt = decoder(mean + torch.randn(32, 4) * (0.5 * log_variance).exp())
        parts = -0.5 * (1 + log_variance - mean**2 - log_variance.exp())
        if step % 3 == 0:
            loss = (nn.functional.mse_loss(rebuilt, x, reduction="sum") + parts.sum()) / 32
        elif step % 3 == 1:
            loss = nn.functional.mse_loss(rebuilt, x) + parts.sum(1).mean()
        else:
            loss = nn.functional.mse_loss(rebuilt, x) + 1e-3 * parts.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_policy_and_value() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, policy, value = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*body.parameters(), *policy.parameters(), *value.parameters()], lr=1e-3)
    for _ in range(8):
        states = torch.randn(32, 4)
        returns = states[:, 0] * 2
        hidden = body(states).tanh()
        choices = torch.distributions.Categorical(logits=policy(hidden))
        guessed = value(hidden).squeeze(1)
        gained = -choices.log_prob(choices.sample()) * (returns - guessed.detach())
        loss = gained.sum() + nn.functional.mse_loss(guessed, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD628",
    name="reductions-mixed",
    severity="warning",
    title="a loss adds a sum over the batch to a mean over it",
    observes="How the two numbers that a loss adds were reduced from values of the batch: one by a sum, and one by a "
    "mean, neither of them with a weight.",
    why="The sum outweighs the mean by the number of values in it. In a variational autoencoder whose divergence is a "
    "sum and whose error is a mean, the latent variables are pressed to the prior and tell nothing any more.",
    fix="Reduce both terms alike, best to a sum over the values of a sample and a mean over the samples; or give one "
    "of them a weight.",
    fine="Terms with a weight, sums of what advantages or other data weigh, sums over weights of the model, and sums "
    "within a sample.",
    needs=(BackwardRan, ReductionsMixed),
    examine=examine,
    bad=(bad,),
    good=(good, good_policy_and_value),
    tunables={"steps": 2},
    about="loss",
)
