"""Losses that tell the score of a positive from those of negatives: is the positive itself one of these?"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PositiveRepeated
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import CLASSES, CONCATENATIONS, MOVES, SCALING
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.twin_scores import compare, sampled
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Op, Value, source_of

_MARKED = "binary_cross_entropy_with_logits"
_TOLD_WHICH = CLASSES | {_MARKED}
"""Losses whose targets say which of the scores of a row is that of its positive."""
_OVER_COLUMNS = frozenset({"log_softmax", "logsumexp", "softmax"})
_BY_SIGN = frozenset({"logsigmoid", "softplus"})
_DIAGONALS = frozenset({"diag", "diagonal"})
_FACTORS = MOVES | SCALING
_ONES, _ZEROS = frozenset({"ones", "ones_like"}), frozenset({"zeros", "zeros_like"})
_SAME_TIES = frozenset({"log", "log_softmax", "softmax"})
"""They leave equal what is equal in a row."""
_LEAST_ROWS, _LEAST_COLUMNS = 4, 3
_MOST_HELD = 8
"""Scores of a step that may be those of positives or of negatives."""
_MOST_KEPT = 2**18
"""Numbers of which a copy is kept, until the step is over."""
_MOST_WALKED = 64
"""Operations behind scores, on the way to where keys were put together."""
_MOST_PARTS = 64
_MOST_LOOKS, _MOST_TOLD = 64, 16


class _Joined(NamedTuple):
    """sizes: how many columns come of each operand. stored: of some, the keys are no work of this step's gradient, and
    go for all rows. one_source: some operands are parts of one tensor."""

    op: Op
    sizes: tuple[int, ...]
    stored: bool
    one_source: bool = False


class _Sampled(NamedTuple):
    """Scores of some rows, one of each or several, and how many rows there were."""

    scores: torch.Tensor
    rows: int


class RepeatedPositives(WithinStep):
    """Looks, in steps that are looked at closely, whether another score of a row equals that of its positive.

    Scores are those that a loss over classes is given with targets, log-probabilities of which the diagonal is taken, a
    softmax or a log-sum-exp of one column joined to others, `exp(p) + exp(n).sum(1)`, and pairs of `logsigmoid` of one
    and of several for each row.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PositiveRepeated,)

    def __init__(self, site: Site, course: Course, detail: Detail, late_values: LateValues, tape: Tape) -> None:
        super().__init__(site, course, detail)
        self._late_values = late_values
        self._tape = tape
        self._looks: Counter[Location | None] = Counter()
        self._told: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        names = _TOLD_WHICH | _OVER_COLUMNS | _BY_SIGN | _DIAGONALS | {"add", "sum"}
        self.listen(self._tape.recorded, self._recorded, names=names)

    def _forget(self) -> None:
        self._seen: set[Value] = set()
        self._sums: dict[Value, _Sampled] = {}
        self._signed: list[_Sampled] = []

    def _recorded(self, op: Op) -> None:
        if not op.output.learns or not op.values or self._looks[op.location] >= _MOST_LOOKS:
            return
        if op.name == "sum":
            self._summed(op)
        elif op.name == "add":
            self._added(op)
        elif op.name in _OVER_COLUMNS:
            self._over_columns(op)
        elif op.name in _BY_SIGN:
            self._by_sign(op, negated=op.name == "softplus")
        elif op.name in _DIAGONALS:
            self._on_diagonal(op)
        else:
            self._told_which(op)

    # -------------------------------------------------------------------------------------------------- kinds of loss

    def _told_which(self, op: Op) -> None:
        scores, targets = _tensor(op.values[0]), _tensor(op.values[1]) if len(op.values) > 1 else None
        if scores is None or targets is None:
            return
        made = op.values[1].by
        if op.name == _MARKED and made is not None and made.name in _ONES | _ZEROS:
            self._by_sign(op, negated=made.name in _ZEROS)
            return
        if scores.dim() == 2 and targets.dim() and len(targets) == len(scores):
            self._among(op, scores, _positives(sampled(targets, scores.shape[1]), scores))

    def _on_diagonal(self, op: Op) -> None:
        """What is picked of log-probabilities are those of positives."""
        made, scores = op.values[0].by, _tensor(op.values[0])
        if made is not None and made.name == "log_softmax" and scores is not None and scores.dim() == 2:
            rows, columns = scores.shape
            number = torch.arange(rows, device=scores.device)
            self._among(op, scores, sampled(torch.where(number < columns, number, -1), columns))

    def _among(self, op: Op, scores: torch.Tensor, positives: torch.Tensor | None) -> None:
        rows, columns = scores.shape
        if positives is not None and rows >= _LEAST_ROWS and columns >= _LEAST_COLUMNS:
            joined = _joined_behind(op.values[0], columns)
            self._look(op, op.values[0], _Sampled(sampled(scores), rows), positives, joined)

    def _over_columns(self, op: Op) -> None:
        """The column that was joined to others alone is the positive."""
        scores = _tensor(op.values[0])
        join = source_of(op.values[0], _FACTORS).by
        if (
            scores is None
            or join is None
            or join.name not in CONCATENATIONS
            or scores.dim() < 2
            or not _is_last(op, scores)
        ):
            return
        sizes = [value.shape[-1] for value in join.values if value.shape]
        if sum(sizes) != scores.shape[-1] >= _LEAST_COLUMNS or sizes.count(1) != 1:
            return
        rows = scores.reshape(-1, scores.shape[-1])
        if len(rows) >= _LEAST_ROWS:
            some = sampled(rows)
            positives = torch.full((len(some),), sum(sizes[: sizes.index(1)]), device=some.device)
            sources = {source_of(value, MOVES) for value in join.values}
            stored = _is_stored(join.values, of_scores=True)
            joined = _Joined(join, tuple(sizes), stored, one_source=len(sources) < len(join.values))
            self._look(op, op.values[0], _Sampled(some, len(rows)), positives, joined)

    def _summed(self, op: Op) -> None:
        """A sum over the row of exponentials, which may be those of negatives."""
        made, powers = source_of(op.values[0], MOVES).by, _tensor(op.values[0])
        if made is None or made.name != "exp" or powers is None or powers.dim() != 2 or len(self._sums) >= _MOST_HELD:
            return
        some = sampled(powers.detach())
        if op.output.count == len(powers) >= _LEAST_ROWS and some.numel() <= _MOST_KEPT:
            self._sums[op.output] = _Sampled(some.log(), len(powers))

    def _added(self, op: Op) -> None:
        if not self._sums or len(op.values) != 2:
            return
        for one, other in (op.values, op.values[::-1]):
            negatives, made = self._sums.get(source_of(other, MOVES)), source_of(one, MOVES).by
            if negatives is None or made is None or made.name != "exp":
                continue
            power = _tensor(one)
            if power is not None and power.numel() == negatives.rows:
                own = sampled(power.detach().reshape(-1, 1), negatives.scores.shape[1]).log()
                self._beside(op, _Sampled(own, negatives.rows), negatives)

    def _by_sign(self, op: Op, *, negated: bool) -> None:
        """`logsigmoid` draws up what it is given: of a negative, minus its score."""
        scores = _tensor(op.values[0])
        if scores is None or len(self._signed) >= _MOST_HELD or not scores.dim() or len(scores) < _LEAST_ROWS:
            return
        rows = scores.detach().reshape(len(scores), -1)
        if max(scores.shape[1:], default=1) != rows.shape[1] or rows.numel() > _MOST_KEPT:
            return
        drawn_up = _Sampled(-rows if negated else rows.clone(), len(rows))
        for other in self._signed:
            positive, negative = sorted((drawn_up, other), key=lambda each: each.scores.shape[1])
            if positive.rows == negative.rows and positive.scores.shape[1] == 1 < negative.scores.shape[1]:
                columns = negative.scores.shape[1]
                own, others = sampled(positive.scores, columns), -sampled(negative.scores)
                self._beside(op, _Sampled(own, len(rows)), _Sampled(others, len(rows)))
        self._signed.append(drawn_up)

    def _beside(self, op: Op, positive: _Sampled, negatives: _Sampled) -> None:
        own, others = positive.scores, negatives.scores
        if own.shape[0] == others.shape[0] and own.device == others.device:
            scores = torch.cat([own, others.to(own.dtype)], dim=1)
            positives = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
            sizes = (1, others.shape[1])
            self._look(op, None, _Sampled(scores, positive.rows), positives, _Joined(op, sizes, stored=False))

    # ------------------------------------------------------------------------------------------------------ the look

    def _look(
        self, op: Op, value: Value | None, some: _Sampled, positives: torch.Tensor, joined: _Joined | None
    ) -> None:
        scores = source_of(value, _SAME_TIES) if value is not None else None
        if scores in self._seen:
            return
        if scores is not None:
            self._seen.add(scores)
        where, step = op.location, self._course.steps
        self._looks[where] += 1
        was_told = self._told[where] > 0
        if self._told[where] >= _MOST_TOLD:
            return
        sizes, one_source = (joined.sizes, joined.one_source) if joined else ((some.scores.shape[1],), False)
        compared = compare(some.scores, positives, sizes, only_equal=not was_told, one_source=one_source)
        if compared is None:
            return

        def tell(answers: Sequence[Any]) -> None:
            repeated, by_chance, fixed, level = answers[0].tolist()
            if 2 * repeated <= 1 and not self._told[where]:
                return
            self._told[where] += 1
            join = joined.op.location if joined is not None and not joined.stored else None
            self.emit(
                PositiveRepeated(
                    step=step,
                    location=where,
                    loss=op.name,
                    joined_at=join,
                    rows=some.rows,
                    columns=some.scores.shape[1],
                    repeated=repeated,
                    by_chance=by_chance,
                    fixed=fixed,
                    level=level,
                )
            )

        self._late_values.ask(self, [compared], tell)


