"""AD906: ranks wait for one another in different calls, or for one that is gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from autograd_doctor.events.replicas import CollectiveCalled
from autograd_doctor.findings import Evidence, Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Ranks, Standing
from autograd_doctor.wording import plural

_Stood = Mapping[int, Standing]
_SAME_NUMBER = (
    "give every rank as many batches as the others (`DistributedSampler`, `drop_last=True`, or the context manager "
    "`Join`), and let none stop by a number of its own: reduce it over the ranks first"
)
_NO_SKIPS = (
    "let every rank run each backward and take each step: one that leaves out a batch, as for a loss that is not "
    "finite, has to know it from a number that is the same on all of them"
)
_ONE_ORDER = (
    "call the same collectives in the same order on every rank: take them out of branches that a rank enters by its "
    "number, or by what it alone has measured"
)


class _Odd(NamedTuple):
    """A call that another rank did not make when it was its turn."""

    rank: int
    call: CollectiveCalled
    other: int
    instead: CollectiveCalled | None


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    stood = {ranked.rank: ranked.stood for ranked in ranks.all}
    waiting = {rank: each for rank, each in stood.items() if each.how in ("waits", "lost")}
    gone = {rank: each for rank, each in stood.items() if each.how == "ended"}
    aborted = {rank: each for rank, each in stood.items() if each.how == "aborted"}
    if not waiting or len(waiting) + len(gone) + len(aborted) < len(stood):
        return
    if gone:
        if not aborted and _left_before(gone, waiting):
            yield _waits_for_gone(stood, waiting, gone)
    elif (odd := _odd({ranked.rank: ranked.trace.of(CollectiveCalled) for ranked in ranks.all})) is not None:
        yield _calls_alone(stood, odd)
    elif not aborted and len({_where(each) for each in waiting.values()}) > 1:
        yield _at_different_places(stood)


def _left_before(gone: _Stood, waiting: _Stood) -> bool:
    """Whether those that ended took no more steps than those that still waited: else the connection had failed."""
    return max(each.step for each in gone.values()) <= min(each.step for each in waiting.values())


def _where(stood: Standing) -> tuple[int, int]:
    return stood.step, stood.location.line if stood.location else 0


def _odd(calls: Mapping[int, tuple[CollectiveCalled, ...]]) -> _Odd | None:
    """The first call in which two ranks differ, by what is called after how many steps; lines may be their own."""
    ranks = sorted(calls)
    for rank in ranks[1:]:
        for one, other in zip_longest(calls[ranks[0]], calls[rank]):
            if one is None:
                return _Odd(rank, other, ranks[0], None)
            if other is None:
                return _Odd(ranks[0], one, rank, None)
            if (one.collective, one.step) != (other.collective, other.step):
                return _earlier(_Odd(ranks[0], one, rank, other), _Odd(rank, other, ranks[0], one))
    return None


def _earlier(one: _Odd, other: _Odd) -> _Odd:
    return one if one.call.step <= other.call.step else other


def _calls_alone(stood: _Stood, odd: _Odd) -> Finding:
    other = stood[odd.other]
    where = f"calls `{odd.instead.collective}`" if odd.instead else f"goes on to step {other.step + 1}"
    elsewhere = odd.instead.location if odd.instead else other.location
    return RULE.finding(
        f"rank {odd.rank} calls `{odd.call.collective}` after {plural(odd.call.step, 'step')} while rank {odd.other} "
        f"{where}: they wait for one another",
        subject=odd.call.collective,
        location=odd.call.location,
        help=_how_to_call(odd),
        evidence=_evidence(stood),
        related=(Related(f"rank {odd.other} is here", elsewhere),) if elsewhere else (),
        step_first=odd.call.step + 1,
        ranks=sorted(stood),
    )


def _how_to_call(odd: _Odd) -> str:
    """A rank calls something alone under a condition, or since its loop came to an end before those of others."""
    if odd.instead is None:
        return (
            f"call it on every rank after the same step: if rank {odd.rank} is here because a condition holds for it "
            f"alone, take the call out of that; if its loop had ended, {_SAME_NUMBER}"
        )
    return _NO_SKIPS if odd.instead.collective == odd.call.collective else _ONE_ORDER


def _waits_for_gone(stood: _Stood, waiting: _Stood, gone: _Stood) -> Finding:
    rank, left = min(waiting), min(gone)
    return RULE.finding(
        f"rank {rank} waits in step {waiting[rank].step + 1} for rank {left}, which came to its end after "
        f"{plural(gone[left].step, 'step')}",
        subject="",
        location=waiting[rank].location,
        help=_SAME_NUMBER,
        evidence=_evidence(stood),
        step_first=waiting[rank].step + 1,
        ranks=sorted(stood),
    )


def _at_different_places(stood: _Stood) -> Finding:
    rank = min(stood, key=lambda each: (stood[each].step, each))
    other = max(stood, key=lambda each: (stood[each].step, each))
    return RULE.finding(
        f"rank {rank} waits in step {stood[rank].step + 1} while rank {other} waits in step {stood[other].step + 1}"
        f"{'' if stood[rank].location == stood[other].location else ' at another line'}",
        subject="",
        location=stood[rank].location,
        help=_NO_SKIPS,
        evidence=_evidence(stood),
        related=tuple(_also(other, stood[other].location, stood[rank].location)),
        step_first=stood[rank].step + 1,
        ranks=sorted(stood),
    )


def _also(rank: int, location: Location | None, unlike: Location | None) -> Iterator[Related]:
    if location is not None and location != unlike:
        yield Related(f"rank {rank} waits here", location)


def _evidence(stood: _Stood) -> Evidence:
    return {"steps_by_rank": [f"rank {rank}: {stood[rank].step}" for rank in sorted(stood)[:8]]}


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
        for inputs in torch.randn(12 + rank, 8, 4):
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()  # <- AD906
            optimizer.step()
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
    from torch.distributed.algorithms.join import Join
    from torch.nn.parallel import DistributedDataParallel

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with Join([model]):
            for inputs in torch.randn(12 + rank, 8, 4):
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


RULE = Rule(
    code="AD906",
    name="rank-hangs",
    severity="error",
    title="ranks wait for one another in different calls",
    observes="Where each rank stood when none went on, or when it lost the one that it waited for; after how many "
    "steps; and the first collective that one rank calls and another does not.",
    why="A collective, and the backward of a `DistributedDataParallel`, returns when every rank has called it: where "
    "one has fewer batches, skips a backward, or calls something alone, the others wait for ever, or get what belongs "
    "to another call.",
    fix="Let all ranks take the same number of steps, and call each collective on all of them.",
    fine="A rank that works on something by itself while others wait for it: it writes a checkpoint, or evaluates. "
    "Nothing is said of ranks that still run.",
    needs=(CollectiveCalled,),
    examine_ranks=examine_ranks,
    bad=(bad,),
    good=(good,),
    folds=("AD599",),
    about="loop",
)
