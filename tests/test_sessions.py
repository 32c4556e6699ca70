"""All instruments on a running program: unseen by it, restored after it, and a broken look harms nobody."""

from __future__ import annotations

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

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import InstrumentAttached, InstrumentDetached, InstrumentFailed
from autograd_doctor.instruments.instrument import Instrument, name_of, requirements
from autograd_doctor.instruments.session import Session, all_instruments, needed_for
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.signals import Signals
from tests.watching import Replaced, global_state, recording_replacements

INSTRUMENTS = all_instruments()


@pytest.fixture
def replaced() -> Iterator[Replaced]:
    with recording_replacements() as found:
        yield found


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
    assert not [event for event in events if isinstance(event, InstrumentDetached)], "all watched to the end"


def needed_with(kind: type[Instrument]) -> list[type[Instrument]]:
    """An instrument after all that it reads."""
    found: list[type[Instrument]] = []
    for required in requirements(kind).values():
        found += [each for each in needed_with(required) if each not in found]
    return [*found, kind]


def readers_of(kind: type[Instrument]) -> list[type[Instrument]]:
    """An instrument and all that need it."""
    return [each for each in INSTRUMENTS if kind in needed_with(each)]


@pytest.mark.parametrize("kind", INSTRUMENTS, ids=name_of)
def test_an_instrument_that_cannot_be_attached_is_said_to_have_failed(kind, monkeypatch, replaced):
    def connect(self: Instrument, signals: Signals) -> None:
        self.listen(signals.backward.began, print)
        raise RuntimeError("torch has changed")

    monkeypatch.setattr(kind, "connect", connect)
    readers = readers_of(kind)
    with attached(*readers) as events:
        watched = train(1)
    without = {name_of(each) for each in readers}
    assert set(failures(events)) == {(name, "attach") for name in without}
    running = {event.instrument for event in events if isinstance(event, InstrumentAttached)}
    assert running == {name_of(each) for reader in readers for each in needed_with(reader)} - without
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
        instrument.listen = lambda signal, handle, seen=seen, **options: seen.append(handle.__name__)  # type: ignore[method-assign]
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
    with attached(*readers_of(kind)) as events:
        watched = train()
    mine = [look for instrument, look in failures(events) if instrument == name_of(kind)]
    assert mine.count(name) == bool(called)
    assert all(torch.equal(one, other) for one, other in zip(ALONE, watched, strict=True))


def test_what_is_needed_for_an_event_comes_before_its_readers():
    from autograd_doctor.events.steps import BackwardRan

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
    reads = requirements(Course)
    course = session.find(Course)
    assert course is not None
    course.limited("too large")
    course.limited("too large")
    course.limited("on an accelerator")
    session.close()
    session.close()
    assert session.find(Course) is None
    assert [type(event).__name__ for event in events] == [
        *["InstrumentAttached"] * (1 + len(reads)),
        "InstrumentLimited",
        "InstrumentLimited",
    ]


def test_what_fails_at_the_end_is_stated_and_the_others_end_all_the_same(monkeypatch, replaced):
    for kind in INSTRUMENTS:
        monkeypatch.setattr(kind, "finish", breaking("finish"))
    with attached(*INSTRUMENTS) as events:
        pass
    assert failures(events) == [(event.instrument, "finish") for event in events if isinstance(event, InstrumentFailed)]
    assert len(failures(events)) == len(INSTRUMENTS)
    assert all(vars(owner).get(name) is before for owner, name, before in replaced[::-1])
