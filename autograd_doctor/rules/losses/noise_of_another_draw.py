"""AD629 noise-of-another-draw: the noise to be predicted is not that which was added."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import NoiseApart
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.wording import shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = trace.of(NoiseApart)
    for first, *others in in_several_steps(trace, events, lambda event: event.location, int(tunables["steps"])):
        yield _finding(first, 1 + len(others))


def _finding(event: NoiseApart, steps: int) -> Finding:
    places = (
        ("the noise in the input is drawn here", event.added_at),
        ("the noise in the target is drawn here", event.drawn_at),
        ("the model is called here", event.called_at),
    )
    name = f"`{event.name}`" if event.name else "the target"
    return RULE.finding(
        f"{name} is normal noise of shape {shape(event.shape)} of which the model was given nothing: the noise in its "
        "input is of another draw",
        subject=event.name or "target",
        location=event.location,
        help="draw the noise once, and give the same tensor to what adds it and to the loss",
        evidence={"shape": shape(event.shape)},
        related=beside(event.location, *places),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = torch.linspace(0.99, 0.1, 20)
    model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def noised(x: torch.Tensor, t: torch.Tensor, noise: torch.Tensor | None = None) -> torch.Tensor:
        if noise is None:
            noise = torch.randn_like(x)
        return kept[t].sqrt()[:, None] * x + (1 - kept[t]).sqrt()[:, None] * noise

    for _ in range(8):
        x = torch.rand(32, 2).round()
        t = torch.randint(0, 20, (32,))
        noise = torch.randn_like(x)
        predicted = model(torch.cat([noised(x, t), t[:, None] / 20], dim=1))
        loss = nn.functional.mse_loss(predicted, noise)  # <- AD629
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = torch.linspace(0.99, 0.1, 20)
    model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x = torch.rand(32, 2).round()
        t = torch.randint(0, 20, (32,))
        noise = torch.randn_like(x)
        noised = kept[t].sqrt()[:, None] * x + (1 - kept[t]).sqrt()[:, None] * noise
        predicted = model(torch.cat([noised, t[:, None] / 20], dim=1))
        loss = nn.functional.mse_loss(predicted, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_noise_beside_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x = torch.rand(32, 4).round()
        start = torch.randn(32, 4)
        t = torch.rand(32, 1)
        cleaned = model(x + 0.1 * torch.randn_like(x))
        velocity = model((1 - t) * start + t * x)
        guessed = model(torch.randn(32, 4))
        loss = (cleaned - x).square().mean() + (velocity - (x - start)).square().mean()
        loss = loss + nn.functional.mse_loss(guessed, 0.5 * torch.randn(32, 4) + x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD629",
    name="noise-of-another-draw",
    severity="error",
    title="the noise to be predicted is not the noise that was added",
    observes="From which draws of normal noise the inputs of models and the target of a loss were computed: the target "
    "is noise alone, of a draw that is in no input, and an input is data with noise of the same shape.",
    why="Noise that is in nothing that the model sees cannot be predicted: the best output is zero, and the loss stays "
    "at 1, as if the model was too small.",
    fix="Draw it once, pass it on to the function that adds it, and compare with the same tensor.",
    fine="Noise that is in the input, targets with anything but noise in them, and inputs that are noise alone.",
    needs=(NoiseApart,),
    examine=examine,
    bad=(bad,),
    good=(good, good_noise_beside_it),
    tunables={"steps": Tunable(2, "fewest steps with noise of two draws", MORE_THAN_ONCE)},
    about="loss",
)
