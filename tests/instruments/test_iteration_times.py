"""The time of an iteration is split by what the program does, by a clock that goes on where the program says so."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from autograd_doctor.events.efficiency import IterationTimed, ModulesTimed
from autograd_doctor.instruments.efficiency import iteration_times
from autograd_doctor.instruments.efficiency.iteration_times import IterationTimes
from autograd_doctor.instruments.efficiency.module_times import ModuleTimes
from autograd_doctor.signals.clipping import ClipCall
from autograd_doctor.signals.optimizers import ClearCall
from autograd_doctor.signals.reads import Wait
from tests.watching import Recorded, watching

STEPS = 40


class Clock:
    """Stands for that of the run, which no look moves."""

    now = 0.0

    def begin(self) -> bool:
        return False

    def end(self) -> None: ...

    def counting(self, action: Callable[[], None]) -> None:
        action()

    def seconds(self) -> float:
        return Clock.now


def takes(seconds: float) -> None:
    Clock.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_times, "LookClock", Clock)
    monkeypatch.setattr(Clock, "now", 0.0)


class Slow(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        takes(2.0)
        return super().forward(x)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Slow(4, 4), Slow(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        takes(0.5)
        return self.second(self.first(x))  # type: ignore[no-any-return]


class Samples(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        takes(1.0)
        return torch.ones(4)


class Loss(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        takes(0.25)
        return x.mean()


class Costly:
    """Takes a second to be written to a file."""

    def __reduce__(self) -> tuple[type[int], tuple[()]]:
        takes(1.0)
        return int, ()


@contextmanager
def watched() -> Iterator[Recorded]:
    with watching(IterationTimes, ModuleTimes) as events:
        yield events
    assert not events.failures


def spent(timed: IterationTimed) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in timed.spent:
        found[each.activity] = found.get(each.activity, 0.0) + each.seconds
    return {activity: seconds for activity, seconds in found.items() if seconds}


def last(events: Recorded) -> IterationTimed:
    return [each for each in events.of(IterationTimed) if not each.recorded][-1]


def test_each_moment_belongs_to_what_the_program_does() -> None:
    with watched() as events:
        model, loss = Twice(), Loss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        optimizer.register_step_pre_hook(lambda *_: takes(0.0625))
        step = 0
        while step < STEPS:
            for batch in DataLoader(Samples(), batch_size=4):
                prediction = model(batch)
                takes(0.5)
                value = loss(prediction)
                value.register_hook(lambda gradient: takes(3.0))
                optimizer.zero_grad()
                value.backward()
                takes(7.0)
                optimizer.step()
                step += 1
    assert spent(last(events)) == {
        "data": 4.0,
        "forward": 4.5,
        "loss": 0.75,
        "backward": 3.0,
        "rest": 7.0,
        "optimizer": 0.0625,
    }
    assert last(events).samples == 4
    assert last(events).seconds == sum(spent(last(events)).values())


def test_modules_are_told_with_what_they_take_themselves() -> None:
    with watched() as events:
        model = Twice()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(8, 4)).mean().backward()
            optimizer.step()
    (timed,) = events.of(ModulesTimed)
    assert timed.iterations > 10
    found = {each.name: (each.kind, each.calls, set(each.seconds), set(each.own)) for each in timed.modules}
    assert found == {
        "model": ("Twice", 1.0, {4.5}, {0.5}),
        "model.first": ("Slow", 1.0, {2.0}, {2.0}),
        "model.second": ("Slow", 1.0, {2.0}, {2.0}),
    }
    assert last(events).samples == 8


def test_an_accelerator_is_waited_for_in_every_other_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has yet to do belongs to what asked for it: here, that takes a second for each forward."""
    owed = [0.0]

    def wait() -> None:
        takes(owed[0])
        owed[0] = 0.0

    class Asks(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            owed[0] += 1.0
            return super().forward(x)

    monkeypatch.setattr(iteration_times, "accelerator_in_use", lambda: "cuda")
    monkeypatch.setattr(iteration_times, "wait_for_accelerator", wait)
    with watched() as events:
        model = Asks(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for _ in range(STEPS):
            model(torch.ones(8, 4)).mean().backward()
            optimizer.step()
    timed = [each for each in events.of(IterationTimed) if not each.recorded]
    assert {each.waited for each in timed} == {True, False}
    assert all(spent(each) == {"forward" if each.waited else "rest": 1.0} for each in timed)


def test_the_host_waits_where_a_value_is_asked_for_if_nothing_else_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each part is waited for, nothing is left to wait for by then."""
    owed = [0.0]

    def wait() -> None:
        takes(owed[0])
        owed[0] = 0.0

    class Asks(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            owed[0] += 1.0
            return super().forward(x)

    monkeypatch.setattr(iteration_times, "accelerator_in_use", lambda: "cuda")
    monkeypatch.setattr(iteration_times, "wait_for_accelerator", wait)
    with watched() as events:
        model = Asks(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        reads = events.session.signals.value_reads
        for _ in range(STEPS):
            loss = model(torch.ones(8, 4)).mean()
            for _ in range(2):
                with reads.around(Wait("item")):
                    wait()
            takes(0.5)
            loss.backward()
            optimizer.step()
    timed = [each for each in events.of(IterationTimed) if not each.recorded]
    assert {each.waited for each in timed} == {True, False}
    for each in timed:
        assert spent(each) == {"forward" if each.waited else "synchronisation": 1.0, "loss": 0.5}
        assert [part.times for part in each.spent if part.activity == "synchronisation"] == [2]


def _trains_with_transfers(monkeypatch: pytest.MonkeyPatch, accelerator: str | None) -> dict[str, float]:
    """Labels are moved while the loss is computed, which takes a second where somebody looks."""
    monkeypatch.setattr(iteration_times, "accelerator_in_use", lambda: accelerator)
    monkeypatch.setattr(iteration_times, "wait_for_accelerator", lambda: None)

    def second(_: object) -> None:
        takes(1.0)

    with watched() as events:
        model, moves = Slow(4, 1), events.session.signals.moves
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for step in range(STEPS):
            if step == 2 and moves.began:
                moves.began.connect(second, owner="test", order=1e9)
            prediction = model(torch.ones(8, 4))
            takes(0.5)
            torch.ones(8).to("meta")
            takes(0.5)
            prediction.mean().backward()
            optimizer.step()
        moves.began.disconnect(second)
    return spent([each for each in events.of(IterationTimed) if each.waited == (accelerator is not None)][-1])


def test_what_is_moved_to_another_device_is_a_part_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _trains_with_transfers(monkeypatch, "cuda") == {"forward": 2.0, "loss": 1.0, "transfer": 1.0}


def test_nobody_looks_for_transfers_without_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _trains_with_transfers(monkeypatch, None) == {"forward": 2.0, "loss": 1.0}


def test_micro_batches_are_one_iteration_and_two_optimizers_are() -> None:
    with watched() as events:
        one, other = Slow(4, 1), Slow(4, 1)
        first, second = (torch.optim.SGD(each.parameters(), lr=0.0) for each in (one, other))
        for _ in range(STEPS):
            for _ in range(3):
                one(torch.ones(2, 4)).mean().backward()
            first.step()
            other(torch.ones(2, 4)).mean().backward()
            second.step()
    assert spent(last(events)) == {"forward": 8.0}
    assert len(events.of(IterationTimed)) == STEPS - 1


def test_optimizers_of_each_parameter_step_in_one_iteration() -> None:
    with watched() as events:
        model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))
        optimizers = {each: torch.optim.SGD([each], lr=0.0) for each in model.parameters()}
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda parameter: optimizers[parameter].step())
        for _ in range(STEPS):
            model(torch.ones(2, 4)).mean().backward()
    assert len(events.of(IterationTimed)) == STEPS - 1


def test_an_optimizer_that_steps_no_more_ends_no_iterations() -> None:
    with watched() as events:
        models = Slow(4, 1), Twice()
        for model in models:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            for _ in range(STEPS):
                model(torch.ones(2, 4)).mean().backward()
                optimizer.step()
    assert spent(last(events)) == {"forward": 4.5}


def test_evaluations_and_checkpoints_are_told_apart(tmp_path: Path) -> None:
    with watched() as events:
        model = Twice()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for step in range(STEPS):
            model(torch.ones(8, 4)).mean().backward()
            optimizer.step()
            if step == STEPS - 2:
                with torch.no_grad():
                    model(torch.ones(2, 4))
                model.eval()
                with torch.no_grad():
                    model(torch.ones(2, 4))
                model.train()
                torch.save(Costly(), tmp_path / "file")
    timed = events.of(IterationTimed)[-1]
    assert spent(timed) == {"forward": 4.5, "no-grad forward": 4.5, "evaluation": 4.5, "checkpoint": 1.0}


def test_what_most_iterations_evaluate_belongs_to_them() -> None:
    with watching(IterationTimes) as events:
        model, teacher = Twice(), Twice().eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        typical: list[bool] = []
        times = events.find(IterationTimes)
        times.listen(times.over, lambda iteration: typical.append(iteration.typical))
        for step in range(STEPS):
            with torch.no_grad():
                target = teacher(torch.ones(8, 4))
            (model(torch.ones(8, 4)) - target).mean().backward()
            optimizer.step()
            if step == STEPS - 2:
                torch.save({}, io.BytesIO())
    assert typical == [True] * (STEPS - 2) + [False]
    assert times.count == STEPS - 1


def test_what_lies_between_two_forwards_is_no_loss() -> None:
    """An environment that is played, for instance."""
    with watched() as events:
        policy = Slow(4, 1)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
        for _ in range(STEPS):
            values = []
            for _ in range(3):
                values.append(policy(torch.ones(1, 4)))
                takes(10.0)
            torch.stack(values).mean().backward()
            optimizer.step()
    assert spent(last(events)) == {"forward": 6.0, "rest": 20.0, "loss": 10.0}


def test_a_forward_that_raises_ends_with_what_is_around_it() -> None:
    class Fails(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            takes(1.0)
            raise ValueError

    with watched() as events:
        model, fails = Twice(), Fails()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for _ in range(STEPS):
            with pytest.raises(ValueError):  # noqa: PT011
                fails(torch.ones(1, 4))
            takes(5.0)
            model(torch.ones(8, 4)).mean().backward()
            optimizer.step()
    assert spent(last(events))["forward"] == 5.5


def test_a_closure_belongs_to_what_it_calls() -> None:
    with watched() as events:
        model = Twice()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            takes(1.0)
            value = model(torch.ones(8, 4)).mean()
            value.backward()
            return value

        for _ in range(STEPS):
            optimizer.step(closure)
    assert spent(last(events)) == {"rest": 1.0, "forward": 4.5}


def test_clipping_and_clearing_are_their_own() -> None:
    with watched() as events:
        model = Twice()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        signals = events.session.signals
        for _ in range(STEPS):
            cleared = ClearCall(optimizer, "optimizer.zero_grad")
            signals.clearing.began.send(cleared)
            takes(1.0)
            signals.clearing.ended.send(cleared)
            model(torch.ones(8, 4)).mean().backward()
            with signals.clipping.around(ClipCall("clip_grad_norm_", [], (), {})):
                takes(2.0)
            optimizer.step()
    assert spent(last(events)) == {"zeroing": 1.0, "forward": 4.5, "clipping": 2.0}
