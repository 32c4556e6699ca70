"""Passes over loaders: counted, and cut where their consumer copes with that."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD
from torch.utils.data import DataLoader, IterableDataset

from autograd_doctor.clock import Clock
from autograd_doctor.events.run import Noted
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.instruments.spine import loaders as module
from autograd_doctor.instruments.spine.loaders import Loaders
from autograd_doctor.signals.loaders import BatchAsked, LengthAsked, PassBegan
from tests.inventing import Invented, inventing


class Iterator:
    """Stands for torch's own."""


def loader(batches: int) -> DataLoader[Any]:
    return DataLoader(torch.ones(batches, 1))  # type: ignore[arg-type]


def began(run: Invented, each: DataLoader[Any]) -> Any:
    iterator: Any = Iterator()
    run.signals.loaders.began.send(PassBegan(each, iterator))
    return iterator


def drawn(run: Invented, iterator: Any, times: int = 1) -> bool:
    """Whether a batch came."""
    for _ in range(times):
        call = BatchAsked(iterator)
        run.signals.loaders.asked.send(call)
        if call.stop:
            return False
        run.signals.loaders.drawn.send(call)
    return True


def told(run: Invented) -> list[tuple[int, int, bool, bool]]:
    return [(event.pass_number, event.batches, event.ended, event.cut) for event in run.of(BatchDrawn)]


