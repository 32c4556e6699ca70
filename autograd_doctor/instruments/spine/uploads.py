"""What the program moves onto an accelerator: its values are known without it."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.operations import UPLOADS
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.subclasses import bytes_of, version_of
from autograd_doctor.reading.tensor_facts import came_home, is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.moves import MoveCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.optimizers import StepCall

_MOST_ELEMENTS = 1_000_000
"""Of a batch, so that it is copied in a millisecond."""
_MOST_HELD = 64
_MOST_BYTES = 2**22
"""Of a batch that is kept."""


class _Moved(NamedTuple):
    """What was moved, and the versions that it and its copy on the accelerator then had. steps: that ended since."""

    source: torch.Tensor
    version: int
    copied: int
    steps: int = 0


class Uploads(Instrument):
    """Knows of what the batches that live on an accelerator are copies.

    Operations tell of them in steps that are looked at closely, in which a copy is kept for whoever looks at them. As
    soon as there was one, calls are heard of in all steps. What was moved is kept for a step, and a copy of it
    afterwards, so that nothing large stays alive that it may be a part of.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._moves = site.signals.moves
        self._moved: IdentityTable[_Moved] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._ended, names=UPLOADS, attention=Attention.CLOSE)
        self.listen(signals.steps.ended, self._step_ended, last=True)

    def detach(self) -> None:
        self._moved.clear()
        super().detach()

    def at_home(self, tensor: torch.Tensor) -> torch.Tensor:
        """That of which a tensor is a copy, or shows a part, if both are as they were then; otherwise the tensor."""
        base = tensor._base
        moved = self._moved.get(tensor if base is None else base)
        if moved is None or moved.copied != version_of(tensor) or moved.version != version_of(moved.source):
            return tensor
        if base is None:
            return moved.source
        if base.stride() != moved.source.stride() or base.shape != moved.source.shape:
            return tensor
        offset = tensor.storage_offset() - base.storage_offset() + moved.source.storage_offset()
        return moved.source.as_strided(tensor.size(), tensor.stride(), offset)

    def _step_ended(self, call: StepCall) -> None:
        for tensor, moved in list(self._moved.items()):
            if moved.version != version_of(moved.source):
                self._moved.discard(tensor)
            elif moved.steps == 0:
                self._moved.put(tensor, moved._replace(steps=1))
            elif moved.steps == 1:
                copy = moved.source.clone()
                self._moved.put(tensor, _Moved(copy, version_of(copy), moved.copied, steps=2))

    def _called(self, call: MoveCall) -> None:
        if call.result is not None:
            self._note(call.tensor, call.result)

    def _ended(self, operation: Operation) -> None:
        given, moved = next(iter(operation.args), None), operation.result
        if not (isinstance(given, torch.Tensor) and isinstance(moved, torch.Tensor)) or not self._note(given, moved):
            return
        self.listen(self._moves.ended, self._called)
        if given.numel() <= _MOST_ELEMENTS:
            came_home(moved, given.detach().to(moved.dtype, copy=True))

    def _note(self, given: torch.Tensor, moved: torch.Tensor) -> bool:
        """Whether this is a copy, on an accelerator, of something on the CPU."""
        if not is_remote(moved) or is_remote(given) or not readable(moved) or not readable(given):
            return False
        if not given.numel() or given.shape != moved.shape:
            return False
        is_same = given.dtype is moved.dtype and not given.requires_grad
        if is_same and bytes_of(given) <= _MOST_BYTES and len(self._moved) < _MOST_HELD:
            self._moved.put(moved, _Moved(given, version_of(given), version_of(moved)))
        return True
