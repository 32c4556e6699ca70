"""One run's instruments: which are needed, set up in their order, attached and detached, and what failed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, TypeVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import InstrumentAttached, InstrumentDetached, InstrumentFailed, InstrumentLimited
from autograd_doctor.instruments.instrument import Instrument, Record, Site, name_of, requirements
from autograd_doctor.instruments.outbox import Outbox
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.torch_versions import is_late, is_shortage, packing_watched
from autograd_doctor.signals import Signals
from autograd_doctor.wording import first_line

I = TypeVar("I", bound=Instrument)  # noqa: E741
Memories = dict[type[Instrument], Any]
"""What instruments of a session leave to those of the next one: see `Instrument.memory`."""
_PACKAGE = __name__.rpartition(".")[0]


@cache
def all_instruments() -> tuple[type[Instrument], ...]:
    """Those of the folders in here: in each file, the class that the file defines and that is no other's part."""
    modules = (importlib.import_module(name) for name in _names())
    found = (value for module in modules for value in vars(module).values() if _is_defined_in(value, module.__name__))
    return tuple(sorted(found, key=name_of))


def _names() -> Iterator[str]:
    """One file for each instrument, in the folder of its family."""
    package = importlib.import_module(_PACKAGE)
    for family in pkgutil.iter_modules(package.__path__):
        if family.ispkg:
            folder = importlib.import_module(f"{_PACKAGE}.{family.name}")
            yield from (f"{folder.__name__}.{entry.name}" for entry in pkgutil.iter_modules(folder.__path__))


def _is_defined_in(value: object, module: str) -> bool:
    if not (isinstance(value, type) and issubclass(value, Instrument) and value is not Instrument):
        return False
    return value.__module__ == module and not inspect.isabstract(value)


def needed_for(events: Iterable[str]) -> list[type[Instrument]]:
    """The instruments that state events of these names, and all that those read: the read before their readers."""
    wanted = set(events)
    return _with_required(
        kind for kind in all_instruments() if wanted.intersection(event.__name__ for event in kind.emits)
    )


def _with_required(kinds: Iterable[type[Instrument]]) -> list[type[Instrument]]:
    """These and all that they read: the read before their readers."""
    ordered: dict[type[Instrument], None] = {}

    def add(kind: type[Instrument]) -> None:
        if kind not in ordered:
            for required in requirements(kind).values():
                add(required)
            ordered[kind] = None

    for kind in kinds:
        add(kind)
    return [*ordered]


class Session:
    """The instruments of one run. A failure of ours is stated once, and neither stops the others nor the program."""

    def __init__(self, record: Record, memories: Memories | None = None) -> None:
        """memories: of an earlier session of the same run, which this one goes on with."""
        self.memories: Memories = {} if memories is None else memories
        self._outbox = Outbox(record)
        self.signals = Signals(self.failed)
        self._instruments: dict[type[Instrument], Instrument] = {}
        self._course: Course | None = None
        self._orders: dict[type[Instrument], int] = {}
        self._failures: set[tuple[str, str]] = set()
        self._watches = ExitStack()

    @property
    def step(self) -> int:
        """How many steps have been taken, by which events are dated."""
        return self._course.steps if self._course is not None else 0

    def emit(self, event: Event) -> None:
        """State an event, unless this is a forked child of the program."""
        if not self.signals.guard.forked:
            self._outbox.put(event)

    def attach(self, kinds: Iterable[type[Instrument]]) -> None:
        """Set up instruments, each after those that it reads, which are attached with it."""
        if not self._orders:
            self._watches.enter_context(packing_watched())
        for kind in kinds:
            self._attach(kind)

    def find(self, kind: type[I]) -> I | None:
        """An instrument of this session, None if it is not attached."""
        found = self._instruments.get(kind)
        return found if isinstance(found, kind) else None

    def detach(self, kind: type[Instrument]) -> None:
        """Have an instrument stop listening; with its last listener goes the patch of a seam."""
        instrument = self._instruments.pop(kind, None)
        if instrument is not None:
            instrument.detach()
            self.emit(InstrumentDetached(step=self.step, instrument=instrument.name))

    def close(self) -> None:
        """The program is over: let each instrument say what is left, then take everything out of torch again."""
        self._finish([*self._instruments.values()])
        self._outbox.close()
        self.leave()

    def keep(self, kinds: Iterable[type[Instrument]]) -> None:
        """Let all but these, and those that they read, say what is left, and take them out of torch."""
        kept = set(_with_required(kinds))
        over = [kind for kind in self._instruments if kind not in kept]
        self._finish([self._instruments[kind] for kind in over])
        for kind in reversed(over):
            self.detach(kind)

    def _finish(self, instruments: Sequence[Instrument]) -> None:
        for instrument in instruments:
            with self.signals.guard.looking():
                try:
                    instrument.finish()
                    self._keep_memory(instrument)
                except Exception as error:
                    self.failed(instrument, "finish", error)

    def _keep_memory(self, instrument: Instrument) -> None:
        memory = instrument.memory()
        if memory is not None:
            self.memories[type(instrument)] = memory

    def leave(self) -> None:
        """Take everything out of torch with nothing said."""
        for instrument in reversed(self._instruments.values()):
            instrument.detach()
        self._instruments.clear()
        self._watches.close()

    def _attach(self, kind: type[Instrument]) -> Instrument | None:
        if kind in self._instruments:
            return self._instruments[kind]
        required = {name: self._attach(each) for name, each in requirements(kind).items()}
        missing = [name for name, instrument in required.items() if instrument is None]
        instrument = None
        try:
            if missing:
                raise RuntimeError(f"`{missing[0]}` could not be attached")
            order = self._orders.setdefault(kind, len(self._orders))
            instrument = kind(Site(self.signals, self.emit, order, self._outbox), **required)
            instrument.connect(self.signals)
            if kind in self.memories:
                instrument.remember(self.memories[kind])
        except Exception as error:
            if instrument is not None:
                instrument.detach()
            self.failed(name_of(kind), "attach", error)
            return None
        self._instruments[kind] = instrument
        if isinstance(instrument, Course):
            self._course = instrument
        self._say_attached(kind, requirements(kind).values())
        return instrument

    def _say_attached(self, kind: type[Instrument], required: Iterable[type[Instrument]]) -> None:
        self.emit(
            InstrumentAttached(
                step=self.step,
                instrument=name_of(kind),
                emits=[event.__name__ for event in kind.emits],
                requires=[name_of(each) for each in required],
            )
        )

    def failed(self, owner: object, look: str, error: Exception) -> None:
        """State, once for each look, that one of ours failed: an instrument, or what goes by a name.

        Where the device could do no more it is blind, and not broken.
        """
        instrument = owner.name if isinstance(owner, Instrument) else str(owner)
        if (instrument, look) not in self._failures:
            self._failures.add((instrument, look))
            if reason := _of_the_device(error):
                self.emit(InstrumentLimited(step=self.step, instrument=instrument, reason=reason))
                return
            said = f"{type(error).__name__}: {first_line(str(error))}"
            self.emit(InstrumentFailed(step=self.step, instrument=instrument, look=look, error=said))


def _of_the_device(error: Exception) -> str:
    """What kept a look from its work where it is no mistake of its own."""
    if is_shortage(error):
        return "there was no memory left for a look of its own"
    return "the accelerator had failed before" if is_late(error) else ""
