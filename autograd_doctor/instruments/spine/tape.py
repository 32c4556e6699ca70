"""The operations of a step that is looked at closely, each recorded once, for all who ask what lies behind a loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import torch

from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import ARITHMETIC, LOOK_UPS, PRODUCTS, SCALING, SIGNED
from autograd_doctor.reading.live_values import LiveOp, LiveValue, live_value, look_at, tensor_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import LIKE_ANOTHER, Kind
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.spelling import spelt, with_options
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.signal import NamedSignal
from autograd_doctor.tape import FUNCTION, GRAD, Op, Value, drop, still_behind

_MOST = 20_000
"""Operations of a step that values which live came of: what comes after them is opaque."""
_READ_IN_SUMS = PRODUCTS - SCALING
"""Where it matters to what learns how large they are: in products of matrices, to a sum with weights."""
_PICKS = LOOK_UPS | {"embedding"}
"""What looks up by whole numbers, the last of the operands."""

_OWN = frozenset({bool, float, int, str})


class Tape(WithinStep):
    """`recorded` is sent for each operation, after it was put on the tape. It begins anew with each step.

    What `autograd.grad` gave is an operation on the input and the roots; a custom function is one, too.
    """

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        tensors: Tensors,
        lineage: Lineage,
        backward_runs: BackwardRuns,
        module_calls: ModuleCalls,
    ) -> None:
        self.recorded: NamedSignal[Op] = NamedSignal(site.signals.guard)
        self._ops: list[Op] = []
        self._count = 0
        self._swept_in_vain = False
        self._values: ValueTable[LiveValue] = ValueTable(site.signals.operations.version_found)
        super().__init__(site, course, detail)
        self._tensors = tensors
        self._lineage = lineage
        self._module_calls = module_calls

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._lineage.operated, self._operated)
        self.listen(signals.custom_functions.ended, self._function_ended, attention=Attention.CLOSE)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.CLOSE)

    def _forget(self) -> None:
        """Operations and values know one another: they part, so that nothing waits for the garbage collector."""
        for op in self._ops:
            op.forget()
        self._ops.clear()
        self._values.clear()
        self._count, self._swept_in_vain = 0, False

    def value(self, tensor: torch.Tensor) -> LiveValue:
        """What a tensor holds now; of what was not recorded nothing is known but that."""
        known = self._values.get(tensor)
        if known is not None:
            return known
        found = self._site.signals.operations.version_found(tensor)
        return self._put(tensor) if found == version_of(tensor) else self._changed(tensor, found)

    def _changed(self, tensor: torch.Tensor, found: int) -> LiveValue:
        """What a tensor held that is met first by the operation that is being told of, which has changed it."""
        value = self._new(tensor, has_graph(tensor))
        value.version = found
        self._values.put(tensor, value, found)
        return value

    def values(self, tensors: Iterable[torch.Tensor]) -> list[LiveValue]:
        return [self.value(tensor) for tensor in tensors]

    # --------------------------------------------------------------------------------------------------- operations

    def _operated(self, operation: Operation) -> None:
        if operation.kind is not Kind.OPERATION or self._course.running is not None:
            return
        if self._is_full():
            return
        name, _, in_place = spelt(operation.name)
        given, options = with_options(operation.name, operation.args, operation.kwargs)
        operands = self._operands(given[:1] if name in LIKE_ANOTHER else given)
        op = self._op(name, operation.name, operation.place, operands, options, in_place=in_place)
        written = operation.args[:1] if name == "__setitem__" else (operation.result,)
        self._record(op, tensors_in(written))

    def _is_full(self) -> bool:
        """Whether all that it can keep is still of use."""
        if len(self._ops) >= _MOST and not self._swept_in_vain:
            self._make_room()
            self._swept_in_vain = len(self._ops) > _MOST // 2
        if len(self._ops) < _MOST:
            return False
        self.limited(f"only the first {_MOST:,} operations of a step were recorded")
        return True

    def _make_room(self) -> None:
        """A rollout leaves little behind of each of its steps; what it does leave, in a buffer, is data in the end, as
        those are that an earlier step has left."""
        self._ops = still_behind(self._ops, _lives)
        on_data = [op for op in self._ops if not any(output.learns for output in op.outputs)]
        gone = set(on_data[: max(len(self._ops) - _MOST // 2, 0)])
        drop(gone)
        self._ops = [op for op in self._ops if op not in gone]

    def _function_ended(self, call: FunctionCall) -> None:
        """A custom function, whatever it did inside."""
        if self._course.running is None:
            op = self._op(FUNCTION, call.function.__name__, place(), self._operands(call.args), {})
            self._record(op, tensors_in([call.result]))

    def _backward_ended(self, call: BackwardCall) -> None:
        """Derivatives that the program asked for: each of the roots by one input, as `backward_runs` knows them."""
        if call.kind != "grad":
            return
        for given, slope in zip(call.inputs, call.result, strict=False):
            if isinstance(slope, torch.Tensor) and isinstance(given, torch.Tensor):
                options = {"create_graph": call.create_graph}
                operands = self._operands((given, *call.roots))
                self._record(self._op(GRAD, GRAD, place(), operands, options), [slope])

    def _op(
        self,
        name: str,
        called: str,
        where: Place | None,
        operands: tuple[Any, ...],
        options: Mapping[str, Any],
        *,
        in_place: bool = False,
    ) -> LiveOp:
        plain = _plain_ones(options) if options else {}
        module = self._module_calls.innermost()
        return LiveOp(name, called, operands, plain, self._count, in_place, module, place=where)

    def _operands(self, given: Iterable[Any]) -> tuple[Any, ...]:
        found: list[Any] = []
        for each in given:
            if issubclass(type(each), torch.Tensor):
                found.append(self.value(each))
            elif (number := None if isinstance(each, torch.Tensor | str) else _python_own(each)) is not None:
                found.append(number)
            else:
                found += self.values(tensors_in([each]))
        return tuple(found)

    def _record(self, op: Op, outputs: Iterable[torch.Tensor]) -> None:
        self._ops.append(op)
        self._count += 1
        op.made(*(self._put(tensor) for tensor in outputs))
        if op.outputs:
            _look_beside(op)
            self.recorded.relay(op)

    def _put(self, tensor: torch.Tensor) -> LiveValue:
        """What an operation made, or what it was given back, as by `x.to("cpu")`.

        What the forward of a custom function has computed gets its backward node when that is over.
        """
        known, learns = self._values.now(tensor), has_graph(tensor)
        if known is not None and known.learns == learns:
            return known
        value = self._new(tensor, learns)
        self._values.put(tensor, value)
        return value

    def _new(self, tensor: torch.Tensor, learns: bool) -> LiveValue:
        own = self._tensors.parameter_bit(tensor) if tensor.requires_grad and not learns else 0
        return live_value(tensor, learns=learns, provenance=self._tensors.get(tensor), own=own)


def _lives(value: Value) -> bool:
    return tensor_of(value) is not None


def _plain_ones(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that can be written down."""
    own = {key: _python_own(value) for key, value in options.items()}
    return {key: value for key, value in own.items() if value is not None or options[key] is None}


def _python_own(value: object) -> str | int | float | None:
    """A number or a word as one of Python's own types, which can be written down: NumPy's are not. None for others."""
    if isinstance(value, str | int | float) and type(value) in _OWN:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else None


def _look_beside(op: Op) -> None:
    """At data that scale or shift what learns, at what picks from a tensor, and at labels that have a sign."""
    is_sum = op.name in _READ_IN_SUMS and len(op.output.shape) < 2
    if op.output.learns and (op.name in ARITHMETIC or is_sum):
        for value in op.plain:
            look_at(value)
    elif op.name in _PICKS:
        for value in op.plain[-1:]:
            if value.kind == "int":
                look_at(value)
    elif op.name in SIGNED:
        for value in op.plain[-1:]:
            look_at(value)
