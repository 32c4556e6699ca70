"""Two results that the same code computed with the same parameters, and what it was given for the one and the other.

As the log-probabilities of a rollout, computed action by action or at once, and those of the update that follows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from autograd_doctor.operations import DRAWS, DROPOUTS, GATHERS, JOINS, MOVES, TAKES, TOTALS
from autograd_doctor.reading.operation_kinds import ONE_BY_ONE
from autograd_doctor.tape import Op, Value, behind

_WRITES = "__setitem__"
_ALONG = GATHERS | {"log_softmax", "logsumexp", "mean", "softmax", "sum"}
"""What is told a dimension, which may be counted from either end."""
_ALTERS = frozenset({
    "add", "ceil", "clamp", "clamp_max", "clamp_min", "div", "floor", "hardtanh", "mul", "remainder", "round",
    "sigmoid", "sort", "sub", "tanh", "trunc",
})  # fmt: skip
"""What bounds, squashes, rounds, scales, shifts or sorts."""
_ORDERS = frozenset(name for name, draw in DRAWS.items() if draw.what == "order")
_STATISTICS = frozenset({"amax", "amin", "max", "mean", "min", "std", "sum", "var"})
_MOST_ALTERING = 8
_MOST_ENDS = 2**14
_IN_COMMON = 0.8
"""Of what one side was given, where the other was given the next ones, or those before."""
_DIGITS = 6
"""Of a number that a person wrote, rather than drew."""


class Reason(NamedTuple):
    """What differs, and by which operation, if it is one: that which altered it, or is active on one side alone."""

    what: Literal["action", "input", "order", "mode"]
    by: Op | None = None


@dataclass(eq=False, slots=True)
class Given:
    """What the code was given in one place: for the one result, and each time for the other.

    is_action: it meets what the parameters have given, as an action does, and no observation. is_reordered: it is the
    same, in another order.
    """

    now: Value
    before: list[Value]
    is_action: bool
    is_reordered: bool = False

    def altered_by(self) -> Op | None:
        """The first operation that made one of the other, where nothing else flowed in, at random or of other data; of
        another input than an action, no numbers of a class, which choose what is to be scored."""
        if not (self.is_action or self.now.is_floating):
            return None
        ends, ends_before = ends_of(self.now), _ends_of_all(self.before)
        ways = (_way(ends, set(ends_before)), _way(ends_before, set(ends)))
        return next((way[-1] for way in ways if way and (self.is_action or _is_written(way))), None)


@dataclass(eq=False, slots=True)
class ScoredTwice:
    """parameters: those of both. same: what both were given. differing: the other inputs. modes: dropout that was
    active for one of them alone. shuffles: those by which rows of each input were taken for the first.

    is_shuffled_apart: the second was shuffled, and not all inputs of the first; or all of these, and not the second.
    """

    parameters: set[Value] = field(default_factory=set)
    same: set[Value] = field(default_factory=set)
    differing: list[Given] = field(default_factory=list)
    modes: list[Op] = field(default_factory=list)
    shuffles: list[frozenset[Value]] = field(default_factory=list)
    is_shuffled_apart: bool = False

    def reason(self, *, is_elsewhere: bool) -> Reason | None:
        """Why the results differ, where there is one reason; is_elsewhere: the same numbers are at other places."""
        others = [each for each in self.differing if not each.is_reordered]
        is_reordered = len(others) < len(self.differing)
        if self.modes:
            return None if self.differing else Reason("mode", self.modes[0])
        if not others:
            return Reason("order") if is_reordered or is_elsewhere or self.is_shuffled_apart else None
        ways = [each.altered_by() for each in others]
        if is_reordered or None in ways or not _are_one_input(others, ways):
            return None
        return Reason("action" if any(each.is_action for each in others) else "input", ways[0])

    def is_of_own_draws(self) -> bool:
        """Whether the second side was given what these parameters had a part in drawing."""
        mine = 0
        for parameter in self.parameters:
            mine |= parameter.values
        given = [*self.same, *(end for each in self.differing for end in _ends_of_all(each.before))]
        return any(op.name in DRAWS for op in behind((each for each in given if each.values & mine), live=False))


def scored_twice(now: Value, before: Value) -> ScoredTwice | None:
    """What distinguishes two results; None where other code made them, or other parameters, or noise."""
    ends, ends_before = ends_of(now), ends_of(before)
    if len(ends) == 1:
        pairs = [(ends[0], ends_before)]
    elif len(ends) == len(ends_before):
        pairs = [(each, [other]) for each, other in zip(ends, ends_before, strict=True)]
    else:
        return None
    found = _Comparison(now.shape[:1]).of_results(pairs, _shuffles_of(now))
    if found is None or not found.parameters:
        return None
    others, mine = _shuffles_of(before), found.shuffles
    found.is_shuffled_apart = any(others - each for each in mine) or (
        bool(mine) and all(each - others for each in mine)
    )
    return found


class _Pair(NamedTuple):
    """What stands in one place on both sides. shuffles: the random orders by which rows of the first are taken."""

    now: Value
    before: list[Value]
    shuffles: frozenset[Value]
    is_action: bool = False

    def of(self, now: Value, before: list[Value]) -> _Pair:
        """What these were made of."""
        return self._replace(now=now, before=before)


class _Comparison:
    """Goes from results to what they were computed of, on both sides at once: of one, and each of those beside it."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        self._rows = rows
        self._found = ScoredTwice()
        self._met: set[tuple[Value, Value]] = set()
        self._pending: list[_Pair] = []

    def of_results(self, pairs: Iterable[tuple[Value, list[Value]]], shuffles: frozenset[Value]) -> ScoredTwice | None:
        if not all(self._enter(_Pair(now, before, shuffles)) for now, before in pairs):
            return None
        while self._pending:
            pair = self._pending.pop()
            if (pair.now, pair.before[0]) not in self._met:
                self._met.add((pair.now, pair.before[0]))
                if not self._compare(pair):
                    return None
        return self._found

    def _compare(self, pair: _Pair) -> bool:
        """Operands: the same data, or made by the same operations, or another input."""
        ends, each_before = ends_of(pair.now), [ends_of(each) for each in pair.before]
        ends_before = [end for found in each_before for end in found]
        pair = pair._replace(shuffles=pair.shuffles | _shuffles_of(pair.now))
        is_reordered = _are_reordered(ends, each_before)
        if is_reordered or self._is_same(pair.now, ends, set(ends_before)):
            self._found.differing += (
                [Given(pair.now, pair.before, pair.is_action, is_reordered)] if is_reordered else []
            )
            self._same(pair, ends_before)
            return True
        if any(len(found) != len(ends) for found in each_before):
            return self._differ(pair)
        each = (pair.of(end, [found[place] for found in each_before]) for place, end in enumerate(ends))
        return all(self._enter(inside) or self._differ(inside) for inside in each)

    def _is_same(self, now: Value, ends: Sequence[Value], others: set[Value]) -> bool:
        """Whether all of it was given; of the data of several calls, the rows may be those of some."""
        return others.issubset(ends) or (others.issuperset(ends) and now.shape[:1] == self._rows)

    def _enter(self, pair: _Pair) -> bool:
        """Go on with the operands of what made these, where it is the same operation."""
        now, before = pair.now, pair.before
        if _inside_dropout(now) is not now or any(_inside_dropout(each) is not each for each in before):
            return self._enter_dropout(pair)
        op = now.by
        others = [each.by for each in before if each.by is not None]
        if op is None or op.name in DRAWS or not others or len(others) < len(before):
            return False
        if any(each is op or not _is_same_call(op, each) for each in others):
            return False
        if any(each.outputs.index(value) != op.outputs.index(now) for each, value in zip(others, before, strict=True)):
            return False
        for place, value in enumerate(op.values):
            is_action = (pair.is_action or bool(op.live)) and not value.learns
            inside = _Pair(value, [each.values[place] for each in others], pair.shuffles, is_action)
            self._pending.append(inside)
        return True

    def _enter_dropout(self, pair: _Pair) -> bool:
        """Go on with what it was given, where it is active on one side alone: on the other, it has made nothing."""
        inside, others = _inside_dropout(pair.now), [_inside_dropout(each) for each in pair.before]
        if {each is other for each, other in zip(pair.before, others, strict=True)} != {inside is not pair.now}:
            return False
        active = pair.now.by if inside is not pair.now else pair.before[0].by
        self._found.modes += [active] if active is not None else []
        self._pending.append(pair.of(inside, others))
        return True

    def _same(self, pair: _Pair, ends: Iterable[Value]) -> None:
        is_data = False
        for end in ends:
            (self._found.parameters if end.is_parameter else self._found.same).add(end)
            is_data |= not end.is_parameter and (end.by is None or bool(end.by.values) or end.by.name in DRAWS)
        if is_data and pair.now.shape[:1] == self._rows:
            self._found.shuffles.append(pair.shuffles)

    def _differ(self, pair: _Pair) -> bool:
        if pair.now.learns or pair.now.is_parameter or any(each.is_parameter for each in pair.before):
            return False
        self._found.differing.append(Given(pair.now, pair.before, pair.is_action))
        return True


