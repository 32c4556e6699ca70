"""Copies of samples, followed along a tape, and the groups of rows into which views cut them.

`x.repeat(K, 1)` has the copies outside, `repeat_interleave` has them inside. A row keeps its number through whatever
works on each row alone; of anything else, nothing is known of its rows any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import inf, prod
from operator import mul

from autograd_doctor.operations import (
    ADDING,
    ARITHMETIC,
    BY_ELEMENT,
    COMPARISONS,
    CONVOLUTIONS,
    DRAWS,
    DROPOUTS,
    JOINS,
    MOVES,
    NORMS,
    RECURRENT,
    REPEATS,
    RESHAPES,
    SCALING,
    TOTALS,
)
from autograd_doctor.tape import Labels, Op, Tape, Value, behind, is_made_of_parameters

_RESHAPES = RESHAPES | {"ravel", "squeeze", "unsqueeze"}
_BY_ELEMENT = ARITHMETIC | BY_ELEMENT | COMPARISONS | DROPOUTS | {
    "abs", "alias", "bernoulli", "bfloat16", "bool", "broadcast_tensors", "broadcast_to", "clamp", "clone",
    "contiguous", "cos", "cpu", "cuda", "detach", "double", "elu", "erf", "exp", "expand", "expand_as", "expm1",
    "float", "floor_divide", "gelu", "half", "hardtanh", "int", "leaky_relu", "lerp", "lgamma", "log", "log1p",
    "logical_and", "logical_not", "logical_or", "logit", "logsigmoid", "long", "masked_fill", "maximum", "minimum",
    "mish", "nan_to_num", "neg", "normal", "pow", "reciprocal", "relu", "relu6", "remainder", "requires_grad_",
    "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "softplus", "sqrt", "square", "tanh", "to", "type",
    "type_as", "where", "xlogy",
}  # fmt: skip
_BY_ROW = CONVOLUTIONS.keys() | RECURRENT | NORMS | TOTALS | {
    "T", "__getitem__", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "amax", "amin", "argmax", "avg_pool1d",
    "avg_pool2d", "batch_norm", "bmm", "cat", "chunk", "cosine_similarity", "cross_entropy", "embedding", "gather",
    "group_norm", "instance_norm", "interpolate", "layer_norm", "linear", "log_softmax", "logsumexp", "mT", "matmul",
    "max", "max_pool1d", "max_pool2d", "min", "movedim", "multinomial", "narrow", "nll_loss", "normalize", "one_hot",
    "pad", "pairwise_distance", "permute", "prod", "rms_norm", "scaled_dot_product_attention", "select", "softmax",
    "split", "stack", "std", "t", "transpose", "unbind", "var",
}  # fmt: skip
"""Those that change neither the order of rows nor their number, unless the shape tells."""
_WITHIN_ROWS = CONVOLUTIONS.keys() | {"embedding", "gather", "layer_norm", "linear", "one_hot", "rms_norm"}
"""Those of them that leave the first axes where they are, whatever the sizes."""
_WRITTEN = frozenset({"arange", "empty", "eye", "full", "linspace", "ones", "zeros"})
"""What numbers of the program make without data."""
_OVER_GROUPS = frozenset({
    "amax", "amin", "argmax", "argmin", "linalg_norm", "linalg_vector_norm", "log_softmax", "logsumexp", "max",
    "median", "min", "norm", "normalize", "prod", "softmax", "std", "std_mean", "var", "var_mean",
})  # fmt: skip
_ADD_UP = ADDING | JOINS | MOVES | TOTALS | {"neg"}


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows of a value: of its numbers in their order, each of `outer` stretches has `first` times `second` of them.

    by: what copied them. copies: how many there are of each sample. of_samples: these may differ, and are data or
    drawn. view: what cut them, where that split the order.
    """

    by: Op
    outer: int
    first: int
    second: int
    copies: int
    of_samples: bool
    view: Op | None = None

    @property
    def rows(self) -> int:
        return self.first * self.second

    @property
    def samples(self) -> int:
        return self.rows // self.copies

    def within(self, shape: Sequence[int]) -> tuple[int, int]:
        """The axes, from one to before another, in which the rows lie."""
        ends = list(accumulate(shape, mul, initial=1))
        begin = max(place for place, end in enumerate(ends) if self.outer % end == 0 and end <= self.outer)
        return begin, next(place for place, end in enumerate(ends) if end % (self.outer * self.rows) == 0)

    def axis_of_copies(self, shape: Sequence[int], *, is_crossed: bool) -> int | None:
        """The axis of as many entries as there are copies, where two axes share the rows: in their order, or
        crossed."""
        begin, end = self.within(shape)
        wide = [axis for axis in range(begin, end) if shape[axis] > 1]
        parts = (self.second, self.first) if is_crossed else (self.first, self.second)
        if tuple(shape[axis] for axis in wide) != parts or prod(shape[:begin]) != self.outer:
            return None
        return next(axis for axis in wide if shape[axis] == self.copies)


