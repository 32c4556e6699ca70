"""AD902: parameters that `DistributedDataParallel` keeps alike differ between ranks, and not by their gradients; or
buffers with which ranks evaluate one model do."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_doctor.events.replicas import (
    BuffersEvaluated,
    GradientsChangedAfterStep,
    RatesSet,
    ReplicasMet,
    ReplicasRead,
)
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Ranks
from autograd_doctor.views.between_ranks import Apart, Replicas, replicas
from autograd_doctor.wording import plural


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    for model in replicas(ranks):
        if model.is_wrapped and not model.is_hooked and not model.is_held_back:
            repeats = tunables["minimum_repeats"]
            explained = _explained_from(model, repeats)
            found = {position: model.apart(position) for position in range(len(model.met.names))}
            apart = {p: a for p, a in found.items() if a and a.readings >= repeats and a.since < explained}
            if apart:
                yield _finding(model, apart)
        if model.is_one_model and (differing := model.buffers_apart()):
            yield _of_buffers(model, differing)


def _explained_from(model: Replicas, repeats: float) -> float:
    """The reading from which on replicas differ because gradients (AD901) or rates (AD907) do."""
    readings = [each.since for each in model.stepped_apart(repeats).values()]
    rates = model.rates_differ()
    if rates is not None:
        taken = max(each.taken for each in rates)
        readings += [reading for reading in range(len(model.readings)) if model.after(reading) > taken]
    return min(readings, default=math.inf)


def _finding(model: Replicas, apart: dict[int, Apart]) -> Finding:
    since = min(each.since for each in apart.values())
    at_start = model.after(since) == 0
    when = "before the first step already" if at_start else f"since step {model.after(since)}"
    before = "; before the first step they were equal" if not at_start and model.after(0) == 0 else ""
    idle = "" if model.met.trained else ", which nothing trains,"
    differing = sorted(frozenset().union(*(each.ranks for each in apart.values())))
    verb = "differ" if len(apart) > 1 else "differs"
    return RULE.finding(
        f"{model.named(apart)}{idle} {verb} between {plural(len(model.ranks), 'rank')} {when}{before}",
        subject=model.met.model,
        location=_stepped_at(model, since),
        help=_help(at_start),
        severity=None if model.met.trained else "warning",
        evidence={
            "parameters": [model.name(position) for position in list(apart)[:8]],
            "since_step": model.after(since),
            "readings": max(each.readings for each in apart.values()),
            "difference_of_norms": max(each.distance for each in apart.values()),
            "ranks_that_differ_from_the_first": [str(rank) for rank in differing[:8]],
        },
        step_first=max(model.after(since), 1),
        ranks=model.ranks,
    )


def _stepped_at(model: Replicas, since: int) -> Location | None:
    """The step before the first reading in which they differ, or the first one on parameters that did."""
    return model.stepped_at(max(since - 1, 0))


def _of_buffers(model: Replicas, differing: list[str]) -> Finding:
    first = model.buffers[0][0]
    names = ", ".join(f"`{name}`" for name in differing[:3])
    more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    verb = "differ" if len(differing) > 1 else "differs"
    return RULE.finding(
        f"{names}{more} {verb} between {plural(len(model.ranks), 'rank')} in each evaluation, although the parameters "
        "of the model are equal",
        subject=model.met.model,
        location=first.location,
        help="these buffers follow the batches of each rank: use `torch.nn.SyncBatchNorm`, let "
        "`DistributedDataParallel` send them in each forward, as it does by default, or average them over the ranks "
        "before the model is evaluated or saved",
        severity="info",
        evidence={"buffers": differing[:8], "evaluations": len(model.buffers), "since_step": first.taken},
        step_first=max(first.taken, 1),
        ranks=model.ranks,
    )


def _help(at_start: bool) -> str:
    if at_start:
        return (
            "load weights before the model is wrapped, or on every rank: `DistributedDataParallel` makes replicas "
            "equal when it wraps the model, and from then on averages gradients alone"
        )
    return (
        "change parameters on every rank alike, and step with the same rates: `DistributedDataParallel` averages "
        "gradients alone, so that what one rank changes by itself has to be sent to the others"
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
        if rank == 0:
            model.module.load_state_dict({"weight": torch.ones(1, 4), "bias": torch.zeros(1)})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
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
        inner = torch.nn.Linear(4, 1)
        if rank == 0:
            inner.load_state_dict({"weight": torch.zeros(1, 4), "bias": torch.ones(1)})
        model = DistributedDataParallel(inner)
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
        "after the same number of steps: which, since when, and whether they were equal at the start. Buffers, such as "
        "running statistics, with which ranks evaluate a model whose parameters are equal."
    ),
    why="Each rank trains a model of its own with the gradients of all, or of itself alone. What is saved is that of "
    "one rank, and what was measured on another is not true of it.",
    fix="Load weights before the model is wrapped; change parameters on every rank alike, and step with the same "
    "rates.",
    fine="Gradients that differ (AD901 tells of these), models without a wrapper, shards (FSDP, tensor and pipeline "
    "parallelism), parameters that the wrapper was told to ignore, a communication hook, parameters that become equal "
    "again, as in local SGD, and differences as small as those between machines of different kinds. Parameters that "
    "nothing trains get a warning. Buffers that the wrapper sends in each forward, that no state holds, or that were "
    "equal in some evaluation; else they are told as info.",
    needs=(BuffersEvaluated, GradientsChangedAfterStep, RatesSet, ReplicasMet, ReplicasRead),
    examine_ranks=examine_ranks,
    bad=(bad,),
    good=(good, good_local_steps_averaged_later, good_models_of_their_own),
    tunables={"minimum_repeats": Tunable(2, "fewest readings in which a parameter differs", MORE_THAN_ONCE)},
    about="loop",
)
