"""Two results that the same code computed with the same parameters, and what it was given for the one and the other.

As the log-probabilities of a rollout, computed action by action or at once, and those of the update that follows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from autograd_doctor.operations import DRAWS, DROPOUTS, GATHERS, JOINS, MOVES, TOTALS
from autograd_doctor.reading.operation_kinds import ONE_BY_ONE
from autograd_doctor.tape import Op, Value, behind

_WRITES = "__setitem__"
_ALONG = frozenset({"log_softmax", "logsumexp", "mean", "softmax", "sum"})
"""What is told a dimension, which may be counted from either end."""
_ALTERS = frozenset({
    "add", "ceil", "clamp", "div", "floor", "hardtanh", "mul", "remainder", "round", "sigmoid", "sub", "tanh", "trunc",
})  # fmt: skip
"""What bounds, squashes, rounds, scales or shifts."""
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
        """The first operation that made one of the other, where nothing else flowed in, at random or of other data."""
        ends, ends_before = ends_of(self.now), _ends_of_all(self.before)
        ways = (_way(ends, set(ends_before)), _way(ends_before, set(ends)))
        return next((way[-1] for way in ways if way and (self.is_action or _is_written(way))), None)


@dataclass(eq=False, slots=True)
class ScoredTwice:
    """parameters: those of both. same: what both were given. differing: the other inputs. modes: dropout that was
    active for one of them alone."""

    parameters: set[Value] = field(default_factory=set)
    same: set[Value] = field(default_factory=set)
    differing: list[Given] = field(default_factory=list)
    modes: list[Op] = field(default_factory=list)

    def reason(self, *, is_elsewhere: bool) -> Reason | None:
        """Why the results differ, where there is one reason; is_elsewhere: the same numbers are at other places."""
        others = [each for each in self.differing if not each.is_reordered]
        is_reordered = len(others) < len(self.differing)
        if self.modes:
            return None if self.differing else Reason("mode", self.modes[0])
        if not others:
            return Reason("order") if is_reordered or is_elsewhere else None
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
    found = _Comparison().of_results(pairs)
    return found if found is not None and found.parameters else None


class _Comparison:
    """Goes from results to what they were computed of, on both sides at once: of one, and each of those beside it."""

    def __init__(self) -> None:
        self._found = ScoredTwice()
        self._met: set[tuple[Value, Value]] = set()
        self._pending: list[tuple[Value, list[Value], bool]] = []

    def of_results(self, pairs: Iterable[tuple[Value, list[Value]]]) -> ScoredTwice | None:
        if not all(self._enter(now, before, is_action=False) for now, before in pairs):
            return None
        while self._pending:
            value, others, is_action = self._pending.pop()
            if (value, others[0]) not in self._met:
                self._met.add((value, others[0]))
                if not self._compare(value, others, is_action=is_action):
                    return None
        return self._found

    def _compare(self, now: Value, before: list[Value], *, is_action: bool) -> bool:
        """Operands: the same data, or made by the same operations, or another input."""
        ends, each_before = ends_of(now), [ends_of(each) for each in before]
        is_reordered = _are_reordered(ends, each_before)
        ends_before = [end for found in each_before for end in found]
        if is_reordered or _are_same(ends, set(ends_before)):
            self._same(ends_before)
            self._found.differing += [Given(now, before, is_action, is_reordered=True)] if is_reordered else []
            return True
        if any(len(found) != len(ends) for found in each_before):
            return self._differ(now, before, is_action=is_action)
        pairs = ((end, [found[place] for found in each_before]) for place, end in enumerate(ends))
        return all(
            self._enter(end, others, is_action=is_action) or self._differ(end, others, is_action=is_action)
            for end, others in pairs
        )

    def _enter(self, now: Value, before: Sequence[Value], *, is_action: bool) -> bool:
        """Go on with the operands of what made these, where it is the same operation."""
        if _inside_dropout(now) is not now or any(_inside_dropout(each) is not each for each in before):
            return self._enter_dropout(now, before, is_action=is_action)
        op = now.by
        others = [each.by for each in before if each.by is not None]
        if op is None or op.name in DRAWS or not others or len(others) < len(before):
            return False
        if any(each is op or not _is_same_call(op, each) for each in others):
            return False
        if any(each.outputs.index(value) != op.outputs.index(now) for each, value in zip(others, before, strict=True)):
            return False
        meets = is_action or bool(op.live)
        for place, value in enumerate(op.values):
            self._pending.append((value, [each.values[place] for each in others], meets and not value.learns))
        return True

    def _enter_dropout(self, now: Value, before: Sequence[Value], *, is_action: bool) -> bool:
        """Go on with what it was given, where it is active on one side alone: on the other, it has made nothing."""
        inside, others = _inside_dropout(now), [_inside_dropout(each) for each in before]
        if {each is other for each, other in zip(before, others, strict=True)} != {inside is not now}:
            return False
        active = now.by if inside is not now else before[0].by
        self._found.modes += [active] if active is not None else []
        self._pending.append((inside, others, is_action))
        return True

    def _same(self, ends: Iterable[Value]) -> None:
        for end in ends:
            (self._found.parameters if end.is_parameter else self._found.same).add(end)

    def _differ(self, now: Value, before: list[Value], *, is_action: bool) -> bool:
        if now.learns or now.is_parameter or any(each.is_parameter for each in before):
            return False
        self._found.differing.append(Given(now, before, is_action))
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
