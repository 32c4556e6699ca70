"""Which parameters a forward pass wrote to, where, and whether that undid what an optimizer had learned."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_doctor.findings import Location
from autograd_doctor.watching.parameter_writes import ParameterWrites, versions
from autograd_doctor.watching.places import locate
from autograd_doctor.watching.root_calls import RootCall
from autograd_doctor.watching.watch import Watch

_STEPS = 2
"""Steps in which every operation is looked at: the first may still build or initialise what the second uses."""
_VALUES = 1_000_000
"""Values of a parameter that are fingerprinted, in a few milliseconds."""
_PRIME = 65_521
"""The largest prime below 2**16, as Adler-32 uses it."""


class Written(NamedTuple):
    """`undone` hold what an earlier call had left in them, although a step lies between."""

    parameters: list[int]
    location: Location | None
    undone: list[int]


class ForwardWrites:
    """In the first steps every operation is looked at, which finds `.data` too; later only when a version moved."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._suspects: set[int] = set()
        self._left: dict[int, tuple[int, int]] = {}

    def begin(self, call: RootCall) -> None:
        """Arm a call: remember versions, and watch operations where they could be the ones that write."""
        numbers = ((self._watch.parameters.get(parameter), parameter) for parameter in call.module.parameters())
        call.parameters = [(number, parameter) for number, parameter in numbers if number is not None]
        call.versions = versions(call.parameters)
        conditions = call.conditions
        early = self._watch.step < _STEPS or conditions.module in self._suspects
        if early and call.parameters and conditions.training and conditions.grad_enabled:
            call.writes = ParameterWrites(call.parameters)

    def end(self, call: RootCall) -> Written:
        if self._watch.step != call.step or not call.parameters:
            return Written([], None, [])
        after = versions(call.parameters)
        found = call.writes.found if call.writes is not None else {}
        written = {number for number, before in call.versions.items() if after.get(number) != before} | set(found)
        if not written:
            return Written([], None, [])
        self._suspects.add(call.conditions.module)
        where = next((place for number, place in found.items() if number in written), None)
        return Written(sorted(written), locate(where), self._undone(call, written))

    def _undone(self, call: RootCall, written: set[int]) -> list[int]:
        undone = []
        for number, parameter in call.parameters:
            if number in written and parameter.numel() <= _VALUES:
                now = _fingerprint(parameter)
                step, before = self._left.get(number, (call.step, 0))
                if step < call.step and now == before:
                    undone.append(number)
                self._left[number] = (call.step, now)
        return sorted(undone)


def _fingerprint(tensor: torch.Tensor) -> int:
    """A number that two tensors share, but for rare chance, only if they are equal bit for bit."""
    values = tensor.detach().contiguous().flatten().view(torch.uint8).to(torch.int64)
    weights = torch.arange(values.numel(), device=values.device) * _PRIME % (2**31 - 1) + 1
    return int((values * weights).sum())
