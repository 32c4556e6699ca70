"""Ranks that train on the same samples, or on their own: `same_data.py CASE...`. Each case is a way to do so.

Two processes are forked, which meet by a file, and go through the cases one after the other. Where the fault of a case
shows, the line carries its name.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, SubsetRandomSampler, TensorDataset

STEPS = 12
CASES: dict[str, Callable[[int], None]] = {}
Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]


def case(work: Callable[[int], None]) -> Callable[[int], None]:
    CASES[work.__name__] = work
    return work


def network(*more: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), *more, nn.Linear(8, 1))


def points(count: int = 96) -> TensorDataset:
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(1))
    return TensorDataset(x, x.sum(1, keepdim=True))


def loader(**options: Any) -> DataLoader[Any]:
    return DataLoader(points(), batch_size=8, **options)


def divided() -> DataLoader[Any]:
    data = points(192)
    return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))


def drawn() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for _ in range(STEPS):
        x = torch.randn(8, 4)
        yield x, x.sum(1, keepdim=True)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> None:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=0.01)


# ---------------------------------------------------------------------------------------------------------------- sick


@case
def in_order(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    for x, y in loader():  # <- in_order
        step(model, optimizer, x, y)


@case
def shuffled_alike(rank: int) -> None:
    """Dropout has a seed for each rank, and the loader does not."""
    model = DistributedDataParallel(network(nn.Dropout(0.2)))
    optimizer = adam(model)
    torch.manual_seed(rank)
    for x, y in loader(shuffle=True, generator=torch.Generator().manual_seed(0)):  # <- shuffled_alike
        step(model, optimizer, x, y)


@case
def drawn_alike(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    for x, y in drawn():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # <- drawn_alike
        optimizer.step()


@case
def whole_set(rank: int) -> None:
    """Each rank shuffles all of it by a seed of its own."""
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    own = loader(shuffle=True, generator=torch.Generator().manual_seed(rank))
    for _ in range(2):
        for x, y in own:  # <- whole_set
            step(model, optimizer, x, y)


@case
def whole_set_for_ever(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    own = loader(shuffle=True, generator=torch.Generator().manual_seed(rank))

    def batches() -> Iterator[Any]:
        while True:
            yield from own  # <- whole_set_for_ever

    for _, (x, y) in zip(range(len(own) + 3), batches(), strict=False):
        step(model, optimizer, x, y)


@case
def stream_not_divided(rank: int) -> None:
    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter(points())

    model = DistributedDataParallel(network())
    optimizer = adam(model)
    for x, y in DataLoader(Stream(), batch_size=8):  # <- stream_not_divided
        step(model, optimizer, x, y)


@case
def reduced_by_hand(rank: int) -> None:
    model = network()
    optimizer = adam(model)
    for x, y in loader():  # <- reduced_by_hand
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad.data)
            parameter.grad /= 2
        optimizer.step()


@case
def reduced_at_once(rank: int) -> None:
    """Two micro-batches a step, and all gradients in one vector."""
    model = network()
    optimizer = adam(model)
    for count, (x, y) in enumerate(loader()):  # <- reduced_at_once
        (nn.functional.mse_loss(model(x), y) / 2).backward()
        if count % 2:
            flat = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
            dist.all_reduce(flat)
            parts = flat.div(2).split([parameter.numel() for parameter in model.parameters()])
            for parameter, part in zip(model.parameters(), parts, strict=True):
                parameter.grad.copy_(part.view_as(parameter))
            optimizer.step()
            optimizer.zero_grad()


@case
def accumulated(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    for count, (x, y) in enumerate(loader()):  # <- accumulated
        with model.no_sync() if count % 2 == 0 else nullcontext():
            (nn.functional.mse_loss(model(x), y) / 2).backward()
        if count % 2:
            optimizer.step()
            optimizer.zero_grad()


@case
def sharded(rank: int) -> None:
    model = network()
    for layer in (model[0], model):
        fully_shard(layer, mesh=init_device_mesh("cpu", (2,)))
    optimizer = adam(model)
    for x, y in loader():  # <- sharded
        step(model, optimizer, x, y)


@case
def in_another_order(rank: int) -> None:
    """Each rank shuffles what all of them have."""
    model = DistributedDataParallel(network())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y = points().tensors
    torch.manual_seed(rank)
    for rows in torch.arange(96).split(8):
        mine = rows[torch.randperm(8)]
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[mine]), y[mine]).backward()  # <- in_another_order
        optimizer.step()


@case
def rate_of_each_shard(rank: int) -> None:
    """Each rank lowers the rate of its parts by its own loss."""
    model = network()
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    for x, y in divided():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step(loss.item())  # <- rate_of_each_shard


@case
def epoch_never_set(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    loader = divided()
    for _ in range(2):
        for x, y in loader:  # <- epoch_never_set
            step(model, optimizer, x, y)


# ------------------------------------------------------------------------------------------------------------- healthy


@case
def half_of_the_set(rank: int) -> None:
    """Each rank has its half, and evaluates on all."""
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    x, y = points().tensors
    half = DataLoader(TensorDataset(x[rank::2], y[rank::2]), batch_size=8, shuffle=True)
    for _ in range(2):
        for pair in half:
            step(model, optimizer, *pair)
        with torch.no_grad():
            for given, wanted in loader():
                nn.functional.mse_loss(model(given), wanted)


@case
def sampled_by_rank(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    for x, y in divided():
        step(model, optimizer, x, y)
    model.eval()
    with torch.no_grad():
        assert all(model(x).isfinite().all() for x, _ in loader())


@case
def sharded_and_sampled_by_rank(rank: int) -> None:
    model = network()
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    optimizer = adam(model)
    for x, y in divided():
        step(model, optimizer, x, y)


@case
def layers_sharded_for_one_batch(rank: int) -> None:
    """Tensor parallelism by torch: all ranks work on the same samples."""
    model = network()
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(model, init_device_mesh("cpu", (2,)), plan)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in loader():
        step(model, optimizer, x, y)


@case
def seeded_by_rank(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    torch.manual_seed(rank)
    for x, y in drawn():
        step(model, optimizer, x, y)


@case
def augmented_by_rank(rank: int) -> None:
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    torch.manual_seed(rank)
    for x, y in loader():
        step(model, optimizer, x + 0.1 * torch.randn_like(x), y)


@case
def part_of_each_batch(rank: int) -> None:
    model = DistributedDataParallel(network(nn.Dropout(0.1)))
    optimizer = adam(model)
    for x, y in loader():
        step(model, optimizer, x[rank::2], y[rank::2])


@case
def part_inside_the_model(rank: int) -> None:
    """As in Lightning, where the wrapper is given the batch, and its part is taken in the step of the module."""

    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = network(nn.Dropout(0.1))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return nn.functional.mse_loss(self.layers(x[rank::2]), y[rank::2])

    model = DistributedDataParallel(Part())
    optimizer = adam(model)
    for x, y in loader():
        optimizer.zero_grad()
        model(x, y).backward()
        optimizer.step()


class _Sum(torch.autograd.Function):
    """Over ranks: the gradient of each is that of its own part."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0]