def _tensor(value: Value) -> torch.Tensor | None:
    tensor = tensor_of(value)
    return tensor if tensor is not None and readable(tensor) and tensor.numel() else None


def _positives(targets: torch.Tensor, scores: torch.Tensor) -> torch.Tensor | None:
    """The column of each positive, -1 where there is none: by its number, or as the only one that is marked."""
    if targets.dim() == 1 and targets.dtype is torch.int64:
        return torch.where((targets >= 0) & (targets < scores.shape[1]), targets, -1)
    if targets.dim() != 2 or targets.shape[1] != scores.shape[1] or targets.device != scores.device:
        return None
    is_one = targets == 1
    is_marked = (is_one.sum(1) == 1) & ((targets == 0).sum(1) == targets.shape[1] - 1)
    return torch.where(is_marked, is_one.int().argmax(1), -1)


def _is_last(op: Op, scores: torch.Tensor) -> bool:
    return op.dim is not None and op.dim % scores.dim() == scores.dim() - 1


def _joined_behind(scores: Value, columns: int) -> _Joined | None:
    """Where so many columns, or the keys of these, were put together."""
    direct = source_of(scores, _FACTORS | {"log_softmax"}).by
    pending, met = deque([scores.by]), set[Op]()
    while pending and len(met) < _MOST_WALKED:
        op = pending.popleft()
        if op is None or op in met:
            continue
        met.add(op)
        sizes = _sizes(op, columns) if op.name in CONCATENATIONS else None
        if sizes is not None:
            return _Joined(op, sizes, _is_stored(op.values, of_scores=op is direct))
        pending += [value.by for value in op.values if not value.is_parameter]
    return None


def _sizes(op: Op, columns: int) -> tuple[int, ...] | None:
    """How many of the columns each operand has, along the dimension along which they have so many together."""
    shapes = [value.shape for value in op.values]
    if not 1 < len(shapes) <= _MOST_PARTS or len({len(shape) for shape in shapes}) != 1:
        return None
    for dim, together in enumerate(op.output.shape):
        sizes = tuple(shape[dim] for shape in shapes if dim < len(shape))
        if together == sum(sizes) == columns and len(sizes) == len(shapes):
            return sizes
    return None


def _is_stored(joined: Sequence[Value], *, of_scores: bool) -> bool:
    """Whether keys that go for all rows have no gradient, as those of a queue."""
    if of_scores:
        several = [source_of(value, _FACTORS).by for value in joined if value.shape[-1] > 1]
        joined = [value for op in several if op is not None for value in op.values]
    return any(value.kind == "float" and not value.learns and len(value.shape) == 2 for value in joined)
