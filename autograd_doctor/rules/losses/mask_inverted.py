"""AD625 mask-inverted: attention sees the padding and nothing else, or masked scores take part as all others do."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import MaskInverted
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.operations import MOVES
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Op, Tape, Value
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.losses import SOFTMAXES
from autograd_doctor.views.tapes import Seen, seen_in_steps

_ADVICE = {
    "hidden": "True hides a position here: make the mask where there is padding, `tokens == {0:g}`",
    "shown": "True shows a position here: make the mask where there is no padding, `tokens != {0:g}`",
    "": "what is added for padding (`tokens == {0:g}`) is to be -inf, and 0 elsewhere",
}

_KEEPS_WEIGHTS = MOVES | {"dropout", "masked_fill", "nan_to_num"}
_WEIGHS = frozenset({"baddbmm", "bmm", "einsum", "matmul", "mm", "mul"})


_SOFTMAXES = SOFTMAXES | {"log_softmax", "logsumexp"}
_NEXT_TO_ZERO = 1e-3
"""No scores differ by so little on purpose: a weight changes by a thousandth."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    masks = in_several_steps(trace, trace.of(MaskInverted), lambda event: event.location, int(tunables["steps"]))
    for first, *others in masks:
        if _is_attention(trace, first):
            yield _finding(trace, first, 1 + len(others))
    for seen in seen_in_steps(trace, _hiding_nothing, tunables["steps"]):
        yield _nothing_hidden(seen)


def _hiding_nothing(tape: Tape) -> Iterator[tuple[Location | None, float]]:
    """Scores filled with a number next to 0 on their way into a softmax, to which that is a score like any other.

    Zero itself may be meant: as weights are then multiplied by the mask.
    """
    for fill in tape.named("masked_fill", "where"):
        small = [number for number in fill.numbers if 0 < abs(number) < _NEXT_TO_ZERO]
        if small and _goes_into_a_softmax(fill.output):
            yield fill.location, small[0]


def _goes_into_a_softmax(value: Value) -> bool:
    return any(use.name in _SOFTMAXES or (use.name in MOVES and _goes_into_a_softmax(use.output)) for use in value.uses)


def _nothing_hidden(seen: Seen[float]) -> Finding:
    return RULE.finding(
        f"the scores that this mask is to hide are set to {seen.found:g}, which is next to 0: the softmax that follows "
        "gives them as much weight as a score of 0",
        subject="mask",
        location=seen.location,
        help="fill them with a large negative number, `float('-inf')` or `torch.finfo(scores.dtype).min`",
        evidence={"filled_with": seen.found, "steps": seen.steps},
        step_first=seen.step + 1,
        step_count=seen.steps,
    )


def _is_attention(trace: Trace, event: MaskInverted) -> bool:
    """Scores that are filled by hand may be those of actions to choose from, of which the free places are the padding.

    What no tape holds counts as attention.
    """
    fills = [
        (tape, op)
        for tape in trace.tapes
        for op in tape.named(event.operation.rstrip("_"))
        if op.location == event.location
    ]
    by_hand = event.operation.startswith("masked_fill")
    return not by_hand or not fills or any(_weighs_values(tape, op) for tape, op in fills)


def _weighs_values(tape: Tape, fill: Op) -> bool:
    """Whether a softmax of what was filled is multiplied with something that did not come of it."""
    filled: set[Value] = {fill.output}
    weights: set[Value] = set()
    for op in tape.ops:
        given = filled.intersection(op.values)
        if op.name in _WEIGHS and given & weights and any(v.is_floating and v not in filled for v in op.values):
            return True
        if given:
            filled.update(op.outputs)
        if given and (op.name in SOFTMAXES or (op.name in _KEEPS_WEIGHTS and given & weights)):
            weights.update(op.outputs)
    return False


