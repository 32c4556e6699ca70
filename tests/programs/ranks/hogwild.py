"""Processes that share one model and wait for nobody, and a pool that only prepares data."""

import argparse
from multiprocessing import Pool

import torch
import torch.multiprocessing as mp
from torch import nn


def work(model: nn.Module, clears: bool) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(1_000_000):
        if clears:
            optimizer.zero_grad()
        x = torch.randn(8, 4)
        (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def square(number: int) -> int:
    return number * number


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--keeps-gradients", action="store_true")
    parsed = parser.parse_args()
    with Pool(2) as pool:
        assert pool.map(square, range(4)) == [0, 1, 4, 9]
    model = nn.Linear(4, 1)
    model.share_memory()
    context = mp.get_context("fork")
    workers = [context.Process(target=work, args=(model, not (parsed.keeps_gradients and n == 1))) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(worker.exitcode == 0 for worker in workers)
