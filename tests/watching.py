"""Instruments on small real programs in this very process, with what they state."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.nn.modules import module
from torch.optim import optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import InstrumentAttached, InstrumentDetached, InstrumentFailed
from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.session import Memories, Session
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.patches import Patches

E = TypeVar("E", bound=Event)
I = TypeVar("I", bound=Instrument)  # noqa: E741


class Recorded(list[Event]):
    """The events of a run, without those that say which instruments watched; `failures` are ours."""

    def __init__(self, memories: Memories | None = None) -> None:
        super().__init__()
        self.failures: list[InstrumentFailed] = []
        self.session = Session(self._record, memories)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self if isinstance(event, kind)]

    def find(self, kind: type[I]) -> I:
        found = self.session.find(kind)
        assert found is not None
        return found

    def attend(self, attention: Attention) -> None:
        """Watch as closely as this from now on."""
        self.session.signals.guard.attend(attention)

    def _record(self, event: Event) -> None:
        if isinstance(event, InstrumentFailed):
            self.failures.append(event)
        elif not isinstance(event, InstrumentAttached | InstrumentDetached):
            self.append(event)


@contextmanager
def watching(*kinds: type[Instrument]) -> Iterator[Recorded]:
    """Attach instruments, and all that they read; a look of theirs that failed fails the test."""
    recorded = Recorded()
    recorded.session.attach(kinds)
    try:
        yield recorded
    finally:
        recorded.session.close()
    assert recorded.failures == []


Replaced = list[tuple[Any, str, Any]]
"""Owner, name and what was there before."""


@contextmanager
def recording_replacements() -> Iterator[Replaced]:
    """What is replaced in torch from now on."""
    found: Replaced = []
    original = Patches.replace

    def replace(self: Patches, owner: Any, name: str, value: Any) -> None:
        found.append((owner, name, vars(owner).get(name)))
        original(self, owner, name, value)

    Patches.replace = replace  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Patches.replace = original  # type: ignore[method-assign]


def global_state() -> list[Any]:
    """What torch and Python keep for all of a process, and seams change without replacing an attribute."""
    return [
        dict(optimizer._global_optimizer_pre_hooks),
        dict(optimizer._global_optimizer_post_hooks),
        dict(module._global_parameter_registration_hooks),
        dict(module._global_module_registration_hooks),
        torch.overrides._get_current_function_mode_stack(),
        torch.is_grad_enabled(),
        list(sys.meta_path),
    ]


@contextmanager
def one_of_two() -> Iterator[None]:
    """This process as the first of two, of which the other one does not exist."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()
