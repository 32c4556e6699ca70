"""AD508: a custom function cannot be differentiated twice, and the run does so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import no_type_check

from autograd_doctor.events.errors import FunctionJudged
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace

_OR_FORBID = ", or mark it `@once_differentiable` so that a second derivative raises an error"


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    twice = any(event.create_graph for event in trace.of(BackwardRan))
    for event in trace.of(FunctionJudged):
        if twice and event.double and event.verdict == "wrong":
            yield RULE.finding(
                f"the second derivative of `{event.function}` is wrong or missing"
                f"{'' if event.requested else ', and the run uses `create_graph`'}"
                f"{f': {event.reason}' if event.reason else ''}",
                subject=event.function,
                location=event.location or event.applied_at,
                severity="error" if event.requested else None,
                help="write `backward` with differentiable operations on saved inputs and outputs"
                f"{'' if event.requested else _OR_FORBID}",
                evidence={"largest_error": event.error} if event.error is not None else {},
                related=(Related("applied here", event.applied_at),) if event.applied_at else (),
                step_first=event.step,
            )


def left_open(trace: Trace) -> Iterator[str]:
    for event in trace.of(FunctionJudged):
        if event.double and event.verdict == "not judged" and not event.requested:
            yield f"the second derivative of `{event.function}` was not judged ({event.reason})"


@no_type_check
def bad() -> None:
    import torch
    from torch import nn

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):  # <- AD508
            (x,) = ctx.saved_tensors
            return grad * 2 * x.detach()

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8, requires_grad=True)
        output = Square.apply(critic(x))
        (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
        loss = nn.functional.mse_loss(output, x.detach().square().mean(1, keepdim=True))
        loss = loss + 0.1 * slope.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good() -> None:
    import torch
    from torch import nn

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8, requires_grad=True)
        output = Square.apply(critic(x))
        (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
        loss = nn.functional.mse_loss(output, x.detach().square().mean(1, keepdim=True))
        loss = loss + 0.1 * slope.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good_only_first_derivatives() -> None:
    import torch
    from torch import nn

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Square.apply(model(x)), x.square().mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD508",
    name="no-double-backward",
    severity="info",
    title="a custom function has no correct second derivative",
    observes="In a run that uses `create_graph`, compares the second derivatives of every custom function with finite "
    "differences (`gradgradcheck`).",
    why="A gradient penalty or a meta-gradient differentiates through the custom backward; whatever that backward "
    "treats as constant is silently missing.",
    fix="Write the backward with differentiable operations on saved tensors.",
    fine="Functions whose gradients are never differentiated.",
    needs=(FunctionJudged, BackwardRan),
    examine=examine,
    left_open=left_open,
    bad=(bad,),
    good=(good, good_only_first_derivatives),
    references=("https://docs.pytorch.org/docs/stable/notes/gradcheck.html",),
)
