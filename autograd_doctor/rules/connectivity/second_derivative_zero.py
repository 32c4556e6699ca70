"""AD225 second-derivative-zero: a second derivative is taken of a function that is made of straight pieces."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import FlatDerivative
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    def line(event: FlatDerivative) -> Location | None:
        return event.location

    flat = [event for event in trace.of(FlatDerivative) if event.values >= tunables["values"]]
    for first, *others in in_several_steps(trace, flat, line, int(tunables["steps"])):
        yield _finding(first, len({event.step for event in (first, *others)}))


def _finding(event: FlatDerivative, steps: int) -> Finding:
    places = (
        (f"`{event.operation}` is called here", event.activation_at),
        ("the derivative is taken in here", event.taken_at),
    )
    return RULE.finding(
        f"the derivative of a derivative is taken here, and all of its {event.values:,} values are exactly 0: the "
        f"function goes through `{event.operation}`, which is piecewise linear, and so is the whole",
        subject=event.operation,
        location=event.location,
        help="use an activation with curvature (`nn.Tanh`, `nn.SiLU`, `nn.GELU`, `nn.Softplus`, or a sine)",
        evidence={"values": event.values, "activation": event.operation},
        related=beside(event.location, *places),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(10):
        t = torch.rand(32, 1, requires_grad=True)
        u = net(t)
        (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), t, create_graph=True)  # <- AD225
        start = net(torch.zeros(1, 1)) - 1.0
        loss = (curvature + 4.0 * u).square().mean() + start.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Softplus(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(10):
        t = torch.rand(32, 1, requires_grad=True)
        u = net(t)
        (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), t, create_graph=True)
        start = net(torch.zeros(1, 1)) - 1.0
        loss = (curvature + 4.0 * u).square().mean() + start.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(10):
        real, fake = torch.randn(32, 2) + 1, torch.randn(32, 2)
        between = (0.5 * real + 0.5 * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        loss = critic(fake).mean() - critic(real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD225",
    name="second-derivative-zero",
    severity="error",
    title="a second derivative is zero, because the activation is piecewise linear",
    observes="What `torch.autograd.grad(…, create_graph=True)` gives for a derivative: nothing but zeros, in several "
    "steps, with a ReLU or the like in the graph.",
    why="A network of linear layers and ReLUs is linear between its kinks. Its second derivative is zero everywhere, "
    "so the term of the equation that holds it trains nothing.",
    fix="Use a smooth activation wherever derivatives of the output are part of the loss.",
    fine="First derivatives, as in a gradient penalty, second ones that are not zero throughout, and those of a "
    "function that is a polynomial of what they are taken by, whatever its coefficients are computed with.",
    needs=(FlatDerivative,),
    examine=examine,
    bad=(bad,),
    good=(good, good_penalty),
    tunables={
        "steps": Tunable(2, "fewest steps whose second derivative was zero", MORE_THAN_ONCE),
        "values": Tunable(4, "fewest values of such a derivative", "chosen: fewer may be zero by chance"),
    },
    folds=("AD414",),
    about="loss",
)
