"""AD501: a tensor that backward needs was changed in place before backward came."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import SavedTensorChanged
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.wording import tensor

_SEARCH = (
    "between the forward pass and this line, look for in-place operations (`+=`, `x[...] = ...`, `relu_`, "
    "`optimizer.step()`) on tensors in the graph, and use operations that return a new tensor"
)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "in_place")
    if crash is None:
        return
    seen = [event for event in trace.of(SavedTensorChanged) if not event.silently]
    mine = [event for event in seen if crash.backward is not None and event.backward == crash.backward.backward]
    yield _explained(mine[0], crash) if mine else _unexplained(crash)


def _explained(event: SavedTensorChanged, crash: Crash) -> Finding:
    changed = event.changed
    places = (
        ("made here", event.tensor.made_at),
        (f"saved for backward by `{event.saved_by}` here", event.saved_at),
        ("needed by this backward", event.needed_at),
    )
    return RULE.finding(
        f"{tensor(event.tensor)} was saved for backward by `{event.saved_by}` and then changed in "
        f"place{f' by `{changed.operation}`' if changed.operation else ''}, so backward failed",
        subject=event.tensor.name or event.saved_by,
        location=changed.location or event.needed_at,
        help=_help(event),
        evidence={
            "operation": changed.operation or "not seen",
            "saved_by": event.saved_by,
            "version": changed.version,
            "shape": str(tuple(event.tensor.shape)),
        },
        related=tuple(Related(text, place) for text, place in places if place is not None),
        notes=(f"the error was: {crash.said}",),
        step_first=event.step + 1,
        step_count=1,
        parameters=event.parameters,
    )


def _help(event: SavedTensorChanged) -> str:
    if not event.changed.operation:
        return _SEARCH
    if event.changed.operation == "step":
        return (
            "call `step()` after the last backward through the old weights, or recompute the loss with the new weights"
        )
    if event.changed.operation == "__setitem__":
        return "collect the parts in a list and join them with `torch.stack`, or write into a `.clone()`"
    return f"use the operation that returns a new tensor instead of `{event.changed.operation}`, or change a `.clone()`"


def _unexplained(crash: Crash) -> Finding:
    """The change itself was not seen: say what autograd said."""
    return RULE.finding(
        "a tensor that backward needs was changed in place after it was saved",
        subject="",
        location=crash.site,
        help=_SEARCH,
        evidence={"error": crash.said},
        step_first=crash.step_first,
        step_count=1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        hidden = torch.tanh(first(x))
        hidden += 1  # <- AD501
        loss = nn.functional.mse_loss(second(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_masked_write() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Sigmoid())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        gates = model(x)
        gates[:, 0] = 0.0  # <- AD501
        loss = nn.functional.mse_loss(head(gates), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_step_before_the_second_backward() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 1)
    head_optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    body_optimizer = torch.optim.SGD(body.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        output = head(torch.tanh(body(x)))
        head_loss = nn.functional.mse_loss(output, x.sum(1, keepdim=True))
        body_loss = output.square().mean()
        head_optimizer.zero_grad()
        head_loss.backward(retain_graph=True)
        head_optimizer.step()  # <- AD501
        body_optimizer.zero_grad()
        body_loss.backward()
        body_optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        hidden = torch.tanh(first(x)) + 1
        loss = nn.functional.mse_loss(second(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_changes_that_autograd_allows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        output = model(x)
        output += 1
        output[:, 0] *= 0.5
        loss = nn.functional.mse_loss(output, x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD501",
    name="in-place-modification",
    severity="error",
    title="a tensor needed by backward was changed in place",
    observes="When backward fails on a changed tensor: where the tensor was made, which operation saved it, and which "
    "operation changed it.",
    why="The gradient is computed from values of the forward pass; an in-place change destroys them, and autograd "
    "refuses to compute a wrong gradient.",
    fix="Use the operation that returns a new tensor, or clone before the change.",
    fine="In-place operations on tensors that no gradient needs, which autograd allows.",
    needs=(SavedTensorChanged, BackwardRan, ProgramRaised),
    examine=examine,
    bad=(bad, bad_masked_write, bad_step_before_the_second_backward),
    good=(good, good_changes_that_autograd_allows),
    folds=("AD599",),
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
