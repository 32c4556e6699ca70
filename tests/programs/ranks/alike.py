"""Ranks that train one model, or one each: `alike.py CASE...`. Each case is a way to do so, sick or healthy.

Two processes are forked, which meet by a file, and go through the cases one after the other. Where the fault of a case
shows, the line carries its name.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS = 20
CASES: dict[str, Callable[[int], None]] = {}


def case(work: Callable[[int], None]) -> Callable[[int], None]:
    CASES[work.__name__] = work
    return work


def network(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))


def data_of(rank: int) -> None:
    torch.manual_seed(100 + rank)


def loss_of(model: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    x = torch.randn(16, 4)
    return (model(x) - x.sum(1, keepdim=True)).pow(2).mean()


def reduce(parameters: Iterable[nn.Parameter]) -> None:
    for parameter in parameters:
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def average(parameters: Iterable[nn.Parameter]) -> None:
    for parameter in parameters:
        dist.all_reduce(parameter.data)
        parameter.data /= dist.get_world_size()


def by_hand(rank: int, chosen: Callable[[nn.Sequential], Iterable[nn.Parameter]]) -> None:
    """Gradients of some parameters are reduced by hand."""
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        reduce(chosen(model))
        optimizer.step()  # <- by hand


def accumulated(rank: int, last: int) -> None:
    """One of four micro-batches is to send what has accumulated."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for micro in range(4):
            with nullcontext() if micro == last else model.no_sync():
                (loss_of(model) / 4).backward()
        optimizer.step()  # <- accumulated


# ---------------------------------------------------------------------------------------------------------------- sick


@case
def leaves_out_a_step(rank: int) -> None:
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        if rank == 0 or step != 6:
            optimizer.step()  # <- leaves_out_a_step


@case
def unfrozen_when_wrapped(rank: int) -> None:
    model = network()
    model[0].requires_grad_(False)
    wrapped = DistributedDataParallel(model)
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        if step == 4:
            model[0].requires_grad_(True)
        optimizer.zero_grad()
        loss_of(wrapped).backward()
        optimizer.step()  # <- unfrozen_when_wrapped


@case
def bypassed(rank: int) -> None:
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model.module).backward()
        optimizer.step()  # <- bypassed


@case
def never_sends(rank: int) -> None:
    accumulated(rank, last=4)


@case
def sends_first(rank: int) -> None:
    accumulated(rank, last=0)


@case
def leaves_bias_out(rank: int) -> None:
    by_hand(rank, lambda model: list(model.parameters())[:-1])


@case
def leaves_head_out(rank: int) -> None:
    by_hand(rank, lambda model: model[:-1].parameters())


@case
def sends_after_the_step(rank: int) -> None:
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()  # <- sends_after_the_step
        reduce(model.parameters())


@case
def sends_some_steps(rank: int) -> None:
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        if step % 4:
            reduce(model.parameters())
        optimizer.step()  # <- sends_some_steps


@case
def divides_by_its_own_count(rank: int) -> None:
    """Batches of unlike sizes: gradients are sums over ranks, and each divides by the size of its own batch."""
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(STEPS):
        x = torch.randn(8 + 4 * rank + step % 3, 4)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).pow(2).sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2 * len(x)
        optimizer.step()  # <- divides_by_its_own_count


@case
def bypassed_critic(rank: int) -> None:
    """Of two models with an optimizer each, one bypasses its wrapper, and steps twice as often."""
    good, model = DistributedDataParallel(network(1)), DistributedDataParallel(network(2))
    data_of(rank)
    first = torch.optim.SGD(good.parameters(), lr=0.05)
    second = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        for _ in range(2):
            second.zero_grad()
            loss_of(model.module).backward()
            second.step()  # <- bypassed_critic
        first.zero_grad()
        loss_of(good).backward()
        first.step()


@case
def reset_on_one_rank(rank: int) -> None:
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        if step == 3 and rank == 0:
            model.module[-1].reset_parameters()
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()  # <- reset_on_one_rank


@case
def frozen_on_one_rank(rank: int) -> None:
    inner = network()
    inner[0].requires_grad_(False)
    model = DistributedDataParallel(inner)
    data_of(rank)
    if rank == 1:
        inner[0].reset_parameters()
    optimizer = torch.optim.SGD(inner[1:].parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()  # <- frozen_on_one_rank


# ------------------------------------------------------------------------------------------------------------- healthy


@case
def wrapped(rank: int) -> None:
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@case
def sends_last(rank: int) -> None:
    accumulated(rank, last=3)


@case
def reduces_all(rank: int) -> None:
    by_hand(rank, lambda model: model.parameters())


@case
def sums_over_global_counts(rank: int) -> None:
    """Batches of unlike sizes: gradients are sums over ranks, divided by how many tokens all of them had."""
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        x = torch.randn(8 + 4 * rank + step % 3, 4)
        count = torch.tensor(float(len(x)))
        dist.all_reduce(count)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).pow(2).sum().backward()
        flat = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        dist.all_reduce(flat)
        parts = flat.div(count).split([parameter.numel() for parameter in model.parameters()])
        for parameter, part in zip(model.parameters(), parts, strict=True):
            parameter.grad.copy_(part.view_as(parameter))
        optimizer.step()


@case
def local_steps(rank: int) -> None:
    """Local SGD: models are averaged after every seventh step."""
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(1, 25):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        if step % 7 == 0:
            average(model.parameters())


