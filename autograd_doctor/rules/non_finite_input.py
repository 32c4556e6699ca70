"""AD403 non-finite-input: NaN or Inf came in with the data."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import BackwardRan, BatchDrawn, NonFiniteGradient, NonFiniteInput
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    spoiled = min((bad.step for bad in trace.of(NonFiniteGradient) if not bad.absorbed), default=None)
    for event in trace.of(NonFiniteInput)[:1]:
        if spoiled is not None and event.step > spoiled:
            continue  # the weights were spoiled by an earlier backward
        if _is_parameter(trace, event):
            if event.step == 0:
                yield _finding(event, "the parameter", None)
        else:
            yield _finding(event, "the tensor", _drawn(trace, event))


def _is_parameter(trace: Trace, event: NonFiniteInput) -> bool:
    names = {seen.name for seen in trace.parameters.values()}
    return event.tensor.name in names or (event.tensor.is_leaf and event.tensor.requires_grad)


def _drawn(trace: Trace, event: NonFiniteInput) -> BatchDrawn | None:
    """The pass over a loader that was under way: the newest of those reported before."""
    before = [other for other in trace.events[: trace.events.index(event)] if isinstance(other, BatchDrawn)]
    return before[-1] if before and not before[-1].ended else None


def _finding(event: NonFiniteInput, what: str, drawn: BatchDrawn | None) -> Finding:
    tensor = event.tensor
    kind = " and ".join(f"{count} {name}" for name, count in (("NaN", tensor.nan), ("Inf", tensor.inf)) if count)
    name = f"`{tensor.name}`" if tensor.name else f"of shape {tensor.shape}"
    rows = ", ".join(map(str, event.rows))
    loader = drawn.name or "the data loader" if drawn else ""
    return RULE.finding(
        f"{what} {name} held {kind or 'NaN or Inf'} before any operation had changed it"
        + (f", in rows {rows}" if rows and what == "the tensor" else ""),
        subject=tensor.name or "input",
        location=event.location,
        help="look at these samples in the data set: drop, repair or mask them before training"
        if what == "the tensor"
        else "give the parameter initial values; `torch.empty` leaves whatever was in memory",
        evidence={
            "shape": str(tensor.shape),
            "values": tensor.numel,
            "NaN": tensor.nan,
            "Inf": tensor.inf,
            **({"rows of the batch": rows} if rows else {}),
            **({"loader": loader, "pass over the data": drawn.pass_number} if drawn else {}),
        },
        related=(Related("the batch was drawn here", drawn.location),) if drawn and drawn.location else (),
        step_first=event.step + 1,
        step_count=1,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    x[41, 2] = float("nan")
    loader = DataLoader(TensorDataset(x, x[:, :1].clone()), batch_size=8)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for features, target in loader:
        prediction = model(features)  # <- AD403
        optimizer.zero_grad()
        nn.functional.mse_loss(prediction, target).backward()
        optimizer.step()


def bad_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(8):
        x = torch.randn(16, 4)
        price = x.sum(1, keepdim=True)
        price[3] = float("inf") if step == 6 else 0.0
        loss = nn.functional.smooth_l1_loss(model(x), price)  # <- AD403
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    x[41, 2] = float("nan")
    x = x.nan_to_num()
    loader = DataLoader(TensorDataset(x, x[:, :1].clone()), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for features, target in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(features), target).backward()
        optimizer.step()


RULE = Rule(
    code="AD403",
    name="non-finite-input",
    severity="error",
    title="NaN or Inf came in with the data",
    observes="A tensor that no operation of the run had made, that held NaN or Inf, and that reached a loss; its rows, "
    "and the loader that was being read.",
    why="One such sample spoils every weight of the model in one step.",
    fix="Find the samples and drop or repair them; check for finite values where the data set is built.",
    fine="Missing values that are replaced or masked before the loss.",
    needs=(NonFiniteInput, NonFiniteGradient, BatchDrawn, BackwardRan),
    examine=examine,
    bad=(bad, bad_target),
    good=(good,),
    needs_phases=(),
    folds=("AD401", "AD402", "AD405", "AD406", "AD413", "AD111", "AD599"),
)
