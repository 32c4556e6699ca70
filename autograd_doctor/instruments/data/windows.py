"""Targets that are the last values of the windows that are to tell them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.data import TargetInWindow
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootPassed
from autograd_doctor.operations import COMPARING, DIFFERENCES
from autograd_doctor.reading.call_copies import copied_call
from autograd_doctor.reading.later import end_comes_through, heeds_end
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.made_again import Made, Makings, Within, made_again
from autograd_doctor.reading.module_tree import has_parameters, modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation

_MOST_CALLS = 16
"""In one step, the newest."""
_MOST_ELEMENTS = 2**18
_LEAST = 4
"""Rows, moments and different targets: fewer agree by chance."""
_CHANCE = 0.01
"""Of one run of tokens that comes again in another row, if they were drawn one by one."""
_MOST_TOLD = 16


class _Call(NamedTuple):
    """number: of the call, in its step. modes: of the modules in the root, in their order, whether they train."""

    number: int
    root: nn.Module
    module: int
    place: Place | None
    given: torch.Tensor
    args: Any
    kwargs: Any
    modes: Sequence[bool]


class _Compared(NamedTuple):
    """What a loss compares with the target, and where."""

    step: int
    place: Place | None
    value: Made | Within


class Windows(Instrument):
    """Compares, in steps that are looked at closely, what goes into models with what their results are compared with.

    given: a root takes (batch, time), (batch, time, values) or (time, batch, values); of tokens, (batch, time).
    """

    emits: ClassVar[tuple[type[Event], ...]] = (TargetInWindow,)

    def __init__(
        self, site: Site, course: Course, late_values: LateValues, lineage: Lineage, module_calls: ModuleCalls
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._late_values = late_values
        self._lineage = lineage
        self._module_calls = module_calls
        self._calls: list[_Call] = []
        self._count = 0
        self._running: ModuleCall | None = None
        self._inside: Counter[tuple[str, Place | None]] = Counter()
        """Comparisons in the root that is running."""
        self._makings = Makings(self.value_table())
        self._told = 0
        self._copies: IdentityTable[dict[Place | None, bool]] = IdentityTable()
        """Of roots that were tried, by the lines of losses, whether they have only to copy."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._module_calls.root_passed, self._root_passed, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operated)
        self.listen(self._lineage.operated, self._operation_ended, names=COMPARING | DIFFERENCES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _root_began(self, began: RootBegan) -> None:
        self._running = None
        if not began.call.grad_enabled or self._told >= _MOST_TOLD:
            return
        if not has_parameters(began.call.module):
            return
        for tensor in began.given:
            ranks = (2, 3) if tensor.is_floating_point() else (2,)
            if _is_read(tensor) and tensor.dim() in ranks and min(tensor.shape[:2]) >= _LEAST:
                self._note(began, tensor)

    def _note(self, began: RootBegan, given: torch.Tensor) -> None:
        call = began.call
        if self._running is None:
            self._running, self._count = call, self._count + 1
            self._inside.clear()
        own, modes = given.detach().clone(), [module.training for _, module in modules_in(call.module)]
        noted = _Call(self._count, call.module, began.module, began.where, own, call.args, call.kwargs, modes)
        self._calls = [*self._calls[1 - _MOST_CALLS :], noted]

    def _root_passed(self, passed: RootPassed) -> None:
        if passed.call.call is self._running:
            self._makings.returned(tensors_in([self._running.output], EVERYTHING), self._count)
        self._running = None

    def _operated(self, operation: Operation) -> None:
        """Batch statistics make all samples depend on one another: what they make is not followed."""
        if not self._makings or operation.kind is not Kind.OPERATION or operation.name == "batch_norm":
            return
        if self._course.running is None and any(map(self._makings.of, operation.inputs)):
            self._makings.operated(operation.function, operation.args, operation.kwargs, tensors_in([operation.result]))

    def _value(self, operation: Operation, pair: Sequence[torch.Tensor], position: int) -> Made | Within | None:
        """How to come to what is compared, one of two, on a copy."""
        made = self._makings.of(pair[position])
        if made is not None or self._running is None:
            return made
        return Within(operation.name, operation.place, self._inside[operation.name, operation.place] - 1, position)

    def _operation_ended(self, operation: Operation) -> None:
        pair = operands_of(operation.args, operation.kwargs) if self._calls else None
        if pair is not None and self._running is not None:
            self._inside[operation.name, operation.place] += 1
        given = [each for each in pair if not has_graph(each)] if pair is not None else []
        target = given[0] if len(given) == 1 else None  # of two, none is a prediction that is to learn
        if pair is None or target is None or not _is_read(target) or self._course.running is not None:
            return
        value = self._value(operation, pair, 1 if target is pair[0] else 0)
        if value is None:
            return
        calls, compared = self._calls[::-1], _Compared(self._course.steps, operation.place, value)
        named = variable_name(target) if is_remote(target) else None

        def look(target: torch.Tensor, *given: torch.Tensor) -> None:
            values = target.detach().double().reshape(target.shape[0] if target.dim() else 1, -1)
            alike = (pair for pair in zip(calls, given, strict=True) if _are_tokens(pair[1]) == _are_tokens(target))
            for call, windows in alike:
                found = _found(windows, values)
                if found is not None and len(values.unique(dim=0)) >= _LEAST:
                    self._tell(compared, call, variable_name(target) if named is None else named, *found)
                    return

        self._late_values.bring(self, [target, *(call.given for call in calls)], look)

    def _tell(self, compared: _Compared, call: _Call, name: str, windows: torch.Tensor, channel: int | None) -> None:
        if not self._has_only_to_copy(compared, call, batch_first=len(windows) == call.given.shape[0]):
            return
        self._told += 1
        self.emit(
            TargetInWindow(
                step=compared.step,
                module=call.module,
                name=name,
                rows=windows.shape[0],
                length=windows.shape[1],
                channel=channel,
                recurring=_recurring_runs(windows[:, :, 0])
                if _are_tokens(windows)
                else _recurring(windows if channel is None else windows[:, :, channel]),
                location=locate(compared.place),
                called_at=locate(call.place),
            )
        )

    def _has_only_to_copy(self, compared: _Compared, call: _Call, *, batch_first: bool) -> bool:
        """Whether what is compared depends on the last values, and these come to the parameters of the root as they
        are: a forward may keep them from its model, change them at random, or answer for an earlier place."""
        known = self._copies.get(call.root) or {}
        if compared.place not in known:
            known[compared.place] = self._tried(compared.value, call, 1 if batch_first else 0)
            self._copies.put(call.root, known)
        return known[compared.place]

    def _tried(self, value: Made | Within, call: _Call, dim: int) -> bool:
        try:
            with self._guard.looking():
                copied, values = copied_call(call.root, call.args, call.kwargs, call.given)
                if not heeds_end(copied, values, dim, partial(made_again, value, call.number)):
                    return False
                for (_, module), training in zip(modules_in(copied.module), call.modes, strict=False):
                    module.training = training
                return end_comes_through(copied, values, dim)
        except Undecided:
            return False
        except Exception as error:
            self.limited(failure_of_copy(error))
            return False

    def _step_taken(self, course: Course) -> None:
        self._calls, self._running = [], None
        self._makings.clear()


def _is_read(tensor: torch.Tensor) -> bool:
    is_small = 0 < tensor.numel() <= _MOST_ELEMENTS
    return (tensor.is_floating_point() or _are_tokens(tensor)) and is_small and readable(tensor)


def _are_tokens(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int32, torch.int64)


def _found(given: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, int | None] | None:
    """The windows, batch first, of which these values are the last ones, and in which channel; None if they are not.

    values: (batch, wanted), of float64, as an older torch compares tensors of one dtype only.
    """
    orders = [given.unsqueeze(2)] if given.dim() == 2 else [given, given.transpose(0, 1)]
    for windows in orders:
        last = windows[:, -1].double()
        if len(last) != len(values) or windows.shape[1] < _LEAST or torch.equal(windows[:, -2].double(), last):
            continue
        if torch.equal(last, values):
            return windows, None
        channels = (last == values).all(0) if values.shape[1] == 1 else torch.zeros(0, device="cpu")
        if bool(channels.any()):
            return windows, int(channels.nonzero()[0])
    return None


def _recurring(windows: torch.Tensor) -> int:
    """How many values stand in several rows; zeros, with which sequences are filled up, do not count."""
    flat = windows.flatten(1)
    rows = torch.arange(len(flat), device="cpu").unsqueeze(1).expand_as(flat)
    pairs = torch.stack([flat.double(), rows.double()], dim=-1).reshape(-1, 2).unique(dim=0)
    values, counts = pairs[:, 0].unique(return_counts=True)
    return int(((counts > 1) & (values != 0)).sum())


def _recurring_runs(tokens: torch.Tensor) -> int:
    """How many runs of tokens stand in several rows, so long that those of tokens that were drawn one by one would
    hardly ever. What sequences are filled up with, one and the same beside itself, is in none.
    """
    rows, length = tokens.shape
    kinds, runs = len(tokens.unique()), rows * length
    long = 1 + math.ceil(math.log(runs**2 / _CHANCE) / math.log(max(kinds, 2)))
    if long > length:
        return 0
    parts = tokens.unfold(1, long, 1)
    row = torch.arange(rows, device="cpu").view(-1, 1, 1).expand(*parts.shape[:2], 1)
    changing = (parts[..., 1:] != parts[..., :-1]).all(-1)
    each = torch.cat([parts, row], -1)[changing].unique(dim=0)
    _, counts = each[:, :-1].unique(dim=0, return_counts=True)
    return int((counts > 1).sum())
