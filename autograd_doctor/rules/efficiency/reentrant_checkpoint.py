"""AD802 reentrant-checkpoint: a checkpoint of the older kind."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def bad() -> None:
    """The older kind of checkpoint, which hides its segment from autograd."""
    import torch
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    stem = torch.nn.Linear(8, 32)
    block = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU())
    head = torch.nn.Linear(32, 1)
    optimizer = torch.optim.SGD([*stem.parameters(), *block.parameters(), *head.parameters()], lr=0.01)
    for _ in range(12):
        inputs = torch.randn(16, 8)
        hidden = checkpoint(block, stem(inputs), use_reentrant=True)  # <- AD802
        optimizer.zero_grad()
        (head(hidden) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def good() -> None:
    """The newer kind."""
    import torch
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    stem = torch.nn.Linear(8, 32)
    block = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU())
    head = torch.nn.Linear(32, 1)
    optimizer = torch.optim.SGD([*stem.parameters(), *block.parameters(), *head.parameters()], lr=0.01)
    for _ in range(12):
        inputs = torch.randn(16, 8)
        hidden = checkpoint(block, stem(inputs), use_reentrant=False)
        optimizer.zero_grad()
        (head(hidden) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[Location | None] = set()
    for ran in trace.of(CheckpointRan):
        if ran.reentrant and not ran.no_input_requires_grad and ran.location not in told:
            told.add(ran.location)
            yield RULE.finding(
                "this checkpoint is re-entrant: autograd does not see what it computes",
                subject=ran.function,
                location=ran.location,
                help="pass `use_reentrant=False` (to transformers, as "
                '`gradient_checkpointing_kwargs={"use_reentrant": False}`)',
                evidence={"segment": ran.function or "unknown"},
                step_first=ran.step,
                step_count=1,
            )


RULE = Rule(
    code="AD802",
    name="reentrant-checkpoint",
    severity="info",
    title="a checkpoint of the older kind",
    observes="The rule speaks where `torch.utils.checkpoint` runs a segment with `use_reentrant=True`, or without "
    "saying which kind is meant.",
    why="A re-entrant checkpoint runs its segment without a graph, and builds one inside the backward. So it gives no "
    "gradient to a segment none of whose inputs requires one, cannot be used with `torch.autograd.grad`, and computes "
    "the whole segment again even if a part of it would do. PyTorch recommends the other kind.",
    fix="Pass `use_reentrant=False`.",
    fine="A library that you cannot change, as long as gradients arrive.",
    needs=(CheckpointRan,),
    bad=(bad,),
    good=(good,),
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/checkpoint.html",),
    examine=examine,
)
