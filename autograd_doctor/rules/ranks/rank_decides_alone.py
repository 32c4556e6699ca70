"""AD907: replicas of a model are stepped with learning rates that each rank has set by a number of its own."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.replicas import GradientsChangedAfterStep, RatesSet, ReplicasMet, ReplicasRead
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Ranks
from autograd_doctor.views.between_ranks import Replicas, replicas


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    for model in replicas(ranks):
        latest = model.rates_differ() if _is_stepped_alike(model) else None
        if latest is not None and (model.is_apart or model.is_sharded):
            yield _finding(model, latest)


def _is_stepped_alike(model: Replicas) -> bool:
    """Whether ranks share the gradients of all parameters: by a wrapper that sends them, or by hand; or hold parts."""
    if model.is_sharded:
        return True
    if model.is_hooked or model.is_held_back or model.stepped_apart(1):
        return False
    return model.is_wrapped or any(map(model.are_made_alike, range(len(model.met.names))))


def _finding(model: Replicas, latest: list[RatesSet]) -> Finding:
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
    title="ranks that share gradients step with learning rates of their own",
    observes="The learning rates with which each rank steps replicas that share their gradients, or its shards "
    "(`fully_shard`), whenever they change: from which step on they are not the same, and the step of the scheduler "
    "that set the last one; and that replicas are not the same afterwards.",
    why="The same gradient moves replicas by different steps: they drift apart, each rank trains a model of its own, "
    "and what is saved is that of one. A decision by a rank's own loss, to lower the rate or to stop, is not that of "
    "the others.",
    fix="Decide by a number that is the same on all ranks, as a loss that was reduced over them, or let one rank "
    "decide and send its decision to the others.",
    fine="Ranks that train models of their own, as in a search for the best rate, parameters of their own beside those "
    "that they share, replicas that become equal again, as where one rank sends the others what it has stepped, and "
    "rates that differ no more than numbers of different width do.",
    needs=(GradientsChangedAfterStep, RatesSet, ReplicasMet, ReplicasRead),
    examine_ranks=examine_ranks,
    bad=(bad,),
    good=(good,),
    about="loop",
)