@dataclass(frozen=True, slots=True)
class MixedGroups:
    """A view cut copies into groups of different samples, and an operation computed something of each."""

    copies: Copies
    view: Op
    over: Op


class _Rows:
    """What is known of the values of a tape: which have copies, and which come of no data, as noise and positions."""

    def __init__(self) -> None:
        self._copies: Labels[Copies] = {}
        self._free: dict[Value, float] = {}
        """With the number of the first operation that drew some of it."""

    def of(self, value: Value) -> Copies | None:
        return self._copies.get(value)

    def follow(self, op: Op) -> None:
        drawn = self._drawn(op)
        if drawn is not None:
            self._free |= dict.fromkeys(op.outputs, drawn)
        for place, output in enumerate(op.outputs):
            given = op.values[place : place + 1] if op.name == "broadcast_tensors" else op.values
            label = _copied(op, output) or self._kept(op, given, output)
            if label is not None and output.count:
                self._copies[output] = label

    def _drawn(self, op: Op) -> float | None:
        """The first operation that drew some of what came of no data; None of what came of some."""
        is_new = op.name.endswith("_like") or (op.name.startswith("new_") and op.name != "new_tensor")
        if is_new or (not op.values and op.name in _WRITTEN | DRAWS.keys()):
            return op.number if is_new or op.name in DRAWS else inf
        if not op.values or not self._free.keys() >= set(op.values):
            return None
        return min(self._free[value] for value in op.values)

    def _kept(self, op: Op, given: Sequence[Value], output: Value) -> Copies | None:
        known = [value for value in given if value in self._copies]
        if not known:
            return None
        source = next((value for value in known if self._copies[value].of_samples), known[0])
        label, others = self._copies[source], [value for value in given if value is not source and value.count > 1]
        if op.name in _RESHAPES:
            return _reshaped(label, op, source, output)
        if op.name in _BY_ELEMENT:
            strange = [value.shape for value in others if not self._may_join(value, label)]
            return _by_element(label, source.shape, output.shape, strange)
        if op.name in _BY_ROW and _is_by_row(op, source, label):
            have_rows = [value for value in others if label.rows in value.shape and not is_made_of_parameters(value)]
            if all(self._may_join(value, label) for value in have_rows):
                return _by_row(label, source.shape, output.shape, op.name)
        return None

    def _may_join(self, value: Value, label: Copies) -> bool:
        """Whether its rows are the same copies, or noise that was drawn for them: what was drawn before is data."""
        known = self._copies.get(value)
        is_alike = known is not None and (known.first, known.second) == (label.first, label.second)
        return is_alike or self._free.get(value, -1) > label.by.number


def mixed_groups(tape: Tape) -> Iterator[MixedGroups]:
    """Those of a tape, but for what may be mixed on purpose: copies that are also cut in their order, and rows that get
    what was made of groups as a feature."""
    rows, mixed, in_order = _Rows(), list[MixedGroups](), set[Op]()
    for op in tape.ops:
        known = rows.of(op.values[0]) if op.values else None
        rows.follow(op)
        if known is None or not known.of_samples:
            continue
        if op.name in _RESHAPES and _cuts_in_order(known, op.values[0].shape, op.output.shape):
            in_order.add(known.by)
        if known.view is not None and (op.name in _OVER_GROUPS or (op.name in TOTALS and _matters(op))):
            shape = op.values[0].shape
            is_feature = any(use.name in JOINS for use in known.view.values[0].uses)
            if not is_feature and _is_over(op, shape, known.axis_of_copies(shape, is_crossed=True)):
                mixed.append(MixedGroups(known, known.view, op))
    yield from (each for each in mixed if each.copies.by not in in_order)


