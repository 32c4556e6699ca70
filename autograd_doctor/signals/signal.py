"""What a signal is, and the seam that gives it."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.guard import Guard, Looking
from autograd_doctor.signals.patches import Patches

P = TypeVar("P")
_LEVELS = len(Attention)


class Call(Protocol):
    """What is told of a call: beside its arguments, whether it raised."""

    raised: bool


C = TypeVar("C", bound=Call)


class Named(Protocol):
    """What is told of something that has a name, by which listeners choose."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


@dataclass(frozen=True, slots=True, order=True)
class Listener:
    """Sorts by `order`, then by the order of connection. wants: which names, None for all. bare: see `Signal`."""

    order: float
    number: int
    handle: Callable[..., None]
    owner: object
    attention: Attention
    wants: Callable[[str], bool] | None
    bare: bool


class Signal(Generic[P]):
    """Something of one kind that happens; each listener is called with what describes it.

    Listeners are called in the order that they were given on connection, equal ones in the order of connection. One
    that raises does not keep the others, nor the program, from going on: the guard is told.

    bare: it is sent so often that its listeners are called outside a look, and enter one only where they need it; so
    are those of any other, while all who hear it are bare themselves. listeners: those whom the present attention lets
    hear.
    """

    def __init__(self, guard: Guard, seam: Seam | None = None, *, bare: bool = False) -> None:
        self._guard = guard
        self._seam = seam
        self._bare = bare
        self._connected: list[Listener] = []
        self._hearing_at: list[Sequence[Listener] | None] = [None] * _LEVELS
        """Who hears at each attention, as far as it was asked since the last of them came or went."""
        self._is_bare_at = [bare] * _LEVELS
        self._is_bare = bare
        self._turns = False
        self.listeners: Sequence[Listener] = ()
        self._connections = 0

    @property
    def owners(self) -> set[object]:
        """Whose listeners they are."""
        return {listener.owner for listener in self._connected}

    def __bool__(self) -> bool:
        """Whether anybody hears it at present."""
        return bool(self.listeners)

    def connect(
        self,
        handle: Callable[[P], None],
        *,
        owner: object,
        order: float = 0,
        attention: Attention = Attention.GLANCE,
        wants: Callable[[str], bool] | None = None,
        bare: bool = False,
    ) -> None:
        """Call `handle` from now on. The first listener has the seam installed, which may raise.

        attention: the least at which it hears. wants: of a signal that sends what has a name, which of them it hears.
        bare: it touches no tensor, but in a look of its own.
        """
        if self._seam is not None:
            self._seam.listened()
        self._connections += 1
        insort(self._connected, Listener(order, self._connections, handle, owner, attention, wants, bare))
        self._tell_apart()
        if attention > Attention.GLANCE and not self._turns:
            self._turns = True
            self._guard.attention_turned.append(self._choose)

    def disconnect(self, handle: Callable[[P], None]) -> None:
        """Call `handle` no more; with the last listener of a seam goes its patch."""
        remaining = [listener for listener in self._connected if listener.handle != handle]
        gone = len(self._connected) - len(remaining)
        self._connected = remaining
        self._tell_apart()
        for _ in range(gone if self._seam is not None else 0):
            self._seam.forsaken()  # type: ignore[union-attr]

    def _tell_apart(self) -> None:
        """Whoever is being called now is called to the end: those who hear are kept in new lists."""
        self._hearing_at = [None] * _LEVELS
        self._choose()

    def _choose(self) -> None:
        attention = self._guard.attention
        hearing = self._hearing_at[attention]
        if hearing is None:
            hearing = self._hearing_at[attention] = [each for each in self._connected if each.attention <= attention]
            self._is_bare_at[attention] = self._bare or all(each.bare for each in hearing)
        self.listeners = hearing
        self._is_bare = self._is_bare_at[attention]

    def send(self, what: P) -> None:
        """From a seam: let the listeners look. Nobody hears it inside a look, or in a forked child."""
        guard = self._guard
        if not self.listeners or guard.forked or guard.thread.depth:
            return
        clock = guard.clock if guard.clock is not None and guard.clock.begin() else None
        if self._is_bare:
            self.relay(what)
        else:
            with Looking(guard.thread):
                self.relay(what)
        if clock is not None:
            clock.end()
        if guard.deferred:
            guard.run_deferred()

    def tell(self, what: P) -> None:
        """From an instrument that may be called outside a look."""
        if self._guard.thread.depth:
            self.relay(what)
        else:
            self.send(what)

    def relay(self, what: P, listeners: Sequence[Listener] | None = None) -> None:
        """From an instrument that looks already: let those look who listen to it.

        listeners: only these of them. If one has the program watched more closely from now on, those behind it that
        wake hear it, too.
        """
        guard = self._guard
        attention = guard.attention
        for listener in self.hearing(what) if listeners is None else listeners:
            try:
                listener.handle(what)
            except Exception as error:
                guard.failed(listener.owner, listener.handle.__name__, error)
            if guard.attention is not attention and guard.attention > attention:
                self.relay(what, [each for each in self.hearing(what) if each > listener])
                return

    def hearing(self, what: P) -> Sequence[Listener]:
        """Those who hear of this at present."""
        return self.listeners


