"""AD907: ranks that train one model decide by a number of their own: which rates step it, or which state is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from autograd_doctor.events.replicas import (
    GradientsChangedAfterStep,
    RatesSet,
    ReplicasMet,
    ReplicasRead,
    StateTaken,
)
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Ranks
from autograd_doctor.views.between_ranks import Replicas, replicas


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    for model in replicas(ranks):
        latest = model.rates_differ() if model.is_stepped_alike else None
        if latest is not None and (model.is_apart or model.is_sharded):
            yield _of_rates(model, latest)
        elif model.is_stepped_alike or model.is_one_model:
            yield from _of_states(model, tunables["minimum_repeats"])


def _of_states(model: Replicas, repeats: float) -> Iterator[Finding]:
    """States that ranks take at one line, the first of them together, as it is the best so far, and others alone.

    Where those follow one another evenly, ranks may take turns.
    """
    for where, by_rank in model.states_taken().items():
        together = set[int].intersection(*by_rank)
        alone = sorted(set[int].union(*by_rank) - together)
        gaps = {later - earlier for earlier, later in pairwise(alone)}
        if together and len(alone) >= repeats and len(gaps) > 1:
            yield _kept_apart(model, where, by_rank, alone[0])


def _kept_apart(model: Replicas, where: Location | None, by_rank: Sequence[set[int]], first: int) -> Finding:
    name = model.met.model or model.met.names[0]
    said = [f"rank {rank}: {_steps(taken)}" for rank, taken in zip(model.ranks, by_rank, strict=True)]
    who = [rank for rank, taken in zip(model.ranks, by_rank, strict=True) if first in taken]
    other = next(rank for rank in model.ranks if rank not in who)
    return RULE.finding(
        f"rank {who[0]} keeps the state of `{name}` after step {first} and rank {other} does not, although they train "
        "one model: each decides by a number of its own",
        subject=name,
        location=where,
        severity="warning",
        confidence="medium",
        help="let all ranks decide by the same number, as a loss that was reduced over them, or let one rank alone "
        "keep the best weights: restored on each rank, these would be of different steps",
        evidence={"kept_after_steps": said[:8]},
        step_first=max(first, 1),
        ranks=model.ranks,
    )


def _steps(taken: Collection[int]) -> str:
    shown = sorted(taken)[:12]
    return ", ".join(map(str, shown)) + (f" and {len(taken) - len(shown)} more" if len(taken) > len(shown) else "")


def _of_rates(model: Replicas, latest: list[RatesSet]) -> Finding:
    newest = max(latest, key=lambda each: each.taken)
    rank, other = _unlike(model, latest, newest)
    rates = {number: each.rates for number, each in zip(model.ranks, latest, strict=True)}
    name = model.met.model or model.met.names[0]
    return RULE.finding(
        f"rank {rank} steps `{name}` with a rate of {_said(rates[rank])} from step {newest.taken + 1} on, and rank "
        f"{other} with {_said(rates[other])}, although they "
        f"{'hold parts of one model' if model.is_sharded else 'share their gradients'}",
        subject=name,
        location=newest.location,
        help="let all ranks decide by the same number: reduce it over the ranks before it is used, or send what one of "
        "them has decided to the others",
        evidence={
            "step": newest.taken + 1,
            "rates_by_rank": [f"rank {number}: {_said(each)}" for number, each in list(rates.items())[:8]],
        },
        step_first=newest.taken + 1,
        ranks=model.ranks,
    )


def _unlike(model: Replicas, latest: list[RatesSet], newest: RatesSet) -> tuple[int, int]:
    """The rank that has set its rates last, and one whose rates are others."""
    at = latest.index(newest)
    other = next(number for number, each in enumerate(latest) if each.rates != newest.rates)
    return model.ranks[at], model.ranks[other]


def _said(rates: list[float | None]) -> str:
    return ", ".join("?" if rate is None else f"{rate:.4g}" for rate in rates[:3])


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
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
            schedule.step(loss.item())  # <- AD907
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
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
            total = loss.detach()
            dist.all_reduce(total)
            schedule.step(total.item() / 2)
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


RULE = Rule(
    code="AD907",
    name="rank-decides-alone",
    severity="error",
    title="ranks that train one model set its rates, or keep its best weights, by numbers of their own",
    observes="The learning rates with which each rank steps replicas that share their gradients, or its shards "
    "(`fully_shard`), whenever they change: from which step on they are not the same, and the step of the scheduler "
    "that set the last one; and that replicas are not the same afterwards. After which steps each rank takes the "
    "`state_dict()` of a model that all of them train.",
    why="The same gradient moves replicas by different steps: they drift apart, each rank trains a model of its own, "
    "and what is saved is that of one. A decision by a rank's own loss, to lower the rate or to stop, is not that of "
    "the others.",
    fix="Decide by a number that is the same on all ranks, as a loss that was reduced over them, or let one rank "
    "decide and send its decision to the others.",
    fine="Ranks that train models of their own, as in a search for the best rate, parameters of their own beside those "
    "that they share, replicas that become equal again, as where one rank sends the others what it has stepped, and "
    "rates that differ no more than numbers of different width do. Weights that one rank alone keeps, that all keep "
    "after the same steps, or that ranks keep in turn; else they get a warning.",
    needs=(GradientsChangedAfterStep, RatesSet, ReplicasMet, ReplicasRead, StateTaken),
    examine_ranks=examine_ranks,
    bad=(bad,),
    good=(good,),
    tunables={"minimum_repeats": Tunable(3, "fewest states that only some ranks keep", MORE_THAN_ONCE)},
    about="loop",
)
