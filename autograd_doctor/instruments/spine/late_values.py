"""Numbers that lie on accelerators, read when they have come home: no step waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.reading.transfers import Transfer
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall

_SENT_TOGETHER = 16
"""Questions that are sent for in one copy: so many that each costs little, so few that what they tell is news."""
Then = Callable[[Sequence[Any]], None]
"""Is given the values of the tensors that were asked for, as numbers and lists of them."""


class _Asked(NamedTuple):
    asker: Instrument
    tensors: Sequence[torch.Tensor]
    then: Then


class LateValues(Instrument):
    """Sends for values that others ask for, and answers them in the order in which they asked.

    What lies on the CPU is answered at once, unless somebody who has asked before is still waiting.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._waiting: list[_Asked] = []
        self._sent: tuple[Transfer, Sequence[_Asked]] | None = None
        self._is_over = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began)

    def finish(self) -> None:
        """Whoever asks from now on is waited for."""
        self._is_over = True
        while self._sent is not None or self._waiting:
            self._receive()
            self._send()

    def ask(self, asker: Instrument, tensors: Sequence[torch.Tensor], then: Then) -> None:
        """Call `then` with the values of small dense tensors that nobody else writes to, and that are kept until then.

        Without any, it is called when all are answered who have asked before. Call it in a look.
        """
        if not (self._waiting or self._sent) and not any(map(is_remote, tensors)):
            then([tensor.tolist() for tensor in tensors])
            return
        self._waiting.append(_Asked(asker, tensors, then))
        if self._is_over:
            self.finish()
        elif tensors and self._sent is None and sum(bool(each.tensors) for each in self._waiting) >= _SENT_TOGETHER:
            self._send()

    def _backward_began(self, call: BackwardCall) -> None:
        if self._sent is not None and self._sent[0].arrived:
            self._receive()

    def _send(self) -> None:
        asked, self._waiting = self._waiting, []
        if asked:
            self._sent = Transfer([tensor for each in asked for tensor in each.tensors]), asked

    def _receive(self) -> None:
        """Answer what was sent for; what fails is the failure of whoever asked."""
        if self._sent is None:
            return
        (transfer, asked), self._sent = self._sent, None
        values = iter(transfer.values())
        for each in asked:
            answers = [next(values) for _ in each.tensors]
            try:
                each.then(answers)
            except Exception as error:
                self._guard.failed(each.asker, "answered", error)