class NamedSignal(Signal[N]):
    """A signal that is sent so often that each listener is spared what it does not want, by its name."""

    def __init__(self, guard: Guard, seam: Seam | None = None) -> None:
        self._by_name: dict[str, Sequence[Listener]] = {}
        self._by_name_at: Sequence[dict[str, Sequence[Listener]]] = ()
        super().__init__(guard, seam)

    def _tell_apart(self) -> None:
        self._by_name_at = [{} for _ in range(_LEVELS)]
        super()._tell_apart()

    def _choose(self) -> None:
        super()._choose()
        self._by_name = self._by_name_at[self._guard.attention]

    def hearing(self, what: N) -> Sequence[Listener]:
        return self.hearing_of(what.name)

    def hearing_of(self, name: str) -> Sequence[Listener]:
        """Those who hear of what has this name."""
        found = self._by_name.get(name)
        if found is None:
            found = tuple(each for each in self.listeners if each.wants is None or each.wants(name))
            self._by_name[name] = found
        return found


class Seam:
    """An entry point of torch, or several that belong together, patched while anybody listens to its signals.

    A seam keeps no state of the program: what it tells is in what it sends.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._patches: Patches | None = None
        self._listeners = 0

    def patch(self, patches: Patches) -> None:
        """Replace the entry points."""
        raise NotImplementedError

    def listened(self) -> None:
        """Somebody connects: install the patch if it is not in place."""
        if self._patches is None:
            patches = Patches()
            try:
                self.patch(patches)
            except BaseException:
                patches.close()
                raise
            self._patches = patches
        self._listeners += 1

    def forsaken(self) -> None:
        """Somebody has left: take the patch out if it was the last."""
        self._listeners -= 1
        if self._listeners == 0 and self._patches is not None:
            self._patches.close()
            self._patches = None


class CallSeam(Seam, Generic[C]):
    """A seam of calls: `began`, then `ended`, also where the call raised."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[C] = Signal(guard, self)
        self.ended: Signal[C] = Signal(guard, self)

    def around(self, call: C) -> _Around[C]:
        """For the block in which the original is called: a manager, so that no frame of ours is added to the stack."""
        return _Around(self, call)


class _Around(Generic[C]):
    __slots__ = ("_call", "_seam")

    def __init__(self, seam: CallSeam[C], call: C) -> None:
        self._seam = seam
        self._call = call

    def __enter__(self) -> None:
        self._seam.began.send(self._call)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._call.raised = kind is not None
        self._seam.ended.send(self._call)