def _are_one_input(inputs: Sequence[Given], altered_by: Sequence[Op | None]) -> bool:
    """Whether it is one tensor, in several places, or one line alters the same of each result."""
    tensors = {frozenset(ends_of(each.now)) for each in inputs}
    lines = {(each.is_action, op.location) for each, op in zip(inputs, altered_by, strict=True) if op is not None}
    return min(len(tensors), len(lines)) == 1


def ends_of(value: Value) -> list[Value]:
    """What a value was put together from, in its order, before it was moved, joined and picked from."""
    found: list[Value] = []
    pending = [value]
    while pending and len(found) < _MOST_ENDS:
        each = pending.pop()
        op = each.by
        if op is None or each.is_parameter or not op.values:
            found.append(each)
        elif op.name == _WRITES:
            written, whole = op.operands[-1], op.values[0]
            pending += [written] if isinstance(written, Value) and written is not whole else []
            pending += [whole] if whole.by is not None and whole.by.name == _WRITES else []
        elif op.name in JOINS:
            pending += op.values[::-1]
        elif op.name in ONE_BY_ONE and len(op.values) == len(op.outputs):
            pending.append(op.values[op.outputs.index(each)])
        elif (op.name in MOVES and not _is_by_class(op)) or _is_of_one(op):
            pending.append(op.values[0])
        else:
            found.append(each)
    return found


