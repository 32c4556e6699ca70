"""Losses for which the token that sequences end with never counts, because they are filled up with the same one."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import EndIgnored
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import CLASSES, IGNORED, LOSSES
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, behind

_MOST_CALLS = 16
"""In one step, the newest: a loss follows its forward."""
_MOST_FILLED = 64
"""Batches that were put together of sequences, the newest: some programs make them all before the first step."""
_MOST_ELEMENTS = 2**20
_MOST_TOLD = 16


@dataclass(frozen=True, slots=True)
class _EndedCall:
    """A call of a root in training with `tokens`, of which most rows that `shown` shows end with `value`.

    tokens, shown: (batch, time). ended: how many rows end so. What is not shown is filled with the same value. closing:
    the token before that, where most rows have the same one: it may be the one that ends what is written.
    """

    module: int
    place: Place | None
    tokens: torch.Tensor
    shown: torch.Tensor
    value: int
    ended: int
    closing: int | None


class _Filled(NamedTuple):
    """Sequences that were filled up to one length, batch first, and which positions these sequences have themselves."""

    tokens: torch.Tensor
    shown: torch.Tensor


class SequenceEnds(Instrument):
    """Listens to losses over classes, in steps that are looked at closely, in which ends are told from filling: by a
    mask, or by the sequences of which a batch was seen to be put together.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (EndIgnored,)

    def __init__(self, site: Site, course: Course, tape: Tape, lineage: Lineage, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._lineage = lineage
        self._module_calls = module_calls
        self._calls: list[_EndedCall] = []
        self._filled: deque[_Filled] = deque(maxlen=_MOST_FILLED)
        self._written: IdentityTable[dict[int, int]] = IdentityTable()
        """Of batches that sequences are written into, how long that in each row is."""
        self._pending: list[EndIgnored] = []
        self._losses: set[Place | None] = set()
        self._told = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._padded, names={"pad_sequence"})
        self.listen(self._lineage.operated, self._row_written, names={"__setitem__"})
        self.listen(self._lineage.operated, self._operation_ended, names=LOSSES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        """Where something else than the next token is learned in the same step, that may be the end, or its purpose."""
        if len(self._losses) == 1:
            for event in self._pending:
                self._told += 1
                self.emit(event)
        self._calls, self._pending = [], []
        self._losses.clear()

    def _padded(self, operation: Operation) -> None:
        given, result = operation.args[0], operation.result
        tokens = result if operation.args[1:2] == (True,) else result.transpose(0, 1)
        if _is_of_sequences(tokens):
            self._note_filled(tokens, [len(each) for each in given])

    def _row_written(self, operation: Operation) -> None:
        """Each row of a batch has what it was given from its beginning on: `ids[i, : len(row)] = row`."""
        whole, key, row = operation.args
        if not isinstance(row, torch.Tensor) or row.dim() != 1 or not _is_row(key) or not _is_of_sequences(whole):
            return
        lengths = self._written.get(whole) or {}
        lengths[key[0] % len(whole)] = len(row)
        self._written.put(whole, lengths)
        if len(lengths) == len(whole):
            self._note_filled(whole, [lengths[each] for each in range(len(whole))])

    def _note_filled(self, tokens: torch.Tensor, lengths: list[int]) -> None:
        own = at_home(tokens).clone()
        shown = torch.arange(own.shape[1], device="cpu") < torch.tensor(lengths, device="cpu").unsqueeze(1)
        if not bool(shown.all()) and min(lengths) > 1 and _end_once(own, shown):
            self._filled.append(_Filled(own, shown))

    def _root_began(self, began: RootBegan) -> None:
        if not began.call.grad_enabled or self._told >= _MOST_TOLD:
            return
        sequences = [at_home(tensor) for tensor in began.given if _is_of_sequences(tensor)]
        masks = [shown for tensor in sequences if (shown := _shown(tensor)) is not None]
        masked = [_Filled(tokens, shown) for shown, tokens in product(masks, sequences) if tokens.shape == shown.shape]
        found = (_beside(filled, tokens) for filled, tokens in product(self._filled, sequences))
        for tokens, shown in [*masked, *filter(None, found)]:
            ended = _ended(tokens, shown)
            if ended is not None:
                call = _EndedCall(began.module, began.where, tokens, shown, *ended)
                self._calls = [*self._calls[1 - _MOST_CALLS :], call]

    def _operation_ended(self, operation: Operation) -> None:
        if not self._calls or self._course.running is not None:
            return
        self._losses.add(operation.place)
        if operation.name not in CLASSES:
            return
        arguments = dict(zip(("input", "target"), operation.args, strict=False)) | operation.kwargs
        target, ignored = arguments.get("target"), arguments.get("ignore_index", IGNORED)
        if not isinstance(target, torch.Tensor) or target.is_floating_point() or not _is_small(target):
            return
        wanted = at_home(target)
        for call in reversed(self._calls):
            counted = _counted(call, wanted, ignored)
            if counted is not None:
                self._pending.append(self._event(call, operation, target, counted, ignored))
                return

    def _event(
        self, call: _EndedCall, operation: Operation, target: torch.Tensor, counted: int, ignored: int
    ) -> EndIgnored:
        made = behind([self._tape.value(target)], live=False)
        marks = next((op for op in made if _marks(op, call.value, ignored)), None)
        return EndIgnored(
            step=self._course.steps,
            module=call.module,
            name=variable_name(target),
            token=call.value,
            rows=len(call.tokens),
            ended=call.ended,
            counted=counted,
            location=locate(operation.place),
            called_at=locate(call.place),
            marked_at=marks.location if marks is not None else None,
        )


def _marks(op: Op, token: int, ignored: int) -> bool:
    """Whether it writes what the loss ignores wherever a token stands: `labels[labels == pad] = -100`."""
    masks = (value.by for value in op.values if value.kind == "bool")
    return ignored in op.numbers and any(by is not None and by.name == "eq" and token in by.numbers for by in masks)


def _is_small(tensor: torch.Tensor) -> bool:
    return readable(tensor) and 0 < tensor.numel() <= _MOST_ELEMENTS


def _is_of_sequences(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 2 and not tensor.is_floating_point() and not tensor.is_complex() and _is_small(tensor)


def _shown(mask: torch.Tensor) -> torch.Tensor | None:
    """The positions that a mask of ones and zeros shows: one run in each row, and not all positions of all rows."""
    shown = mask.bool()
    edges = shown.int().diff(dim=1).ne(0).sum(dim=1)
    is_mask = bool((mask == shown).all()) and not bool(shown.all()) and bool(shown.any(dim=1).all())
    return shown if is_mask and bool((edges <= 1).all()) else None


def _is_row(key: Any) -> bool:
    """Whether it stands for the beginning of one row."""
    return (
        isinstance(key, tuple)
        and len(key) == 2
        and type(key[0]) is int
        and isinstance(key[1], slice)
        and key[1].start in (None, 0)
        and key[1].step in (None, 1)
    )


def _end_once(tokens: torch.Tensor, shown: torch.Tensor) -> bool:
    """Whether each sequence ends with the token that it is filled up with, and has it once there: what was filled up
    before to some length has it any number of times. The longest may have been cut off."""
    last = shown.sum(dim=1, keepdim=True) - 1
    is_filling = tokens == tokens[~shown][0]
    ends = (is_filling.gather(1, last) & ~is_filling.gather(1, last - 1))[:, 0]
    return bool((ends | shown.all(dim=1)).all())


def _beside(filled: _Filled, given: torch.Tensor) -> _Filled | None:
    """What a root is given of sequences: all, all but the last position, or those that come before these, as next
    tokens; then with the first of each in front. None if it is none of it."""
    tokens, shown = filled
    if len(given) != len(tokens) or given.dtype != tokens.dtype:
        return None
    if given.shape[1] in (tokens.shape[1], tokens.shape[1] - 1) and torch.equal(given, tokens[:, : given.shape[1]]):
        return filled
    if given.shape != tokens.shape or not bool((given[:, 1:] == tokens[:, :-1])[shown[:, 1:]].all()):
        return None
    first = given[:, :1]
    return _Filled(torch.cat([first, tokens], dim=1), torch.cat([torch.ones_like(first, dtype=torch.bool), shown], 1))


def _ended(tokens: torch.Tensor, shown: torch.Tensor) -> tuple[int, int, int | None] | None:
    """The value that fills what is not shown, how many rows end with it, and the token that most have before it.

    None if less than half of the rows end so.
    """
    filling = tokens[~shown]
    value = int(filling[0])
    places = torch.arange(tokens.shape[1], device="cpu").where(shown, -1).argmax(dim=1, keepdim=True)
    ends = (tokens.gather(1, places) == value)[:, 0]
    ended = int(ends.sum())
    if value < 0 or not bool((filling == value).all()) or not 2 * ended >= len(tokens) > 1:
        return None
    before = tokens.gather(1, (places - 1).clamp_min(0))[ends, 0]
    closing = int(before.mode().values)
    return value, ended, closing if 2 * int((before == closing).sum()) > ended else None


def _counted(call: _EndedCall, target: torch.Tensor, ignored: Any) -> int | None:
    """How many targets count; None unless they are the next tokens of the call, and none is its end, or closes it."""
    rows, length = call.tokens.shape
    if target.numel() not in (rows * length, rows * (length - 1)):
        return None
    wanted, tokens = target.reshape(rows, -1)[:, : length - 1], call.tokens[:, 1:]
    counts = wanted.ne(ignored)
    ends = (call.shown & (call.tokens == call.value))[:, 1:]
    is_next = bool(counts.any()) and bool((wanted == tokens)[counts].all())
    closes = call.closing is not None and bool((tokens[counts] == call.closing).any())
    return int(counts.sum()) if is_next and not closes and not bool((counts & ends).any()) else None
