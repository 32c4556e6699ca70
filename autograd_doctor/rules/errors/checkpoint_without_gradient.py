"""AD509: a re-entrant checkpoint none of whose inputs requires grad cuts its parameters off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    cut: dict[object, CheckpointRan] = {}
    for event in trace.of(CheckpointRan):
        learning = set(event.parameters) & trace.learning
        if event.reentrant and event.no_input_requires_grad and event.parameters and not learning:
            cut.setdefault((event.location, event.function), event)
    for event in cut.values():
        function = f"`{event.function}`" if event.function else "this segment"
        yield RULE.finding(
            f"no input to the checkpoint of {function} requires grad, so no gradient reaches its "
            f"{plural(len(event.parameters), 'parameter')}: {trace.parameter_names(event.parameters)}",
            subject=event.function,
            location=event.location,
            help="pass `use_reentrant=False`",
            evidence={"parameters": len(event.parameters)},
            step_first=event.step + 1,
            parameters=event.parameters,
        )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=True)  # <- AD509
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=False)
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_frozen_segment() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(8, 16), nn.Tanh()).requires_grad_(False)
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        features = checkpoint(body, x, use_reentrant=False)
        loss = nn.functional.mse_loss(head(features), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD509",
    name="checkpoint-without-gradient",
    severity="error",
    title="a reentrant checkpoint cuts off its parameters from the loss",
    observes="Reentrant checkpoints that ran with gradients enabled although none of their inputs requires grad, and "
    "the parameters of the segment.",
    why="A reentrant checkpoint is a graph node between its inputs and its outputs; if no input requires grad, there "
    "is no such node, and the parameters inside never learn.",
    fix="Pass `use_reentrant=False`.",
    fine="Segments without parameters that require grad, and checkpoints with `use_reentrant=False`.",
    needs=(CheckpointRan, ParameterSeen),
    examine=examine,
    bad=(bad,),
    good=(good, good_frozen_segment),
    folds=("AD202", "AD203", "AD506", "AD116"),
    references=("https://docs.pytorch.org/docs/stable/checkpoint.html",),
)