class _FunctionalSum(_Sum):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> Any:
        return functional.wait_tensor(functional.all_reduce(x.contiguous(), "sum", dist.group.WORLD))


@case
def part_of_the_sequence(rank: int) -> None:
    """All ranks embed the whole, go on with their part of the hidden values, and add up their losses."""

    class Halves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Linear(1, 8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.embedding(x[..., None]).chunk(2, dim=1)[rank]
            return self.head(hidden.tanh()).mean(1)

    torch.manual_seed(0)
    model = DistributedDataParallel(Halves())
    optimizer = adam(model)
    for x, y in loader():
        optimizer.zero_grad()
        _Sum.apply(nn.functional.mse_loss(model(x), y) / 2).backward()
        optimizer.step()


@case
def own_targets(rank: int) -> None:
    """Each rank has a task of its own on the same inputs."""
    _own_targets(rank, network())


@case
def own_targets_and_dropout(rank: int) -> None:
    _own_targets(rank, network(nn.Dropout(0.1)))


def _own_targets(rank: int, inner: nn.Module) -> None:
    model = DistributedDataParallel(inner)
    optimizer = adam(model)
    for x, y in loader():
        step(model, optimizer, x, (y, y.abs())[rank])


@case
def one_batch(rank: int) -> None:
    """All data are one batch, and labels are noisy in another way on each rank."""
    model = DistributedDataParallel(network())
    optimizer = adam(model)
    x, y = points()[:]
    for _ in range(STEPS):
        step(model, optimizer, x, y)


@case
def same_model_twice(rank: int) -> None:
    """What all ranks need is trained on each of them alike, and nothing is sent; scores are."""
    model = network()
    optimizer = adam(model)
    for x, y in loader():
        step(model, optimizer, x, y)
        score = torch.ones(1)
        dist.all_reduce(score)


@case
def search(rank: int) -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=(0.05, 0.01)[rank])
    for x, y in loader():
        step(model, optimizer, x, y)


