"""Signals: each entry point of torch is patched once, while somebody listens, and nobody but the listener notices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_doctor.events import Event, InstrumentAttached, InstrumentDetached, InstrumentFailed
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, name_of, requirements
from autograd_doctor.instruments.session import Session, all_instruments, needed_for
from autograd_doctor.signals import Signals
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

SEAMS = [type(seam) for seam in Signals(lambda *_: None).seams]
INSTRUMENTS = all_instruments()


def raises(*failed: object) -> None:
    raise AssertionError(failed)


def signals_of(seam: Seam) -> list[Signal[Any]]:
    return [value for value in vars(seam).values() if isinstance(value, Signal)]


def seam_of(kind: type[Seam]) -> Seam:
    return next(seam for seam in Signals(raises).seams if type(seam) is kind)


Replaced = list[tuple[Any, str, Any]]
"""Owner, name and what was there before."""


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> Replaced:
    """What is replaced from now on."""
    found: Replaced = []
    original = Patches.replace

    def replace(self: Patches, owner: Any, name: str, value: Any) -> None:
        found.append((owner, name, vars(owner).get(name)))
        original(self, owner, name, value)

    monkeypatch.setattr(Patches, "replace", replace)
    return found


def global_state() -> list[Any]:
    """What torch keeps for all of a process, and seams change without replacing an attribute."""
    from torch.optim import optimizer

    return [
        dict(optimizer._global_optimizer_pre_hooks),
        dict(optimizer._global_optimizer_post_hooks),
        torch.overrides._get_current_function_mode_stack(),
        torch.is_grad_enabled(),
    ]


# -------------------------------------------------------------------------------------------------------------- seams


def test_every_seam_gives_signals():
    assert len(SEAMS) > 10
    for kind in SEAMS:
        assert signals_of(seam_of(kind)), kind


@pytest.mark.parametrize("kind", SEAMS)
def test_a_seam_is_patched_while_any_of_its_signals_has_a_listener(kind, replaced):
    state = global_state()
    seam = seam_of(kind)
    heard: list[Any] = []
    for signal in signals_of(seam):
        replaced.clear()
        assert not signal
        signal.connect(heard.append, owner="test")
        assert signal
        patched = [(owner, name) for owner, name, _ in replaced]
        touched = {id(owner): dict(vars(owner)) for owner, _, _ in replaced}
        assert patched or global_state() != state
        assert all(vars(owner)[name] is not before for owner, name, before in replaced)
        for other in signals_of(seam):
            other.connect(heard.append, owner="test", order=1)
        assert [(owner, name) for owner, name, _ in replaced] == patched, "one listener more patches nothing more"
        for other in signals_of(seam):
            other.disconnect(heard.append)
            if any(each for each in signals_of(seam)):
                assert all(dict(vars(owner)) == touched[id(owner)] for owner, _, _ in replaced)
        assert all(vars(owner).get(name) is before for owner, name, before in replaced)
        assert global_state() == state
    assert heard == []


@pytest.mark.parametrize("kind", SEAMS)
def test_disconnecting_who_never_listened_keeps_the_patch(kind, replaced):
    seam = seam_of(kind)
    for signal in signals_of(seam):
        signal.connect(raises, owner="test")
        signal.disconnect(print)
        assert signal
        signal.disconnect(raises)
        assert not signal


def test_each_entry_point_is_replaced_by_one_seam_only(replaced):
    signals = Signals(raises)
    for seam in signals.seams:
        for signal in signals_of(seam):
            signal.connect(raises, owner="test")
    places = [(id(owner), name) for owner, name, _ in replaced]
    for seam in signals.seams:
        for signal in signals_of(seam):
            signal.disconnect(raises)
    assert len(places) > 30
    assert len(set(places)) == len(places)


def test_a_seam_that_cannot_be_patched_leaves_nothing_behind():
    class Half(Seam):
        def __init__(self, guard: Guard) -> None:
            super().__init__(guard)
            self.signal: Signal[int] = Signal(guard, self)

        def patch(self, patches: Patches) -> None:
            patches.replace(torch, "from_numpy", print)
            patches.replace(torch, "randn_like", torch.no_such_thing)  # type: ignore[attr-defined]

    before = torch.from_numpy
    half = Half(Guard(raises))
    with pytest.raises(AttributeError):
        half.signal.connect(raises, owner="test")
    assert torch.from_numpy is before
    assert not half.signal


def test_an_inherited_attribute_is_inherited_again():
    class Child(nn.Linear):
        pass

    with Patches() as patches:
        patches.replace(Child, "forward", None)
        assert Child.forward is None
    assert "forward" not in vars(Child)


# ------------------------------------------------------------------------------------------------------------ signals


def test_listeners_hear_in_their_order():
    signal: Signal[int] = Signal(Guard(raises))
    heard: list[str] = []
    for name, order in (("late", 5), ("first", 0), ("last", 9), ("second", 0), ("early", -1)):
        signal.connect(lambda what, name=name: heard.append(name), owner="test", order=order)
    signal.send(1)
    assert heard == ["early", "first", "second", "late", "last"]


def test_who_has_left_hears_nothing():
    signal: Signal[int] = Signal(Guard(raises))
    first: list[int] = []
    second: list[int] = []
    signal.connect(first.append, owner="test")
    signal.connect(second.append, owner="test")
    signal.disconnect(first.append)
    signal.send(1)
    assert (first, second) == ([], [1])


def test_a_listener_that_raises_stops_neither_the_others_nor_the_program():
    failed: list[tuple[object, str, str]] = []
    signal: Signal[int] = Signal(Guard(lambda owner, look, error: failed.append((owner, look, str(error)))))
    heard: list[int] = []

    def breaks(what: int) -> None:
        raise KeyError("mine")

    signal.connect(breaks, owner="me")
    signal.connect(heard.append, owner="test")
    signal.send(1)
    assert heard == [1]
    assert failed == [("me", "breaks", "'mine'")]


def test_a_listener_looks_without_gradients_unless_the_signal_is_bare():
    guard, enabled = Guard(raises), []
    for bare in (False, True):
        signal: Signal[int] = Signal(guard, bare=bare)
        signal.connect(lambda what: enabled.append((torch.is_grad_enabled(), guard.busy)), owner="test")
        signal.send(1)
        signal.relay(1)
    assert enabled == [(False, True), (True, False), (True, False), (True, False)]
    assert torch.is_grad_enabled()


def test_nothing_is_signalled_inside_a_look():
    guard = Guard(raises)
    signal: Signal[int] = Signal(guard)
    heard: list[int] = []
    signal.connect(heard.append, owner="test")
    assert guard.idle
    with guard.looking():
        with guard.looking():
            assert (guard.busy, guard.idle) == (True, False)
            signal.send(1)
        signal.send(2)
        signal.relay(3)
    signal.send(4)
    assert heard == [3, 4]


def test_nothing_is_signalled_in_a_forked_child():
    guard = Guard(raises)
    signal: Signal[int] = Signal(guard)
    heard: list[int] = []
    signal.connect(heard.append, owner="test")
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        signal.send(1)
        os.write(writer, f"{guard.idle} {heard}".encode())
        os._exit(0)
    os.waitpid(process, 0)
    os.close(writer)
    assert os.read(reader, 100) == b"False []"
    signal.send(2)
    assert heard == [2]


def test_what_is_deferred_runs_after_the_look_and_may_raise():
    guard = Guard(raises)
    signal: Signal[int] = Signal(guard)
    busy: list[bool] = []

    def stop() -> None:
        busy.append(guard.busy)
        raise KeyboardInterrupt

    def listen(what: int) -> None:
        guard.defer(lambda: busy.append(guard.busy))
        guard.defer(stop)
        guard.run_deferred()
        assert busy == []

    signal.connect(listen, owner="test")
    with pytest.raises(KeyboardInterrupt):
        signal.send(1)
    assert busy == [False, False]


# -------------------------------------------------------------------------------------------- a program that is watched


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.norm(self.first(x))))


def train(steps: int = 2) -> list[torch.Tensor]:
    """A program that enters torch in most ways that are watched, and what became of its weights."""
    torch.manual_seed(0)
    model = Net()
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randn(8, 1))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    model.first.register_forward_hook(lambda *_: None)
    for _ in range(steps):
        for x, y in torch.utils.data.DataLoader(data, batch_size=4):
            optimizer.zero_grad()
            hidden = torch.utils.checkpoint.checkpoint(model.train(), x, use_reentrant=False)
            loss = nn.functional.mse_loss(hidden, y) + Doubled.apply(hidden).mean()
            scaler.scale(loss).backward(retain_graph=True)
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        schedule.step()
        with torch.no_grad():
            model.eval()(x).sum().item()
        model.load_state_dict(model.state_dict())
    return [value.clone() for value in model.state_dict().values()]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


ALONE = train()


@contextmanager
def attached(*kinds: type[Instrument]) -> Iterator[list[Event]]:
    events: list[Event] = []
    session = Session(events.append)
    session.attach(kinds)
    try:
        yield events
    finally:
        session.close()


def failures(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.instrument, event.look) for event in events if isinstance(event, InstrumentFailed)]


def test_all_instruments_together_change_no_bit():
    with attached(*INSTRUMENTS) as events:
        watched = train()
    assert failures(events) == []
    assert all(torch.equal(one, other) for one, other in zip(ALONE, watched, strict=True))


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def plain_training() -> None:
    torch.manual_seed(0)
    model = Net()
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = Doubled.apply(model(torch.ones(4, 4))).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.state_dict()


@pytest.mark.parametrize("mode", [Counting, Functions])
def test_looks_are_invisible_to_the_modes_of_the_program(mode):
    def seen() -> list[str]:
        with mode() as counting:
            plain_training()
        return counting.seen

    alone = seen()
    with attached(*INSTRUMENTS) as events:
        watched = seen()
    assert failures(events) == []
    assert len(alone) > 50
    assert Counter(watched) == Counter(alone)
    assert watched == alone


def test_looks_are_invisible_to_a_tracer():
    model, x = Net().eval(), torch.ones(2, 4)

    def graph() -> list[tuple[str, int]]:
        traced = torch.jit.trace(model, x, check_trace=False).inlined_graph
        return [(node.kind(), len(list(node.inputs()))) for node in traced.nodes()]

    alone = graph()
    with attached(*INSTRUMENTS) as events:
        assert graph() == alone
    assert failures(events) == []


# --------------------------------------------------------------------------------------------------------- instruments


@pytest.mark.parametrize("kind", INSTRUMENTS, ids=name_of)
def test_an_instrument_leaves_torch_as_it_was(kind, replaced):
    state = global_state()
    with attached(kind) as events:
        train(1)
    assert failures(events) == []
    assert all(vars(owner).get(name) is before for owner, name, before in replaced[::-1])
    assert global_state() == state
    names = [name_of(each) for each in needed_with(kind)]
    assert [event.instrument for event in events if isinstance(event, InstrumentAttached)] == names
    assert [event.instrument for event in events if isinstance(event, InstrumentDetached)] == names[::-1]


def needed_with(kind: type[Instrument]) -> list[type[Instrument]]:
    """An instrument after all that it reads."""
    found: list[type[Instrument]] = []
    for required in requirements(kind).values():
        found += [each for each in needed_with(required) if each not in found]
    return [*found, kind]


@pytest.mark.parametrize("kind", INSTRUMENTS, ids=name_of)
def test_an_instrument_that_cannot_be_attached_is_said_to_have_failed(kind, monkeypatch, replaced):
    def connect(self: Instrument, signals: Signals) -> None:
        self.listen(signals.backward.began, raises)
        raise RuntimeError("torch has changed")

    monkeypatch.setattr(kind, "connect", connect)
    with attached(*INSTRUMENTS) as events:
        watched = train(1)
    without = {name_of(each) for each in INSTRUMENTS if kind in needed_with(each)}
    assert set(failures(events)) == {(name, "attach") for name in without}
    running = {event.instrument for event in events if isinstance(event, InstrumentAttached)}
    assert running == {name_of(each) for each in INSTRUMENTS} - without
    (first,) = [
        event.error for event in events if isinstance(event, InstrumentFailed) and event.instrument == name_of(kind)
    ]
    assert first == "RuntimeError: torch has changed"
    assert len(watched) == len(ALONE)
    assert all(vars(owner).get(name) is before for owner, name, before in replaced[::-1])


def handlers() -> list[tuple[type[Instrument], str]]:
    """The methods that instruments connect to signals; those that are connected later are not among them."""
    found = []
    session = Session(lambda event: None)
    for kind in INSTRUMENTS:
        seen: list[str] = []
        instrument = kind.__new__(kind)
        session.attach([kind])
        instrument = session.find(kind)
        assert instrument is not None
        instrument.detach()
        instrument.listen = lambda signal, handle, last=False, seen=seen: seen.append(handle.__name__)  # type: ignore[method-assign]
        instrument.connect(session.signals)
        found += [(kind, name) for name in dict.fromkeys(seen)]
    session.close()
    return found


def breaking(name: str) -> Callable[..., None]:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError(name)

    broken.__name__ = name
    return broken


@pytest.mark.parametrize(
    ("kind", "name"), handlers(), ids=lambda each: each if isinstance(each, str) else name_of(each)
)
def test_a_look_that_raises_is_stated_once_and_changes_no_bit(kind, name, monkeypatch):
    called = []
    broken = breaking(name)
    monkeypatch.setattr(kind, name, lambda *args: called.append(1) or broken())
    getattr(kind, name).__name__ = name
    with attached(*INSTRUMENTS) as events:
        watched = train()
    mine = [look for instrument, look in failures(events) if instrument == name_of(kind)]
    assert mine.count(name) == bool(called)
    assert all(torch.equal(one, other) for one, other in zip(ALONE, watched, strict=True))


def test_what_is_needed_for_an_event_comes_before_its_readers():
    from autograd_doctor.events import BackwardRan

    needed = needed_for(["BackwardRan"])
    assert BackwardRan.__name__ in {event.__name__ for event in needed[-1].emits}
    for position, kind in enumerate(needed):
        assert set(requirements(kind).values()) <= set(needed[:position])
    assert needed_for(["NoSuchEvent"]) == []
    assert len(set(needed)) == len(needed)


def test_an_instrument_is_attached_once_and_limited_once():
    events: list[Event] = []
    session = Session(events.append)
    session.attach([Course, Course])
    course = session.find(Course)
    assert course is not None
    course.limited("too large")
    course.limited("too large")
    course.limited("on an accelerator")
    session.close()
    session.close()
    assert session.find(Course) is None
    assert [type(event).__name__ for event in events] == [
        "InstrumentAttached",
        "InstrumentLimited",
        "InstrumentLimited",
        "InstrumentDetached",
    ]


def test_what_fails_at_the_end_is_stated_and_the_others_end_all_the_same(monkeypatch, replaced):
    for kind in INSTRUMENTS:
        monkeypatch.setattr(kind, "finish", breaking("finish"))
    with attached(*INSTRUMENTS) as events:
        pass
    assert failures(events) == [(event.instrument, "finish") for event in events if isinstance(event, InstrumentFailed)]
    assert len(failures(events)) == len(INSTRUMENTS)
    assert all(vars(owner).get(name) is before for owner, name, before in replaced[::-1])
