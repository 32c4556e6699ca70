"""AD226 straight-through-missing: what an encoder is to learn from a decoder ends at a choice between them."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import ChoiceWithoutGradient
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = trace.of(ChoiceWithoutGradient)
    for first, *others in in_several_steps(trace, events, lambda event: event.location, int(tunables["steps"])):
        yield _finding(trace, first, 1 + len(others))


def _finding(trace: Trace, event: ChoiceWithoutGradient, steps: int) -> Finding:
    return RULE.finding(
        f"what is looked up here was chosen by the values of {trace.parameter_names(event.parameters)}, and goes on "
        "without a gradient to them: of all terms of the loss, only their distance to it teaches these parameters",
        subject=trace.parameter_name(event.parameters[0]),
        location=event.location,
        help="copy the gradient past the choice before the values go on: `quantised = encoded + (quantised - "
        "encoded).detach()`",
        evidence={
            "parameters": [trace.parameter_name(parameter) for parameter in event.parameters[:20]],
            "number_of_parameters": len(event.parameters),
        },
        step_first=event.step + 1,
        step_count=steps,
        parameters=event.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), nn.Linear(3, 8)
    codes = nn.Embedding(12, 3)
    optimizer = torch.optim.Adam([p for m in (encoder, decoder, codes) for p in m.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        encoded = encoder(x)
        quantised = codes(torch.cdist(encoded, codes.weight).argmin(dim=1))  # <- AD226
        distance = nn.functional.mse_loss(quantised, encoded.detach())
        distance = distance + 0.25 * nn.functional.mse_loss(encoded, quantised.detach())
        loss = nn.functional.mse_loss(decoder(quantised), x) + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), nn.Linear(3, 8)
    codes = nn.Embedding(12, 3)
    optimizer = torch.optim.Adam([p for m in (encoder, decoder, codes) for p in m.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        encoded = encoder(x)
        quantised = codes(torch.cdist(encoded, codes.weight).argmin(dim=1))
        distance = nn.functional.mse_loss(quantised, encoded.detach())
        distance = distance + 0.25 * nn.functional.mse_loss(encoded, quantised.detach())
        quantised = encoded + (quantised - encoded).detach()
        loss = nn.functional.mse_loss(decoder(quantised), x) + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_decoded_twice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), nn.Linear(3, 8)
    codes = nn.Parameter(torch.randn(12, 3))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), codes], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        encoded = encoder(x)
        nearest = codes[torch.cdist(encoded, codes).argmin(dim=1)]
        pull = (encoded - nearest).square().mean()
        loss = pull + nn.functional.mse_loss(decoder(nearest), x) + nn.functional.mse_loss(decoder(encoded), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD226",
    name="straight-through-missing",
    severity="warning",
    title="a choice keeps the gradient of the loss from those who chose",
    observes="Values that were looked up by a choice made from parameters' values, as the entry of a codebook that is "
    "nearest to what an encoder returned; and which terms of the loss teach these parameters: only those that compare "
    "the two, though other terms depend on them.",
    why="A choice has no gradient. The encoder learns to come near the codebook, which is easiest where all samples "
    "have the same code, and nothing of what the decoder needs.",
    fix="Use the straight-through estimator: in the forward pass the values that were looked up, in the backward pass "
    "the identity.",
    fine="Quantised values with a straight-through estimator, values that are decoded both before and after the "
    "choice, and clusters that are compared with what is learned otherwise.",
    needs=(ChoiceWithoutGradient,),
    examine=examine,
    bad=(bad,),
    good=(good, good_decoded_twice),
    tunables={"steps": 2},
    about="loss",
    references=("https://arxiv.org/abs/1711.00937",),
)
