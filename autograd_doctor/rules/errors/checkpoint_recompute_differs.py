"""AD510: the forward that a checkpoint recomputes differs from the first one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    differing: dict[object, CheckpointRan] = {}
    moving: dict[object, CheckpointRan] = {}
    for event in trace.of(CheckpointRan):
        if _differs(event, tunables["relative_difference"]):
            differing.setdefault((event.location, event.function), event)
        elif event.statistics_moved_twice:
            moving.setdefault((event.location, event.function), event)
    yield from map(_values, differing.values())
    yield from map(_statistics, moving.values())
    crash = died_of(trace, "checkpoint")
    if crash is not None:
        yield _refused(crash)


def _differs(event: CheckpointRan, tolerance: float) -> bool:
    return event.difference is not None and event.difference > tolerance * max(event.magnitude or 0.0, 1e-12)


def _values(event: CheckpointRan) -> Finding:
    function = f"`{event.function}`" if event.function else "the checkpointed segment"
    where = f" in `{event.operation}`" if event.operation else ""
    difference, magnitude = event.difference or 0.0, event.magnitude or 0.0
    return RULE.finding(
        f"when recomputed in backward, {function} gave different values than in the forward pass: they first "
        f"differ{where}, by up to {difference:.3g} in values of up to {magnitude:.3g}",
        subject=event.function,
        location=event.location,
        help="make the segment deterministic: keep `preserve_rng_state=True`, draw random numbers outside it, and "
        "change no state in it",
        evidence={"largest_difference": difference, "largest_value": magnitude, "operation": event.operation},
        related=(Related("this operation gave a different result", event.differs_at),) if event.differs_at else (),
        step_first=event.step + 1,
        parameters=event.parameters,
    )


def _statistics(event: CheckpointRan) -> Finding:
    names = ", ".join(f"`{name}`" for name in event.statistics_moved_twice)
    return RULE.finding(
        f"the running statistics of {names} are updated twice per step: in the forward pass and in the recomputation",
        subject=event.statistics_moved_twice[0],
        location=event.location,
        severity="warning",
        help="keep batch norm out of the checkpointed segment, or give it `momentum=1 - (1 - momentum) ** 0.5`",
        evidence={"batch_norms": list(event.statistics_moved_twice)},
        step_first=event.step + 1,
    )


def _refused(crash: Crash) -> Finding:
    return RULE.finding(
        f"the recomputed forward saved different tensors than the first forward: {crash.said}",
        subject="",
        location=crash.site,
        help="make the checkpointed segment deterministic: the same operations on the same shapes in both passes",
        evidence={"error": crash.said},
        step_first=crash.step_first,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.Tanh())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=False, preserve_rng_state=False)  # <- AD510
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_state_in_the_segment() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.calls = nn.Linear(8, 16), 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return torch.tanh(self.linear(x) * (1 + 0.1 * self.calls))

    torch.manual_seed(0)
    body, head = Counting(), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8, requires_grad=True)
        features = checkpoint(body, x, use_reentrant=True)  # <- AD510
        loss = nn.functional.mse_loss(head(features), x.detach().sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_batch_norm() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=False)  # <- AD510
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.Tanh())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=False)
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_layer_norm() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=False)
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD510",
    name="checkpoint-recompute-differs",
    severity="error",
    title="a checkpointed segment gives a different result when it is recomputed",
    observes="The results of the operations in a checkpointed segment, in the forward pass and in the recomputation; "
    "the running statistics of batch norms in both, and their momentum.",
    why="The loss comes from the first pass, the gradient from the second: if they differ, the gradient is not that "
    "of the loss. PyTorch compares only shapes and dtypes of the two.",
    fix="Make the segment deterministic.",
    fine="Dropout with the RNG state preserved, which is the default. Batch norms whose momentum makes one update of "
    "two: `1 - (1 - 0.1) ** 0.5`, or None, with which every batch counts alike.",
    needs=(CheckpointRan, ParameterSeen, ProgramRaised),
    examine=examine,
    bad=(bad, bad_state_in_the_segment, bad_batch_norm),
    good=(good, good_layer_norm),
    tunables={
        "relative_difference": Tunable(
            1e-3,
            "largest difference, relative to the largest value, that counts as rounding",
            "chosen: a different order of summation changes float32 by about 1e-6, bfloat16 and TF32 by up to 1e-3",
        )
    },
    references=("https://docs.pytorch.org/docs/stable/checkpoint.html",),
)