@case
def whole_part_in_each_step(rank: int) -> None:
    """Each pass is one batch: the part of this rank. No order matters to it."""
    data = points(32)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
    for _ in range(STEPS):
        for x, y in batches:
            step(model, optimizer, x, y)


@case
def parts_of_a_layer_by_torch(rank: int) -> None:
    """Tensor parallelism behind a layer that both ranks hold and average, which has an optimizer of its own."""
    front = nn.Linear(4, 4)
    layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(layers, init_device_mesh("cpu", (2,)), plan)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.05) for each in (front, layers)]
    for x, y in loader():
        front.zero_grad()
        layers.zero_grad()
        nn.functional.mse_loss(layers(front(x)), y).backward()
        for parameter in front.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2
        for optimizer in optimizers:
            optimizer.step()


@case
def parts_summed_by_a_functional_collective(rank: int) -> None:
    """A replicated layer before parts that each rank has of the next ones."""
    front = network()[0]
    torch.manual_seed(10 + rank)
    own = nn.Linear(8, 1)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.02) for each in (front, own)]
    for x, y in loader():
        front.zero_grad()
        own.zero_grad()
        nn.functional.mse_loss(_FunctionalSum.apply(own(front(x).tanh())), y).backward()
        for parameter in front.parameters():
            dist.all_reduce(parameter.grad)
        for optimizer in optimizers:
            optimizer.step()


@case
def shard_shuffled_by_itself(rank: int) -> None:
    """A sampler that gives out the part of this rank alone: the other one reads the rest."""
    data = points()
    own = SubsetRandomSampler(range(rank, len(data), 2), generator=torch.Generator().manual_seed(rank))
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = DataLoader(data, batch_size=16, sampler=own)
    for _ in range(4):
        for x, y in batches:
            step(model, optimizer, x, y)


@case
def own_rows_of_a_tensor(rank: int) -> None:
    """Rows of this rank, drawn from a tensor that both hold."""
    x, y = points().tensors
    torch.manual_seed(rank)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2 * STEPS):
        rows = torch.randint(48 * rank, 48 * rank + 48, (8,))
        step(model, optimizer, x[rows], y[rows])


@case
def parts_of_a_layer(rank: int) -> None:
    """Tensor parallelism: each rank holds a part of the hidden units; what they share has equal gradients already."""
    hidden = network()[0]
    own = nn.Linear(8, 4)
    torch.manual_seed(10 + rank)
    nn.init.normal_(own.weight, std=0.5)
    out = nn.Linear(4, 1, bias=False)
    optimizer = torch.optim.Adam([*hidden.parameters(), *own.parameters(), *out.parameters()], lr=0.01)
    for x, y in loader():
        optimizer.zero_grad()
        prediction = _Sum.apply(out(own(hidden(x).tanh()).tanh()))
        nn.functional.mse_loss(prediction, y).backward()
        for parameter in hidden.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()


def work(rank: int, names: list[str], meeting: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
    for name in names:
        CASES[name](rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:
        mp.start_processes(work, args=(sys.argv[1:], meeting), nprocs=2, start_method="fork")
