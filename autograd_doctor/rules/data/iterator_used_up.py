"""AD714 iterator-used-up: a loop came back to an iterator that had nothing left to give."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import IteratorUsedUp
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(IteratorUsedUp):
        name = f"`{event.name}`" if event.name else f"a {event.kind}"
        rounds = "at least once" if event.rounds == 1 else f"at least {event.rounds} times"
        is_stream = event.turns >= tunables["turns"]
        effect = "and trained nothing more" if event.fed else "and did nothing"
        yield RULE.finding(
            f"{name} came to its end; the loop around it came back {rounds}, {effect}",
            subject=event.name,
            location=event.location,
            help="make it anew in each round, or loop over what it was made from: a `DataLoader` or a list can be gone "
            "through again, an iterator cannot",
            evidence={"kind": event.kind, "empty_rounds": event.rounds},
            severity="error" if event.fed and not is_stream else "warning",
            confidence="medium" if is_stream else "high",
            notes=("rounds before took a part of it each: a stream may have ended, as meant",) if is_stream else (),
            step_first=event.step,
        )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    targets = inputs.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = zip(inputs.split(8), targets.split(8), strict=True)
    for _ in range(4):
        model.train()
        for x, y in batches:  # <- AD714
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()


def bad_iterator_of_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = iter(DataLoader(data, batch_size=8, shuffle=True))
    for _ in range(4):
        for x, y in batches:  # <- AD714
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()


def bad_generator_and_helper() -> None:
    from collections.abc import Iterator as Batches

    import torch
    from torch import nn

    def make() -> Batches[torch.Tensor]:
        for _ in range(10):
            yield torch.randn(8, 4)

    def epoch(model: nn.Module, optimizer: torch.optim.Optimizer, source: Batches[torch.Tensor]) -> None:
        for x in source:  # <- AD714
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    source = make()
    for _ in range(3):
        epoch(model, optimizer, source)
        schedule.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    targets = inputs.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        model.train()
        batches = zip(inputs.split(8), targets.split(8), strict=True)
        for x, y in batches:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()


def good_one_stream() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    stream = (torch.randn(8, 4) for _ in range(20))
    for x in stream:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
    for _ in range(3):
        model.eval()
        print(loss.item())


def good_groups() -> None:
    from itertools import islice

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    inputs = torch.randn(80, 4)
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        batches = iter(DataLoader(data, batch_size=8, shuffle=True))
        while group := list(islice(batches, 4)):
            optimizer.zero_grad()
            for x, y in group:
                (nn.functional.mse_loss(model(x), y) / len(group)).backward()
            optimizer.step()


RULE = Rule(
    code="AD714",
    name="iterator-used-up",
    severity="error",
    title="a loop came back to an iterator that had nothing left",
    observes="The iterators that the frames of the program hold during its steps, whether they have come to their end, "
    "and whether the loop around them comes back without a step, or has counted on when the program is seen again; the "
    "ends that iterators of loaders meet.",
    why="A generator, a `zip` or `iter(loader)` can be gone through once. A second round finds it empty, and Python "
    "says nothing: all epochs but the first train nothing.",
    fix="Make the iterator anew in each epoch, or loop over the list or the loader that it was made from.",
    fine="Streams that are gone through once, and groups of batches that are taken until none is left. Where several "
    "rounds took a part each before, a stream may have come to its end: a warning.",
    needs=(IteratorUsedUp, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_iterator_of_loader, bad_generator_and_helper),
    good=(good, good_one_stream, good_groups),
    tunables={"turns": Tunable(2, "fewest rounds that went on with it while it had something to give", MORE_THAN_ONCE)},
    about="data",
    references=("https://docs.python.org/3/glossary.html#term-iterator",),
)
