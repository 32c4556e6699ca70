"""What steps were trained on, as numbers: two runs stand for two ranks, equal where these would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from autograd_doctor.events.replicas import BatchTrained
from autograd_doctor.instruments.ranks import rank_batches, replicas
from autograd_doctor.instruments.ranks.rank_batches import RankBatches
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from tests.watching import watching


@pytest.fixture(autouse=True)
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of one, which is taken for one of several."""
    for module in (rank_batches, replicas):
        monkeypatch.setattr(module, "is_one_of_several", lambda: True)
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Training:
    """Of a small model; what differs between ranks comes after the model is made."""

    def __init__(self, *more: nn.Module) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), *more, nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.after_backward: Callable[[], Any] = lambda: None

    def step(self, x: torch.Tensor, y: torch.Tensor, *, before_backward: Callable[[], Any] = lambda: None) -> None:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        before_backward()
        loss.backward()
        self.after_backward()
        self.optimizer.step()


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(seed))
    return x, x.sum(1, keepdim=True)


def trained(work: Callable[[], None]) -> list[BatchTrained]:
    with watching(RankBatches, OptimizerSteps) as events:
        work()
    return events.of(BatchTrained)


def equal(ranks: Sequence[Sequence[BatchTrained]], what: str) -> bool:
    one, other = ([getattr(each, what) for each in rank] for rank in ranks)
    assert one
    return one == other


def on_ranks(work: Callable[[int], None]) -> list[list[BatchTrained]]:
    return [trained(lambda rank=rank: work(rank)) for rank in range(2)]  # type: ignore[misc]


def test_equal_data_are_equal_and_others_are_not() -> None:
    alike = on_ranks(lambda rank: Training().step(*batch()))
    assert [equal(alike, what) for what in ("given", "loss")] == [True, True]
    apart = on_ranks(lambda rank: Training().step(*batch(rank)))
    assert [equal(apart, what) for what in ("given", "loss")] == [False, False]


def test_other_targets_show_in_the_loss_and_where_layers_draw_beside_it() -> None:
    apart = on_ranks(lambda rank: Training().step(batch()[0], batch(rank)[1]))
    assert [equal(apart, what) for what in ("given", "loss", "is_random")] == [True, False, True]
    assert not apart[0][0].is_random

    def drops_out(rank: int, target: int) -> None:
        training = Training(nn.Dropout())
        torch.manual_seed(rank)
        training.step(batch()[0], batch(target)[1])

    alike = on_ranks(lambda rank: drops_out(rank, 0))
    assert [equal(alike, what) for what in ("given", "loss", "beside")] == [True, False, True]
    assert alike[0][0].is_random
    apart = on_ranks(lambda rank: drops_out(rank, rank))
    assert [equal(apart, what) for what in ("given", "loss", "beside")] == [True, False, False]


def test_dropout_that_drops_nothing_is_not_random() -> None:
    (told,) = trained(lambda: Training(nn.Dropout(0.0)).step(*batch()))
    assert not told.is_random


def test_a_part_that_is_taken_inside_of_a_model_shows() -> None:
    class Part(nn.Module):
        def __init__(self, rank: int, layers: nn.Module) -> None:
            super().__init__()
            self.rank, self.layers = rank, layers

        def forward(self, x: torch.Tensor) -> Any:
            return self.layers(x[self.rank :: 2])

    def work(rank: int) -> None:
        training = Training()
        training.model = Part(rank, training.model)  # type: ignore[assignment]
        training.step(batch()[0], torch.zeros(3, 1))

    assert not equal(on_ranks(work), "given")


def test_what_loaders_gave_goes_with_the_backward_after_it() -> None:
    data = TensorDataset(*batch())
    loader = DataLoader(data, batch_size=3)

    def work(looks_first: bool) -> None:
        training = Training()
        if looks_first:
            list(loader)
        for x, y in loader:
            training.step(x, y)
        training.step(*batch())

    first, second, without = trained(lambda: work(looks_first=False))
    assert (first.loader, first.drawn is None, second.drawn is None, without.drawn) == ("loader", False, False, None)
    assert first.drawn != second.drawn
    again = trained(lambda: work(looks_first=True))
    assert equal([[first, second], again[:2]], "drawn")
    assert first.location is not None
    assert without.location is not None
    assert first.location.line == work.__code__.co_firstlineno + 4


def test_a_collective_between_data_and_loss_is_seen() -> None:
    training = Training()
    training.after_backward = lambda: dist.all_reduce(torch.ones(1))
    assert [each.shared for each in trained(lambda: training.step(*batch()))] == [False]
    meets = lambda: dist.all_reduce(torch.ones(1))  # noqa: E731
    assert [each.shared for each in trained(lambda: Training().step(*batch(), before_backward=meets))] == [True]


@pytest.mark.parametrize("file", ["distributed/fsdp/of_shards.py", "nn/modules/_functions.py"])
def test_collectives_of_shards_and_of_statistics_say_nothing_of_data(file: str) -> None:
    """What torch calls in a forward by the names that programs use, invented under the names of its files."""
    names: dict[str, Any] = {"dist": dist, "torch": torch}
    path = str(Path(torch.__file__).parent / file)
    exec(compile("def gathers(): dist.all_reduce(torch.ones(1))", path, "exec"), names)
    gathers = names["gathers"]
    assert [each.shared for each in trained(lambda: Training().step(*batch(), before_backward=gathers))] == [False]


@pytest.mark.parametrize("how", ["each", "data of each", "at once", "no gradient", "before the backward"])
def test_gradients_that_are_sent_are_told_from_other_things(how: str) -> None:
    def send(training: Training) -> None:
        gradients = [parameter.grad for parameter in training.model.parameters() if parameter.grad is not None]
        if how == "at once":
            dist.all_reduce(torch.cat([each.flatten() for each in gradients]))
        elif how == "no gradient":
            dist.all_reduce(torch.ones(4))
        else:
            for each in gradients:
                dist.all_reduce(each if how == "each" else each.data)

    training = Training()
    if how != "before the backward":
        training.after_backward = lambda: send(training)
    else:
        flat = torch.ones(sum(each.numel() for each in training.model.parameters()))
        training.optimizer.register_step_post_hook(lambda *_: dist.all_reduce(flat))

    def work() -> None:
        training.step(*batch())
        training.step(*batch(1))

    sent = how in ("each", "data of each", "at once")
    assert [each.sent for each in trained(work)] == [sent, sent]


def test_micro_batches_of_a_step_are_told_together() -> None:
    def work(rank: int) -> None:
        training = Training()
        for seed in (0, rank):
            x, y = batch(seed)
            nn.functional.mse_loss(training.model(x), y).backward()
        training.optimizer.step()

    apart = on_ranks(work)
    assert [len(rank) for rank in apart] == [1, 1]
    assert not equal(apart, "given")


def test_what_was_collected_for_a_step_is_not_counted_for_the_next() -> None:
    def work(rank: int) -> None:
        training = Training()
        training.step(*batch(rank))
        training.step(*batch())

    (first, second), (other_first, other_second) = on_ranks(work)
    assert (first.given == other_first.given, second.given == other_second.given) == (False, True)


def test_only_the_first_steps_are_told_and_those_that_can_be_read() -> None:
    training = Training()

    def work() -> None:
        for seed in range(12):
            training.step(*batch(seed))

    assert [each.taken for each in trained(work)] == [*range(8)]

    class Complex(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.real)

    layer = Complex(3, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

    def unreadable() -> None:
        layer(torch.ones(2, 3, dtype=torch.complex64)).sum().backward()
        optimizer.step()

    assert trained(unreadable) == []
