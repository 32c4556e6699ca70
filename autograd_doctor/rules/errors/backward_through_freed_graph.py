"""AD504: a backward ran into a graph that an earlier backward had freed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import died_of
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "freed_graph")
    if crash is None:
        return
    failed = crash.backward
    first = trace.backwards.get(failed.reused[-1]) if failed and failed.reused else None
    yield RULE.finding(
        _message(failed, first),
        subject=failed.carried_by or failed.root.name if failed else "",
        location=crash.location,
        help=_help(failed, first),
        evidence=_evidence(failed, first),
        related=tuple(_related(failed, first, crash.location)),
        step_first=crash.step_first,
        step_count=1,
    )


def _message(failed: BackwardRan | None, first: BackwardRan | None) -> str:
    if failed is None:
        return "this backward needs saved tensors that an earlier backward freed"
    root = f"`{failed.root.name}`" if failed.root.name else "this backward"
    carried = f", carried over by `{failed.carried_by}`" if failed.carried_by else ""
    if first is not None and first.step == failed.step:
        return f"the graph of {root} was freed by an earlier backward in the same step{carried}"
    if failed.reaches_back:
        ago = plural(failed.reaches_back, "step")
        return f"the graph of {root} contains operations from {ago} ago, which an earlier backward freed{carried}"
    return f"the graph of {root} was freed by an earlier backward{carried}"


def _help(failed: BackwardRan | None, first: BackwardRan | None) -> str:
    if failed is not None and (failed.reaches_back or (first is not None and first.step != failed.step)):
        return "recompute the shared part in every step, or `detach()` it if no gradient should flow into it"
    return "add the losses and call `backward()` once, or pass `retain_graph=True` to the first of the two calls"


def _evidence(failed: BackwardRan | None, first: BackwardRan | None) -> dict[str, int | float | str | list[str]]:
    if failed is None:
        return {}
    known = {"first_backward_in_step": first.step + 1} if first else {}
    return {"reaches_back": failed.reaches_back, "nodes": failed.nodes, **known}


def _related(failed: BackwardRan | None, first: BackwardRan | None, location: Location | None) -> Iterator[Related]:
    if first is not None and first.location is not None:
        again = " (the same line, earlier)" if first.location == location else ""
        yield Related(f"this backward freed the graph{again}", first.location)
    if failed is not None and failed.reaches_back_at is not None:
        yield Related("the shared part begins here", failed.reaches_back_at)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, first, second = nn.Linear(8, 16), nn.Linear(16, 1), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = torch.tanh(body(x))
        sum_loss = nn.functional.mse_loss(first(features), x.sum(1, keepdim=True))
        max_loss = nn.functional.mse_loss(second(features), x.amax(1, keepdim=True))
        optimizer.zero_grad()
        sum_loss.backward()
        max_loss.backward()  # <- AD504
        optimizer.step()


def bad_features_computed_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    x = torch.randn(64, 8)
    features = torch.tanh(encoder(x))
    for _ in range(10):
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()  # <- AD504
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, first, second = nn.Linear(8, 16), nn.Linear(16, 1), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = torch.tanh(body(x))
        sum_loss = nn.functional.mse_loss(first(features), x.sum(1, keepdim=True))
        max_loss = nn.functional.mse_loss(second(features), x.amax(1, keepdim=True))
        optimizer.zero_grad()
        (sum_loss + max_loss).backward()
        optimizer.step()


def good_features_without_a_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(8, 16).requires_grad_(False), nn.Linear(16, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    x = torch.randn(64, 8)
    features = torch.tanh(encoder(x))
    for _ in range(10):
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD504",
    name="backward-through-freed-graph",
    severity="error",
    title="backward through a graph that was already freed",
    observes="For the backward that failed: which earlier backward ran through part of its graph, and where that part "
    "was computed.",
    why="`backward()` frees the saved tensors of the graph; a second backward through the same operations needs them "
    "again.",
    fix="Call `backward()` once on the sum of the losses, pass `retain_graph=True` to the first of two, or detach the "
    "shared part.",
    fine="Graphs that are retained for a second backward.",
    needs=(BackwardRan, ProgramRaised),
    examine=examine,
    bad=(bad, bad_features_computed_once),
    good=(good, good_features_without_a_graph),
    folds=("AD599",),
)
