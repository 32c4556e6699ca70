"""AD902: parameters that `DistributedDataParallel` is to keep alike differ between ranks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from autograd_doctor.events.replicas import ReplicasRead
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Ranks, Trace
from autograd_doctor.wording import plural

_ROUNDING = 1e-6
"""Of a norm: what machines of different kinds may differ in."""
_Readings = Mapping[int, Mapping[int, ReplicasRead]]
"""By step and rank."""


class _Apart(NamedTuple):
    """A parameter whose replicas differ: since which reading, in how many, and on which ranks the values are others."""

    name: str
    since: int
    readings: int
    ranks: frozenset[int]
    distance: float


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """One rank by itself shows nothing."""
    yield from ()


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    models: defaultdict[tuple[str, tuple[int, ...]], defaultdict[int, dict[int, ReplicasRead]]]
    models = defaultdict(lambda: defaultdict(dict))
    for ranked in ranks.all:
        for read in ranked.trace.of(ReplicasRead):
            models[read.model, tuple(read.ranks)][read.step][ranked.rank] = read
    for (model, group), readings in models.items():
        shared = {step: by_rank for step, by_rank in sorted(readings.items()) if {*group} <= by_rank.keys()}
        meant = not any(read.apart for by_rank in shared.values() for read in by_rank.values())
        apart = [each for each in _apart(shared) if each.readings >= tunables["minimum_repeats"]] if meant else []
        if apart:
            yield _finding(model, group, shared, apart)


def _apart(readings: _Readings) -> Iterator[_Apart]:
    """Parameters that differ in the last readings: what has become equal again was brought together."""
    first = next(iter(readings.values()), {})
    names = next(iter(first.values())).names if first else []
    for name in names:
        differing = {step: found for step, by_rank in readings.items() if (found := _others(name, by_rank.values()))}
        last = list(readings)[-1]
        if last not in differing:
            continue
        equal = [step for step in readings if step not in differing]
        since = min(step for step in differing if not equal or step > equal[-1])
        ranks = [rank for rank, read in readings[last].items() if read.bits[read.names.index(name)] in differing[last]]
        norms = [read.norms[read.names.index(name)] for read in readings[last].values()]
        count = sum(step >= since for step in differing)
        yield _Apart(name, since, count, frozenset(ranks), max(norms) - min(norms))


def _others(name: str, reads: Iterable[ReplicasRead]) -> set[int]:
    """The bits that are not those of the first rank; none where that may be rounding, or a rank has no such part."""
    values = [
        (read.bits[read.names.index(name)], read.norms[read.names.index(name)]) for read in reads if name in read.names
    ]
    (bits, norm), *rest = values
    return {each for each, size in rest if each != bits and not math.isclose(size, norm, rel_tol=_ROUNDING)}


def _finding(model: str, group: tuple[int, ...], readings: _Readings, apart: list[_Apart]) -> Finding:
    since = min(each.since for each in apart)
    names = [f"`{model}.{each.name}`" for each in apart]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    at_start = since == 0
    when = "before the first step already" if at_start else f"since step {since}"
    first = next(iter(readings))
    before = "" if at_start or first else "; before the first step they were equal"
    differing = sorted(frozenset().union(*(each.ranks for each in apart)))
    return RULE.finding(
        f"{shown} {'differ' if len(apart) > 1 else 'differs'} between {plural(len(group), 'rank')} {when}{before}",
        subject=model,
        location=_stepped_at(readings, since),
        help=_help(at_start),
        evidence={
            "parameters": [each.name for each in apart[:8]],
            "since_step": since,
            "readings": max(each.readings for each in apart),
            "difference_of_norms": max(each.distance for each in apart),
            "ranks_that_differ_from_the_first": [str(rank) for rank in differing[:8]],
        },
        step_first=max(since, 1),
        ranks=group,
    )


def _stepped_at(readings: _Readings, since: int) -> Location | None:
    """The step that made them differ, or the first one on parameters that did."""
    for step, by_rank in readings.items():
        if step >= max(since, 1):
            return by_rank[min(by_rank)].stepped_at
    return None


def _help(at_start: bool) -> str:
    if at_start:
        return (
            "load weights before the model is wrapped, or on every rank: `DistributedDataParallel` makes replicas "
            "equal when it wraps the model, and from then on averages gradients alone"
        )
    return (
        "call the wrapper and not `.module`, and let every rank step with the gradients that the backward has "
        "averaged; what one rank changes by itself has to be sent to the others"
    )


def bad() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model.module(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()  # <- AD902
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def good() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def good_local_steps_averaged_later() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(1, 25):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            with model.no_sync():
                loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
                loss.backward()
            optimizer.step()
            if step % 24 == 0:
                for parameter in model.parameters():
                    dist.all_reduce(parameter.data)
                    parameter.data /= 2
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def good_models_of_their_own() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
            optimizer.step()
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


RULE = Rule(
    code="AD902",
    name="replicas-diverge",
    severity="error",
    title="the replicas of a model differ between ranks",
    observes=(
        "Parameters of a model that `DistributedDataParallel` has wrapped, and whose values differ between its ranks "
        "after the same number of steps: which, since when, and whether they were equal at the start."
    ),
    why="Each rank trains a model of its own with the gradients of all, or of itself alone. What is saved is that of "
    "one rank, and what was measured on another is not true of it.",
    fix="Call the wrapper, not the module inside of it; load weights before the model is wrapped; change parameters on "
    "every rank alike.",
    fine="Models without a wrapper, shards (FSDP, tensor and pipeline parallelism), parameters that the wrapper was "
    "told to ignore, steps under `no_sync()` or with a communication hook, as in local SGD, parameters that become "
    "equal again, and differences as small as those between machines of different kinds.",
    needs=(ReplicasRead,),
    examine=examine,
    examine_ranks=examine_ranks,
    bad=(bad,),
    good=(good, good_local_steps_averaged_later, good_models_of_their_own),
    tunables={"minimum_repeats": Tunable(2, "fewest readings in which a parameter differs", MORE_THAN_ONCE)},
    about="loop",
)
