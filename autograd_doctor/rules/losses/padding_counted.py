"""AD622 padding-counted: a loss counts the positions at which sequences were only filled up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autograd_doctor.events.losses import PaddedTargetsSeen, PaddingCompared
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import filled_up_at


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    losses: dict[tuple[Location | None, int], list[PaddedTargetsSeen]] = defaultdict(list)
    for event in trace.of(PaddedTargetsSeen):
        losses[event.location, event.module].append(event)
    for events in losses.values():
        padded, counted = (sum(getattr(event, count) for event in events) for count in ("padded", "counted"))
        alike = len({(event.target, event.filled_with) for event in events}) == 1 and events[0].target is not None
        if alike and len(events) >= tunables["batches"] and padded >= tunables["share"] * counted:
            yield _finding(trace, events, padded, counted)
    compared: dict[Location | None, list[PaddingCompared]] = defaultdict(list)
    for error in trace.of(PaddingCompared):
        compared[error.location].append(error)
    for errors in compared.values():
        padded, counted = sum(error.padded for error in errors), sum(error.counted for error in errors)
        if len(errors) >= tunables["batches"] and padded >= tunables["share"] * counted:
            yield _of_errors(errors, padded, counted)


def _of_errors(errors: list[PaddingCompared], padded: int, counted: int) -> Finding:
    first = errors[0]
    return RULE.finding(
        f"{padded} of the {counted} errors that become one number here ({padded / counted:.0%}) are those at positions "
        "at which the targets are only filled up",
        subject="targets",
        location=first.location,
        confidence="medium",
        help="leave them out before errors are summed up or averaged: `errors[torch.arange(errors.shape[1]) < "
        "lengths[:, None]].mean()`",
        evidence={"padded": padded, "counted": counted, "batches": len(errors)},
        related=filled_up_at(first.declared, first.declared_at, first.location),
        step_first=first.step + 1,
    )


def _finding(trace: Trace, events: list[PaddedTargetsSeen], padded: int, counted: int) -> Finding:
    first = events[0]
    slots = all(event.is_end for event in events) and len({event.positions for event in events}) == 1
    related = [Related("the sequences go into the model here", first.called_at)] if first.called_at else []
    return RULE.finding(
        f"{padded} of the {counted} targets that `{first.operation}` counted ({padded / counted:.0%}) belong to "
        f"positions at which the sequences given to `{trace.module_name(first.module)}` are only filled up with "
        f"{first.filled_with:g}; all of these targets are {first.target}",
        subject=first.name or "targets",
        location=first.location,
        severity="info" if slots else None,
        confidence="low" if slots else "medium",
        help=f"leave them out: `ignore_index={first.target}`, or, where {first.target} is a class of its own as well, "
        "fill targets up with -100, which the loss ignores",
        notes=(
            f"{first.target} is also what ends each sequence, and all batches have {first.positions} positions: if the "
            "model is to fill all of these, it is right; if it stops at the first one, only that is to be learned",
        )
        if slots
        else (),
        evidence={"padded": padded, "counted": counted, "target": first.target or 0, "batches": len(events)},
        related=tuple(each for each in related if each.location != first.location),
        step_first=first.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, lstm, head = nn.Embedding(30, 16, padding_idx=0), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 30)
    model = nn.ModuleList([embed, lstm, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16,)).tolist()
        sequences = [torch.randint(1, 30, (length,)) for length in lengths]
        tokens = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
        states, _ = lstm(embed(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(head(states).flatten(0, 1), tokens[:, 1:].flatten())  # <- AD622
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_features() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(6, 16)
            self.head = nn.Linear(16, 4)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.head(self.gru(features)[0])  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model, criterion = Tagger(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(2, 10, (12,)).tolist()
        features = [torch.randn(length, 6) for length in lengths]
        tags = [(each.sum(1) > 0).long() + 2 * (each[:, 0] > 0).long() for each in features]
        scores = model(nn.utils.rnn.pad_sequence(features))
        loss = criterion(scores.view(-1, 4), nn.utils.rnn.pad_sequence(tags).view(-1))  # <- AD622
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, lstm, head = nn.Embedding(30, 16, padding_idx=0), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 30)
    model = nn.ModuleList([embed, lstm, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16,)).tolist()
        sequences = [torch.randint(1, 30, (length,)) for length in lengths]
        tokens = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
        states, _ = lstm(embed(tokens[:, :-1]))
        scores, targets = head(states).flatten(0, 1), tokens[:, 1:].flatten()
        loss = nn.functional.cross_entropy(scores, targets, ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_masked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, lstm, head = nn.Embedding(30, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 30)
    model = nn.ModuleList([embed, lstm, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16,)).tolist()
        sequences = [torch.randint(1, 30, (length,)) for length in lengths]
        tokens = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
        states, _ = lstm(embed(tokens[:, :-1]))
        scores, targets = head(states).flatten(0, 1), tokens[:, 1:].flatten()
        losses = nn.functional.cross_entropy(scores, targets, reduction="none")
        loss = losses[targets != 0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_whole_sequences() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, lstm, head = nn.Embedding(5, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 5)
    model = nn.ModuleList([embed, lstm, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        tokens = torch.randint(0, 5, (4, 9))
        states, _ = lstm(embed(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(head(states).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD622",
    name="padding-counted",
    severity="warning",
    title="a loss counts positions that are only filled up",
    observes="Sequences given to a model that all end in one value which stands nowhere else, at different lengths, "
    "and the targets that a loss over classes has at these positions. And the errors of numbers at positions at which "
    "predictions and targets are declared to be filled up, as AD636 knows them, where all errors become one number.",
    why="Padding is easy to predict: the loss looks better than it is, and what the model learns depends on how long "
    "the longest sequence of a batch is.",
    fix="Tell the loss to ignore them (`ignore_index`), or leave them out before it is averaged.",
    fine="Padded targets that are ignored, weighed with zero, or masked in a loss that was not reduced; errors that "
    "are zero at these positions, as of outputs that are masked. Where the filling alone marks the end, and all "
    "batches are of one length, the model may be meant to fill all positions: an `info`.",
    needs=(ModuleSeen, PaddedTargetsSeen, PaddingCompared),
    examine=examine,
    bad=(bad, bad_features),
    good=(good, good_masked, good_whole_sequences),
    tunables={
        "batches": Tunable(3, "fewest batches, all filled up alike", "chosen: three whose ends agree are no chance"),
        "share": Tunable(
            0.05, "smallest share of padding among the targets that count", "chosen: less hardly moves the loss"
        ),
    },
    about="loss",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",),
)
