"""AD308: a custom function keeps an input or output on `ctx` instead of saving it for backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import no_type_check

from autograd_doctor.events.errors import ContextAttributeKept
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import in_bytes

_CONSEQUENCE = {
    "input": "it stays alive as long as the graph node, even after backward, and in-place changes go unnoticed",
    "output": "the output and the graph node reference each other, so only the garbage collector frees them",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    largest: dict[tuple[str, str], ContextAttributeKept] = {}
    for event in trace.of(ContextAttributeKept):
        known = largest.setdefault((event.function, event.attribute), event)
        if event.bytes_held > known.bytes_held:
            largest[event.function, event.attribute] = event
    yield from map(_finding, largest.values())


def _finding(event: ContextAttributeKept) -> Finding:
    return RULE.finding(
        f"`{event.function}` keeps an {event.which} of {in_bytes(event.bytes_held)} as `ctx.{event.attribute}`: "
        f"{_CONSEQUENCE[event.which]}",
        subject=event.function,
        location=event.location,
        help="pass it to `ctx.save_for_backward(...)` and read it from `ctx.saved_tensors` in `backward`",
        evidence={"bytes_per_call": event.bytes_held, "attribute": event.attribute, "which": event.which},
        step_first=event.step + 1,
    )


@no_type_check
def bad() -> None:
    import torch
    from torch import nn

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x  # <- AD308
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.x * grad

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Square.apply(model(x)), x.mean(1, keepdim=True).square())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_tuple_of_inputs() -> None:
    import torch
    from torch import nn

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.factors = (x, y)  # <- AD308
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.factors
            return y * grad, x * grad

    torch.manual_seed(0)
    left, right = nn.Linear(8, 1), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Product.apply(left(x), right(x)), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_output() -> None:
    import torch
    from torch import nn

    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.result = result  # <- AD308
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.result

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Exponential.apply(model(x)), x.mean(1, keepdim=True).exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_in_setup_context() -> None:
    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.x, ctx.factor = inputs  # <- AD308

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Scale.apply(model(x), 2.0), x.mean(1, keepdim=True))
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
            return 2 * x * grad

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Square.apply(model(x)), x.mean(1, keepdim=True).square())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good_intermediate_and_plain_values() -> None:
    import torch
    from torch import nn

    class LeakyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, slope):
            ctx.slope = slope
            ctx.positive = x > 0
            return torch.where(ctx.positive, x, slope * x)

        @staticmethod
        def backward(ctx, grad):
            return torch.where(ctx.positive, grad, ctx.slope * grad), None

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(LeakyReLU.apply(model(x), 0.1), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD308",
    name="context-attribute-leak",
    severity="warning",
    title="a custom function keeps tensors as attributes of `ctx`",
    observes="After `apply`, which attributes of the graph node are inputs or outputs of the call themselves.",
    why="Backward frees tensors saved with `save_for_backward` and checks them for in-place changes; it does neither "
    "for attributes, and an output kept as an attribute creates a reference cycle.",
    fix="Use `ctx.save_for_backward`.",
    fine="Intermediate results, and values that are not tensors.",
    needs=(ContextAttributeKept,),
    examine=examine,
    bad=(bad, bad_tuple_of_inputs, bad_output, bad_in_setup_context),
    good=(good, good_intermediate_and_plain_values),
    references=("https://docs.pytorch.org/docs/stable/notes/extending.html",),
)
