"""AD607 batch-norm-single-sample: batch norm in training mode had one value for each channel, and torch refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.wording import plural, shape

_SIZE = re.compile(r"\[([\d, ]*)\]")


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "single_value")
    if crash is not None:
        yield _finding(trace, crash)


def _finding(trace: Trace, crash: Crash) -> Finding:
    found = _SIZE.search(crash.raised.message)
    sizes = [int(size) for size in found[1].split(",") if size.strip()] if found else []
    drawn = _last_of_a_pass(trace, crash)
    loader = f"`{drawn.name}`" if drawn is not None and drawn.name else "its loader"
    which = f"; it was the last batch of {loader}, which is a short one" if drawn is not None else ""
    own = [frame for frame in crash.raised.frames if frame.own]
    related = [Related("called from here", frame.location) for frame in reversed(own[:-1])]
    if drawn is not None and drawn.location is not None and all(each.location != drawn.location for each in related):
        related.append(Related("the batches were drawn here", drawn.location))
    return RULE.finding(
        f"a normalisation in training mode got {shape(sizes)}, one value for each channel, after "
        f"{plural(crash.raised.step, 'step')}{which}",
        subject=crash.raised.kind,
        location=crash.site,
        help="say `drop_last=True` where the loader is built, or choose a batch size that leaves no single sample"
        if drawn is not None
        else "give it batches of two samples or more; to predict for one sample, call `model.eval()` first",
        evidence={"size": shape(sizes), "steps_before": crash.raised.step},
        related=tuple(related),
        step_first=crash.step_first,
        step_count=1,
    )


def _last_of_a_pass(trace: Trace, crash: Crash) -> BatchDrawn | None:
    """The pass over a loader of which the batch at hand was the last one, as far as steps tell."""
    newest = next(iter(reversed(trace.of(BatchDrawn))), None)
    if newest is None or newest.ended or newest.length is None or newest.length < 2:
        return None
    batches = newest.batches + crash.raised.step - newest.step
    return newest if newest.cut or batches == newest.length else None


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(65, 4)
    loader = DataLoader(TensorDataset(x, x.mean(1, keepdim=True)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for inputs, targets in loader:
            predicted = model(inputs)  # <- AD607
            loss = nn.functional.mse_loss(predicted, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_prediction() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(model(torch.randn(1, 4)))  # <- AD607


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(65, 4)
    loader = DataLoader(TensorDataset(x, x.mean(1, keepdim=True)), batch_size=16, shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        print(model(torch.randn(1, 4)))


def good_pictures_one_by_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 1, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(1, 1, 10, 10)
        loss = nn.functional.mse_loss(model(x), x[..., 2:-2, 2:-2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD607",
    name="batch-norm-single-sample",
    severity="error",
    title="batch norm had a single value for each channel",
    observes="The exception that ended the program: torch's refusal to normalise over one value, with the size that "
    "reached it, and the loader whose last batch it was.",
    why="The mean of one value is the value itself: nothing is left of it, so that torch refuses in training mode.",
    fix="Let no batch hold a single sample (`drop_last=True`), and switch to `eval()` for predictions.",
    fine="Single pictures, whose pixels are normalised over, and normalisations over the features of each sample.",
    needs=(BatchDrawn, ProgramRaised),
    examine=examine,
    bad=(bad, bad_prediction),
    good=(good, good_pictures_one_by_one),
    folds=("AD599",),
)