def _shuffles_of(value: Value) -> frozenset[Value]:
    """The random orders by which rows of what was put together were taken."""
    found = set[Value]()
    while value.by is not None and value.by.name in MOVES and not value.is_parameter:
        op = value.by
        if op.name in TAKES and len(op.values) == 2 and op.output.shape[:1] == op.values[1].shape:
            found |= {each for each in ends_of(op.values[1]) if each.by is not None and each.by.name in _ORDERS}
        is_beside = op.name in ONE_BY_ONE and len(op.values) == len(op.outputs)
        value = op.values[op.outputs.index(value)] if is_beside else op.values[0]
    return frozenset(found)


def _ends_of_all(values: Iterable[Value]) -> list[Value]:
    return [end for each in values for end in ends_of(each)]


def _is_by_class(op: Op) -> bool:
    """Whether one value is picked from each row, as the score of an action."""
    numbers = op.values[1:]
    return op.name in GATHERS or (len(numbers) > 1 and any(each.by and each.by.name == "arange" for each in numbers))


def _is_of_one(op: Op) -> bool:
    """Whether it sums up a dimension of size one."""
    return op.name in TOTALS and op.output.count == op.values[0].count


def _is_same_call(op: Op, other: Op) -> bool:
    return op.name == other.name and len(op.values) == len(other.values) and _told(op) == _told(other)


def _told(op: Op) -> tuple[Any, ...]:
    """What a call was told beside values: dimensions are counted from the end, and sizes of what is made of nothing are
    left out."""
    plain = [each for each in op.operands if not isinstance(each, Value)]
    options = dict(op.options)
    if not op.values:
        return [each for each in plain if type(each) is float], {}
    if op.name in _ALONG and op.dim is not None:
        rank = len(op.values[0].shape)
        options["dim"] = (op.dim % rank - rank) if rank else 0
        plain = [each for each in plain if type(each) is not int]
    return plain, options


def _inside_dropout(value: Value) -> Value:
    return value.by.values[0] if value.by is not None and value.by.name in DROPOUTS else value


def _are_same(ends: Sequence[Value], others: set[Value]) -> bool:
    return others.issuperset(ends) or others.issubset(ends)


def _are_reordered(ends: Sequence[Value], others: Sequence[Sequence[Value]]) -> bool:
    """Whether hardly anything differs but the order: of calls with several inputs, one may come after the other, or all
    of a kind before the next."""
    by_call, by_kind = ([each for found in turned for each in found] for turned in (others, zip(*others, strict=False)))
    if len(ends) != len(by_call) or len(by_kind) < len(by_call) or len(others) < 2 or list(ends) in (by_call, by_kind):
        return False
    return (Counter(ends) & Counter(by_call)).total() >= _IN_COMMON * len(ends)


def _way(ends: Sequence[Value], wanted: set[Value]) -> list[Op]:
    """The operations from the last of these values back to those that are wanted, each on one of them and constants."""
    way: list[Op] = []
    while ends and len(way) < _MOST_ALTERING:
        op = ends[-1].by
        if op is None or op.name not in _ALTERS or not op.values:
            return []
        main = max(op.values, key=lambda each: each.count)
        if not all(each is main or _is_constant(each, main) for each in op.values):
            return []
        way.append(op)
        ends = ends_of(main)
        if _are_same(ends, wanted):
            return way
    return []


def _is_constant(value: Value, beside: Value) -> bool:
    """Whether it is the same for all samples, and nothing that was drawn."""
    if value.count > 1 and 2 * value.count > beside.count:
        return False
    pending, met = [value], set[Op]()
    while pending:
        op = pending.pop().by
        if op is not None and op not in met:
            met.add(op)
            if op.name in DRAWS:
                return False
            pending += op.values if op.name not in _STATISTICS else []
    return True


def _is_written(way: Sequence[Op]) -> bool:
    numbers = [each for op in way for each in (*op.numbers, *op.options.values()) if type(each) is float]
    return all(len(str(each)) <= _DIGITS for each in numbers)
