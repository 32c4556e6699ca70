"""AD502: an in-place operation on a leaf that requires grad."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "in_place_leaf")
    if crash is None:
        return
    failed = crash.operation
    leaf = _leaf(crash)
    name = leaf.name if leaf else ""
    what = f"`{name}`" if name else "a tensor"
    operation = f"`{failed.operation}`" if failed else "an in-place operation"
    view = "a view of " if "a view of a leaf" in crash.raised.message else ""
    yield RULE.finding(
        f"{operation} would change {view}{what} in place, which is a leaf that requires grad",
        subject=name,
        location=crash.location,
        help="update parameters under `torch.no_grad()`; in a forward pass, compute a new tensor instead",
        evidence={"error": crash.said},
        step_first=crash.step_first,
        step_count=1,
    )


def _leaf(crash: Crash) -> TensorFacts | None:
    """The leaf that was to be changed, or the only candidate in the frame that raised."""
    if crash.operation is not None:
        return next((facts for facts in crash.operation.operands if facts.is_leaf and facts.requires_grad), None)
    leaves = [facts for facts in crash.tensors if facts.is_leaf and facts.requires_grad]
    return leaves[0] if len(leaves) == 1 else None


def bad() -> None:
    import torch

    torch.manual_seed(0)
    weight = torch.zeros(8, requires_grad=True)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = (x @ weight - x.mean(1)).square().mean()
        loss.backward()
        weight -= 0.1 * weight.grad  # type: ignore[operator]  # <- AD502
        weight.grad = None


def bad_initialisation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    model.bias[0] = 0.5  # <- AD502
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch

    torch.manual_seed(0)
    weight = torch.zeros(8, requires_grad=True)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = (x @ weight - x.mean(1)).square().mean()
        loss.backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad  # type: ignore[operator]
        weight.grad = None


def good_error_that_was_caught() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    try:
        model.bias.fill_(0.0)
    except RuntimeError:
        nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD502",
    name="in-place-on-leaf",
    severity="error",
    title="an in-place operation on a leaf that requires grad",
    observes="The operation that failed, and which of its operands is a leaf that requires grad.",
    why="Gradients accumulate in leaves; a leaf changed in place while the graph is recorded would depend on itself, "
    "so autograd refuses.",
    fix="Update it under `torch.no_grad()`.",
    fine="Updates under `no_grad`, and `nn.init`.",
    needs=(OperationFailed, ProgramRaised),
    examine=examine,
    bad=(bad, bad_initialisation),
    good=(good, good_error_that_was_caught),
    folds=("AD599",),
)
