"""AD901: ranks that train replicas of one model step with gradients that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from autograd_doctor.events.replicas import GradientsChangedAfterStep, ReplicasMet, ReplicasRead
from autograd_doctor.events.run import RunEnded
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Ranks
from autograd_doctor.views.between_ranks import Replicas, replicas
from autograd_doctor.wording import plural

_Kind = Literal["late", "scaled", "unsent", "skipped", "bypassed", "held back", "left out", "sometimes"]
"""How the ranks were to send each other gradients, and what of it failed."""

_DETAIL: dict[_Kind, str] = {
    "late": ", which became equal only after the step",
    "scaled": ": they are those of all ranks, times a number of each rank's own",
    "unsent": ": the wrapper sends those of what learned when it was made",
    "skipped": ": they had run unlike numbers of backwards by then, as where one rank leaves out a step",
    "bypassed": "",
    "held back": ": the last backward before the step ran under `no_sync()`",
    "left out": "",
    "sometimes": ", although they are equal in other steps",
}
_HELP: dict[_Kind, str] = {
    "late": "reduce gradients over the ranks between `backward()` and `step()`, since what is sent later moves nothing",
    "scaled": "divide by the same number on every rank, such as how many samples all of them have had: reduce that "
    "count as well",
    "unsent": "let all that is to be trained require a gradient before the model is wrapped, or wrap it anew when that "
    "has changed",
    "skipped": "let all ranks take a step or none: decide by a number that is the same on all of them",
    "bypassed": "call the wrapper and not `.module`: its forward prepares the backward to send gradients to the other "
    "ranks; what changes gradients afterwards has to do the same on each of them",
    "held back": "leave `no_sync()` for the last forward and backward before each step, which sends what has "
    "accumulated",
    "left out": "reduce the gradients of these parameters as well, between `backward()` and `step()`; if each rank is "
    "meant to have its own, nothing need change",
    "sometimes": "reduce the gradients before each step",
}


def examine_ranks(ranks: Ranks, tunables: Tunables) -> Iterator[Finding]:
    has_ended = all(ranked.trace.ended_by_itself for ranked in ranks.all)
    for model in replicas(ranks):
        apart = list(model.stepped_apart(tunables["minimum_repeats"]))
        kind = _kind(model, apart) if apart and not model.is_hooked else None
        if kind is not None:
            yield _finding(model, apart, kind, so_far=kind == "sometimes" and not has_ended)


def _kind(model: Replicas, apart: list[int]) -> _Kind | None:
    """None where nothing shows that ranks were to step alike.

    Each may have a model of its own. One that sends nothing may take local steps, to be averaged later; one that
    accumulates gradients, to send them in the end, does not.
    """
    if any(map(model.are_made_alike_later, apart)):
        return "late"
    if model.are_multiples(apart):
        return "scaled"
    if set(apart) <= set(model.met.unsent):
        return "unsent"
    if model.is_wrapped:
        reads = _reads(model, apart)
        if all(read.sent_last for read in reads):
            return "skipped" if _ran_unlike(model, apart) else "bypassed"
        return "held back" if any(read.backwards > 1 for read in reads) else None
    if model.differing[0]:
        return None
    if any(map(model.are_made_alike, apart)):
        return "sometimes"
    return "left out" if _sent(model) else None


def _ran_unlike(model: Replicas, apart: Iterable[int]) -> bool:
    """Whether ranks had run other numbers of backwards before the first step with gradients that differ."""
    return len({read.ran for read in model.readings[_readings(model, apart)[0]]}) > 1


def _sent(model: Replicas) -> list[int]:
    return [position for position in range(len(model.met.names)) if model.are_made_alike(position)]


def _reads(model: Replicas, apart: Iterable[int]) -> list[ReplicasRead]:
    """What was read before steps with gradients that differ."""
    return [read for reading in _readings(model, apart) for read in model.readings[reading]]


def _readings(model: Replicas, apart: Iterable[int]) -> list[int]:
    return sorted({reading for position in apart for reading in model.steps_differ(position)})


def _finding(model: Replicas, apart: list[int], kind: _Kind, *, so_far: bool) -> Finding:
    readings = _readings(model, apart)
    since = model.after(readings[0]) + 1
    detail = f", while those of {model.named(_sent(model))} are equal" if kind == "left out" else _DETAIL[kind]
    is_unsure = kind == "left out" and not _are_parts_of_modules(model, apart)
    return RULE.finding(
        f"{plural(len(model.ranks), 'rank')} step {model.named(apart)} with gradients that differ since step "
        f"{since}{detail}; the replicas were equal before, and never again",
        subject=model.met.model or model.met.names[apart[0]],
        location=model.stepped_at(readings[0]),
        help=_HELP[kind],
        severity="warning" if is_unsure else None,
        confidence="medium" if is_unsure else "high",
        so_far=so_far,
        evidence={
            "parameters": [model.name(position) for position in apart[:8]],
            "since_step": since,
            "steps_read": len(model.readings),
            "steps_with_gradients_that_differ": len(readings),
        },
        step_first=since,
        ranks=model.ranks,
    )


def _are_parts_of_modules(model: Replicas, apart: Iterable[int]) -> bool:
    """Whether others of the same modules are sent: whole modules may be each rank's own, such as experts or heads."""
    sent = {model.met.names[position].rpartition(".")[0] for position in _sent(model)}
    return any(model.met.names[position].rpartition(".")[0] in sent for position in apart)


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
            optimizer.step()  # <- AD901
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def bad_last_backward_sends_nothing() -> None:
    import multiprocessing as mp
    import tempfile
    from contextlib import nullcontext

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            for part in range(4):
                with nullcontext() if part == 0 else model.no_sync():
                    inputs = torch.randn(8, 4)
                    loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean() / 4
                    loss.backward()
            optimizer.step()  # <- AD901
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def bad_parameters_left_out() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        torch.manual_seed(1 + rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean() / 2
            loss.backward()
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    dist.all_reduce(parameter.grad)
            optimizer.step()  # <- AD901
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def bad_sent_after_the_step() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        torch.manual_seed(1 + rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean() / 2
            loss.backward()
            optimizer.step()  # <- AD901
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            optimizer.zero_grad()
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


def good_last_backward_sends_all() -> None:
    import multiprocessing as mp
    import tempfile
    from contextlib import nullcontext

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(rank)
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            for part in range(4):
                with nullcontext() if part == 3 else model.no_sync():
                    inputs = torch.randn(8, 4)
                    loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean() / 4
                    loss.backward()
            optimizer.step()
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def good_reduced_by_hand() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        torch.manual_seed(1 + rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean() / 2
            loss.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            optimizer.step()
        dist.destroy_process_group()

    with tempfile.TemporaryDirectory() as meeting:
        ranks = [mp.get_context("fork").Process(target=work, args=(rank, meeting)) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


def good_averaged_after_some_steps() -> None:
    import multiprocessing as mp
    import tempfile

    import torch
    import torch.distributed as dist

    def work(rank: int, meeting: str) -> None:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=2)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        torch.manual_seed(1 + rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(1, 25):
            inputs = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
            if step % 6 == 0:
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


RULE = Rule(
    code="AD901",
    name="gradients-not-synchronised",
    severity="error",
    title="ranks step replicas of one model with gradients that differ",
    observes=(
        "Gradients that differ between ranks in steps of a model that was equal on all of them, and never is again. "
        "That ranks were to step alike shows by a wrapper (`DistributedDataParallel`), or without one by gradients "
        "that are equal although the models differ: those of other parameters, of other steps, or the same ones after "
        "the step; or that are multiples of each other. Models are read ever more seldom, and when "
        "something else than a step has changed them."
    ),
    why="Each rank trains a model of its own on its part of the data. More ranks teach it nothing more, and the model "
    "that is saved is that of one of them.",
    fix="Call the wrapper, not the module inside of it; leave `no_sync()` for the last backward before each step; "
    "reduce the gradients of all parameters after the backward and before the step.",
    fine="Models that become equal again, as in local SGD and federated averaging, models of their own (unequal at the "
    "start, or of which ranks share no gradients, as in an ensemble or a search), shards (FSDP, tensor and pipeline "
    "parallelism), parameters that the wrapper was told to ignore, a communication hook, and steps all of whose "
    "backwards ran under `no_sync()`, one each, which may be averaged later. A warning where whole modules are left "
    "out, which may be each rank's own. That gradients are sums where they should be means on all ranks does not show.",
    needs=(GradientsChangedAfterStep, ReplicasMet, ReplicasRead, RunEnded),
    examine_ranks=examine_ranks,
    bad=(bad, bad_last_backward_sends_nothing, bad_parameters_left_out, bad_sent_after_the_step),
    good=(good, good_last_backward_sends_all, good_reduced_by_hand, good_averaged_after_some_steps),
    tunables={"minimum_repeats": Tunable(2, "fewest steps read in which gradients differ", MORE_THAN_ONCE)},
    about="loop",
)
