"""AD628 reductions-mixed: one term of a loss is a sum, and another a mean, over the batch or over a sample."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import ReductionsMixed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.views.losses import trains


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = [event for event in trace.of(ReductionsMixed) if trains(trace, event.backward)]
    over_batch = [event for event in events if event.divergence is None]
    for first, *others in in_several_steps(trace, over_batch, lambda event: event.location, int(tunables["steps"])):
        yield _finding(first, 1 + len(others))
    in_samples = [event for event in events if event.divergence is not None]
    for found in in_several_steps(trace, in_samples, lambda event: event.location, int(tunables["sizes"])):
        if _has_vanished(found, tunables):
            yield _vanished(found)


def _has_vanished(events: list[ReductionsMixed], tunables: Tunables) -> bool:
    """Whether distributions have come to be the prior, and had the time to part from it."""
    last = events[-1]
    sizes = [event.divergence or 0.0 for event in events[-int(tunables["sizes"]) :]]
    ratio = last.averaged / max(1, last.samples)
    return last.step >= tunables["late"] and ratio >= tunables["ratio"] and max(sizes) < tunables["divergence"]


def _vanished(events: list[ReductionsMixed]) -> Finding:
    last = events[-1]
    ratio = last.averaged // max(1, last.samples)
    size = max(0.0, last.divergence or 0.0)
    places = (
        (f"`{last.sum_of}` reduces the divergences, which add up within a sample", last.sum_at),
        (f"`{last.mean_of}` takes the mean of {last.averaged:,} values, {ratio:,} of each sample", last.mean_at),
    )
    return RULE.finding(
        f"the divergence has fallen to {size:.2g} for a sample, so that the latent variables are noise: it is added up "
        f"within a sample, and the other term is the mean over the {ratio:,} values of one, where the bound has their "
        f"sum; the divergence counts {ratio:,} times as much as there",
        subject="loss",
        location=last.location,
        confidence="medium",
        help="add up both terms within a sample, and take the mean over samples of both: "
        "`.flatten(1).sum(1).mean()`; or give the divergence a weight",
        evidence={"divergence": size, "averaged": last.averaged, "samples": last.samples},
        related=beside(last.location, *places),
        step_first=events[0].step + 1,
        step_count=len(events),
    )


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
    title="the terms of a loss are reduced in different ways",
    observes="How the two numbers that a loss adds were reduced from values of the batch: one by a sum, and one by a "
    "mean, neither of them with a weight. In long runs also what becomes of a divergence of normal distributions that "
    "is added up within a sample, beside a mean over the values of one.",
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
    tunables={
        "steps": Tunable(2, "fewest steps with a sum and a mean over the batch", MORE_THAN_ONCE),
        "sizes": Tunable(
            3,
            "fewest steps, the newest, in which a divergence is next to nothing",
            "chosen: one may be small by chance",
        ),
        "late": Tunable(
            300,
            "steps from which on a divergence that is next to nothing has vanished",
            "measured: it begins near zero and falls for a while; where it is to rise, it has by a few hundred steps",
        ),
        "ratio": Tunable(
            10,
            "fewest values of a sample that the other term is a mean of",
            "chosen: a smaller factor may be a weight that is meant",
        ),
        "divergence": Tunable(
            0.05,
            "divergence of a sample, in nats, below which it is next to nothing",
            "measured: where it is to rise, it is above a tenth by then",
        ),
    },
    about="loss",
)