def _finding(trace: Trace, event: MaskInverted, steps: int) -> Finding:
    name = trace.module_name(event.module)
    called = event.called_at if event.called_at != event.location else None
    return RULE.finding(
        f"the mask that attention is given here (`{event.operation}`) hides all {event.hides:,} positions of a batch "
        f"that hold something, and shows the {event.shows:,} at which the sequences given to `{name}` are only filled "
        f"up with {event.filled_with:g}",
        subject=name,
        location=event.location or event.called_at,
        help=_ADVICE[event.means].format(event.filled_with),
        evidence={"hides": event.hides, "shows": event.shows, "filled_with": event.filled_with},
        related=(Related("the sequences go into the model here", called),) if called and event.location else (),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16, padding_idx=0)
            self.attend = nn.MultiheadAttention(16, 2, batch_first=True)
            self.head = nn.Linear(16, 2)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            x = self.embed(tokens)
            seen, _ = self.attend(x, x, x, key_padding_mask=tokens != 0)  # <- AD625
            scores: torch.Tensor = self.head((x + seen)[:, 0])
            return scores

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(6):
        texts = [torch.randint(1, 30, (length,)) for length in torch.randint(3, 12, (16,)).tolist()]
        tokens = nn.functional.pad(nn.utils.rnn.pad_sequence(texts, batch_first=True), (0, 1))
        loss = nn.functional.cross_entropy(model(tokens), (tokens[:, 0] > 15).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_scores_filled_by_hand() -> None:
    import torch
    from torch import nn

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.score, self.head = nn.Embedding(30, 16), nn.Linear(16, 1), nn.Linear(16, 2)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            x = self.embed(tokens)
            scores = self.score(x).squeeze(-1).masked_fill(tokens > 0, -1e9)  # <- AD625
            logits: torch.Tensor = self.head((scores.softmax(1).unsqueeze(-1) * x).sum(1))
            return logits

    torch.manual_seed(0)
    model = Pooled()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(6):
        texts = [torch.randint(1, 30, (length,)) for length in torch.randint(3, 12, (16,)).tolist()]
        tokens = nn.functional.pad(nn.utils.rnn.pad_sequence(texts, batch_first=True), (0, 1))
        loss = nn.functional.cross_entropy(model(tokens), (tokens[:, 0] > 15).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_next_to_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, score, head = nn.Embedding(30, 16), nn.Linear(16, 1), nn.Linear(16, 2)
    optimizer = torch.optim.Adam([*embed.parameters(), *score.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(6):
        texts = [torch.randint(1, 30, (length,)) for length in torch.randint(3, 12, (16,)).tolist()]
        tokens = nn.functional.pad(nn.utils.rnn.pad_sequence(texts, batch_first=True), (0, 1))
        x = embed(tokens)
        scores = score(x).squeeze(-1).masked_fill(tokens == 0, -1e-9)  # <- AD625
        logits = head((scores.softmax(1).unsqueeze(-1) * x).sum(1))
        loss = nn.functional.cross_entropy(logits, (tokens[:, 0] > 15).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16, padding_idx=0)
            layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.attend, self.head = nn.Linear(16, 16), nn.Linear(16, 2)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            x = self.encoder(self.embed(tokens), src_key_padding_mask=tokens == 0)
            kept = (tokens != 0)[:, None, None]
            q = self.attend(x)[:, None]
            x = nn.functional.scaled_dot_product_attention(q, q, x[:, None], attn_mask=kept)[:, 0]
            scores: torch.Tensor = self.head(x[:, 0])
            return scores

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(6):
        texts = [torch.randint(1, 30, (length,)) for length in torch.randint(3, 12, (16,)).tolist()]
        tokens = nn.functional.pad(nn.utils.rnn.pad_sequence(texts, batch_first=True), (0, 1))
        loss = nn.functional.cross_entropy(model(tokens), (tokens[:, 0] > 15).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD625",
    name="mask-inverted",
    severity="error",
    title="a mask shows what it is to hide",
    observes="Sequences given to a model that all end in one value which stands nowhere else, at different lengths, "
    "and the masks of `nn.MultiheadAttention`, of `scaled_dot_product_attention` and of scores that are filled with "
    "large negative numbers: which positions they hide. And scores that are filled with a number next to 0, as -1e-9, "
    "before a softmax.",
    why="Every position attends to padding alone, which is the same for all samples: what the sequences say reaches "
    "the loss only past the attention, if at all. A score next to 0 hides nothing.",
    fix="Turn the mask around: in `key_padding_mask` True hides, in the `attn_mask` of `scaled_dot_product_attention` "
    "it shows. Fill scores with a large negative number.",
    fine="Masks that hide anything but exactly the positions that hold something, and scores that weigh no values, as "
    "those of actions to choose from. Masks beside others that hide what is filled up: slots may attend to one "
    "another. Scores filled with 0, and small numbers ahead of a logarithm or a division.",
    needs=(MaskInverted, ModuleSeen, TapeSealed),
    examine=examine,
    bad=(bad, bad_scores_filled_by_hand, bad_next_to_zero),
    good=(good,),
    tunables={"steps": Tunable(2, "fewest batches with an inverted mask", MORE_THAN_ONCE)},
    folds=("AD410",),
    about="model",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html",),
)
