"""AD223 derivative-without-graph: a derivative goes into the loss beside what learns, and carries no gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import FixedSlopeAdded
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    added = trace.of(FixedSlopeAdded)
    for events in in_several_steps(trace, added, lambda event: event.taken_at, tunables["minimum_steps"]):
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[FixedSlopeAdded]) -> Finding:
    event = events[0]
    places = dict.fromkeys(event.added_at for event in events if event.added_at is not None)
    return RULE.finding(
        "this derivative was taken without `create_graph=True`, so the sum that it goes into trains "
        f"{trace.parameter_names(event.parameters)} only through its other terms",
        subject=trace.parameter_name(event.parameters[0]),
        location=event.taken_at,
        help="pass `create_graph=True`; if the derivative is to be a fixed number here, say so with `detach()`",
        evidence={"number_of_parameters": len(event.parameters), "sums": len(places)},
        related=tuple(Related("it is added here to a tensor with a graph", place) for place in places),
        step_first=event.step + 1,
        step_count=len({event.step for event in events}),
        parameters=event.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(10):
        t = torch.rand(32, 1, requires_grad=True)
        u = net(t)
        (slope,) = torch.autograd.grad(u.sum(), t, retain_graph=True)  # <- AD223
        residual = slope + 2.0 * u
        start = net(torch.zeros(1, 1)) - 1.0
        loss = residual.square().mean() + start.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_second_derivative() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(10):
        points = torch.rand(32, 2).requires_grad_()
        u = net(points)
        first = torch.autograd.grad(u, points, torch.ones_like(u), create_graph=True)[0]
        u_t, u_x = first[:, :1], first[:, 1:]
        u_xx = torch.autograd.grad(u_x.sum(), points, retain_graph=True)[0][:, 1:]  # <- AD223
        loss = (u_t - 0.1 * u_xx).square().mean() + (u - points[:, 1:].sin()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(10):
        t = torch.rand(32, 1, requires_grad=True)
        u = net(t)
        (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        loss = (slope + 2.0 * u).square().mean() + (net(torch.zeros(1, 1)) - 1.0).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 2, requires_grad=True)
        v = value(x)
        slope = torch.autograd.grad(v.sum(), x, retain_graph=True)[0]
        reward, drift = -x.detach().square().sum(1, keepdim=True), -0.5 * x.detach()
        target = (reward + (slope * drift).sum(1, keepdim=True)).detach()
        loss = (v - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_adversary() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x, labels = torch.randn(32, 4, requires_grad=True), torch.randint(0, 3, (32,))
        slope = torch.autograd.grad(nn.functional.cross_entropy(model(x), labels), x)[0]
        harder = x + 0.1 * slope / (slope.norm(dim=1, keepdim=True) + 1e-8)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(harder.detach()), labels).backward()
        optimizer.step()


def good_first_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(torch.zeros(3, 1))
    optimizer = torch.optim.SGD([weight], lr=0.05)
    for _ in range(10):
        x, y = torch.randn(32, 3), torch.randn(32, 1)
        inner = (x[:16] @ weight - y[:16]).square().mean()
        adapted = weight - 0.1 * torch.autograd.grad(inner, weight)[0]
        optimizer.zero_grad()
        (x[16:] @ adapted - y[16:]).square().mean().backward()
        optimizer.step()


RULE = Rule(
    code="AD223",
    name="derivative-without-graph",
    severity="warning",
    title="a derivative goes into the loss without a graph of its own",
    observes="What `torch.autograd.grad` gives without `create_graph`, with respect to data, from what trained "
    "parameters computed: whether it is added to what has a graph to the same parameters, and a backward runs through "
    "the sum.",
    why="The residual of a differential equation is then fitted only through its other terms: it falls, and nothing "
    "trains the derivative.",
    fix="Pass `create_graph=True` to each `autograd.grad` whose result belongs to the loss.",
    fine="Fixed targets, said by `detach()`; adversarial examples and samplers, which move data; first-order "
    "meta-learning, which differentiates with respect to parameters.",
    needs=(FixedSlopeAdded, OptimizerBuilt, ParameterSeen),
    examine=examine,
    bad=(bad, bad_second_derivative),
    good=(good, good_target, good_adversary, good_first_order),
    tunables={"minimum_steps": Tunable(2, "fewest steps with such a derivative in a sum", MORE_THAN_ONCE)},
    about="loss",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html",),
)