@case
def local_steps_of_a_wrapper(rank: int) -> None:
    """The first steps send gradients; then models are averaged after every fifth step."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(1, 25):
        optimizer.zero_grad()
        with nullcontext() if step < 6 else model.no_sync():
            loss_of(model).backward()
        optimizer.step()
        if step >= 6 and step % 5 == 0:
            average(model.parameters())


@case
def local_steps_by_torch(rank: int) -> None:
    """`PostLocalSGDOptimizer` averages models inside its own step."""
    from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    model = DistributedDataParallel(network())
    alone, _ = dist.new_subgroups(group_size=1)
    model.register_comm_hook(PostLocalSGDState(None, alone, start_localSGD_iter=4), post_localSGD_hook)
    data_of(rank)
    averager = PeriodicModelAverager(period=3, warmup_steps=4)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), averager)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def federated(rank: int) -> None:
    """In each round an optimizer of its own takes a few steps, and then models are averaged."""
    model = network()
    data_of(rank)
    for _ in range(4):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(5):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
        average(model.parameters())


@case
def ensemble(rank: int) -> None:
    """Each rank trains a member on other data; only scores are shared."""
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        shared = loss.detach().clone()
        dist.all_reduce(shared)


@case
def search(rank: int) -> None:
    """Equal models on the same data, with a rate for each rank."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=(0.05, 0.01)[rank])
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def pipeline(rank: int) -> None:
    """Two stages of one shape and one seed: hidden values go on, their gradients come back."""
    torch.manual_seed(0)
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.05)
    torch.manual_seed(7)
    for _ in range(STEPS):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        if rank == 0:
            hidden, gradient = stage(x), torch.empty(16, 4)
            dist.send(hidden.detach(), 1)
            dist.recv(gradient, 1)
            hidden.backward(gradient)
        else:
            hidden = torch.empty(16, 4)
            dist.recv(hidden, 0)
            hidden.requires_grad_()
            (stage(hidden) - x).pow(2).mean().backward()
            dist.send(hidden.grad, 0)
        optimizer.step()


@case
def zero(rank: int) -> None:
    """Each rank steps its part of the parameters, and sends it to the others."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def zero_on_uneven_data(rank: int) -> None:
    """A rank that has come to the end of its data goes on for the others."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
    with Join([model, optimizer]):
        for _ in range(STEPS - 16 * rank):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()


@case
def compressed(rank: int) -> None:
    """Gradients of rank one, with what was left out added later."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

    model = DistributedDataParallel(network())
    state = power.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=3, min_compression_rate=1)
    model.register_comm_hook(state, power.powerSGD_hook)
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def gossip(rank: int) -> None:
    """Each rank goes half of the way to the model of its neighbour, after steps of its own."""
    model = network()
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        for parameter in model.parameters():
            both = [torch.empty_like(parameter.data) for _ in range(2)]
            dist.all_gather(both, parameter.data)
            parameter.data.lerp_(both[1 - rank], 0.25)


@case
def models_of_one_name(rank: int) -> None:
    """Models that are built one after the other under one name, the second one with more steps."""
    for seed, steps in ((1, 5), (2, 9)):
        model = DistributedDataParallel(network(seed))
        data_of(rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()


@case
def rank_zero_probes(rank: int) -> None:
    """Rank 0 alone fits a linear probe and evaluates now and then."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        if step % 5 == 0:
            if rank == 0:
                probe = nn.Linear(8, 1)
                steps = torch.optim.SGD(probe.parameters(), lr=0.1)
                for _ in range(3):
                    with torch.no_grad():
                        x = torch.randn(16, 4)
                        features = model.module[:4](x)
                    steps.zero_grad()
                    (probe(features) - x.sum(1, keepdim=True)).pow(2).mean().backward()
                    steps.step()
            dist.barrier()
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def own_heads(rank: int) -> None:
    """A trunk that all ranks train, and a part that the wrapper leaves to each of them."""
    inner = network()
    left = [f"4.{name}" for name, _ in inner[4].named_parameters()]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(inner, left)
    model = DistributedDataParallel(inner)
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def rate_of_an_own_head(rank: int) -> None:
    """A trunk that all ranks train with one rate, and a head of each rank with a rate of its own, in one optimizer."""
    trunk = DistributedDataParallel(network()[:4])
    data_of(rank)
    head = nn.Linear(8, 1)
    own = {"params": head.parameters(), "lr": (0.05, 0.1)[rank]}
    optimizer = torch.optim.SGD([{"params": trunk.parameters()}, own], lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(nn.Sequential(trunk, head)).backward()
        optimizer.step()


@case
def rate_sent_in_single_precision(rank: int) -> None:
    """Rank 0 keeps the number that it has sent in more digits than the others get."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        rate = 0.05 * 0.9**step
        sent = torch.tensor(rate if rank == 0 else 0.0)
        dist.broadcast(sent, 0)
        optimizer.param_groups[0]["lr"] = rate if rank == 0 else sent.item()
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@case
def rank_zero_steps_for_all(rank: int) -> None:
    """Its weights are sent after each step, so that the rate of the other does not matter."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=(0.05, 0.01)[rank])
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        for parameter in model.module.parameters():
            dist.broadcast(parameter.data, 0)


@case
def stepped_by_rank_zero(rank: int) -> None:
    """The other steps with a rate of zero, and takes the weights of rank 0 after each step."""
    model = DistributedDataParallel(network())
    data_of(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0 if rank else 0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)


def work(rank: int, names: list[str], meeting: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
    for name in names:
        CASES[name](rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:
        mp.start_processes(work, args=(sys.argv[1:], meeting), nprocs=2, start_method="fork")
