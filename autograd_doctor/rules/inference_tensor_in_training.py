"""AD213 inference-tensor-in-training: a tensor of inference mode entered what backward needs."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import BackwardRan, OperationFailed, ProgramRaised, TensorFacts
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace

_WORDS = "inference tensor"


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = trace.crash
    if crash is None or _WORDS not in crash.message.lower():
        return
    failed = next((event for event in reversed(trace.of(OperationFailed)) if _WORDS in event.error.lower()), None)
    where = failed.location if failed and failed.location else _innermost(crash)
    operands = failed.operands if failed else []
    made = [operand for operand in operands if operand.made_at is not None]
    suspect = next((operand for operand in made if not operand.requires_grad), None)
    yield _finding(crash, where, suspect, failed.operation if failed else "")


def _innermost(crash: ProgramRaised) -> Location | None:
    return next((frame.location for frame in reversed(crash.frames) if frame.own), None)


def _finding(crash: ProgramRaised, where: Location | None, suspect: TensorFacts | None, operation: str) -> Finding:
    what = f"`{suspect.name}`" if suspect and suspect.name else "a tensor"
    into = f"`{operation}`" if operation else "a computation"
    made_at = suspect.made_at if suspect else None
    return RULE.finding(
        f"{what} was made under `inference_mode` and entered {into}, which autograd has to record",
        subject=suspect.name if suspect and suspect.name else "tensor",
        location=where,
        help="make it under `torch.no_grad()` instead of `torch.inference_mode()`, or pass `.clone()` of it on",
        evidence={"shape": str(suspect.shape), "dtype": suspect.dtype} if suspect else {},
        related=(Related("it was made here", made_at),) if made_at and made_at != where else (),
        notes=(f"torch says: {crash.message.splitlines()[0]}",),
        step_first=crash.step + 1,
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
    with torch.inference_mode():
        features = backbone(x)
    for _ in range(8):
        loss = nn.functional.mse_loss(head(features), y)  # <- AD213
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_statistics() -> None:
    import torch
    from torch import nn

    @torch.inference_mode()
    def scale_of(x: torch.Tensor) -> torch.Tensor:
        return x.std(dim=0)

    torch.manual_seed(0)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    scale = scale_of(x)
    for _ in range(8):
        error = (model(x) - x.flip(1)) / scale  # <- AD213
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
)
