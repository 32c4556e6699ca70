"""AD213 inference-tensor-in-training: a tensor of inference mode entered what backward needs."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "inference_tensor")
    if crash is None:
        return
    made = [operand for operand in (crash.operation.operands if crash.operation else ()) if operand.made_at is not None]
    yield _finding(crash, next((operand for operand in made if not operand.requires_grad), None))


def _finding(crash: Crash, suspect: TensorFacts | None) -> Finding:
    what = f"`{suspect.name}`" if suspect and suspect.name else "a tensor"
    into = f"`{crash.operation.operation}`" if crash.operation else "a computation"
    made_at = suspect.made_at if suspect else None
    switch = suspect.made_under if suspect else None
    switched_at = switch.location if switch else None
    location = switched_at or made_at or crash.location
    places = {"it was made here": made_at, f"it entered {into} here": crash.location}
    return RULE.finding(
        f"{what} was made under `inference_mode` and entered {into}, which autograd has to record",
        subject=suspect.name if suspect and suspect.name else "tensor",
        location=location,
        help="make it under `torch.no_grad()` instead of `torch.inference_mode()`, or pass `.clone()` of it on",
        evidence={"shape": str(suspect.shape), "dtype": suspect.dtype} if suspect else {},
        related=tuple(Related(what, where) for what, where in places.items() if where and where != location),
        notes=(f"torch says: {crash.said}",),
        step_first=crash.step_first,
        step_count=1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    with torch.inference_mode():  # <- AD213
        features = backbone(x)
    for _ in range(8):
        loss = nn.functional.mse_loss(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_statistics() -> None:
    import torch
    from torch import nn

    @torch.inference_mode()  # <- AD213
    def scale_of(x: torch.Tensor) -> torch.Tensor:
        return x.std(dim=0)

    torch.manual_seed(0)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    scale = scale_of(x)
    for _ in range(8):
        error = (model(x) - x.flip(1)) / scale
        loss = error.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 8), nn.ReLU()).eval(), nn.Linear(8, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    with torch.inference_mode():
        features = backbone(x)
    features = features.clone()
    for _ in range(8):
        loss = nn.functional.mse_loss(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD213",
    name="inference-tensor-in-training",
    severity="error",
    title="a tensor of inference mode entered a computation that is differentiated",
    observes="An operation that failed because one of its operands had been made under `torch.inference_mode()`, where "
    "tensors get no version counter and can never be saved for backward.",
    why="Inference mode is for results that never meet autograd again; the program stops at the first meeting.",
    fix="Compute what training uses under `torch.no_grad()`, or clone it outside of inference mode.",
    fine="Results of inference mode that are only printed, stored or copied.",
    needs=(ProgramRaised, OperationFailed, BackwardRan),
    examine=examine,
    bad=(bad, bad_statistics),
    good=(good,),
    needs_phases=(),
    folds=("AD201", "AD202", "AD103", "AD104", "AD506", "AD512", "AD599", "AD116"),
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
