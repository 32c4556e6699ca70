"""What the program moves onto an accelerator in steps that are looked at closely: its values are known without it."""

from __future__ import annotations

import torch

from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.operations import UPLOADS
from autograd_doctor.reading.tensor_facts import came_home, is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MOST_ELEMENTS = 1_000_000
"""Of a batch, so that it is copied in a millisecond."""


class Uploads(Instrument):
    """Keeps a copy of each batch until the step ends, for whoever looks at it on the accelerator."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._ended, names=UPLOADS, attention=Attention.CLOSE)

    def _ended(self, operation: Operation) -> None:
        given, moved = next(iter(operation.args), None), operation.result
        if not (isinstance(given, torch.Tensor) and isinstance(moved, torch.Tensor)):
            return
        if not is_remote(moved) or is_remote(given) or not readable(moved) or not readable(given):
            return
        if 0 < given.numel() <= _MOST_ELEMENTS and given.shape == moved.shape:
            came_home(moved, given.detach().to(moved.dtype, copy=True))
