"""What is read of models that other ranks may hold the same of: when, by which steps, and at whose cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from autograd_doctor.events.replicas import GradientsChangedAfterStep, ReplicasMet, ReplicasRead
from autograd_doctor.instruments.ranks.replicas import Replicas
from tests.watching import Recorded, one_of_two, watching


@pytest.fixture
def ranks() -> Iterator[None]:
    with one_of_two():
        yield


def train(trained: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        trained(torch.ones(2, 4)).sum().backward()
        optimizer.step()


def taken(seen: Recorded, replicas: int = 0) -> list[int]:
    """Before which steps a model was read."""
    return [event.taken for event in seen.of(ReplicasRead) if event.replicas == replicas]


def test_a_program_alone_is_not_read() -> None:
    model = nn.Linear(4, 1)
    with watching(Replicas) as seen:
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 3)
    assert not seen.of(ReplicasMet)


@pytest.mark.usefixtures("ranks")
def test_models_are_read_ever_more_seldom_and_by_their_own_steps() -> None:
    model, critic = nn.Linear(4, 1), nn.Linear(4, 1)
    with watching(Replicas) as seen:
        first = torch.optim.SGD(model.parameters(), lr=0.1)
        second = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(5):
            train(critic, second, 2)
            train(model, first, 1)
    assert (taken(seen, 0), taken(seen, 1)) == ([0, 1, 2, 4, 8], [0, 1, 2, 4])
    assert [event.ranks for event in seen.of(ReplicasMet)] == [[0, 1], [0, 1]]
    assert [len(event.names) for event in seen.of(ReplicasMet)] == [2, 2]


@pytest.mark.usefixtures("ranks")
def test_what_goes_apart_late_is_read_as_well() -> None:
    model = nn.Linear(4, 1)
    with watching(Replicas) as seen:
        train(model, torch.optim.SGD(model.parameters(), lr=0.01), 150)
    assert taken(seen) == [0, 1, 2, 4, 8, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128]


@pytest.mark.usefixtures("ranks")
def test_what_changes_models_between_steps_has_them_read_again() -> None:
    """As where they are averaged."""
    model = nn.Linear(4, 1)
    with watching(Replicas) as seen:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            train(model, optimizer, 5)
            model.bias.data.mul_(0.5)
            train(model, optimizer, 1)
    assert taken(seen) == [0, 1, 2, 4, 5, 8, 11]


@pytest.mark.usefixtures("ranks")
def test_another_optimizer_of_the_same_model_goes_on_counting() -> None:
    model = nn.Linear(4, 1)
    with watching(Replicas) as seen:
        for _ in range(3):
            train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1)
    assert taken(seen) == [0, 1, 2]


@pytest.mark.usefixtures("ranks")
def test_gradients_are_those_that_a_step_uses_also_of_a_closure() -> None:
    model = nn.Linear(4, 1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4)).pow(2).sum()
        loss.backward()
        return loss

    with watching(Replicas) as seen:
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
        optimizer.step(closure)
        optimizer.step(closure)
    assert taken(seen) == [0, 1]
    assert min(seen.of(ReplicasRead)[0].gradient_norms) > 0


@pytest.mark.usefixtures("ranks")
def test_gradients_that_change_after_the_step_are_told_when_they_are_cleared() -> None:
    model = nn.Linear(4, 1)
    with watching(Replicas) as seen:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(model, optimizer, 1)
        train(model, optimizer, 1)
        assert not seen.of(GradientsChangedAfterStep)
        model.weight.grad.mul_(3)  # type: ignore[union-attr]
        optimizer.zero_grad()
    (changed,) = seen.of(GradientsChangedAfterStep)
    before = seen.of(ReplicasRead)[-1]
    assert changed.taken == before.taken == 1
    assert changed.gradient_norms == pytest.approx([3 * before.gradient_norms[0], before.gradient_norms[1]])


class Odd(nn.Module):
    """With whole numbers and truth values among what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 1)
        self.codes = nn.Parameter(torch.arange(4), requires_grad=False)
        self.mask = nn.Parameter(torch.ones(4, dtype=torch.bool), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x * self.codes * self.mask)


@pytest.mark.usefixtures("ranks")
def test_what_is_wrapped_is_read_with_what_nothing_trains_of_any_type() -> None:
    wrapped = nn.parallel.DistributedDataParallel(Odd())
    with watching(Replicas) as seen:
        optimizer = torch.optim.SGD(wrapped.module.inner.parameters(), lr=0.1)
        train(wrapped.module, optimizer, 1)
        with wrapped.no_sync():
            train(wrapped, optimizer, 1)
    trained, frozen = seen.of(ReplicasMet)
    assert (trained.model, trained.names, trained.trained) == ("wrapped", ["inner.weight", "inner.bias"], True)
    assert (frozen.model, frozen.names, frozen.trained) == ("wrapped", ["codes", "mask"], False)
    assert next(event.norms for event in seen.of(ReplicasRead) if event.replicas == 1) == pytest.approx([14**0.5, 2.0])
    assert [event.sent_last for event in seen.of(ReplicasRead) if event.replicas == 0] == [True, False]


@pytest.mark.usefixtures("ranks")
def test_nothing_is_kept_alive() -> None:
    import gc
    import weakref

    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
    with watching(Replicas) as seen:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(model.module, optimizer, 3)
        gone = [weakref.ref(model), weakref.ref(model.module.weight)]
        del model, optimizer
        gc.collect()
        assert [each() for each in gone] == [None, None]
    assert taken(seen) == [0, 1, 2]
