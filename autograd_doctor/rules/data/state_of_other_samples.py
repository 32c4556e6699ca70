"""AD726 state-of-other-samples: a batch that was drawn at random begins with the states that another one ended with."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import StateOfOthersUsed
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace

_DRAWN = {"loader": "a loader draws at random", "index": "a random index chooses"}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(StateOfOthersUsed):
        if event.steps >= tunables["steps"]:
            yield _finding(event)


def _finding(event: StateOfOthersUsed) -> Finding:
    related: tuple[Related, ...] = ()
    if event.kept_at is not None and event.kept_at != event.location:
        related = (Related("what is kept was made here", event.kept_at),)
    state = f"`{event.name}`" if event.name else "the recurrent state"
    return RULE.finding(
        f"{state} of one batch is where the next one begins, but {_DRAWN[event.by]} the {event.rows} rows of each "
        f"batch: in {event.steps} steps that were looked at, each row went on with the state of another sample",
        subject=event.name,
        location=event.location,
        confidence="medium",
        help="begin each batch with a new state (`None`, or zeros), or draw batches of which each row goes on where it "
        "ended in the one before",
        evidence={"rows": event.rows, "steps": event.steps, "drawn_by": event.by},
        related=related,
        step_first=event.step + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    windows = torch.sin(0.3 * torch.arange(300)).unfold(0, 9, 1)[..., None]
    loader = DataLoader(TensorDataset(windows), batch_size=16, shuffle=True, drop_last=True)
    lstm, head = nn.LSTM(1, 12, batch_first=True), nn.Linear(12, 1)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.01)
    state = None
    for (window,) in loader:
        out, state = lstm(window[:, :-1], state)  # <- AD726
        loss = nn.functional.mse_loss(head(out), window[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(each.detach() for each in state)


def bad_drawn_starts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    text = torch.randint(12, (1000,))
    letters, from_input, from_state, to_letters = (
        nn.Embedding(12, 16),
        nn.Linear(16, 16),
        nn.Linear(16, 16, bias=False),
        nn.Linear(16, 12),
    )
    model = nn.ModuleList([letters, from_input, from_state, to_letters])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hidden = torch.zeros(8, 16)
    for _ in range(20):
        starts = torch.randint(len(text) - 7, (8,))
        chunk = torch.stack([text[start : start + 7] for start in starts])
        hidden, loss = hidden.detach(), torch.zeros(())
        for now, following in zip(chunk[:, :-1].T, chunk[:, 1:].T, strict=True):
            hidden = torch.tanh(from_input(letters(now)) + from_state(hidden))  # <- AD726
            loss = loss + nn.functional.cross_entropy(to_letters(hidden), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    windows = torch.sin(0.3 * torch.arange(300)).unfold(0, 9, 1)[..., None]
    loader = DataLoader(TensorDataset(windows), batch_size=16, shuffle=True, drop_last=True)
    lstm, head = nn.LSTM(1, 12, batch_first=True), nn.Linear(12, 1)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.01)
    for (window,) in loader:
        out, _ = lstm(window[:, :-1])
        loss = nn.functional.mse_loss(head(out), window[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_streams() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    streams = torch.sin(0.3 * torch.arange(16 * 200)).view(16, 200, 1)[torch.randperm(16)]
    lstm, head = nn.LSTM(1, 12, batch_first=True), nn.Linear(12, 1)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.01)
    state = None
    for start in range(0, 190, 8):
        window = streams[:, start : start + 9]
        out, state = lstm(window[:, :-1], state)
        loss = nn.functional.mse_loss(head(out), window[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(each.detach() for each in state)


RULE = Rule(
    code="AD726",
    name="state-of-other-samples",
    severity="warning",
    title="a batch drawn at random begins with the states that another one ended with",
    observes="In steps that are looked at closely: on which axis the rows of a batch lie, from where they are drawn by "
    "a loader whose sampler, one of torch's, draws at random, or chosen as `data[index]` or as stacked slices by "
    "numbers of `randint`, `randperm` or `rand`. They are followed through layers into what the program keeps, to "
    "where that meets the rows of the next batch, row by row: in a recurrent layer or cell, a sum, or a memory. What "
    "is kept must have come of parameters and of a state before, and the loss of it.",
    why="A state that is handed on without its graph is meant for windows that go on where the last ones ended. Where "
    "windows are shuffled, each row begins with what another sample left. The model learns to ignore this noise, and "
    "later meets states that it was never trained on: zeros, or those of a series that does go on.",
    fix="Begin each batch with a new state, or cut the data into as many streams as a batch has rows, and read all of "
    "them in order.",
    fine="Streams that go on, also with gaps or small random shifts; loaders that draw in order; parts of one batch, "
    "one after the other; states that are kept by sample and looked up; states of which a mask, a choice or a writing "
    "in place begins some rows anew; means over the rows; rows that are chosen by what was there before, as walks and "
    "agents do; programs that also keep data of earlier batches and join or compare them with those of this one, as "
    "tasks of memory do; states that are iterated on one input until they stay the same; what is kept without coming "
    "of a state before, as queues, predictions and teachers are; perturbations and chains of samples; one row. Not "
    "followed are rows that NumPy or Python draws, batches made of random numbers, and packed sequences.",
    needs=(StateOfOthersUsed,),
    examine=examine,
    bad=(bad, bad_drawn_starts),
    good=(good, good_streams),
    about="data",
    tunables={"steps": Tunable(3, "fewest steps with such a state", "chosen: once may be a boundary between epochs")},
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html",),
)
