"""AD903: a distributed sampler shuffles alike in each epoch, because nobody tells it which one it is in."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.replicas import EpochsInOneOrder
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for repeated in trace.of(EpochsInOneOrder):
        if repeated.passes >= tunables["minimum_passes"]:
            yield _finding(repeated)


def _finding(repeated: EpochsInOneOrder) -> Finding:
    sampler = f"`{repeated.sampler}`" if repeated.sampler else "the `DistributedSampler`"
    epoch = f": it took each for epoch {repeated.epoch}" if repeated.epoch is not None else ""
    return RULE.finding(
        f"{sampler} gave out its samples in the same order in each of {plural(repeated.passes, 'epoch')}{epoch}",
        subject=repeated.sampler,
        location=repeated.location,
        help=f"call `{repeated.sampler or 'sampler'}.set_epoch(epoch)` before each pass over the loader begins: the "
        "order follows from the seed and the epoch, and from nothing else",
        evidence={"passes": repeated.passes, "batches": repeated.batches, "replicas": repeated.replicas or 0},
        step_first=1,
    )


def bad() -> None:
    import torch
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(48, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(data, num_replicas=2, rank=0)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for inputs, wanted in loader:  # <- AD903
            optimizer.zero_grad()
            (model(inputs) - wanted).pow(2).mean().backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(48, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(data, num_replicas=2, rank=0)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for inputs, wanted in loader:
            optimizer.zero_grad()
            (model(inputs) - wanted).pow(2).mean().backward()
            optimizer.step()


def good_evaluates_in_one_order() -> None:
    import torch
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(96, 4)
    data = TensorDataset(x[:48], x[:48].sum(1, keepdim=True))
    held_out = TensorDataset(x[48:], x[48:].sum(1, keepdim=True))
    in_order: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(data, 2, 0, shuffle=False)
    loader = DataLoader(data, batch_size=4, sampler=in_order)
    evaluation = DataLoader(held_out, batch_size=4, sampler=DistributedSampler(held_out, 2, 0))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for inputs, wanted in loader:
            optimizer.zero_grad()
            (model(inputs) - wanted).pow(2).mean().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [(model(inputs) - wanted).pow(2).mean() for inputs, wanted in evaluation]
        print(f"error {sum(errors) / len(errors):.3f}")
        model.train()


RULE = Rule(
    code="AD903",
    name="sampler-epoch-not-set",
    severity="warning",
    title="a distributed sampler shuffles alike in each epoch",
    observes="The epoch that a `DistributedSampler` with `shuffle=True` goes by in each pass that a model is trained "
    "in, what it asks for in the first batches, and whether the same samples come of it. Two passes that have begun "
    "are enough, and so is one rank.",
    why="Batches hold the same samples together in each epoch, in the same order, and each rank never sees the part of "
    "the data that others have: less random than the same training in one process.",
    fix="Call `sampler.set_epoch(epoch)` at the beginning of each epoch.",
    fine="Samplers that do not shuffle, a single epoch, evaluation, samplers that a framework tells the epoch "
    "(Lightning, Accelerate, Trainer), a sampler made anew with another seed, data sets that take another order for "
    "each epoch themselves, and an epoch that is taken up where it was left.",
    needs=(EpochsInOneOrder,),
    examine=examine,
    bad=(bad,),
    good=(good, good_evaluates_in_one_order),
    tunables={"minimum_passes": Tunable(2, "fewest passes in the same order", MORE_THAN_ONCE)},
    about="data",
)
