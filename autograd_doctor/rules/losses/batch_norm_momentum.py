"""AD623 batch-norm-momentum: in evaluation, a batch-norm normalises by the statistics of the last training batch."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LastBatchKept
from autograd_doctor.events.subjects import ModuleSeen, ParameterSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(LastBatchKept):
        if event.momentum >= tunables["momentum"]:
            yield _finding(trace, event)


def _finding(trace: Trace, event: LastBatchKept) -> Finding:
    built = _built_at(trace, event.norms[0])
    related = (Related("evaluated here", event.location),) if event.location is not None and built is not None else ()
    shown = ", ".join(f"`{name}`" for name in event.norms[:3])
    more = f" and {len(event.norms) - 3} more" if len(event.norms) > 3 else ""
    return RULE.finding(
        f"the momentum of {shown}{more} is {event.momentum:g}, which torch takes for the weight of the newest batch: "
        f"`{trace.module_name(event.module)}` was evaluated with hardly more than the statistics of the last one",
        subject=event.norms[0],
        location=built or event.location,
        help=f"where {event.momentum:g} was to be kept of the old statistics, as other frameworks count, it is "
        f"`momentum={1 - event.momentum:.2g}` here",
        confidence="medium",
        evidence={"momentum": event.momentum, "normalisations": event.norms[:20]},
        related=related,
        step_first=event.step,
    )


def _built_at(trace: Trace, norm: str) -> Location | None:
    """Where the layer was built, as far as its weight tells."""
    weights = (seen for seen in trace.parameters.values() if seen.name == f"{norm}.weight")
    return next((seen.registered_at for seen in weights if seen.registered_at is not None), None)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(6, 16),
        nn.BatchNorm1d(16, eps=1e-3, momentum=0.99),  # <- AD623
        nn.ReLU(),
        nn.Linear(16, 1),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = torch.randn(64, 6)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(6, 16),
        nn.BatchNorm1d(16, eps=1e-3, momentum=0.01),
        nn.BatchNorm1d(16, momentum=1.0, track_running_stats=False),
        nn.ReLU(),
        nn.Linear(16, 1),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = torch.randn(64, 6)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))


RULE = Rule(
    code="AD623",
    name="batch-norm-momentum",
    severity="warning",
    title="a batch-norm forgets all batches but the last",
    observes="The momentum of batch-norms that were trained, in models that were evaluated in eval mode afterwards.",
    why="Torch's momentum is the weight of the new batch, that of other frameworks the weight of the old average: with "
    "0.99 there is no average at all, and scores depend on which batch came last.",
    fix="Take `1 - momentum` of what other frameworks call momentum; torch's default is 0.1.",
    fine="Batch-norms without running statistics, models that are never evaluated in eval mode, and models that are "
    "trained on the same tensors each time: the last batch is all there is.",
    needs=(LastBatchKept, ModuleSeen, ParameterSeen),
    examine=examine,
    bad=(bad,),
    good=(good,),
    tunables={
        "momentum": Tunable(
            0.9,
            "weight of the newest batch from which on hardly anything else is left",
            "PyTorch: its default is 0.1, and other frameworks write 0.9 for the same",
        )
    },
    about="model",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html",),
)
