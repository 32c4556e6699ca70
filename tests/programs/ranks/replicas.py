"""Data-parallel training of one small model. `--fault` makes rank 1 different from the others."""

import argparse
import os
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FAULTS = ("none", "keeps-gradients", "raises", "is-killed", "waits-for-ever", "leaves-early", "evaluates-alone")


def train(fault: str, steps: int, says_when: bool = False) -> None:
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        if fault != "keeps-gradients" or rank != 1:
            optimizer.zero_grad()
        x = torch.randn(8, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        if rank == 1 and step == 12:
            misbehave(fault)
        if says_when and step == 12:
            print("step 12", flush=True)
        loss.backward()
        optimizer.step()
        if fault == "evaluates-alone" and step == 12:
            if rank == 0:
                time.sleep(14)
            dist.barrier()


def misbehave(fault: str) -> None:
    if fault == "raises":
        raise ValueError("rank one is unwell")  # <- AD599
    if fault == "is-killed":
        os.kill(os.getpid(), 9)
    if fault == "leaves-early":
        os._exit(0)
    if fault == "waits-for-ever":
        threading.Semaphore(0).acquire()  # <- hangs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="none", choices=FAULTS)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--says-when", action="store_true")
    parsed = parser.parse_args()
    dist.init_process_group("gloo")
    train(parsed.fault, parsed.steps, parsed.says_when)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
