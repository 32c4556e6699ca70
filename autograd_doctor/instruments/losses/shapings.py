"""Which operation gave each living tensor with a graph its values: a softmax, a sigmoid, a layer.

It is known in steps that are looked at closely, and followed through all that moves values and does not change them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.operations import JOINS, MOVES, STATES
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import Kind, traits
from autograd_doctor.reading.shaping import Shaped, shaped
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation


class Shapings(Instrument):
    """Answers `of` for other instruments."""

    def __init__(self, site: Site, detail: Detail, lineage: Lineage) -> None:
        super().__init__(site)
        self._detail = detail
        self._lineage = lineage
        self._shaped: ValueTable[Shaped] = self.value_table()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended)
        self.listen(self._detail.focused, self._turned)

    def of(self, tensor: torch.Tensor) -> Shaped | None:
        return self._shaped.get(tensor)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps did in place is not known."""
        self._shaped.clear()

    def _operation_ended(self, operation: Operation) -> None:
        if operation.kind is not Kind.OPERATION:
            return
        name, result = operation.name, operation.result
        if name == "__setitem__":
            self._written(operation)
        elif name in STATES:
            self._states(operation)
        elif isinstance(result, torch.Tensor):
            if result.requires_grad:
                self._made(operation, result)
        elif isinstance(result, tuple | list) and name in MOVES:
            self._moved(operation, tensors_in((result,)))

    def _moved(self, operation: Operation, outputs: list[torch.Tensor]) -> None:
        """Several views of one tensor, or one of each."""
        inputs = tensors_in(operation.args)
        one_by_one = traits(operation.name).one_by_one
        for source, output in zip(inputs if one_by_one else inputs[:1] * len(outputs), outputs, strict=False):
            self._put(output, self._shaped.get(source))

    def _made(self, operation: Operation, output: torch.Tensor) -> None:
        name, args, values = operation.name, operation.args, operation.inputs
        before = self._shaped.get(values[0]) if values else None
        if name in MOVES:
            self._put(output, before)
        elif name in JOINS:
            self._put(output, self._common(values))
        else:
            if name == "logsumexp" and before is not None:
                before.is_normalised_elsewhere = True
            second = self._shaped.get(values[1]) if len(values) > 1 else None
            self._put(output, shaped(name, args, operation.kwargs, operation.place, output, before, second))

    def _states(self, operation: Operation) -> None:
        """Of a recurrent layer, unless it begins with a state from further out; those of an LSTM beside its cells, and
        before they are mapped to fewer."""
        *states, last = tensors_in((operation.result,))
        is_gated = operation.name.startswith("lstm")
        if is_gated and states[0].shape[-1] != last.shape[-1]:
            return
        if operation.name.startswith("gru") and not self._begins_within(operation.args[1]):
            return
        for state in states if is_gated else (*states, last):
            if state.requires_grad:
                self._put(state, shaped(operation.name, (), {}, operation.place, state, None))

    def _begins_within(self, state: object) -> bool:
        """Whether what a recurrent layer goes on from is such a state, or data that are not beyond those."""
        if not isinstance(state, torch.Tensor) or not state.is_floating_point():
            return False
        known = self._shaped.get(state)
        if state.requires_grad or is_remote(state) or not readable(state):
            return known is not None and known.operation.startswith("gru")
        return bool((state.abs() <= 1).all())

    def _common(self, values: Sequence[torch.Tensor]) -> Shaped | None:
        """What gave all of these their values, if it was the same operation."""
        known = [self._shaped.get(value) for value in values]
        operations = {each.operation if each is not None else None for each in known}
        return known[0] if len(operations) == 1 else None

    def _written(self, operation: Operation) -> None:
        """Rows of a tensor that are filled in one after the other, as a decoder does, are shaped like each of them."""
        target, value = operation.args[0], operation.args[-1]
        new = self._shaped.get(value) if isinstance(value, torch.Tensor) else None
        old = self._shaped.get(target)
        same = old is None or (new is not None and new.operation == old.operation)
        self._put(target, new if same else None)

    def _put(self, output: torch.Tensor, known: Shaped | None) -> None:
        if known is None:
            self._shaped.discard(output)
        else:
            self._shaped.put(output, known)
