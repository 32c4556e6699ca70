"""Numbers that lie on accelerators, read when they have come home: no step waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.tensor_facts import comes_home, forget_copies, is_remote, near
from autograd_doctor.reading.transfers import Transfer, values_at_hand
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall

_SENT_TOGETHER = 16
"""Questions that are sent for in one copy: so many that each costs little, so few that what they tell is news."""
Then = Callable[[Sequence[Any]], None]
"""Is given what was asked for: numbers, and tensors on the CPU where they hold several."""


class _Asked(NamedTuple):
    asker: Instrument
    tensors: Sequence[torch.Tensor]
    then: Then
    in_place: bool


class LateValues(Instrument):
    """Sends for values that others ask for, and answers them in the order in which they asked.

    What lies on the CPU is answered at once, unless somebody who has asked before is still waiting. What was asked in
    a recorded step is answered before the next one looks at anything.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._outbox = site.outbox
        self._waiting: list[_Asked] = []
        self._sent: tuple[Transfer, Sequence[_Asked]] | None = None
        self._is_over = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began)
        self.listen(signals.steps.ended, self._step_ended, last=True, attention=Attention.FULL)

    def finish(self) -> None:
        """Whoever asks from now on is waited for."""
        self._is_over = True
        self.answer_all()

    def answer_all(self) -> None:
        """Wait for whatever was asked."""
        while self._sent is not None or self._waiting:
            self._receive()
            self._send()

    def ask(self, asker: Instrument, tensors: Sequence[torch.Tensor], then: Then, *, in_place: bool = False) -> None:
        """Call `then` with the values of small dense tensors that nobody else writes to, and that are kept until then.

        Without any, it is called when all are answered who have asked before. in_place: what it states belongs among
        the events of this moment. Call it in a look.
        """
        if not (self._waiting or self._sent) and not any(map(is_remote, tensors)):
            then(values_at_hand(tensors))
            return
        if in_place:
            self._outbox.hold()
        own = [tensor if is_remote(tensor) else tensor.clone() for tensor in tensors]
        self._waiting.append(_Asked(asker, own, then, in_place))
        if self._is_over:
            self.answer_all()
        elif tensors and self._sent is None and sum(bool(each.tensors) for each in self._waiting) >= _SENT_TOGETHER:
            self._send()

    def bring(self, asker: Instrument, tensors: Sequence[torch.Tensor], then: Callable[..., None]) -> None:
        """Call `then` with each of these as it is now: at once on the CPU, and of an accelerator when they have come.

        What is large, or no dense tensor, is not brought home. Call it in a look.
        """
        if not any(map(is_remote, tensors)) or not all(map(comes_home, tensors)):
            then(*map(near, tensors))
            return

        def arrived(values: Sequence[torch.Tensor]) -> None:
            then(*(value.reshape(tensor_shape) for value, tensor_shape in zip(values, shapes, strict=True)))

        shapes = [tensor.shape for tensor in tensors]
        self.ask(asker, [tensor.detach().reshape(-1).clone() for tensor in tensors], arrived)

    def _backward_began(self, call: BackwardCall) -> None:
        is_recorded = self._guard.attention >= Attention.FULL
        if self._sent is not None and (is_recorded or self._sent[0].arrived):
            self._receive()

    def _step_ended(self, call: StepCall) -> None:
        forget_copies()
        self._receive()
        self._send()

    def _send(self) -> None:
        asked, self._waiting = self._waiting, []
        if asked:
            self._sent = Transfer([tensor for each in asked for tensor in each.tensors]), asked

    def _receive(self) -> None:
        """Answer what was sent for."""
        if self._sent is None:
            return
        (transfer, asked), self._sent = self._sent, None
        values = iter(transfer.values())
        for each in asked:
            answers = [next(values) for _ in each.tensors]
            if each.in_place:
                with self._outbox.filling():
                    self._answer(each, answers)
            else:
                self._answer(each, answers)

    def _answer(self, asked: _Asked, answers: Sequence[Any]) -> None:
        """What fails is the failure of whoever asked."""
        try:
            asked.then(answers)
        except Exception as error:
            self._guard.failed(asked.asker, "answered", error)
