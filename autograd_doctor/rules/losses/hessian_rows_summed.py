"""AD639 hessian-rows-summed: second derivatives of all columns of a gradient at once hold the mixed ones as well."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import HessianRowsSummed
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.wording import shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = [event for event in trace.of(HessianRowsSummed) if event.mixed >= tunables["mixed"]]
    for first, *others in in_several_steps(trace, events, lambda event: event.location, int(tunables["steps"])):
        yield _finding(first, 1 + len(others))


def _finding(event: HessianRowsSummed, steps: int) -> Finding:
    columns = event.shape[-1]
    return RULE.finding(
        f"a gradient of shape {shape(event.shape)} is differentiated here in one call, which adds up its {columns} "
        "columns: each number is the sum of a row of the Hessian, mixed derivatives and all, and no second derivative "
        f"by one coordinate. The largest mixed one is {event.mixed:.1%} of the largest other",
        subject="second derivative",
        location=event.location,
        confidence="medium",
        help="differentiate column by column: `torch.autograd.grad(slope[:, i].sum(), x, create_graph=True)[0][:, i]` "
        "for each `i`; a Laplacian or a divergence is the sum of these",
        evidence={"columns": columns, "mixed": event.mixed},
        related=beside(
            event.location,
            ("the derivative is taken in here", event.taken_at),
            (f"`{event.used}` takes second derivatives from it here", event.used_at),
        ),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        points = torch.rand(32, 2, requires_grad=True)
        u = net(points)
        (slope,) = torch.autograd.grad(u, points, torch.ones_like(u), create_graph=True)
        (bend,) = torch.autograd.grad(slope, points, torch.ones_like(slope), create_graph=True)  # <- AD639
        residual = bend[:, 0] + bend[:, 1] - 1
        loss = residual.square().mean() + net(torch.zeros(1, 2)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_divergence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    energy = nn.Sequential(nn.Linear(3, 24), nn.Softplus(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(energy.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 3).requires_grad_()
        (score,) = torch.autograd.grad(-energy(x).sum(), x, create_graph=True)
        trace = torch.autograd.grad(score.sum(), x, create_graph=True)[0].sum(1)  # <- AD639
        loss = (trace + 0.5 * score.square().sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        points = torch.rand(32, 2, requires_grad=True)
        u = net(points)
        (slope,) = torch.autograd.grad(u, points, torch.ones_like(u), create_graph=True)
        bends = [torch.autograd.grad(slope[:, i].sum(), points, create_graph=True)[0][:, i] for i in range(2)]
        loss = (bends[0] + bends[1] - 1).square().mean() + net(torch.zeros(1, 2)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD639",
    name="hessian-rows-summed",
    severity="warning",
    title="second derivatives hold mixed ones that do not belong there",
    observes="What `torch.autograd.grad(…, create_graph=True)` gives for a gradient of several columns, with ones for "
    "all of them or by their sum, with respect to what the gradient was taken by; whether columns of that are picked "
    "on its way into the loss, or summed up; and the derivatives of two columns by the other coordinates.",
    why="`grad` of several outputs gives the sum of their gradients: for u_x and u_y, it gives u_xx + u_xy and u_xy + "
    "u_yy. The equation that is trained on is another one, and its residual can be small all the same.",
    fix="Differentiate one column at a time, and take that column of the result; or use `torch.func.hessian`.",
    fine="Columns that are differentiated one by one, products of the Hessian with drawn or other vectors, penalties "
    "on gradients or on all that the second call gives, one coordinate, and functions in which each coordinate is on "
    "its own, so that mixed derivatives are zero. A derivative along the direction of all ones is written alike: "
    "ignore it there. A program with gradient hooks or custom functions is not looked at.",
    needs=(HessianRowsSummed,),
    examine=examine,
    bad=(bad, bad_divergence),
    good=(good,),
    tunables={
        "steps": Tunable(2, "fewest steps with such a derivative", MORE_THAN_ONCE),
        "mixed": Tunable(
            1e-3,
            "smallest share of mixed derivatives",
            "chosen: rounding leaves less, and so do functions without them",
        ),
    },
    about="loss",
)
