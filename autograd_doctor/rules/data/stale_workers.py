"""AD727 stale-workers: a data set was changed, and persistent workers go on with copies that know nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import WorkersLeftBehind
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    loaders: dict[object, list[WorkersLeftBehind]] = {}
    for event in trace.of(WorkersLeftBehind):
        loaders.setdefault((event.location, event.name, event.dataset), []).append(event)
    yield from map(_finding, loaders.values())


def _finding(events: list[WorkersLeftBehind]) -> Finding:
    event = events[0]
    name = f"`{event.name}`" if event.name else "a `DataLoader`"
    others = [f"`{each}`" for each in dict.fromkeys(other.attribute for other in events) if each != event.attribute]
    too = f"; the same goes for {', '.join(others)}" if others else ""
    was = f" was {event.before} when the persistent workers of {name} started, and is {event.now}"
    if event.before == event.now:
        was = f" has changed since the persistent workers of {name} started, and is another one"
    return RULE.finding(
        f"`{event.attribute}` of `{event.dataset}`{was} as pass {event.passes} begins: workers go on with a copy from "
        f"before, and samples come out different with the change{too}",
        subject=f"{event.dataset}.{event.attribute}",
        location=event.changed_at or event.location,
        help="give the loader `persistent_workers=False`, so that each pass starts workers from the data set as it is; "
        "or keep the value in shared memory (`torch.tensor(…).share_memory_()`, `multiprocessing.Value`), or let a "
        "sampler choose in the main process",
        evidence={"before": event.before, "now": event.now, "pass": event.passes, "workers": event.workers},
        related=elsewhere("the loader is built here", event.location, event.changed_at),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Waves(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.noise = 0.0

        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.linspace(0, 6, 12).add(index).sin() + self.noise * torch.randn(12)

    torch.manual_seed(0)
    waves = Waves()
    loader = DataLoader(
        waves, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True, multiprocessing_context="fork"
    )
    model = nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        waves.noise = 0.1 * epoch  # <- AD727
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Waves(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.noise: torch.Tensor = torch.zeros(()).share_memory_()

        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.linspace(0, 6, 12).add(index).sin() + self.noise * torch.randn(12)

    torch.manual_seed(0)
    waves = Waves()
    loader = DataLoader(
        waves, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True, multiprocessing_context="fork"
    )
    model = nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        waves.noise.fill_(0.1 * epoch)
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_read_by_nobody() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Waves(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.epoch = 0
            self.seen: dict[int, torch.Tensor] = {}

        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> torch.Tensor:
            if index not in self.seen:
                self.seen[index] = torch.linspace(0, 6, 12).add(index).sin()
            return self.seen[index] + 0.1 * torch.randn(12)

    torch.manual_seed(0)
    waves = Waves()
    loader = DataLoader(
        waves, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True, multiprocessing_context="fork"
    )
    model = nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        waves.epoch = epoch
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(waves.epoch, nn.functional.mse_loss(model(waves[epoch]), waves[epoch]).item())


RULE = Rule(
    code="AD727",
    name="stale-workers",
    severity="warning",
    title="persistent workers go on with the data set as it was when they started",
    observes="What the data set of a loader with `persistent_workers=True` holds, its transforms, indices and inner "
    "data sets among it, and what its `collate_fn` holds: when the workers start, and as each later pass begins. Where "
    "it has changed, a worker of the doctor's own reads some of the samples that the pass asks for, with the change "
    "and without, from the same random numbers.",
    why="A worker has a copy of the data set, made when it started. A level of difficulty, an epoch, a list of hard "
    "samples or a transform that the main process sets later never gets there: training goes on as before, and looks "
    "as if the schedule did nothing.",
    fix="Start workers anew in each pass, keep what changes in shared memory, or leave it to a sampler, which works in "
    "the main process.",
    fine="What makes no sample another one, such as numbers for a log; what reading changes itself, such as caches and "
    "counters; random generators, and samples that are put in another order where they are drawn at random; what lies "
    "in shared memory; what was changed before the first pass, or is back as a pass begins; workers that start anew. "
    "Not looked at are changes in the midst of a pass, iterable data sets, variables of modules and classes, and what "
    "is written into tensors of more than 1 MiB. Where reading writes files or uses locks or connections, nothing is "
    "tried.",
    needs=(WorkersLeftBehind,),
    examine=examine,
    bad=(bad,),
    good=(good, good_read_by_nobody),
    about="data",
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
)
