"""AD701: every training step saw the same batch, though the data set holds more."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import BatchKept, BatchRepeated
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.findings import Finding
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    latest = {(event.location, event.how): event for event in trace.of(BatchRepeated)}
    for event in latest.values():
        if event.steps < tunables["steps"]:
            continue
        if event.how == "new pass":
            if not _goes_on_elsewhere(trace, event):
                yield _new_pass(trace, event)
        elif event.how == "used up":
            yield _used_up(event)
        elif not event.rest_used and event.samples <= event.of * _share(trace, tunables):
            yield _same_slice(trace, event)
    for kept in trace.of(BatchKept):
        if _stays(kept, tunables):
            yield _kept(kept)


def _stays(event: BatchKept, tunables: Tunables) -> bool:
    """Whether a line that was given one batch after the other is given the last of them for good: for much longer than
    any before, as where several steps are taken on each, and with no optimizer of its own, as for a stage of its own.
    """
    is_enough = min(event.steps, event.changes) >= tunables["steps"]
    is_long = event.until - event.since >= max(tunables["stays"], tunables["times_longer"] * event.longest)
    return is_enough and is_long and event.same_optimizer and event.samples <= event.largest


def _share(trace: Trace, tunables: Tunables) -> float:
    """Before the program has ended the rest may still come, and more likely where much of it is in use already."""
    return tunables["share_of_rows"] if has_ended(trace) else tunables["share_so_far"]


def _goes_on_elsewhere(trace: Trace, event: BatchRepeated) -> bool:
    """Whether the same line goes on past the first batch with another loader, as after one batch was overfitted."""
    return any(drawn.location == event.location and drawn.batches > 1 for drawn in trace.of(BatchDrawn))


def _new_pass(trace: Trace, event: BatchRepeated) -> Finding:
    """An error once the program has ended: until then it may be a first try of one batch."""
    loader = f"`{event.name}`" if event.name else "a `DataLoader`"
    return RULE.finding(
        f"{event.steps} training steps in a row began a new pass over {loader} and took its first batch: the same "
        f"{plural(event.samples, 'sample')} of {event.of:,} each time, to the bit",
        subject=event.name or "DataLoader",
        location=event.location,
        so_far=not has_ended(trace),
        help="go on with one pass, `for batch in loader:`, or make the iterator once, outside the loop, and a new one "
        "when it is exhausted; shuffle, so that no pass begins like the other",
        evidence=_evidence(event),
        step_first=event.since + 1,
        step_count=event.steps,
    )


def _used_up(event: BatchRepeated) -> Finding:
    loader = f"`{event.name}`" if event.name else "a `DataLoader`"
    return RULE.finding(
        f"{event.steps} training steps in a row asked an iterator over {loader} for another batch when it had no more, "
        f"and trained on one that it had given before: {plural(event.samples, 'sample')} of {event.of:,}",
        subject=event.name or "DataLoader",
        location=event.location,
        help="make a new iterator when this one is used up: `for epoch in range(epochs): for batch in loader:`",
        evidence=_evidence(event),
        step_first=event.since + 1,
        step_count=event.steps,
    )


def _same_slice(trace: Trace, event: BatchRepeated) -> Finding:
    until = "until its end" if has_ended(trace) else "so far"
    return RULE.finding(
        f"`{event.name}` was trained on the same {plural(event.samples, 'row')} of {event.of:,} in each of "
        f"{plural(event.steps, 'step')} that were recorded, taken anew each time; the program used no others {until}",
        subject=event.name,
        location=event.location,
        severity="warning",
        confidence="medium",
        so_far=not has_ended(trace),
        help="let the bounds of the slice, or the indices, go on with the steps, or draw the rows at random",
        evidence=_evidence(event),
        step_first=event.since + 1,
        step_count=event.steps,
    )


def _kept(event: BatchKept) -> Finding:
    return RULE.finding(
        f"from step {event.since + 1} to step {event.until + 1}, `{event.name}` was trained on the same "
        f"{plural(event.samples, 'sample')} in each of {plural(event.steps, 'step')} that were looked at; before, each "
        f"of {plural(event.changes, 'step')} had others than the one before",
        subject=event.name,
        location=event.location,
        severity="warning",
        confidence="medium",
        help="look for what no longer fetches a batch: a condition that holds from then on, an iterator that is used "
        "up, a cache that gives what it gave before",
        evidence={"steps": event.steps, "samples": event.samples, "changes_before": event.changes},
        step_first=event.since + 1,
        step_count=event.until - event.since,
    )


def _evidence(event: BatchRepeated) -> dict[str, int | float | str | list[str]]:
    return {"steps": event.steps, "samples": event.samples, "of": event.of, "how": event.how}


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        inputs, targets = next(iter(loader))  # <- AD701
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_index_never_advanced() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    begin, size = 0, 16
    for _ in range(20):
        inputs = x[begin : begin + size]  # <- AD701
        loss = nn.functional.mse_loss(model(inputs), y[begin : begin + size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_one_batch_on_purpose() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    inputs, targets = next(iter(loader))
    for _ in range(20):
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_whole_data_set_as_one_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(100, 8)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=100)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        inputs, targets = next(iter(loader))
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_new_pass_that_shuffles() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    y = x.sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    probe = DataLoader(TensorDataset(x, y), batch_size=16)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        inputs, targets = next(iter(loader))
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            inputs, targets = next(iter(probe))
            nn.functional.mse_loss(model(inputs), targets).item()


def good_first_rows_for_training() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        loss = nn.functional.mse_loss(model(x[:40]), y[:40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(nn.functional.mse_loss(model(x[40:]), y[40:]).item())


RULE = Rule(
    code="AD701",
    name="same-batch-every-step",
    severity="error",
    title="every training step saw the same batch, though there is more data",
    observes="Training steps that each begin a new pass over a loader and draw its first batch, the same to the bit; "
    "or that call a module with the same slice of a tensor, or rows of the same indices, taken anew, while its other "
    "rows are never used; or that each ask an iterator that is used up for another batch, and go on with an old one; "
    "or a line that trains a module on other data from step to step, and on the very same ones from some step on.",
    why="The model sees a handful of samples, learns them by heart, and its loss on them looks splendid.",
    fix="Go on with a pass instead of beginning a new one, and let indices advance.",
    fine="One batch that is fetched once, a data set of one batch, full-batch training, passes that shuffle, and "
    "slices whose rest is used elsewhere, or whose rest, or that of the targets beside it, the program reads for "
    "itself. A line that goes on past the first batch with another loader: one batch is overfitted before the real "
    "run.",
    needs=(BatchDrawn, BatchKept, BatchRepeated, RunEnded),
    examine=examine,
    bad=(bad, bad_index_never_advanced),
    good=(
        good,
        good_one_batch_on_purpose,
        good_whole_data_set_as_one_batch,
        good_new_pass_that_shuffles,
        good_first_rows_for_training,
    ),
    tunables={
        "steps": Tunable(8, "fewest steps on the same batch", "chosen: a trial of one batch is shorter"),
        "stays": Tunable(64, "fewest steps on a batch that is kept, after others", NO_BEGINNING),
        "times_longer": Tunable(
            4, "how many times as long as any batch before it is kept at least", "chosen: steps on one batch may vary"
        ),
        "share_of_rows": Tunable(
            0.5,
            "largest share of the rows that the slice may have",
            "chosen: more than half of them is what people hold out a validation set from",
        ),
        "share_so_far": Tunable(
            0.2,
            "largest share of the rows that were used so far, for an info in a run that was left before its end",
            "chosen: an epoch that has come far has used more",
        ),
    },
    about="data",
    lasting=True,
)