def _cuts_in_order(copies: Copies, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether the program shows that it knows how the copies lie."""
    now, then = (copies.axis_of_copies(shape, is_crossed=False) for shape in (after, before))
    return now is not None and then is None


def _copied(op: Op, output: Value) -> Copies | None:
    source = op.values[0] if op.values and op.name in REPEATS | JOINS else None
    if source is None or not source.count or not output.count:
        return None
    beside = op.values[1:]
    if any(value is not source for value in beside) or bool(beside) is not (op.name in JOINS):
        return None
    before = _with_axis(op, source.shape) if op.name == "stack" else source.shape
    found = _in_order(before, output.shape, is_by_sample=op.name == "repeat_interleave")
    if found is None or found[0] == found[1]:
        return None
    (first, second), copies = found, output.count // source.count
    return Copies(op, 1, first, second, copies, _has_samples(source, output.count // prod(found)))


def _with_axis(op: Op, shape: tuple[int, ...]) -> tuple[int, ...]:
    place = (op.dim or 0) % (len(shape) + 1)
    return (*shape[:place], 1, *shape[place:])


def _in_order(before: tuple[int, ...], after: tuple[int, ...], *, is_by_sample: bool) -> tuple[int, int] | None:
    """How many copies of how many samples, or the other way round, where the first axis with more than one entry is
    that of the samples, and one axis has grown: this one, or one right before or behind it."""
    before = (*(1 for _ in range(len(after) - len(before))), *before)
    grown = [axis for axis, size in enumerate(after) if before[axis] != size]
    if len(before) != len(after) or len(grown) != 1 or before[grown[0]] == 0:
        return None
    (axis,) = grown
    own, copies = before[axis], after[axis] // before[axis]
    outside = [size for size in before[:axis] if size > 1]
    inside = [size for size in before[axis + 1 :] if size > 1]
    if own > 1:
        return None if outside else (own, copies) if is_by_sample else (copies, own)
    if not outside:
        return (copies, inside[0]) if inside else None
    return (outside[0], copies) if len(outside) == 1 else None


def _has_samples(source: Value, rest: int) -> bool:
    """Whether its rows may differ, and are data or drawn: not learned, and not written down by the program.

    rest: the numbers of one of them.
    """
    if is_made_of_parameters(source) or (source.span is not None and source.span[0] == source.span[1]):
        return False
    origin = source.by.values[0] if source.by is not None and source.by.name in REPEATS else source
    if origin.count <= rest < source.count:
        return False
    made = behind([source], live=False)
    begins = [value for op in made for value in op.values if value.by is None] if made else [source]
    is_data = any(value.count > 1 and not value.is_parameter for value in begins)
    return is_data or any(not op.values and op.name not in _WRITTEN for op in made)


def _reshaped(label: Copies, op: Op, source: Value, output: Value) -> Copies | None:
    if output.count != source.count:
        return None
    if label.axis_of_copies(output.shape, is_crossed=True) is None:
        return replace(label, view=None)
    return replace(label, view=label.view or op)


def _by_element(
    label: Copies, before: tuple[int, ...], after: tuple[int, ...], others: Sequence[tuple[int, ...]]
) -> Copies | None:
    """Broadcast from the right. others: the shapes of what may have nothing along the rows, as it has others."""
    more = len(after) - len(before)
    begin, end = label.within(before)
    if more < 0 or after[begin + more : end + more] != before[begin:end]:
        return None
    for other in others:
        aligned = (*(1 for _ in range(len(after) - len(other))), *other)
        if prod(aligned[begin + more : end + more]) > 1:
            return None
    if after == before:
        return label
    return replace(label, outer=prod(after[: begin + more])) if prod(before[:begin]) == label.outer else None


def _is_by_row(op: Op, source: Value, label: Copies) -> bool:
    """Whether nothing is picked along the rows: lists of numbers, which no tape holds, keep the shape."""
    if op.name == "gather":
        return (op.dim or 0) % len(source.shape) not in range(*label.within(source.shape))
    return op.name != "__getitem__" or (len(op.values) == 1 and op.output.shape != source.shape)


def _by_row(label: Copies, before: tuple[int, ...], after: tuple[int, ...], name: str) -> Copies | None:
    """The first axes stay where they are, or one axis of all rows is told by its size."""
    begin, end = label.within(before)
    axes = [size for size in before[begin:end] if size > 1]
    if len(axes) > 1 and end == len(before):  # the last of them may be of features
        return None
    is_told = name in _WITHIN_ROWS or all(before.count(size) == 1 for size in axes)
    if label.outer == 1 and is_told and name != "stack" and after[:end] == before[:end]:
        return label
    if axes != [label.rows] or before.count(label.rows) != 1 or after.count(label.rows) != 1:
        return None
    return replace(label, outer=prod(after[: after.index(label.rows)])) if prod(before[:begin]) == label.outer else None


# ----------------------------------------------------------------------------------------------- what is done to groups


def _is_over(op: Op, shape: tuple[int, ...], axis: int | None) -> bool:
    """Whether it makes one number of each of the groups that lie along an axis, or weighs them against each other."""
    if axis is None:
        return False
    after = op.output.shape
    is_told = op.dim is not None and op.dim % len(shape) == axis
    if after == shape:
        return is_told
    if after in (shape[:axis] + shape[axis + 1 :], (*shape[:axis], 1, *shape[axis + 1 :])):
        return is_told or shape.count(shape[axis]) == 1
    return axis > 0 and after == shape[:axis]


def _matters(op: Op) -> bool:
    """Whether it matters which entries are added up: it does not where all that is made of them is a total."""
    pending, met = list(op.outputs), set[Value]()
    while pending:
        value = pending.pop()
        if value.count == 1 or value in met:
            continue
        met.add(value)
        if not all(_adds_up(use, value) for use in value.uses):
            return True
        pending += [output for use in value.uses for output in use.outputs]
    return False


def _adds_up(use: Op, value: Value) -> bool:
    """Whether a total of the result is one of the value, and of others, or a multiple of that."""
    if use.name in SCALING:
        is_divisor = use.name == "div" and use.operands[0] is not value
        return not (is_divisor or use.is_square) and all(each is value or each.count == 1 for each in use.values)
    return use.name in _ADD_UP
