"""What operations have made of the results of a call, made again of those of a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.call_copies import CopiedCall
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place
from autograd_doctor.reading.recorded_calls import Listening
from autograd_doctor.reading.subclasses import dispatches
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Undecided

_MOST = 2_000
"""Values of a step."""
_MOST_COPIED = 2**16
"""Numbers of a result."""
_MOST_BESIDE = 2**20
"""Numbers of a tensor that an operation takes in beside them."""


@dataclass(eq=False, slots=True)
class Made:
    """A value that came of results of calls. No tensor that did is kept.

    number: what was made of it has a larger one. by: what made it, as the so manieth of its results; None for what
    came out of a call, and of nothing that is known. result_of: the calls that returned it, as the so manieth.
    numbers: a copy of what came out of a call, where it is small.
    """

    number: int
    by: _Deed | None = None
    position: int = 0
    result_of: dict[int, int] = field(default_factory=dict)
    numbers: torch.Tensor | None = None


@dataclass(eq=False, slots=True)
class _Deed:
    """An operation, with a `Made` in place of each tensor that is one, and the others without their graphs."""

    function: Callable[..., Any]
    args: Any
    kwargs: Any

    def again(self, values: Mapping[int, torch.Tensor]) -> list[torch.Tensor]:
        args, kwargs = _with_values(self.args, values), _with_values(self.kwargs, values)
        return tensors_in([self.function(*args, **kwargs)])


class Within(NamedTuple):
    """What an operation inside a call takes in: its name and line, how many like it came before, and which operand."""

    name: str
    place: Place | None
    before: int
    position: int


class Makings:
    """What is made of the results of calls, operation by operation; a change in place of one ends what is known."""

    def __init__(self, table: ValueTable[Made]) -> None:
        self._made = table
        self._count = 0

    def clear(self) -> None:
        self._made.clear()
        self._count = 0

    def of(self, tensor: torch.Tensor) -> Made | None:
        return self._made.get(tensor)

    def returned(self, results: Sequence[torch.Tensor], call: int) -> None:
        """A call has returned these, be they known already or not."""
        for position, tensor in enumerate(results):
            known = self._made.now(tensor) or self._put(tensor, None, 0)
            known.result_of.setdefault(call, position)
            if known.by is None and known.numbers is None and tensor.numel() <= _MOST_COPIED and readable(tensor):
                known.numbers = tensor.detach().clone()

    def __len__(self) -> int:
        return len(self._made)

    def operated(self, function: Callable[..., Any], args: Any, kwargs: Any, results: Sequence[torch.Tensor]) -> None:
        """An operation on some of them has given these."""
        if self._count >= _MOST:
            return
        try:
            deed = _Deed(function, self._kept(tuple(args)), self._kept(kwargs))
        except Undecided:
            return
        for position, tensor in enumerate(results):
            self._put(tensor, deed, position)

    def _put(self, tensor: torch.Tensor, deed: _Deed | None, position: int) -> Made:
        self._count += 1
        made = Made(self._count, deed, position)
        self._made.put(tensor, made)
        return made

    def _kept(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            made = self.of(value)
            if made is None and (value.numel() > _MOST_BESIDE or dispatches(value)):
                raise Undecided("an operation on its result takes in what is too large, or no plain tensor")
            return made or value.detach()
        if type(value) in (list, tuple):
            return type(value)(map(self._kept, value))
        if type(value) is dict:
            return {key: self._kept(each) for key, each in value.items()}
        if tensors_in([value]):
            raise Undecided("an operation on its result takes in tensors in what cannot be copied")
        return value


def made_again(value: Made | Within, number: int, call: CopiedCall) -> torch.Tensor:
    """The value that a copy of a call comes to, or operations on its results, and on those of other calls as they were.

    Raises `Undecided` where these are not known any more.
    """
    if isinstance(value, Within):
        return _met_within(value, call)
    needed = sorted(_needed(value, number), key=lambda each: each.number)
    results = tensors_in([call.made()], EVERYTHING)
    found: dict[int, torch.Tensor] = {}
    for each in needed:
        found[each.number] = _made_now(each, number, results, found)
    return found[value.number]


def _made_now(
    value: Made, number: int, results: Sequence[torch.Tensor], found: Mapping[int, torch.Tensor]
) -> torch.Tensor:
    if number in value.result_of:
        made, position = results, value.result_of[number]
    elif value.by is not None:
        made, position = value.by.again(found), value.position
    else:
        made, position = [] if value.numbers is None else [value.numbers], 0
    if position >= len(made):
        raise Undecided("a copy does not return what it has returned, or what others have is not known")
    return made[position]


def _met_within(value: Within, call: CopiedCall) -> torch.Tensor:
    found: list[torch.Tensor] = []

    def began(name: str, where: Place | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        operands = operands_of(args, kwargs) if (name, where) == (value.name, value.place) else None
        if operands is not None:
            found.append(operands[value.position])

    with Listening(began):
        call.made()
    if value.before >= len(found):
        raise Undecided("a copy does not compare what it has compared")
    return found[value.before]


def _needed(value: Made, call: int) -> Iterator[Made]:
    waiting, met = [value], set[Made]()
    while waiting:
        each = waiting.pop()
        if each in met:
            continue
        met.add(each)
        yield each
        if call not in each.result_of and each.by is not None:
            waiting += _made_in((each.by.args, each.by.kwargs))


def _made_in(value: Any) -> Iterator[Made]:
    if isinstance(value, Made):
        yield value
    elif type(value) in (list, tuple, dict):
        for each in value.values() if type(value) is dict else value:
            yield from _made_in(each)


def _with_values(value: Any, values: Mapping[int, torch.Tensor]) -> Any:
    """Arguments with copies of all tensors: an operation may write to what it is given."""
    if isinstance(value, Made | torch.Tensor):
        return (values[value.number] if isinstance(value, Made) else value).clone()
    if type(value) in (list, tuple):
        return type(value)(_with_values(each, values) for each in value)
    if type(value) is dict:
        return {key: _with_values(each, values) for key, each in value.items()}
    return value
