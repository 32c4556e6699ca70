"""The same, started by `torch.multiprocessing`; each rank has a worker that loads its data."""

import argparse
import socket
import sys
from pathlib import Path

import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, str(Path(__file__).parent))
import replicas
from torch.utils.data import DataLoader


def work(rank: int, size: int, port: int, fault: str) -> None:
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    assert len(list(DataLoader(range(4), num_workers=1))) == 4
    replicas.train(fault, 1_000_000)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="none", choices=replicas.FAULTS)
    parser.add_argument("--how", default="spawn")
    parser.add_argument("--size", type=int, default=2)
    parsed = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    arguments = (parsed.size, port, parsed.fault)
    mp.start_processes(work, args=arguments, nprocs=parsed.size, start_method=parsed.how)
