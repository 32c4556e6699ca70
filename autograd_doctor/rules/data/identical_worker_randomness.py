"""AD705: all workers of a loader deliver the same batches."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import GeneratorCopied, WorkersAlike
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(WorkersAlike):
        if event.alike >= max(tunables["rounds"], tunables["share"] * event.rounds):
            yield _finding(event)
    alike = {event.location for event in trace.of(WorkersAlike)}
    for copied in trace.of(GeneratorCopied):
        if copied.location not in alike:
            yield _copied(copied)


def _copied(event: GeneratorCopied) -> Finding:
    name = f"`{event.name}`" if event.name else "a `DataLoader`"
    again = f", and {plural(event.passes, 'pass')} over the data began alike" if event.passes > 1 else ""
    return RULE.finding(
        f"reading a sample of `{event.held_by}` draws from `{event.attribute}`, and each of the {event.workers} "
        f"workers of {name} has a copy of it in the same state: all of them draw the same numbers{again}",
        subject=event.name or event.held_by,
        location=event.location,
        severity="warning",
        confidence="medium",
        help="seed it for each worker in a `worker_init_fn`, from `torch.initial_seed()`, or make it anew for each "
        "sample from the index and the epoch",
        evidence={"workers": event.workers, "generator": event.attribute, "passes": event.passes},
        related=elsewhere("the generator is made here", event.made_at),
    )


def _finding(event: WorkersAlike) -> Finding:
    """A warning where nothing is known that workers could have copies of: unlike samples may be equal by design."""
    name = f"`{event.name}`" if event.name else "a `DataLoader`"
    is_known = event.stream or event.copied
    return RULE.finding(
        f"the {event.workers} workers of {name} delivered the same batch one after the other, to the bit, in "
        f"{event.alike} of {event.rounds} rounds: what `{event.dataset}` draws, or reads, is the same in each of them",
        subject=event.name or event.dataset,
        location=event.location,
        severity="error" if is_known else "warning",
        confidence="high" if is_known else "medium",
        help="give each worker its own part of the stream, by `torch.utils.data.get_worker_info()`"
        if event.stream
        else "seed generators for each worker in a `worker_init_fn`, from `torch.initial_seed()`",
        evidence={
            "workers": event.workers,
            "rounds": event.rounds,
            "rounds_alike": event.alike,
            "data_set": event.dataset,
        },
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Noise(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.generator = torch.Generator().manual_seed(0)

        def __len__(self) -> int:
            return 96

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.randn(8, generator=self.generator)

    torch.manual_seed(0)
    loader = DataLoader(Noise(), batch_size=8, num_workers=2, multiprocessing_context="fork")  # <- AD705
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x in loader:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_augmentation() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Shifted(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.waves = np.random.default_rng(1).normal(size=(96, 24)).astype("float32")
            self.rng = np.random.default_rng(0)

        def __len__(self) -> int:
            return len(self.waves)

        def __getitem__(self, index: int) -> torch.Tensor:
            begin = self.rng.integers(0, 16)
            return torch.from_numpy(self.waves[index, begin : begin + 8])

    torch.manual_seed(0)
    loader = DataLoader(Shifted(), 8, shuffle=True, num_workers=2, multiprocessing_context="fork")  # <- AD705
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x in loader:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Noise(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 96

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.randn(8)

    torch.manual_seed(0)
    loader = DataLoader(Noise(), batch_size=8, num_workers=2, multiprocessing_context="fork")
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x in loader:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD705",
    name="identical-worker-randomness",
    severity="error",
    title="all workers of a loader deliver the same batches",
    observes="Batches that the workers of a loader deliver one after the other, equal to the bit in one round after "
    "the other, while those of different rounds differ. And generators that a data set holds and draws from while a "
    "sample is read, of which workers get copies that nothing seeds.",
    why="Workers are copies of one process. A generator that was seeded before they were made, or a stream that is not "
    "divided, gives each of them the same samples: so many workers, so many times the same.",
    fix="Seed per worker, and divide streams among workers.",
    fine="Samples that differ by their index, data sets that are all one sample, and batches that a sampler asks for "
    "more than once. Generators that a `worker_init_fn`, or the code that reads samples, may have seeded, that "
    "loaders which are drawn from side by side share, or whose numbers nothing learns from: those of an evaluation are "
    "to be the same in each.",
    needs=(GeneratorCopied, WorkersAlike),
    examine=examine,
    folds=("AD701",),
    bad=(bad, bad_augmentation),
    good=(good,),
    tunables={
        "rounds": Tunable(
            3,
            "fewest rounds in which all workers gave the same batch",
            "chosen: fewer may be alike by chance, where samples are few",
        ),
        "share": Tunable(
            0.9,
            "smallest share of rounds in which they did",
            "chosen: nearly all, for what is drawn once may part them",
        ),
    },
    about="data",
    references=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
)
