"""AD719 end-never-learned: the token with which sequences end is ignored, as if it were padding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autograd_doctor.events.data import EndIgnored
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    losses: dict[tuple[Location | None, int, int], list[EndIgnored]] = defaultdict(list)
    for event in trace.of(EndIgnored):
        losses[event.location, event.module, event.token].append(event)
    for events in losses.values():
        if len(events) >= tunables["batches"]:
            yield _finding(trace, events)


def _finding(trace: Trace, events: list[EndIgnored]) -> Finding:
    first = events[0]
    rows, ended, counted = (sum(getattr(event, count) for event in events) for count in ("rows", "ended", "counted"))
    return RULE.finding(
        f"{ended} of {rows} sequences given to `{trace.module_name(first.module)}` end with token {first.token}, which "
        f"is none of the {counted} targets that count: the sequences are filled up with the same token, and the loss "
        "ignores it wherever it stands",
        subject=first.name or "targets",
        location=first.marked_at or first.location,
        help="ignore targets where the mask hides the tokens, not where they have this value; or fill up with a token "
        "of its own",
        evidence={"token": first.token, "rows": rows, "ended": ended, "counted": counted},
        related=beside(
            first.marked_at or first.location,
            ("the loss ignores them here", first.location),
            ("the sequences go into the model here", first.called_at),
        ),
        step_first=first.step + 1,
        step_count=len({event.step for event in events}),
    )


def bad() -> None:
    import torch
    from torch import nn

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16)
            self.gru = nn.GRU(16, 32, batch_first=True)
            self.head = nn.Linear(32, 30)

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(self.embed(tokens) * mask[..., None])
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16, 1))
        places = torch.arange(12)
        tokens = torch.randint(1, 30, (16, 12)).masked_fill(places >= lengths - 1, 0)
        mask = (places < lengths).long()
        labels = tokens.masked_fill(tokens == 0, -100)  # <- AD719
        logits = model(tokens, mask)[:, :-1]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16)
            self.gru = nn.GRU(16, 32, batch_first=True)
            self.head = nn.Linear(32, 30)

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(self.embed(tokens) * mask[..., None])
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16, 1))
        places = torch.arange(12)
        tokens = torch.randint(1, 30, (16, 12)).masked_fill(places >= lengths - 1, 0)
        mask = (places < lengths).long()
        labels = tokens.masked_fill(mask == 0, -100)
        logits = model(tokens, mask)[:, :-1]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_padding_of_its_own() -> None:
    import torch
    from torch import nn

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16)
            self.gru = nn.GRU(16, 32, batch_first=True)
            self.head = nn.Linear(32, 30)

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(self.embed(tokens) * mask[..., None])
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(3, 12, (16, 1))
        places = torch.arange(12)
        tokens = torch.randint(2, 30, (16, 12)).masked_fill(places >= lengths, 0)
        tokens = tokens.masked_fill(places == lengths - 1, 1)
        labels = tokens.masked_fill(tokens == 0, -100)
        logits = model(tokens, (tokens != 0).long())[:, :-1]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_question_ignored() -> None:
    import torch
    from torch import nn

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16)
            self.gru = nn.GRU(16, 32, batch_first=True)
            self.head = nn.Linear(32, 30)

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(self.embed(tokens) * mask[..., None])
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        lengths = torch.randint(6, 12, (16, 1))
        places = torch.arange(12)
        tokens = torch.randint(1, 30, (16, 12)).masked_fill(places >= lengths - 1, 0)
        tokens = tokens.masked_fill((places == 0) | (places == 3), 0)
        mask = (places < lengths).long()
        labels = tokens.masked_fill((mask == 0) | (places <= 3), -100)
        logits = model(tokens, mask)[:, :-1]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD719",
    name="end-never-learned",
    severity="warning",
    title="the token that ends a sequence is never a target",
    observes="The tokens that a model was given, beside the mask that it was given as well, or the sequences of which "
    "the batch was put together by `pad_sequence` or row by row; and the targets of a loss that are the next tokens: "
    "the last token of its own is, in at least half of the sequences, the one that they are filled up with, and not "
    "one target that counts is this token. The loss is the only one of its step.",
    why="A model that is never shown where to stop does not: what it writes goes on until it is cut off. Tokenizers "
    "without a token for padding are often given that for the end, and collators that ignore padding by its value, as "
    "`DataCollatorForLanguageModeling` does, then ignore the end as well.",
    fix="Add a token for padding (`tokenizer.add_special_tokens({'pad_token': '<pad>'})`, then "
    "`model.resize_token_embeddings(len(tokenizer))`), or make the labels from the mask: "
    "`labels = tokens.masked_fill(mask == 0, -100)`.",
    fine="Ends that count, sequences without a token for their end, questions that are left out while the ends of "
    "answers count, a token that closes each of them and counts, and ends for which there is another loss.",
    needs=(EndIgnored, ModuleSeen),
    examine=examine,
    bad=(bad,),
    good=(good, good_padding_of_its_own, good_question_ignored),
    tunables={
        "batches": Tunable(
            2, "fewest batches, none of whose ends counts", "chosen: one whose ends happen not to count is no fault"
        )
    },
    about="data",
)