@pytest.fixture
def coping(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether consumers cope with an early end."""
    copes = [True]
    monkeypatch.setattr(module, "ends_with_the_iterator", lambda: copes[0])
    return copes


def test_a_pass_is_told_with_its_first_batch_and_at_its_end():
    with inventing(Loaders) as run:
        batches, one = loader(3), Iterator()
        run.signals.loaders.began.send(PassBegan(batches, one))  # type: ignore[arg-type]
        assert told(run) == []
        drawn(run, one, 3)
        run.signals.loaders.exhausted.send(BatchAsked(one))
        run.signals.loaders.exhausted.send(BatchAsked(one))
        assert told(run) == [(1, 1, False, False), (1, 3, True, False)]
        first = run.of(BatchDrawn)[0]
        assert (first.loader, first.name, first.length, first.step) == (0, "batches", 3, 0)
        assert first.location is not None
        drawn(run, began(run, batches))
        drawn(run, began(run, other := loader(1)))
        assert [(event.loader, event.pass_number) for event in run.of(BatchDrawn)][2:] == [(0, 2), (1, 1)]
        assert other is not None


def test_a_pass_that_ran_out_of_batches_is_over_when_the_next_begins():
    with inventing(Loaders) as run:
        batches = loader(2)
        drawn(run, began(run, batches), 2)
        began(run, batches)
        assert told(run) == [(1, 1, False, False), (1, 2, True, False)]


def test_a_pass_that_was_left_early_has_no_end():
    with inventing(Loaders) as run:
        batches = loader(3)
        drawn(run, began(run, batches), 2)
        began(run, batches)
        assert told(run) == [(1, 1, False, False)]


def test_batches_of_an_iterator_that_began_before_are_let_alone():
    with inventing(Loaders) as run:
        stranger: Any = Iterator()
        drawn(run, stranger)
        run.signals.loaders.exhausted.send(BatchAsked(stranger))
        assert told(run) == []


def trained(run: Invented, iterator: Any, times: int, every: int = 1) -> list[BatchAsked]:
    """How batches were asked for, with a step of an optimizer after so many of them."""
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    calls = []
    for number in range(1, times + 1):
        calls.append(call := BatchAsked(iterator))
        run.signals.loaders.asked.send(call)
        if call.stop:
            break
        run.signals.loaders.drawn.send(call)
        if number % every == 0:
            run.train(sgd)
    return calls


def last_at(calls: list[BatchAsked]) -> int | None:
    """Which call was given the last batch."""
    return next((number for number, call in enumerate(calls, start=1) if call.only_the_last), None)


def test_a_pass_that_trains_is_cut_and_given_its_last_batch(coping):
    with inventing(Loaders) as run:
        run.find(Loaders).limit = 4
        batches = loader(9)
        one = began(run, batches)
        assert last_at(trained(run, one, 5)) == 5
        run.signals.loaders.exhausted.send(BatchAsked(one))
        assert told(run) == [(1, 1, False, False), (1, 4, False, True), (1, 5, True, True)]
        again = began(run, batches)
        assert last_at(trained(run, again, 9)) == 5
        (note,) = run.of(Noted)
        assert "were cut: the first after 4 batches of 9, followed by its last batch" in note.text


def test_a_pass_is_left_whole_where_its_consumer_needs_that(coping):
    coping[0] = False
    with inventing(Loaders) as run:
        run.find(Loaders).limit = 2
        assert last_at(trained(run, began(run, loader(9)), 9)) is None


def test_a_pass_that_does_not_train_is_left_whole(coping):
    with inventing(Loaders) as run:
        run.find(Loaders).limit = 2
        assert drawn(run, began(run, loader(9)), 9)
        assert run.of(Noted) == []


@pytest.mark.parametrize(("every", "cut"), [(1, 3), (3, 7), (4, 9), (9, None)])
def test_a_pass_is_cut_when_it_has_shown_how_often_it_steps(every, cut, coping):
    with inventing(Loaders) as run:
        run.find(Loaders).limit = 2
        assert last_at(trained(run, began(run, loader(12)), 12, every)) == cut


def test_a_pass_that_is_soon_over_is_left_whole(coping):
    with inventing(Loaders) as run:
        loaders = run.find(Loaders)
        loaders.limit, loaders.patience = 2, 60.0
        assert last_at(trained(run, began(run, loader(9)), 9)) is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, by the clock that loaders go by."""
    now = [0.0]
    monkeypatch.setattr(module, "CLOCK", Clock(monotonic=lambda: now[0]))
    return now


def timed(run: Invented, iterator: Any, clock: list[float], seconds: list[float]) -> int | None:
    """At which batch a pass is cut whose steps take so many seconds each."""
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    for number, taken in enumerate(seconds):
        run.signals.loaders.asked.send(call := BatchAsked(iterator))
        if call.only_the_last or call.stop:
            return number
        run.signals.loaders.drawn.send(call)
        clock[0] += taken
        run.train(sgd)
    return None


def test_the_first_pass_goes_on_for_as_long_as_patience_lasts(coping, clock):
    with inventing(Loaders) as run:
        loaders, batches = run.find(Loaders), loader(500)
        loaders.limit, loaders.patience = 4, 5.0
        assert timed(run, began(run, batches), clock, [0.25] * 100) == 20
        assert timed(run, began(run, batches), clock, [0.25] * 100) == 4


def test_no_pass_is_cut_before_the_steps_that_are_wanted_unless_that_takes_too_long(coping, clock):
    for longest, first in ((20.0, 32), (6.0, 24)):
        with inventing(Loaders) as run:
            loaders, batches = run.find(Loaders), loader(500)
            loaders.limit, loaders.patience, loaders.steps_to_come, loaders.longest = 4, 5.0, 32, longest
            assert timed(run, began(run, batches), clock, [0.25] * 100) == first
            assert timed(run, began(run, batches), clock, [0.25] * 100) == 4


def test_a_pass_is_judged_by_its_latest_steps(coping, clock):
    with inventing(Loaders) as run:
        loaders = run.find(Loaders)
        loaders.limit, loaders.patience = 10, 5.0
        assert timed(run, began(run, loader(200)), clock, [1.5] * 4 + [0.01] * 196) is None


@pytest.mark.parametrize(("width", "planned"), [(1, 99), (1000, 71), (10_000, 4)])
def test_lightning_is_told_of_what_is_likely_to_fit(width, planned, monkeypatch):
    monkeypatch.setattr(module, "is_within", lambda packages: True)
    with inventing(Loaders) as run:
        loaders = run.find(Loaders)
        loaders.limit, loaders.patience = 4, 5.0
        weight = nn.Parameter(torch.empty(width, 1).expand(width, width))
        run.train(SGD([weight], lr=0.1))
        asked = LengthAsked(loader(500), 500)
        run.signals.loaders.length_asked.send(asked)
        assert asked.length == planned


def test_a_stream_that_trains_is_ended_when_patience_is(coping):
    with inventing(Loaders) as run:
        loaders = run.find(Loaders)
        loaders.limit = 2
        calls = trained(run, began(run, DataLoader(Stream())), 9)
        assert (len(calls), calls[-1].stop, last_at(calls)) == (3, True, None)
        assert told(run)[-1] == (1, 2, True, True)
        loaders.patience = 60.0
        assert len(trained(run, began(run, DataLoader(Stream())), 9)) == 9


def test_who_was_told_of_fewer_batches_does_not_ask_for_more(monkeypatch):
    monkeypatch.setattr(module, "is_within", lambda packages: True)
    with inventing(Loaders) as run:
        run.find(Loaders).limit = 2
        batches = loader(5)
        run.signals.loaders.length_asked.send(LengthAsked(batches, 5))
        drawn(run, began(run, batches), 2)
        began(run, batches)
        assert told(run)[-1] == (1, 2, True, True)


def test_a_pass_that_is_over_anyway_ends_by_itself(coping):
    with inventing(Loaders) as run:
        run.find(Loaders).limit = 2
        assert last_at(trained(run, began(run, loader(2)), 3)) is None, "torch says that it is exhausted"
        assert run.of(Noted) == []


def test_nothing_is_cut_without_a_limit(coping):
    with inventing(Loaders) as run:
        assert last_at(trained(run, began(run, loader(9)), 9)) is None


@pytest.mark.parametrize(("within", "limit", "length"), [(True, 2, 2), (True, 9, 5), (True, 0, 5), (False, 2, 5)])
def test_to_lightning_a_loader_is_as_long_as_a_pass_will_be(within, limit, length, monkeypatch):
    monkeypatch.setattr(module, "is_within", lambda packages: within)
    with inventing(Loaders) as run:
        run.find(Loaders).limit = limit
        asked = LengthAsked(loader(5), 5)
        run.signals.loaders.length_asked.send(asked)
        assert asked.length == length


def test_steps_during_a_pass_tell_how_many_an_epoch_takes():
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    with inventing(Loaders) as run:
        run.train(sgd)
        one = began(run, loader(9))
        drawn(run, one, 2)
        assert run.find(Loaders).steps_per_epoch is None
        run.train(sgd)
        drawn(run, one)
        assert run.find(Loaders).steps_per_epoch == round(9 / 2)
        drawn(run, one)
        assert run.find(Loaders).steps_per_epoch == 3


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(3))

    def __len__(self) -> int:
        raise AssertionError("an iterable-style loader remembers that it was asked")


def test_the_length_of_a_stream_is_not_asked_for():
    with inventing(Loaders) as run:
        drawn(run, began(run, DataLoader(Stream())))
        assert run.of(BatchDrawn)[0].length is None


def test_a_sampler_without_a_length():
    class Sampler:
        def __iter__(self) -> Any:
            return iter([0])

    with inventing(Loaders) as run:
        odd: Any = DataLoader(torch.ones(3, 1), sampler=Sampler(), batch_size=1)  # type: ignore[arg-type]
        drawn(run, began(run, odd))
        assert run.of(BatchDrawn)[0].length is None
