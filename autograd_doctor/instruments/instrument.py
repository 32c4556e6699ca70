"""What an instrument is: it declares what it states, what it listens to and, in its constructor, what it reads."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache
from typing import Any, ClassVar, TypeVar, get_type_hints

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.outbox import Outbox
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.signal import Signal
from autograd_doctor.wording import first_line

P = TypeVar("P")
_LAST = 1_000_000
"""More than there will ever be instruments, so that those that hear last come after all others, in the same order."""
Record = Callable[[Event], None]


class Site:
    """Where an instrument is set up: the signals of the run, the place for its events, and its turn among the others.

    `order`: an instrument hears a signal after those that it reads. `outbox`: of the run, for who states things later.
    """

    def __init__(self, signals: Signals, record: Record, order: float = 0, outbox: Outbox | None = None) -> None:
        self.signals = signals
        self.record = record
        self.order = order
        self.outbox = outbox or Outbox(record)


class Instrument:
    """Made by a `Session`, after the instruments that its constructor asks for.

    `emits`: the events that it states. The constructor takes the site and other instruments, told by annotations.
    """

    emits: ClassVar[tuple[type[Event], ...]] = ()

    def __init__(self, site: Site) -> None:
        self._site = site
        self._connections: list[tuple[Signal[Any], Callable[..., None]]] = []
        self._limits: set[str] = set()

    @property
    def name(self) -> str:
        """As it appears in a trace: the name of its file."""
        return name_of(type(self))

    def connect(self, signals: Signals) -> None:
        """Start to listen, by `self.listen`; raises what a seam that cannot be patched raises."""

    def finish(self) -> None:
        """The program is over: state what is left to say."""

    def memory(self) -> Any:
        """What one of the same kind is to begin with later in the same run, None for nothing: no tensors, and nothing
        that grows with the run."""
        return None

    def remember(self, memory: Any) -> None:
        """Begin with what the last one of the same kind left, when it was detached."""

    def listen(
        self,
        signal: Signal[P],
        handle: Callable[[P], None],
        *,
        last: bool = False,
        attention: Attention = Attention.GLANCE,
        names: Container[str] | None = None,
        bare: bool = False,
    ) -> None:
        """Have a method of this instrument called with each of these signals, until it is detached.

        last: after all instruments that do not ask for that. attention: only where the program is watched so closely,
        which may change at the end of any step, also inside a backward: what ends that began before is to be heard.
        names: only for those, of what has a name. bare: it touches no tensor, but in a look of its own. A method that
        is called already goes on as it is.
        """
        if (signal, handle) not in self._connections:
            order = self._site.order + (_LAST if last else 0)
            wants = None if names is None else names.__contains__
            signal.connect(handle, owner=self, order=order, attention=attention, wants=wants, bare=bare)
            self._connections.append((signal, handle))

    def unlisten(self, signal: Signal[P], handle: Callable[[P], None]) -> None:
        """Have it called no more, if it was."""
        if (signal, handle) in self._connections:
            self._connections.remove((signal, handle))
            signal.disconnect(handle)

    def detach(self) -> None:
        """Stop listening."""
        while self._connections:
            signal, handle = self._connections.pop()
            signal.disconnect(handle)

    def value_table(self) -> ValueTable[Any]:
        """An empty table, for what is known of the values that operations find, and of those that they make."""
        return ValueTable(self._site.signals.operations.version_found)

    def emit(self, event: Event) -> None:
        """State an event."""
        self._site.record(event)

    def limited(self, reason: str) -> None:
        """State, once for each reason, that from here on this instrument sees less than its events promise."""
        if reason not in self._limits:
            self._limits.add(reason)
            self.emit(InstrumentLimited(instrument=self.name, reason=reason))


def failure_of_copy(error: Exception) -> str:
    """What is said of a copy whose call has raised."""
    return f"a copy of it fails: {type(error).__name__}: {first_line(str(error)).rstrip('.')}"


def name_of(kind: type[Instrument]) -> str:
    """The name of an instrument: that of its file."""
    return kind.__module__.rpartition(".")[2]


def requirements(kind: type[Instrument]) -> dict[str, type[Instrument]]:
    """The instruments that the constructor of another asks for, by the names of its parameters."""
    return _instruments_among_parameters(kind.__init__)


@cache
def _instruments_among_parameters(constructor: Callable[..., None]) -> dict[str, type[Instrument]]:
    hints = get_type_hints(constructor)
    return {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Instrument)}
