"""AD505: backward on a tensor of more than one element."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.wording import operation, tensor


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "non_scalar")
    if crash is None:
        return
    root = _root(crash)
    made_at = root.made_at if root else None
    seen = f"backward ran on {tensor(root)}, {prod(root.shape)} numbers" if root else "backward ran on many numbers"
    yield RULE.finding(
        f"{seen} where one was needed",
        subject=root.name if root else "",
        location=crash.location,
        help=_help(root),
        evidence={"shape": str(tuple(root.shape)), "operation": operation(root)} if root else {},
        related=(Related("computed here, and not reduced afterwards", made_at),) if made_at else (),
        step_first=crash.step_first,
        step_count=1,
    )


def _root(crash: Crash) -> TensorFacts | None:
    """What backward ran on: as it was seen, or the only candidate in the frame that raised."""
    if crash.backward is not None:
        return crash.backward.root
    candidates = [facts for facts in crash.tensors if facts.requires_grad and not facts.is_leaf]
    many = [facts for facts in candidates if facts.numel > 1]
    return many[0] if len(many) == 1 else None


def _help(root: TensorFacts | None) -> str:
    name = root.name if root and root.name else "loss"
    if root is not None and ("loss" in operation(root) or "cross_entropy" in operation(root)):
        return f'leave `reduction="none"` out of `{operation(root)}`, or call `{name}.mean().backward()`'
    return f"reduce it to a scalar first, as in `{name}.mean().backward()`"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True), reduction="none")
        optimizer.zero_grad()
        loss.backward()  # <- AD505
        optimizer.step()


def bad_squared_difference() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = (model(x) - x.mean(1, keepdim=True)).square().sum(dim=1)
        optimizer.zero_grad()
        torch.autograd.backward(loss)  # <- AD505
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_with_a_gradient_argument() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        losses = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True), reduction="none")
        optimizer.zero_grad()
        losses.backward(torch.full_like(losses, 1 / losses.numel()))
        optimizer.step()


RULE = Rule(
    code="AD505",
    name="non-scalar-backward",
    severity="error",
    title="backward on a tensor that is not a scalar",
    observes="The shape of the tensor on which `backward()` failed, and the operation that computed it.",
    why="A gradient is defined for one number; for several, autograd needs weights (the `gradient` argument).",
    fix="Reduce the loss with `mean()` or `sum()`.",
    fine="`backward()` with a `gradient` argument.",
    needs=(BackwardRan, ProgramRaised),
    examine=examine,
    bad=(bad, bad_squared_difference),
    good=(good, good_with_a_gradient_argument),
    folds=("AD599",),
)
