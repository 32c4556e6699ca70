"""Whether everything that a model was given in a step was there, and was used, in an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

import torch

from autograd_doctor.operations import DRAWS, JOINS, LOOK_UPS, MOVES
from autograd_doctor.reading.fingerprint import key_of, row_keys, tells_apart
from autograd_doctor.reading.live_values import LiveValue, tensor_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import FROM_DATA, ONE_BY_ONE
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.tape import Op, Value

_CHOOSES = DRAWS.keys() | {"argmax", "argmin", "topk"}
"""What a policy takes its actions by."""
_PICKS = LOOK_UPS | {"masked_select"}
_ROWS_READ = 64
_MOST_ROWS = 2**16
_TOKENS = 12
"""Different whole numbers in a row that tell it apart."""
_SAME = 0.9
"""Of the rows of a batch, where others were not seen because a step was not looked at."""

Age = Literal["new", "used in part", "old"]


@dataclass(slots=True)
class _Use:
    """How many numbers of a tensor were used in the steps before one, and in it. key: of its first rows."""

    key: int | None
    before: int = 0
    step: int = -1
    now: int = 0

    def add(self, step: int, count: int) -> None:
        if step != self.step:
            self.before, self.step, self.now = self.before + self.now, step, 0
        self.now = max(self.now, count)


class DataUsedBefore:
    """Follows what a model was given back to tensors that are older than the step.

    If more numbers of one were used than it has, some were used twice. Of what is made anew in each step, as by a
    loader, the rows tell it. What is drawn, or chosen by the model, in the step is new.
    """

    def __init__(self, uses: ValueTable[_Use], unseen: ValueTable[None]) -> None:
        self._uses = uses
        self._unseen = unseen
        self._rows: dict[int, tuple[int, int]] = {}
        self._are_drawn_anew = False

    def picked_unseen(self, tensor: torch.Tensor) -> None:
        """It was picked by numbers that no tensor holds."""
        self._unseen.put(tensor, None)

    def forget_picks(self) -> None:
        self._unseen.clear()

    def age_of(self, result: Value, step: int) -> Age:
        """How old the data are that a model has computed a result of, all together. Asked once in a step of each."""
        counts = _sources_behind(result)
        for value, count in counts.items():
            if not value.learns:
                self._used(value, step, count)
        if any(value.by is not None and self._is_new(value, value.by) for value in counts):
            return "new"
        ends = [value for value in counts if _is_end(value)]
        others = [value for value in ends if not self._is_used_up(value)]
        if any(map(self._was_met, others)):
            return "used in part"
        return "old" if ends and (not others or self._rows_are_old(others, step)) else "new"

    def _is_new(self, value: Value, op: Op) -> bool:
        """Whether it was drawn or chosen in this step, or may have been picked by what was."""
        if op.name in _CHOOSES:
            return True
        is_hidden = value.count == 1 or any(tensor in self._unseen for tensor in _holders(value))
        return op.name in _PICKS and is_hidden and not _holds(value, op.values[0])

    def _used(self, value: Value, step: int, count: int) -> None:
        for tensor in _holders(value):
            use, key = self._uses.now(tensor), _key(tensor)
            if use is None or use.key != key:
                use = _Use(key)
                self._uses.put(tensor, use)
            use.add(step, count)

    def _is_used_up(self, value: Value) -> bool:
        uses = [(tensor.numel(), self._uses.now(tensor)) for tensor in _holders(value)]
        return any(use is not None and use.before and use.before + use.now > count for count, use in uses)

    def _was_met(self, value: Value) -> bool:
        uses = [self._uses.now(tensor) for tensor in _holders(value)]
        return any(use is not None and use.before > 0 for use in uses)

    def _rows_are_old(self, values: Sequence[Value], step: int) -> bool:
        """Whether hardly a row, of all of these together, was not among those of another step. All are of this step: a
        tensor that is there for longer tells by itself how much of it was used.

        Where a row came with other numbers than before, as a context for which an action is drawn anew, rows say
        nothing from then on.
        """
        tensors = [tensor_of(value) for value in values]
        living = [each for each in tensors if each is not None and each.dim()]
        keys = [key for each in living if (key := row_keys(each)) is not None]
        if len(keys) != len(tensors) or len({len(key) for key in keys}) != 1:
            return False
        telling = [key for key, each in zip(keys, living, strict=True) if _tell_apart(each)]
        seen = 0
        for row, whole in zip(zip(*telling, strict=True), zip(*keys, strict=True), strict=bool(telling)):
            known = self._rows.get(hash(row))
            self._are_drawn_anew |= known is not None and known[0] != hash(whole)
            seen += known is not None and known[1] < step
            if known is None and len(self._rows) < _MOST_ROWS:
                self._rows[hash(row)] = hash(whole), step
        return seen >= _SAME * len(keys[0]) and not self._are_drawn_anew


def _sources_behind(result: Value) -> dict[Value, int]:
    """All that a result was computed from in this step, but for parameters, and how many numbers of each.

    The newest come first, so that all that was made of a value is known when it is asked what that was made of.
    """
    counts, pending = {result: result.count}, [(-_number(result), id(result), result)]
    while pending:
        *_, value = heappop(pending)
        keeps = value.by is not None and value.by.name in MOVES
        for source in _sources(value):
            count = min(counts[value], source.count) if keeps else source.count
            known, is_row = counts.get(source), not source.shape or count * source.shape[0] <= source.count
            if known is None:
                heappush(pending, (-_number(source), id(source), source))
            counts[source] = min(source.count, (known or 0) + count if is_row else max(known or 0, count))
    return counts


def _number(value: Value) -> int:
    return value.by.number if value.by is not None else -1


def _sources(value: Value) -> list[Value]:
    """What a value was made of; of what was picked of data, not the numbers by which."""
    op = value.by
    if op is None or op.name in _CHOOSES:
        return []
    given = op.values
    if op.name in ONE_BY_ONE and len(given) == len(op.outputs):
        given = given[op.outputs.index(value) :][:1]
    elif op.name in _PICKS and _holds(value, given[0]):
        given = given[:1]
    return [each for each in given if (each.count > 1 or op.name in JOINS) and not each.is_parameter]


def _holds(picked: Value, whole: Value) -> bool:
    """Whether a part of data was picked: no scores of a model are they, nor a table in which something is looked up."""
    is_computed = whole.by is not None and (whole.learns or (whole.is_floating and whole.values != 0))
    return not is_computed and not _is_made_of_nothing(whole) and picked.count <= whole.count


def _is_made_of_nothing(value: Value) -> bool:
    """Whether it holds no data, as zeros do, and numbers in their order."""
    return value.by is not None and not value.by.values and value.by.name not in FROM_DATA


def _is_end(value: Value) -> bool:
    return value.by is None or (not value.by.values and value.by.name in FROM_DATA)


def _holders(value: Value) -> list[torch.Tensor]:
    """The tensor that still holds a value, and the one that it is a view of."""
    tensor = tensor_of(value)
    if tensor is None or not isinstance(value, LiveValue) or value.version != version_of(tensor):
        return []
    base = tensor._base if type(tensor) is torch.Tensor else None
    return [tensor] if base is None else [tensor, base]


def _key(tensor: torch.Tensor) -> int | None:
    """What others may write without a trace, as through an array of NumPy, tells its first rows."""
    if not tensor.dim() or tensor.is_complex() or not readable(tensor):
        return None
    rows = row_keys(tensor.detach()[:_ROWS_READ])
    return None if rows is None else key_of(rows)


def _tell_apart(tensor: torch.Tensor) -> bool:
    if tensor.is_floating_point():
        return tells_apart(tensor)
    rows = tensor.reshape(len(tensor), -1)
    return bool(((rows.sort(1).values.diff(dim=1) != 0).sum(1) + 1 >= _TOKENS).float().mean() >= _SAME)
