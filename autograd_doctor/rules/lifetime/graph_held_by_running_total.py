"""AD302: a running sum chains the graphs of every step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.holdings import Holding, awaits_backward, holdings, remaining
from autograd_doctor.wording import in_bytes


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crossed = {_line(event.reaches_back_at) for event in trace.of(BackwardRan) if event.reaches_back}
    for holding in holdings(trace):
        kept = holding.latest
        one_chain = kept.chained and kept.has_graph and not holding.grows(lambda survivor: survivor.count)
        lengthens = one_chain and holding.grows(_nodes) and _line(holding.location) not in crossed
        if lengthens and not awaits_backward(trace, holding):
            yield _finding(holding)


def _line(location: Location | None) -> tuple[str, int] | None:
    return (location.path, location.line) if location else None


def _nodes(survivor: Survivor) -> int:
    return survivor.nodes


def _graph_bytes(survivor: Survivor) -> int:
    return survivor.graph_bytes


def _finding(holding: Holding) -> Finding:
    kept = holding.latest
    growing = holding.grows(_graph_bytes)
    return RULE.finding(
        f"`{kept.holder}` chains the graphs of all steps so far: {_cost(holding, growing)}",
        subject=kept.holder,
        location=holding.location,
        help=f"add numbers instead of tensors with a graph to `{kept.holder}`: `float(loss)`, or `loss.detach()`",
        severity="error" if holding.is_heavy(_graph_bytes) else "warning",
        evidence={
            "graph_nodes": kept.nodes,
            "graph_nodes_per_step": round(holding.per_step(_nodes), 1),
            "graph_bytes": kept.graph_bytes,
            "graph_bytes_per_step": round(holding.per_step(_graph_bytes)),
            "buffers_freed": "yes" if kept.freed else "no",
        },
        notes=(holding.forecast(_graph_bytes),) if growing else (),
        step_first=holding.steps[0],
        step_count=holding.steps[-1] - holding.steps[0],
    )


def _cost(holding: Holding, growing: bool) -> str:
    kept = holding.latest
    if growing:
        growth = in_bytes(holding.per_step(_graph_bytes))
        return f"{in_bytes(kept.graph_bytes)} of saved activations, {growth} more per step"
    freed = "backward freed the activations, " if kept.freed else ""
    return f"{freed}{remaining(kept.nodes)}, {holding.per_step(_nodes):.0f} more per step"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    total = 0
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # type: ignore[assignment]  # <- AD302
    print(total / 12)


def bad_penalty_outside_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    error_sum = torch.zeros(())
    for _ in range(12):
        x = torch.randn(32, 8)
        target = x.sum(1, keepdim=True)
        prediction = model(x)
        loss = nn.functional.mse_loss(prediction, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        error_sum = error_sum + (prediction - target).square().sqrt().mean()  # <- AD302


def bad_meter() -> None:
    import torch
    from torch import nn

    class Meter:
        def __init__(self) -> None:
            self.sum: float | torch.Tensor = 0.0
            self.count = 0

        def update(self, value: torch.Tensor) -> None:
            self.sum = self.sum + value  # <- AD302
            self.count += 1

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    meter = Meter()
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    total, smooth = 0.0, torch.zeros(())
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        smooth = 0.9 * smooth + 0.1 * loss.detach()
    print(total / 12, smooth)


def good_sum_that_is_backpropagated() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        total = torch.zeros(())
        for _ in range(4):
            x = torch.randn(16, 8)
            total = total + nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        (total / 4).backward()
        optimizer.step()


RULE = Rule(
    code="AD302",
    name="graph-held-by-running-total",
    severity="warning",
    title="a running total keeps the graph of every step",
    observes="At step boundaries, follows the graphs of living tensors, and looks for one whose graph reaches back "
    "through all steps and grows by the same amount with each. It is an error where the bytes that it keeps would fill "
    "gigabytes in a long run: 64 KiB per step, or more, are 6 GiB in 100,000 steps.",
    why="Adding a tensor with a graph gives a tensor whose graph contains both: the sum keeps every step alive, and a "
    "later backward would run through all of them.",
    fix="Add `loss.item()` or `loss.detach()`.",
    fine="Sums that are backpropagated and then reset.",
    needs=(SurvivorsCounted, BackwardRan, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_penalty_outside_the_loss, bad_meter),
    good=(good, good_sum_that_is_backpropagated),
    references=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
)
