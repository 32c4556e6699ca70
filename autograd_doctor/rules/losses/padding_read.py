"""AD636 padding-read: the end of padded sequences is read where there is only padding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autograd_doctor.events.losses import PaddingRead
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import filled_up_at

_REAL_ONE = "read the last real position of each, as by `states[torch.arange(len(states)), lengths - 1]`"


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    reads: dict[Location | None, list[PaddingRead]] = defaultdict(list)
    for event in trace.of(PaddingRead):
        reads[event.location].append(event)
    for events in reads.values():
        padded, sequences = sum(event.padded for event in events), sum(event.sequences for event in events)
        if len(events) >= tunables["batches"] and padded >= tunables["share"] * sequences:
            yield _finding(events, padded, sequences)


def _finding(events: list[PaddingRead], padded: int, sequences: int) -> Finding:
    first = events[0]
    what = "the final state is that after the padding" if first.is_state else _last_of(first)
    instead = "" if first.is_state else f"{_REAL_ONE}; or "
    return RULE.finding(
        f"{what} in {padded} of {sequences} sequences ({padded / sequences:.0%}): they end before it",
        subject=first.name,
        location=first.location,
        confidence="medium",
        help=f"{instead}pack the sequences with `pack_padded_sequence` and use the final state; or pad on the left",
        evidence={"padded": padded, "sequences": sequences, "batches": len(events)},
        related=filled_up_at(first.declared, first.declared_at),
        step_first=first.step + 1,
    )


def _last_of(read: PaddingRead) -> str:
    return f"the last position {f'of `{read.name}` ' if read.name else ''}is read, which is padding"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, gru, head = nn.Embedding(30, 16, padding_idx=0), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 2)
    model = nn.ModuleList([embed, gru, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16,)).tolist()
        sequences = [torch.randint(1, 30, (length,)) for length in lengths]
        labels = torch.tensor([int(each.float().mean() > 15) for each in sequences])
        states, _ = gru(embed(nn.utils.rnn.pad_sequence(sequences, batch_first=True)))
        loss = nn.functional.cross_entropy(head(states[:, -1]), labels)  # <- AD636
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_final_state() -> None:
    import torch
    from torch import nn

    class Reviews(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16, padding_idx=0)
            self.lstm = nn.LSTM(16, 32, bidirectional=True)
            self.head = nn.Linear(64, 2)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            embedded = self.embed(tokens).transpose(0, 1)
            _, (hidden, _) = self.lstm(embedded)  # <- AD636
            return self.head(torch.cat([hidden[0], hidden[1]], dim=1))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Reviews()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        sequences = [torch.randint(1, 30, (length,)) for length in torch.randint(3, 12, (16,)).tolist()]
        labels = torch.tensor([int(each.float().mean() > 15) for each in sequences])
        loss = nn.functional.cross_entropy(model(nn.utils.rnn.pad_sequence(sequences, True)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_measurements() -> None:
    import torch
    from torch import nn

    class Forecast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 16)
            self.lstm = nn.LSTM(16, 16)
            self.out = nn.Linear(16, 1)

        def forward(self, series: torch.Tensor) -> torch.Tensor:
            states, _ = self.lstm(torch.tanh(self.inner(series)))
            return self.out(states[-1]).squeeze(1)  # type: ignore[no-any-return]  # <- AD636

    torch.manual_seed(0)
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        series = [torch.randn(length, 3).cumsum(0) for length in torch.randint(4, 15, (12,)).tolist()]
        wanted = torch.stack([each[-1].sum() for each in series])
        loss = nn.functional.mse_loss(model(nn.utils.rnn.pad_sequence(series)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, gru, head = nn.Embedding(30, 16, padding_idx=0), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 2)
    model = nn.ModuleList([embed, gru, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16,))
        sequences = [torch.randint(1, 30, (length,)) for length in lengths.tolist()]
        labels = torch.tensor([int(each.float().mean() > 15) for each in sequences])
        states, _ = gru(embed(nn.utils.rnn.pad_sequence(sequences, batch_first=True)))
        loss = nn.functional.cross_entropy(head(states[torch.arange(16), lengths - 1]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_final_state() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

    torch.manual_seed(0)
    lstm, score, head = nn.LSTM(3, 16, batch_first=True), nn.Linear(16, 1), nn.Linear(32, 1)
    model = nn.ModuleList([lstm, score, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(4, 15, (12,))
        series = [torch.randn(length, 3) for length in lengths.tolist()]
        packed = pack_padded_sequence(pad_sequence(series, batch_first=True), lengths, True, enforce_sorted=False)
        states, (final, _) = lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        real = torch.arange(states.shape[1]) < lengths[:, None]
        weights = score(states).squeeze(2).masked_fill(~real, -torch.inf).softmax(1)
        pooled = torch.cat([final[-1], (weights[:, :, None] * states).sum(1)], dim=1)
        loss = nn.functional.mse_loss(head(pooled).squeeze(1), torch.stack([each.sum() for each in series]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_carried_to_the_end() -> None:
    import torch
    from torch import nn

    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.cell, self.out = nn.Embedding(20, 8, padding_idx=0), nn.GRUCell(8, 16), nn.Linear(16, 2)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            inputs, state, states = self.embed(tokens), torch.zeros(len(tokens), 16), []
            for at in range(tokens.shape[1]):
                state = torch.where(tokens[:, at, None] != 0, self.cell(inputs[:, at], state), state)
                states.append(state)
            return self.out(torch.stack(states, dim=1)[:, -1])  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Masked()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        sequences = [torch.randint(1, 20, (length,)) for length in torch.randint(2, 8, (12,)).tolist()]
        labels = torch.tensor([int(each[0] > 10) for each in sequences])
        loss = nn.functional.cross_entropy(model(nn.utils.rnn.pad_sequence(sequences, batch_first=True)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD636",
    name="padding-read",
    severity="warning",
    title="the end of padded sequences is read where there is only padding",
    observes="Sequences that are declared to be padded at the end (by an embedding's `padding_idx`, by `pad_sequence`, "
    "by zeros that are put behind each, up to the longest, before they are stacked, by rows of zeros to which they are "
    "written, or by the lengths of packed ones), what the model computes at each of their positions, and whether the "
    "loss comes from what is read at the last one, or from the final state of a recurrent layer that went through all "
    "of them.",
    why="The model learns to answer from what it makes of padding. How much of it there is depends on the longest "
    "sequence of the batch, so that the same sequence gets another answer in another batch.",
    fix="Read the last real position of each sequence; or pack the sequences and use the final state of the recurrent "
    "layer; or pad on the left.",
    fine="Recurrences that hold their state through the padding: the doctor compares what they give at the end and at "
    "the last real position. A token at the end that every sequence has, such as one that classifies, is no padding.",
    needs=(PaddingRead,),
    examine=examine,
    bad=(bad, bad_final_state, bad_measurements),
    good=(good, good_carried_to_the_end, good_final_state),
    tunables={
        "batches": Tunable(2, "fewest batches in which the end is read", MORE_THAN_ONCE),
        "share": Tunable(
            0.1, "smallest share of sequences that end before the position", "chosen: fewer hardly move the loss"
        ),
    },
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html",),
)
