"""AD905: ranks that share their gradients train on the same samples in the same steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from autograd_doctor.events.replicas import BatchTrained, ReplicasMet, ReplicasRead, WholeSetTrained
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Ranks
from autograd_doctor.views.between_ranks import Replicas, replicas
from autograd_doctor.wording import plural

_ROUNDING = 1e-5
"""Of a mean that is taken in another order, in float32; those of other targets are hardly ever as near."""


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    for model in replicas(ranks):
        if not _share_gradients(model):
            continue
        groups = [group for group in _groups(model) if len(group) > 1]
        for group in groups:
            different = {trained[group[0]].given for trained in model.batches.values()}
            if len(different) >= tunables["minimum_steps"]:
                yield _finding(model, group)
        if not groups and not any(each.shared for by_rank in model.batches.values() for each in by_rank):
            yield from _of_whole_sets(ranks, model)


def _of_whole_sets(ranks: Ranks, model: Replicas) -> Iterator[Finding]:
    """Data sets that each of the ranks goes through as a whole, in an order of its own."""
    held = [{_of_set(each): each for each in by_rank} for by_rank in model.whole_sets]
    over = all(ranked.trace.ended_by_itself for ranked in ranks.all)
    for key, first in held[0].items():
        alike = [each[key] for each in held if key in each]
        if len(alike) == len(model.ranks) and first.shuffles:
            yield _on_whole_set(model, first, is_over=over and all(each.ended for each in alike))


def _of_set(trained: WholeSetTrained) -> tuple[object, ...]:
    return trained.location, trained.loader, trained.samples, trained.stored


def _on_whole_set(model: Replicas, trained: WholeSetTrained, *, is_over: bool) -> Finding:
    """is_over: no pass was left in the middle, as those are that go on for ever."""
    return RULE.finding(
        f"each of {plural(len(model.ranks), 'rank')} goes through all {trained.samples:,} samples"
        f"{f' of `{trained.loader}`' if trained.loader else ''} in an order of its own: an epoch takes as long as on "
        "one rank, and counts each sample as often as there are ranks",
        subject=trained.loader or model.met.model,
        location=trained.location,
        help=_help(has_loader=True),
        severity="warning" if is_over else "info",
        confidence="medium",
        evidence={"samples": trained.samples, "passes": trained.passes, "ranks": len(model.ranks)},
        step_first=1,
        ranks=model.ranks,
    )


def _groups(model: Replicas) -> list[list[int]]:
    """Places of ranks that had the same samples in all steps."""
    groups: list[list[int]] = []
    for at in range(len(model.ranks)):
        for group in groups:
            if all(_are_same((trained[group[0]], trained[at])) for trained in model.batches.values()):
                group.append(at)
                break
        else:
            groups.append([at])
    return groups


def _are_same(trained: Sequence[BatchTrained]) -> bool:
    """Whether ranks of a step had the same data, with their targets, in whatever order.

    Equal losses show the latter, but for what rounding makes of another order; where layers draw at random they need
    not be equal, and then what a loader gave shows it, and what operations took on the way to the loss. Where ranks
    meet on that way, each may have worked on its part of the same samples.
    """
    given, drawn = {each.given for each in trained}, {each.drawn for each in trained}
    if len(given) > 1 or len(drawn) > 1 or any(each.shared for each in trained):
        return False
    beside = {each.beside for each in trained}
    is_random = all(each.is_random for each in trained)
    return (is_random and len(beside) == 1 and None not in drawn) or _have_one_loss(trained)


def _have_one_loss(trained: Sequence[BatchTrained]) -> bool:
    losses, sizes = {each.loss for each in trained}, [each.loss_size for each in trained]
    is_rounded = min(sizes) > 0 and math.isclose(min(sizes), max(sizes), rel_tol=_ROUNDING)
    return None not in losses and (len(losses) == 1 or is_rounded)


def _are_in_one_order(trained: Sequence[BatchTrained], group: Sequence[int]) -> bool:
    """Going by the losses: those of another order are rounded otherwise."""
    return len({trained[at].loss for at in group}) == 1 or all(trained[at].is_random for at in group)


def _share_gradients(model: Replicas) -> bool:
    """Whether shards are put together, a wrapper averages gradients in some step, or the program sends them in all, and
    replicas never differ."""
    if model.is_sharded:
        return True
    if model.is_wrapped:
        return any(read.sent_last for by_rank in model.readings for read in by_rank)
    sent = all(each.sent for by_rank in model.batches.values() for each in by_rank)
    return sent and not any(model.differing)


def _finding(model: Replicas, group: Sequence[int]) -> Finding:
    steps, ranks = sorted(model.batches), [model.ranks[at] for at in group]
    first = model.batches[steps[0]][group[0]]
    source = f" of `{first.loader}`" if first.loader else ""
    order = "" if all(_are_in_one_order(model.batches[step], group) for step in steps) else ", in whatever order,"
    whose = f"`{model.met.model}`" if model.is_wrapped else "one model"
    return RULE.finding(
        f"{plural(len(group), 'rank')} train {whose} on the same batches{source}: what modules were given is "
        f"equal to the last bit{order} in all of {plural(len(steps), 'step')} that were compared",
        subject=model.met.model or first.loader,
        location=first.location,
        help=_help(has_loader=first.drawn is not None),
        evidence={"steps_compared": len(steps), "ranks": len(group)},
        step_first=steps[0] + 1,
        step_count=len(steps),
        ranks=ranks,
    )


def _help(*, has_loader: bool) -> str:
    if has_loader:
        return (
            "give the loader `sampler=DistributedSampler(dataset)`, and tell that the epoch; of an iterable data set, "
            "take each rank's part in `__iter__`"
        )
    return "draw other samples on each rank: seed what draws them with the rank, or take each rank's part of the data"


def bad() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, TensorDataset

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(0)
        x = torch.randn(96, 4)
        loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, wanted in loader:  # <- AD905
            optimizer.zero_grad()
            (model(inputs) - wanted).pow(2).mean().backward()
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
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(0)
        x = torch.randn(192, 4)
        data = TensorDataset(x, x.sum(1, keepdim=True))
        loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, wanted in loader:
            optimizer.zero_grad()
            (model(inputs) - wanted).pow(2).mean().backward()
            optimizer.step()
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


RULE = Rule(
    code="AD905",
    name="ranks-see-same-data",
    severity="error",
    title="ranks that share their gradients train on the same samples",
    observes="What modules are called with, what loaders gave, and the losses of the first recorded steps of a model "
    "whose gradients `DistributedDataParallel`, `fully_shard` or the program averages over ranks: equal to the last "
    "bit on several of them, in each step that was compared, while batches differ from step to step; in whatever order "
    "the samples come. And loaders over the same data set, of which each rank goes through all samples in an order of "
    "its own.",
    why="The average of equal gradients is that of one rank: several ranks learn what one would, and an epoch is as "
    "long as without them.",
    fix="Give each rank its part of the data: a `DistributedSampler`, a seed by rank, or a part of a stream.",
    fine="The same samples with other augmentation on each rank, ranks that take their part of a batch themselves, "
    "also inside of a model (tensor, sequence and context parallelism), targets of their own, models of their own, "
    "evaluation, and one batch that stays the same. A whole set on each rank, in orders of their own, is a warning, "
    "and an info where a pass was left before its end, as of loaders that begin anew for ever. The same samples in "
    "another order are not found where layers draw at random, nor are shards compared over more than one dimension of "
    "ranks.",
    needs=(BatchTrained, ReplicasMet, ReplicasRead, WholeSetTrained),
    examine_ranks=examine_ranks,
    bad=(bad,),
    good=(good,),
    tunables={
        "minimum_steps": Tunable(
            3,
            "fewest steps on different batches that all ranks share",
            "chosen: the first steps of a program may be a rehearsal",
        )
    },
    about="data",
)
