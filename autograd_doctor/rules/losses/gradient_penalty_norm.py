"""AD633 gradient-penalty-norm: a gradient penalty takes its norms over other values than those of one sample."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograd_doctor.events.losses import PartialSlopeNorm
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.wording import plural, shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = trace.of(PartialSlopeNorm)
    for first, *others in in_several_steps(trace, events, lambda event: event.location, int(tunables["steps"])):
        yield _finding(first, 1 + len(others))


def _finding(event: PartialSlopeNorm, steps: int) -> Finding:
    each = prod(event.shape) // event.norms
    whose = "a part of one sample" if event.norms > event.rows else "several samples together"
    return RULE.finding(
        f"a gradient of shape {shape(event.shape)}, that of {event.rows} samples, has {plural(event.norms, 'norm')} of "
        f"{plural(each, 'value')} here, each over {whose}, and the penalty holds them to a number",
        subject="gradient penalty",
        location=event.location,
        help="take one norm for each sample: `gradient.flatten(1).norm(2, dim=1)`",
        evidence={"norms": event.norms, "samples": event.rows, "shape": shape(event.shape)},
        related=beside(
            event.location,
            ("the gradient is taken here", event.taken_at),
            ("the norms are compared with a number here", event.compared_at),
        ),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 36, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    for _ in range(8):
        real, fake = torch.randn(4, 3, 8, 8), torch.rand(4, 3, 8, 8)
        between = torch.lerp(fake, real, torch.rand(4, 1, 1, 1)).requires_grad_()
        scores = critic(between)
        (slope,) = torch.autograd.grad(scores, between, torch.ones_like(scores), create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()  # <- AD633
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_whole_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 32), nn.Softplus(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    for _ in range(8):
        real, fake = torch.randn(16, 6), torch.rand(16, 6)
        between = torch.lerp(fake, real, torch.rand(16, 1)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        length = torch.sqrt((slope**2).sum() + 1e-12)  # <- AD633
        loss = critic(fake).mean() - critic(real).mean() + 10 * (length - 1) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 36, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    for _ in range(8):
        real, fake = torch.randn(4, 3, 8, 8), torch.rand(4, 3, 8, 8)
        between = torch.lerp(fake, real, torch.rand(4, 1, 1, 1)).requires_grad_()
        scores = critic(between)
        (slope,) = torch.autograd.grad(scores, between, torch.ones_like(scores), create_graph=True)
        penalty = ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_slope_of_a_field() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    distance = nn.Sequential(nn.Linear(3, 64), nn.Softplus(beta=20), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(distance.parameters(), lr=1e-3)
    for _ in range(8):
        surface = nn.functional.normalize(torch.randn(2, 24, 3), dim=-1)
        points = (surface + 0.3 * torch.randn(2, 24, 3)).requires_grad_()
        (slope,) = torch.autograd.grad(distance(points).sum(), points, create_graph=True)
        eikonal = (slope.norm(dim=-1) - 1).square().mean()
        loss = distance(surface).abs().mean() + 0.1 * eikonal
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_scores_of_patches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    for _ in range(8):
        real, fake = torch.randn(4, 3, 8, 8), torch.rand(4, 3, 8, 8)
        between = torch.lerp(fake, real, torch.rand(4, 1, 1, 1)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.reshape(4, -1).norm(2, dim=1) - 1).clamp(min=0).square().mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD633",
    name="gradient-penalty-norm",
    severity="warning",
    title="a gradient penalty takes norms of other values than one sample's",
    observes="What `torch.autograd.grad(…, create_graph=True)` gave towards data, the norms that were computed of it "
    "and compared with a number, and how many there are: more than there are rows and scores, or fewer.",
    why="The penalty is to hold the slope of a critic near 1, at each sample. Norms over some of a sample's values "
    "hold each of these to 1, and their slope together to far more; one norm over a batch holds it to far less.",
    fix="Flatten all dimensions but that of the batch, and take the norm over the second.",
    fine="One norm for each sample, each score or each point, and sums of squares that are compared with nothing.",
    needs=(PartialSlopeNorm,),
    examine=examine,
    bad=(bad, bad_whole_batch),
    good=(good, good_slope_of_a_field, good_scores_of_patches),
    tunables={"steps": Tunable(2, "fewest steps with such norms", MORE_THAN_ONCE)},
    about="loss",
    references=("https://arxiv.org/abs/1704.00028",),
)
