"""AD403 non-finite-input: NaN or Inf came in with the data."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from autograd_doctor.events.numerics import ArrayWarned, NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.steps import BackwardRan, BatchDrawn, NonFiniteGradient
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.births import IMPORTS, kinds_of
from autograd_doctor.views.losses import elsewhere


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    spoiled = min((bad.step for bad in trace.of(NonFiniteGradient) if not bad.absorbed), default=None)
    imported = list(_imported(trace))
    for event in (*_met(trace, imported), *imported):
        if spoiled is not None and event.step > spoiled:
            continue  # the weights were spoiled by an earlier backward
        if _is_parameter(event):
            if event.step == 0:
                yield _finding(_where_it_began(trace, event), "the parameter", None)
        else:
            yield _finding(event, "the tensor", _drawn(trace, event), _warned(trace, event))


def _imported(trace: Trace) -> Iterator[NonFiniteInput]:
    """Data that came from Python or NumPy: the operation that made a tensor of them did not make the values."""
    for born in trace.of(NonFiniteProduced):
        if born.operation in IMPORTS:
            yield NonFiniteInput(step=born.step, tensor=born.output, location=born.location, rows=born.rows)


def _met(trace: Trace, imported: list[NonFiniteInput]) -> Iterator[NonFiniteInput]:
    """Data that an operation took in as they were: batches of a loader hold the samples of which one was imported."""
    told = {drawn.location for event in imported if (drawn := _drawn(trace, event)) is not None}
    for event in trace.of(NonFiniteInput):
        drawn = _drawn(trace, event)
        if drawn is None or drawn.location not in told:
            yield event


def _is_parameter(event: NonFiniteInput) -> bool:
    return event.tensor.parameter is not None or (event.tensor.is_leaf and event.tensor.requires_grad)


def _where_it_began(trace: Trace, event: NonFiniteInput) -> NonFiniteInput:
    """The line that gave a parameter to its module, where that is known: it has had its values since then."""
    seen = trace.parameters.get(event.tensor.parameter) if event.tensor.parameter is not None else None
    return structs.replace(event, location=seen.registered_at) if seen and seen.registered_at else event


def _drawn(trace: Trace, event: NonFiniteInput) -> BatchDrawn | None:
    """The pass over a loader that was under way: the newest of those reported before."""
    before = [drawn for drawn in trace.of(BatchDrawn) if drawn.step <= event.step]
    return before[-1] if before and not before[-1].ended else None


def _warned(trace: Trace, event: NonFiniteInput) -> ArrayWarned | None:
    """What NumPy had warned of before, where that was at one line: there the values were made."""
    warned = [each for each in trace.of(ArrayWarned) if each.step <= event.step]
    return warned[0] if len(warned) == 1 and event.tensor.operation in (*IMPORTS, "") else None


def _finding(event: NonFiniteInput, what: str, drawn: BatchDrawn | None, warned: ArrayWarned | None = None) -> Finding:
    tensor = event.tensor
    name = f"`{tensor.name}`" if tensor.name else f"of shape {tensor.shape}"
    rows = ", ".join(map(str, event.rows))
    loader = drawn.name or "the data loader" if drawn else ""
    return RULE.finding(
        f"{what} {name} contained {kinds_of(tensor)} before any operation changed it"
        + (f", in rows {rows}" if rows and what == "the tensor" else ""),
        subject=tensor.name or "input",
        location=warned.location if warned else event.location,
        help="check these samples in the dataset: drop, repair or mask them before training"
        if what == "the tensor"
        else "initialise the parameter; `torch.empty` returns whatever was in memory",
        evidence={
            "shape": str(tensor.shape),
            "values": tensor.numel,
            "nan_values": tensor.nan,
            "inf_values": tensor.inf,
            **({"rows_of_the_batch": rows} if rows else {}),
            **({"loader": loader, "pass_over_the_data": drawn.pass_number} if drawn else {}),
        },
        related=(
            *elsewhere("it entered here", event.location, warned.location if warned else event.location),
            *elsewhere("the batch was drawn here", drawn.location if drawn else None),
        ),
        notes=(f"NumPy warned there: {warned.text}",) if warned else (),
        step_first=event.step + 1,
        step_count=1,
    )


def bad() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    table = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")
    table[41, 2] = np.nan
    data = torch.from_numpy(table)  # <- AD403
    loader = DataLoader(TensorDataset(data[:, :4], data[:, 4:]), batch_size=8)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for features, target in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(features), target).backward()
        optimizer.step()


def bad_file() -> None:
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(16, 4)
    file = io.BytesIO()
    torch.save((x, torch.where(x[:, :1] > 1.0, torch.inf, x.sum(1, keepdim=True))), file)
    file.seek(0)
    features, price = torch.load(file)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        prediction = model(features)
        loss = nn.functional.smooth_l1_loss(prediction, price)  # <- AD403
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_scaled_by_a_range_of_zero() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    table = np.random.default_rng(0).normal(size=(160, 5)).astype("float32")
    table[:, 2] = 3.0
    target = torch.from_numpy(table[:, :1] - table[:, 1:2])
    low, high = table.min(0), table.max(0)
    scaled = (table - low) / (high - low)  # <- AD403
    kept = scaled.clip(-3, 3)
    rows = [torch.from_numpy(row) for row in kept]
    loader = DataLoader(TensorDataset(torch.stack(rows), target), batch_size=32)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for features, values in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(features), values).backward()
        optimizer.step()


def bad_uninitialised() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    scale = nn.Parameter(torch.empty(4).fill_(float("nan")))
    optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.05)
    x = torch.randn(32, 4)
    for _ in range(8):
        prediction = model(x * scale)  # <- AD403
        optimizer.zero_grad()
        nn.functional.mse_loss(prediction, x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    table = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")
    table[41, 2] = np.nan
    data = torch.from_numpy(table).nan_to_num()
    loader = DataLoader(TensorDataset(data[:, :4], data[:, 4:]), batch_size=8, shuffle=True)
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
    title="the data contains NaN or Inf",
    observes="A tensor that no operation of the run made, that contained NaN or Inf, and that reached a loss; its "
    "rows, and the data loader that was being read; and the line at which NumPy warned before, if it warned at only "
    "one line.",
    why="One such sample makes every weight of the model NaN in one step.",
    fix="Find the samples and drop or repair them; check for finite values where the dataset is built.",
    fine="Missing values that are replaced or masked before the loss.",
    needs=(ArrayWarned, NonFiniteInput, NonFiniteProduced, NonFiniteGradient, BatchDrawn, BackwardRan),
    examine=examine,
    bad=(bad, bad_file, bad_scaled_by_a_range_of_zero, bad_uninitialised),
    good=(good,),
    needs_phases=(),
    folds=("AD401", "AD402", "AD405", "AD406", "AD413", "AD111", "AD599", "AD116"),
    about="data",
)
