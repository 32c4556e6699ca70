"""AD621 answer-in-input: a model that is to predict tokens is given them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LookAheadJudged, SeriesReadBackwards, TargetsAhead
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding
from autograd_doctor.operations import DROPOUTS
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.tape import Op
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    losses = {(event.module, event.ahead): event for event in trace.of(TargetsAhead)}
    guilty = [event for event in trace.of(LookAheadJudged) if event.verdict in ("looks ahead", "copies")]
    for event in {event.module: event for event in reversed(guilty)}.values():
        following, same = losses.get((event.module, 1)), losses.get((event.module, 0))
        if event.verdict == "looks ahead" and event.change >= tunables["change"] and following is not None:
            yield _finding(trace, event, following)
        elif event.verdict == "copies" and same is not None and following is None:
            yield _copied(trace, event, same)
    backwards = [event for event in trace.of(SeriesReadBackwards) if event.change >= tunables["change"]]
    yield from (_backwards(trace, event) for event in {event.module: event for event in reversed(backwards)}.values())
    masked = [event for event in trace.of(TargetsAhead) if event.mask is not None]
    for first, *others in in_several_steps(trace, masked, lambda event: event.location, int(tunables["steps"])):
        verdicts = {event.verdict for event in trace.of(LookAheadJudged) if event.module == first.module}
        if (first.module, 1) not in losses and "blind" not in verdicts:
            yield _masked_left_out(trace, first, 1 + len(others), is_sure="sees itself" in verdicts)


def _masked_left_out(trace: Trace, event: TargetsAhead, steps: int, *, is_sure: bool) -> Finding:
    name = trace.module_name(event.module)
    return RULE.finding(
        f"every target that counts is the very token that `{name}` is given at its place, and where the input holds "
        f"token {event.mask} instead, the loss ignores what was there: there is nothing to predict",
        subject=name,
        location=event.location,
        help="let the targets of the masked places count, and ignore all others: "
        "`labels = tokens.masked_fill(~masked, -100)`, before the tokens are masked",
        severity=None if is_sure else "warning",
        confidence="high" if is_sure else "medium",
        evidence={"mask": event.mask or 0, "batches": steps},
        related=beside(event.location, ("the model is called here", event.called_at)),
        step_first=event.step + 1,
        step_count=steps,
    )


def _backwards(trace: Trace, event: SeriesReadBackwards) -> Finding:
    name = trace.module_name(event.module)
    return RULE.finding(
        f"the targets are the values of the input, one position on, and `{name}` reads them backwards: with other "
        f"values in the last place, what a copy returned for earlier ones changed by {event.change:.2g} of its size, "
        "and with others in the first place nothing changed behind it",
        subject=name,
        location=event.location,
        help="turn the causal mask round, so that each position sees those before it and none behind",
        confidence="medium",
        evidence={"change": event.change},
        related=beside(event.location, ("the loss takes the next values for targets", event.compared_at)),
        step_first=event.step + 1,
    )


def _copied(trace: Trace, event: LookAheadJudged, loss: TargetsAhead) -> Finding:
    name = trace.module_name(event.module)
    return RULE.finding(
        f"the targets are the very tokens that `{name}` is given, and it reads them one after the other: what it "
        "returned for a position changed with the token there, so that it has only to copy it",
        subject=name,
        location=event.called_at,
        help="shift them against each other: the input without its last token, the targets without the first",
        related=beside(
            event.called_at,
            ("the loss takes them for targets", loss.location),
            ("they are made here", loss.made_at if loss.made_at != loss.location else None),
        ),
        step_first=event.step + 1,
    )


def _finding(trace: Trace, event: LookAheadJudged, loss: TargetsAhead) -> Finding:
    name = trace.module_name(event.module)
    softmax = _over_queries(trace)
    where = event.location or event.called_at
    places = (
        ("the loss takes the next tokens for targets", loss.location),
        ("the model is called here", event.called_at),
        ("this softmax divides by a sum over the positions that ask", softmax.location if softmax else None),
    )
    inner = f"; `{event.inner}` lets them in" if event.inner and event.inner != name else ""
    return RULE.finding(
        f"the targets are the tokens of the input, one position on, and `{name}` looks at them: when the last token "
        f"was another, what a copy returned for earlier positions changed by {event.change:.2g} of its size{inner}",
        subject=name,
        location=where,
        help="take the softmax of the scores over the positions that are looked at, the last dimension (`dim=-1`): "
        "over those that ask, each weight depends on later ones, whatever the mask"
        if softmax
        else "let each position see those before it alone: a causal mask (`is_causal=True`, "
        "`nn.Transformer.generate_square_subsequent_mask(length)`), or a recurrent layer that runs one way",
        evidence={"change": event.change, "inner": event.inner},
        related=beside(where, *places),
        step_first=event.step + 1,
    )


def _over_queries(trace: Trace) -> Op | None:
    """A softmax whose weights then sum values up over another dimension than the one that it is taken over."""
    softmaxes = (op for tape in trace.tapes for op in tape.named("softmax"))
    return next((op for op in softmaxes if _is_over_queries(op)), None)


def _is_over_queries(softmax: Op) -> bool:
    rank = len(softmax.output.shape)
    if rank < 2 or softmax.dim is None or softmax.dim % rank != rank - 2:
        return False
    weights = softmax.output
    while len(weights.uses) == 1 and weights.uses[0].name in DROPOUTS:
        weights = weights.uses[0].output
    products = [use for use in weights.uses if use.name in ("matmul", "bmm") and use.values[0] is weights]
    return bool(products) and weights.shape[-1] == weights.shape[-2]


def bad() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 16)
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.head = nn.Linear(16, 20)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.layer(self.embed(tokens)))  # type: ignore[no-any-return]  # <- AD621

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        tokens = torch.randint(0, 20, (16, 13))
        scores = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_both_ways() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 16)
            self.lstm = nn.LSTM(16, 16, bidirectional=True)
            self.head = nn.Linear(32, 20)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            states, _ = self.lstm(self.embed(tokens))  # <- AD621
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model, criterion = Model(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        tokens = torch.randint(0, 20, (13, 16))
        scores = model(tokens[:-1])
        loss = criterion(scores.view(-1, 20), tokens[1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_not_shifted() -> None:
    import torch
    from torch import nn

    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
            self.encoder, self.decoder = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)

        def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            _, state = self.encoder(self.embed(source))
            states, _ = self.decoder(self.embed(target), state)
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        source = torch.randint(0, 20, (16, 9))
        target = source.flip(1)
        scores = model(source, target)  # <- AD621
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 16)
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.lstm = nn.LSTM(16, 16, batch_first=True)
            self.head = nn.Linear(16, 20)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
            hidden, _ = self.lstm(self.layer(self.embed(tokens), src_mask=mask, is_causal=True))
            return self.head(hidden)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        tokens = torch.randint(0, 20, (16, 13))
        scores = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_masked_tokens() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(21, 16)
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.head = nn.Linear(16, 20)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.layer(self.embed(tokens)))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        tokens = torch.randint(0, 20, (16, 12))
        hidden = torch.rand(16, 12) < 0.2
        scores = model(tokens.masked_fill(hidden, 20))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens.masked_fill(~hidden, -100).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_autoencoder() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 16)
            self.reader, self.writer = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)
            self.code, self.head = nn.Linear(16, 16), nn.Linear(16, 20)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            embedded = self.embed(tokens)
            _, last = self.reader(embedded)
            states, _ = self.writer(embedded, self.code(last))
            return self.head(states)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        tokens = torch.randint(0, 20, (16, 13))
        loss = nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD621",
    name="answer-in-input",
    severity="error",
    title="a model is given the tokens that it is to predict",
    observes="Whether the targets of a loss, or the classes whose log-probabilities `gather` picks, are the tokens "
    "that a model took in, one position further along, while what a copy of it returns for earlier "
    "positions changes with the last token. Or whether they are these very tokens: a model that reads them "
    "one after the other is given each token to predict it; or the loss ignores just the places where the "
    "input holds one and the same token instead, and a copy sees the others. Of series of numbers, whether "
    "a copy that is to predict the next value reads what comes later, and nothing that came before.",
    why="The loss falls to next to nothing, because the answer is copied rather than predicted; where there is no next "
    "token yet, as in generation, the model knows nothing.",
    fix="Mask what comes later in attention, let recurrent layers and convolutions run one way, and shift the targets "
    "against the input. Of masked tokens, let those count that were masked.",
    fine="Models of masked tokens, encoders with a decoder, autoencoders that make a summary of each sequence, "
    "and models that read both ways, with an output for each.",
    needs=(BackwardRan, LookAheadJudged, ModuleSeen, SeriesReadBackwards, TapeSealed, TargetsAhead),
    examine=examine,
    bad=(bad, bad_both_ways, bad_not_shifted),
    good=(good, good_masked_tokens, good_autoencoder),
    tunables={
        "change": Tunable(
            1e-3,
            "smallest change of what is said of earlier positions, relative to the largest value",
            "chosen: rounding is below 1e-5",
        ),
        "steps": Tunable(
            2,
            "fewest batches whose loss ignores the masked places",
            "chosen: in one, masks may be where they are by chance",
        ),
    },
    about="model",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html",),
)
