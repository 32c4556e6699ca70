"""Ranks that evaluate one model and keep its weights: `kept_states.py CASE...`, as `alike.py` has cases."""

from __future__ import annotations

import copy
import sys
import tempfile
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 24
CASES: dict[str, Callable[[int], None]] = {}


def case(work: Callable[[int], None]) -> Callable[[int], None]:
    CASES[work.__name__] = work
    return work


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def error(model: nn.Module, seed: int | None = None) -> torch.Tensor:
    x = torch.randn(16, 4, generator=None if seed is None else torch.Generator().manual_seed(seed))
    return (model(x) - x.sum(1, keepdim=True)).pow(2).mean()


def trained(rank: int, model: nn.Module, after: Callable[[int], None], reduced: bool = False) -> None:
    torch.manual_seed(100 + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(1, STEPS + 1):
        model.train()
        optimizer.zero_grad()
        error(model).backward()
        for parameter in model.parameters() if reduced else ():
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2
        optimizer.step()
        after(step)


def evaluated(model: nn.Module, seed: int) -> float:
    model.eval()
    with torch.no_grad():
        return error(model, seed).item()


@case
def own_statistics(rank: int) -> None:
    model = DistributedDataParallel(network(), broadcast_buffers=False)

    def after(step: int) -> None:
        if step % 6 == 0:
            model.eval()
            with torch.no_grad():
                model(torch.ones(2, 4))  # <- own_statistics

    trained(rank, model, after)


@case
def own_statistics_without_wrapper(rank: int) -> None:
    model = network()

    def after(step: int) -> None:
        if step % 6 == 0:
            model.eval()
            with torch.no_grad():
                model(torch.ones(2, 4))  # <- own_statistics_without_wrapper

    trained(rank, model, after, reduced=True)


@case
def best_by_own_loss(rank: int) -> None:
    model, best = DistributedDataParallel(network()), {"loss": float("inf")}

    def after(step: int) -> None:
        loss = evaluated(model, 100 * step + rank)
        if loss < best["loss"]:
            best["loss"] = loss
            best["state"] = copy.deepcopy(model.module.state_dict())  # <- best_by_own_loss

    trained(rank, model, after)


@case
def statistics_averaged(rank: int) -> None:
    model = network()

    def after(step: int) -> None:
        if step % 6 == 0:
            for buffer in model.buffers():
                if buffer.is_floating_point():
                    dist.all_reduce(buffer)
                    buffer /= 2
            evaluated(model, 7)

    trained(rank, model, after, reduced=True)


@case
def statistics_sent(rank: int) -> None:
    model = DistributedDataParallel(network())
    trained(rank, model, lambda step: evaluated(model.module, step) and None)


@case
def memory_of_each_rank(rank: int) -> None:
    class Remembering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 1)
            self.register_buffer("last", torch.zeros(16, 1), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.body(x)
            self.last = y.detach()
            return y

    torch.manual_seed(0)
    model = DistributedDataParallel(Remembering(), broadcast_buffers=False)
    trained(rank, model, lambda step: evaluated(model, step) and None)


@case
def best_on_rank_zero(rank: int) -> None:
    model, best = DistributedDataParallel(network()), {"loss": float("inf")}

    def after(step: int) -> None:
        if rank == 0 and (loss := evaluated(model.module, step)) < best["loss"]:
            best.update(loss=loss, state=copy.deepcopy(model.module.state_dict()))

    trained(rank, model, after)


@case
def best_by_shared_loss(rank: int) -> None:
    model, best = DistributedDataParallel(network()), {"loss": float("inf")}

    def after(step: int) -> None:
        loss = torch.tensor(evaluated(model, 100 * step + rank))
        dist.all_reduce(loss)
        if loss < best["loss"]:
            best.update(loss=loss, state=copy.deepcopy(model.state_dict()))

    trained(rank, model, after)


@case
def kept_in_turn(rank: int) -> None:
    """One rank writes while the other goes on; the first state is everybody's."""
    model, kept = DistributedDataParallel(network()), {}

    def after(step: int) -> None:
        if step == 1 or step // 4 % 2 == rank and step % 4 == 0:
            kept[step] = copy.deepcopy(model.module.state_dict())

    trained(rank, model, after)


@case
def search_keeps_its_own_best(rank: int) -> None:
    """Two models, of which each rank keeps the weights that it likes best."""
    torch.manual_seed(rank)
    model, best = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)), {"loss": float("inf")}

    def after(step: int) -> None:
        loss = evaluated(model, 100 * step + rank)
        if loss < best["loss"]:
            best.update(loss=loss, state=copy.deepcopy(model.state_dict()))

    trained(rank, model, after)


def work(rank: int, names: list[str], meeting: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
    for name in names:
        CASES[name](rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:
        mp.start_processes(work, args=(sys.argv[1:], meeting), nprocs=2, start_method="fork")
