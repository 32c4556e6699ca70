"""AD304: `retain_graph=True` although no later backward used the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from autograd_doctor.events.lifetime import GraphRetained
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import in_bytes


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_line: dict[Location | None, list[GraphRetained]] = defaultdict(list)
    for event in trace.of(GraphRetained):
        if not event.create_graph:
            by_line[event.location].append(event)
    for location, retained in by_line.items():
        if len(retained) >= tunables["times"] and not any(event.used_again for event in retained):
            yield _finding(location, retained)


def _finding(location: Location | None, retained: Sequence[GraphRetained]) -> Finding:
    most = max(event.bytes_held for event in retained)
    return RULE.finding(
        f"{len(retained)} graphs were retained here, and none was used again; each kept up to {in_bytes(most)} of "
        "saved activations",
        subject="",
        location=location,
        help="remove `retain_graph=True`",
        evidence={"retained": len(retained), "bytes_held": most},
        step_first=retained[0].step + 1,
        step_count=len(retained),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # <- AD304
        optimizer.step()


def bad_last_of_two_losses() -> None:
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
        sum_loss.backward(retain_graph=True)
        torch.autograd.backward(max_loss, retain_graph=True)  # <- AD304
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
        sum_loss.backward(retain_graph=True)
        max_loss.backward()
        optimizer.step()


def good_gradient_norm_of_one_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(head(torch.tanh(body(x))), x.sum(1, keepdim=True))
        (slope,) = torch.autograd.grad(loss, [head.weight], retain_graph=True)
        optimizer.zero_grad()
        (loss / (1 + slope.norm())).backward()
        optimizer.step()


RULE = Rule(
    code="AD304",
    name="retain-graph-unneeded",
    severity="warning",
    title="`retain_graph=True` keeps graphs that nothing uses again",
    observes="For every retained graph: whether a later backward ran through it before it was released.",
    why="A backward frees the saved activations as it runs; with `retain_graph=True` they stay until the graph is "
    "released, which raises peak memory. It also hides the error that would reveal a graph shared between steps.",
    fix="Remove `retain_graph=True`.",
    fine="Two losses on one graph, `create_graph`, double backward.",
    needs=(GraphRetained,),
    examine=examine,
    bad=(bad, bad_last_of_two_losses),
    good=(good, good_gradient_norm_of_one_loss),
    tunables={"times": Tunable(2, "fewest graphs that were retained and not used", MORE_THAN_ONCE)},
)
