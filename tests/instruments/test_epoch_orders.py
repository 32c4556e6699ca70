"""Distributed samplers that shuffle: passes in one order are told from those that merely look so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, DistributedSampler, TensorDataset

from autograd_doctor.events.replicas import EpochsInOneOrder
from autograd_doctor.instruments.ranks.epoch_orders import EpochOrders
from tests.watching import watching

X = torch.arange(96.0).reshape(32, 3)
DATA = TensorDataset(X, X.sum(1, keepdim=True))
Loader = DataLoader[Any]


class Trained:
    """A model that batches are trained on."""

    def __init__(self) -> None:
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)

    def loss(self, batch: Any) -> torch.Tensor:
        inputs, wanted = batch
        return nn.functional.mse_loss(self.model(inputs), wanted)

    def step(self, batch: Any) -> None:
        self.optimizer.zero_grad()
        self.loss(batch).backward()
        self.optimizer.step()


def sampler_of(data: Any = DATA, **options: Any) -> DistributedSampler[Any]:
    return DistributedSampler(data, num_replicas=2, rank=0, **options)


def loader_of(sampler: DistributedSampler[Any] | None = None, data: Any = DATA, **options: Any) -> Loader:
    return DataLoader(data, batch_size=4, sampler=sampler or sampler_of(data), **options)


def found(work: Callable[[], None]) -> list[tuple[int, int]]:
    """Passes and batches of each sampler that repeats itself."""
    torch.manual_seed(0)
    with watching(EpochOrders) as events:
        work()
    return [(told.passes, told.batches) for told in events.of(EpochsInOneOrder)]


# ---------------------------------------------------------------------------------------------------------------- sick


def plain() -> None:
    trained, loader = Trained(), loader_of()
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


def workers_that_stay() -> None:
    trained, loader = Trained(), loader_of(num_workers=1, persistent_workers=True)
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


def loader_made_anew() -> None:
    trained, sampler = Trained(), sampler_of()
    for _ in range(3):
        for batch in loader_of(sampler):
            trained.step(batch)


def own_batch_sampler() -> None:
    class Batches:
        def __init__(self, batches: BatchSampler) -> None:
            self.batch_sampler = batches

        def __iter__(self) -> Iterator[list[int]]:
            return iter(self.batch_sampler)

    trained = Trained()
    loader: Loader = DataLoader(DATA, batch_sampler=Batches(BatchSampler(sampler_of(), 4, drop_last=True)))
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


def batches_of_a_sampler_under_a_name_of_its_own() -> None:
    class Batches:
        def __init__(self) -> None:
            self.drawn_from = sampler_of()

        def __iter__(self) -> Iterator[list[int]]:
            yield from zip(*[iter(self.drawn_from)] * 4, strict=True)  # type: ignore[misc]

    trained = Trained()
    loader: Loader = DataLoader(DATA, batch_sampler=Batches())  # type: ignore[arg-type]
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


def gradients_accumulate() -> None:
    trained, loader = Trained(), loader_of()
    for _ in range(3):
        for count, batch in enumerate(loader, 1):
            trained.loss(batch).backward()
            if count % 2 == 0:
                trained.optimizer.step()


def augmented() -> None:
    """Inputs are others at each time, and labels say that the samples are not."""

    class Noisy(Dataset[Any]):
        def __len__(self) -> int:
            return len(X)

        def __getitem__(self, index: int) -> Any:
            return X[index] + torch.rand(3), X[index].sum(0, keepdim=True)

    trained, loader = Trained(), loader_of(data=Noisy())
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


@pytest.mark.parametrize(
    "work",
    [
        plain,
        workers_that_stay,
        loader_made_anew,
        own_batch_sampler,
        batches_of_a_sampler_under_a_name_of_its_own,
        gradients_accumulate,
        augmented,
    ],
)
def test_each_pass_in_one_order(work: Callable[[], None]) -> None:
    assert found(work) == [(3, 12)]


def test_a_second_pass_that_has_begun_is_enough() -> None:
    def work() -> None:
        trained, loader = Trained(), loader_of()
        for epoch in range(2):
            for batch in loader:
                trained.step(batch)
                if epoch:
                    break

    assert found(work) == [(2, 5)]


# ------------------------------------------------------------------------------------------------------------- healthy


def epoch_is_set() -> None:
    trained, loader = Trained(), loader_of(sampler := sampler_of())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in loader:
            trained.step(batch)


def in_order() -> None:
    trained, loader = Trained(), loader_of(sampler_of(shuffle=False))
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


def one_epoch() -> None:
    trained, loader = Trained(), loader_of()
    trained.step(next(iter(loader)))
    for batch in loader:
        trained.step(batch)


def evaluates() -> None:
    """With gradients on, and left before its end."""
    trained, loader, evaluation = Trained(), loader_of(sampler := sampler_of()), loader_of()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in loader:
            trained.step(batch)
        for count, batch in enumerate(evaluation):
            trained.loss(batch)
            if count == 2:
                break


def other_seeds() -> None:
    trained = Trained()
    for epoch in range(3):
        for batch in loader_of(sampler_of(seed=epoch)):
            trained.step(batch)


def data_take_an_order_themselves() -> None:
    class Reordered(Dataset[Any]):
        order = torch.arange(len(X))

        def __len__(self) -> int:
            return len(X)

        def __getitem__(self, index: int) -> Any:
            return DATA[int(self.order[index])]

    data = Reordered()
    trained, loader = Trained(), loader_of(data=data)
    for _ in range(3):
        data.order = torch.randperm(len(X))
        for batch in loader:
            trained.step(batch)


def sampler_shuffles_further() -> None:
    class Further(DistributedSampler[Any]):
        def __iter__(self) -> Iterator[Any]:
            order = list(super().__iter__())
            return iter([order[place] for place in torch.randperm(len(order)).tolist()])

    trained, loader = Trained(), loader_of(Further(DATA, num_replicas=2, rank=0))
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


def taken_up_again() -> None:
    """An epoch was left after its half; what was trained on is passed over."""
    trained, loader = Trained(), loader_of()
    for count, batch in enumerate(loader):
        if count == 3:
            break
        trained.step(batch)
    for count, batch in enumerate(loader):
        if count >= 3:
            trained.step(batch)


def two_models() -> None:
    """Each is trained for one epoch, in the same order as the other."""
    loader = loader_of()
    models = [Trained(), Trained()]
    for trained in models:
        for batch in loader:
            trained.step(batch)


def side_by_side() -> None:
    """Two loaders that belong together share a sampler."""
    trained, sampler = Trained(), sampler_of()
    first, second = loader_of(sampler), loader_of(sampler)
    for one, other in zip(first, second, strict=True):
        trained.step((one[0], other[1]))


def epochs_of_a_framework() -> None:
    """A loader that tells its sampler the epoch, as those of frameworks do."""

    class Counting(DataLoader[Any]):
        passes = 0

        def __iter__(self) -> Any:
            self.sampler.set_epoch(self.passes)  # type: ignore[attr-defined]
            self.passes += 1
            return super().__iter__()

    trained, loader = Trained(), Counting(DATA, batch_size=4, sampler=sampler_of())
    for _ in range(3):
        for batch in loader:
            trained.step(batch)


@pytest.mark.parametrize(
    "work",
    [
        epoch_is_set,
        in_order,
        one_epoch,
        evaluates,
        other_seeds,
        data_take_an_order_themselves,
        sampler_shuffles_further,
        taken_up_again,
        two_models,
        side_by_side,
        epochs_of_a_framework,
    ],
)
def test_passes_that_only_look_so(work: Callable[[], None]) -> None:
    assert found(work) == []
