"""AD608 batch-leak: in evaluation mode, what a model says of one sample depends on the others of its batch."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import BatchLeakJudged
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Confidence, Finding, Related, Severity
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.tape import Op
from autograd_doctor.trace import Trace
from autograd_doctor.wording import shape

_ALONG = frozenset({
    "cummax", "cumprod", "cumsum", "gumbel_softmax", "log_softmax", "logcumsumexp", "normalize", "softmax", "softmin",
})  # fmt: skip
"""Operations that work along one axis."""
_ARITHMETIC = frozenset({
    "__iadd__", "__imul__", "__isub__", "__itruediv__", "__radd__", "__rmul__", "__rsub__", "__rtruediv__",
    "__truediv__", "add", "add_", "div", "div_", "divide", "mul", "mul_", "multiply", "rsub", "sub", "sub_", "subtract",
    "true_divide",
})  # fmt: skip
_MOVES = frozenset({"__getitem__", "contiguous", "flatten", "reshape", "select", "transpose", "unflatten", "view"})
_ON_PURPOSE = frozenset({
    "batch_norm", "broadcast_to", "cat", "concat", "expand", "expand_as", "hstack", "repeat", "stack",
})  # fmt: skip
"""Normalisations that were told to keep no statistics, and operations by which samples get a number of the batch beside
their own, as discriminators do."""
_ALONE = {
    "linear": 1, "conv1d": 2, "conv2d": 3, "conv3d": 4, "conv_transpose1d": 2, "conv_transpose2d": 3,
    "conv_transpose3d": 4,
}  # fmt: skip
"""Operations that take one sample without a batch axis, and how many axes that has."""
_STATISTICS = frozenset({"amax", "amin", "mean", "median", "std", "sum", "var"})
_RECURRENT = frozenset({"gru", "lstm", "rnn_relu", "rnn_tanh"})


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(BatchLeakJudged):
        leaks = event.verdict == "leaks" and event.change > tunables["relative_change"]
        is_close = not event.operation and event.change < tunables["solved"]
        told = leaks and not (_is_pairwise(event) or _is_alone(event) or event.related or is_close)
        weight = _weight(event, _is_compared_in_a_loss(trace)) if told else None
        if weight is not None:
            yield _finding(trace, event, *weight)
        if event.verdict == "knows places" and event.change > tunables["relative_change"] and _rows_are_samples(event):
            yield _placed(trace, event)


def _rows_are_samples(event: BatchLeakJudged) -> bool:
    """Moments of a sequence, and nodes that have edges or embeddings of their own, have places; so have the parts of a
    batch of pairs, which go ways of their own until they are put together again. Rows of tokens that come anew each
    time are texts."""
    is_text = event.tokens and event.varied and len(event.shape) == 2
    alone = event.inputs == 1 and (len(event.shape) > 2 or is_text) and _is_pooled(event)
    return event.operation not in _ON_PURPOSE and (event.collated or alone)


def _placed(trace: Trace, event: BatchLeakJudged) -> Finding:
    called = event.called_at if event.called_at != event.location else None
    return RULE.finding(
        f"in evaluation mode, with a batch of {event.samples} times the same sample, what "
        f"`{trace.module_name(event.module)}` returns differs by {event.change:.2g} of its size from one place of the "
        f"batch to another, first by `{event.operation}`",
        subject=event.inner,
        location=event.location or event.called_at,
        help="add what belongs to positions of a sequence along the axis of time, not along the first one, which "
        "counts samples: mind `x.size(0)`, and the shape of the encoding",
        severity="error" if event.collated else "warning",
        evidence={"change": event.change, "samples": event.samples, "input": shape(event.shape)},
        related=(Related("the module was called here", called),) if called is not None and event.location else (),
        step_first=event.step + 1,
        step_count=1,
    )


def _is_pairwise(event: BatchLeakJudged) -> bool:
    """Whether the output has a value for each pair of samples, as similarities have."""
    return len(event.output) > 1 and event.samples in event.output[1:]


def _is_alone(event: BatchLeakJudged) -> bool:
    """Whether it was given one sample without a batch, so that the first axis holds its features or channels."""
    return _ALONE.get(event.operation) == event.axes


def _is_compared_in_a_loss(trace: Trace) -> bool:
    """Whether a loss takes each row of what learns together with a statistic of all rows, as nothing of a single one:
    then a batch is what the model says something of."""
    return any(_takes_in_all(op) for tape in trace.tapes for op in tape.named("sub", "div") if not op.module)


def _takes_in_all(op: Op) -> bool:
    """Whether one operand has a row for each sample, and the other is a statistic of its kind over the rows."""
    if len(op.live) != 2:
        return False
    rows, over_all = op.live
    made = over_all.by
    if made is None or made.name not in _STATISTICS or made.values[0].shape != rows.shape:
        return False
    return len(rows.shape) > 1 and over_all.shape in (rows.shape[1:], (1, *rows.shape[1:]))


def _weight(event: BatchLeakJudged, compared: bool) -> tuple[Severity, Confidence] | None:
    """How bad it is, and how sure, from what is known of the first axis and from what went along it.

    Rows are samples where the output has fewer axes than the input, or the loader has stacked them, and most likely in
    a table that comes alone and varies. Others may be moments of a sequence, or nodes of a graph, which is no leak.
    """
    sure = event.collated or (len(event.shape) > 2 and len(event.output) < len(event.shape)) or len(event.shape) == 4
    if not sure and not (len(event.shape) == 2 and event.inputs == 1 and event.varied):
        return None
    if event.operation in _ON_PURPOSE:
        return None
    if event.operation in _ALONG:
        return "error", "high"
    if event.operation in _ARITHMETIC:
        grades: tuple[Severity, ...] = ("error", "warning", "info")  # each with each was written down: may be meant
        return grades[min((not sure) + (event.pairs or compared), 2)], "medium"
    if event.time_first and (event.axes == 3 or event.operation in _RECURRENT):
        return ("error", "high") if sure or _is_pooled(event) else None
    if not sure:
        return None
    return ("warning", "medium") if event.operation in _MOVES else ("info", "medium")


def _is_pooled(event: BatchLeakJudged) -> bool:
    """Whether the first axis of the input is that of the output, and the second one is gone.

    Of a sequence whose moments come first, it would be the first one that is summed up.
    """
    return event.output[:1] == event.shape[:1] and len(event.shape) > 1 and event.shape[1] not in event.output


def _finding(trace: Trace, event: BatchLeakJudged, severity: Severity, confidence: Confidence) -> Finding:
    kind = f" (`{event.inner_kind}`)" if event.inner_kind else ""
    how = f"`{event.operation}`" if event.operation else "it"
    called = event.called_at if event.called_at != event.location else None
    return RULE.finding(
        f"in evaluation mode, what `{trace.module_name(event.module)}` returns for one sample changes by "
        f"{event.change:.2g} of its size when the other {event.samples - 1} of its batch are replaced; "
        f"`{event.inner}`{kind} mixes them, first by {how}",
        subject=event.inner,
        location=event.location or event.called_at,
        help=_help(event),
        severity=severity,
        confidence=confidence,
        evidence={
            "change": event.change,
            "samples": event.samples,
            "input": shape(event.shape),
            "output": shape(event.output),
        },
        related=(Related("the module was called here", called),) if called is not None and event.location else (),
        step_first=event.step + 1,
        step_count=1,
    )


def _help(event: BatchLeakJudged) -> str:
    if event.time_first:
        return "say `batch_first=True` when building it, or move time to the first axis of its input"
    if event.operation in _ALONG:
        return "work along the axis of the features, not along the first one, which counts samples"
    if event.operation in _ARITHMETIC and not event.pairs:
        return "use statistics of each sample, or running ones as batch norm does in evaluation"
    return "keep samples apart in the forward, unless they are meant to see one another"


def bad() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(3, 8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states, _ = self.rnn(x)  # <- AD608
            value: torch.Tensor = self.head(states[:, -1])
            return value

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6, 3)
        loss = nn.functional.mse_loss(model(x), x.mean((1, 2)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_attention_weights() -> None:
    import torch
    from torch import nn

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(8, 8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weights = torch.softmax(self.score(x), dim=0)  # <- AD608
            value: torch.Tensor = self.head(weights * x)
            return value

    torch.manual_seed(0)
    model = Gated()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_encoding_along_the_batch() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Linear(3, 8), nn.Linear(8, 1)
            self.places = nn.Parameter(torch.randn(100, 1, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.embed(x)
            x = x + self.places[: x.size(0)]  # <- AD608
            value: torch.Tensor = self.head(torch.tanh(x).mean(1))
            return value

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6, 3)
        loss = nn.functional.mse_loss(model(x), x.mean((1, 2)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(3, 8, batch_first=True)
            self.norm = nn.BatchNorm1d(8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states, _ = self.rnn(x)
            value: torch.Tensor = self.head(self.norm(states[:, -1]))
            return value

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6, 3)
        loss = nn.functional.mse_loss(model(x), x.mean((1, 2)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_time_first() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(3, 8)
            self.drop = nn.Dropout(0.2)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states, _ = self.rnn(x.transpose(0, 1))
            values: torch.Tensor = self.head(self.drop(states))
            return values.transpose(0, 1)

    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6, 3)
        loss = nn.functional.mse_loss(model(x), x.mean(2, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_similarities() -> None:
    import torch
    from torch import nn

    class TwoTowers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(8, 4), nn.Linear(6, 4)

        def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            left, right = (nn.functional.normalize(part, dim=1) for part in (self.left(left), self.right(right)))
            return left @ right.t() / 0.1

    torch.manual_seed(0)
    model = TwoTowers()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        scores = model(x, x[:, :6] + 0.1 * torch.randn(16, 6))
        loss = nn.functional.cross_entropy(scores, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD608",
    name="batch-leak",
    severity="error",
    title="samples of a batch depend on one another",
    observes="A copy of the model, in evaluation mode, was called with a batch of the program's, and again with all "
    "samples but one replaced. The output of that one was another; or, where all were the same sample, the outputs of "
    "two places were. Operations and modules were compared one by one to find the first that differs.",
    why="What the model says of a sample depends on the company it comes in: it learns from neighbours that it will "
    "not have in use, and a batch of one gives another result.",
    fix="Let no operation work along the axis of samples: mind `batch_first`, and the `dim` of softmax and statistics.",
    fine="Batch normalisation in training mode, similarities between all samples of a batch, nodes of a graph "
    "given with its edges, and attention within a batch on purpose, which is told as `info`. Rows that the module "
    "compares with one another, each with each along two axes (`x[:, None] - x[None]`), may be the parts of one "
    "system: that is told one severity lower, and so are statistics of the batch where the loss takes some, too. "
    "Solvers that iterate until all of a batch are close enough.",
    needs=(BatchLeakJudged, ModuleSeen),
    examine=examine,
    bad=(bad, bad_attention_weights, bad_encoding_along_the_batch),
    good=(good, good_time_first, good_similarities),
    tunables={
        "relative_change": Tunable(
            1e-4,
            "smallest change of what is said of a sample, relative to its size",
            "chosen: far above the rounding of float32 in sums of another order (1e-6)",
        ),
        "solved": Tunable(
            0.05,
            "largest such change where it is the number of iterations that depends on the batch",
            "chosen: what solvers that stop at a tolerance leave",
        ),
    },
    about="axes",
)
