"""AD712: reading a sample, or training on it, changes the data, so that the next epoch reads other values."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from autograd_doctor.events.data import GivenRowsChanged, StoredDataChanged
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_ROUNDING = 1e-5
"""Of a mean of absolute values, summed up in another order."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    latest = {(event.dataset, event.field): event for event in trace.of(StoredDataChanged)}
    for event in latest.values():
        moves_on = event.assigned and event.asked  # with a model: chains, rollouts, answers that are kept
        if event.again >= tunables["samples"] and not (moves_on or event.shuffled):
            yield _finding(event)
    for given in {event.location: event for event in trace.of(GivenRowsChanged)}.values():
        yield _written_by_the_loop(given)


def _written_by_the_loop(event: GivenRowsChanged) -> Finding:
    name = f"`{event.name}`" if event.name else "the data"
    target = ", and the loss takes what it left there for the target" if event.is_target else ""
    again = f"{event.again} times" if event.again > 1 else "once"
    return RULE.finding(
        f"the training loop writes to {name} itself, and is given it again: {again} it found one of the "
        f"{plural(event.parts, 'part')} that went into the model as an earlier step had left it, and changed it "
        f"further{target}; one went from {event.size_before:.4g} "
        f"to {event.size:.4g} (mean of absolute values)",
        subject=event.name,
        location=event.location,
        help="write to a copy (`x = x.clone()` first), or make a new value (`x = x + noise` instead of `x += noise`)",
        evidence={
            "operation": event.operation,
            "parts": event.parts,
            "changed_again": event.again,
            "mean_before": event.size_before,
            "mean_after": event.size,
        },
        step_first=1,
        step_count=event.step,
    )


def _finding(event: StoredDataChanged) -> Finding:
    line = "" if event.seen else "; the line was not seen, this is where samples are read"
    is_rearranged = isclose(event.size, event.size_before, rel_tol=_ROUNDING)  # shifts and turns lose nothing
    may_move_on = event.assigned or event.in_series or is_rearranged
    return RULE.finding(
        f"reading samples of `{event.dataset}` changes what it stores in `{event.field}`: of "
        f"{plural(event.samples, 'sample')} that a reading changed, {event.again} were changed again by the next one; "
        f"sample {event.index} went from {event.size_before:.4g} to {event.size:.4g} (mean of absolute values) in "
        f"{plural(event.times, 'reading')}{line}",
        subject=f"{event.dataset}.{event.field}",
        location=event.location,
        severity="warning" if may_move_on else "error",
        confidence="high" if event.seen and not may_move_on else "medium",
        help="if what is stored is to move on with each reading, all is well; otherwise keep the new value apart"
        if may_move_on
        else "make a new value instead of writing in place (`x = x / s` instead of `x /= s`), or copy the sample "
        "first, with `.clone()` or `.copy()`",
        evidence={
            "field": event.field,
            "samples_changed": event.samples,
            "samples_changed_again": event.again,
            "sample": event.index,
            "mean_before": event.size_before,
            "mean_after": event.size,
            "readings": event.times,
        },
        step_first=1,
        step_count=event.step,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.pixels = 255 * torch.rand(60, 8)

        def __len__(self) -> int:
            return len(self.pixels)

        def __getitem__(self, index: int) -> torch.Tensor:
            picture = self.pixels[index]
            picture /= 255  # <- AD712
            return picture

    torch.manual_seed(0)
    loader = DataLoader(Pictures(), batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_numpy() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    def normalised(signal: np.ndarray) -> np.ndarray:
        signal -= signal.mean()
        signal *= 0.5  # <- AD712
        return signal

    class Signals(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            values = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
            self.signals = [row - row.mean() for row in values]

        def __len__(self) -> int:
            return len(self.signals)

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.from_numpy(normalised(self.signals[index]))

    torch.manual_seed(0)
    loader = DataLoader(Signals(), batch_size=10)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x[:, :4].sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.pixels = 255 * torch.rand(60, 8)

        def __len__(self) -> int:
            return len(self.pixels)

        def __getitem__(self, index: int) -> torch.Tensor:
            picture = self.pixels[index].clone()
            picture /= 255
            picture += 0.1 * torch.randn(8)
            return picture

    torch.manual_seed(0)
    loader = DataLoader(Pictures(), batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_normalised_once() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.pixels = 255 * torch.rand(60, 8)
            self.is_ready = torch.zeros(60, dtype=torch.bool)
            self.times = torch.zeros(60, dtype=torch.long)

        def __len__(self) -> int:
            return len(self.pixels)

        def __getitem__(self, index: int) -> torch.Tensor:
            if not self.is_ready[index]:
                self.pixels[index] /= 255
                self.is_ready[index] = True
            self.times[index] += 1
            return self.pixels[index]

    torch.manual_seed(0)
    loader = DataLoader(Pictures(), batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD712",
    name="dataset-changes-under-reading",
    severity="error",
    title="reading a sample, or training on it, changes the data set",
    observes="The rows that a data set stores, before and after a batch is read from them in the program's own "
    "process, and the line that changes them, by looking after each line of a later reading. Parts of kept tensors "
    "that the training loop writes to and gives to a model, and what it finds when they come again.",
    why="An index of a tensor, an array or a list is no copy, and a second name (`inputs = target`) is none. What is "
    "written to it in place stays: each epoch scales, shifts or augments what the epoch before has left, until pixels "
    "are 0 or noise, and tokens that were masked once are never seen again.",
    fix="Copy the sample before writing to it, or compute a new one.",
    fine="Work on copies, data sets that bring a sample to its final form once, counters beside the samples, data "
    "that change between readings, buffers that are filled anew or brought back, states that a model or other data "
    "move, and what a reading puts there after asking a model, as the states of chains. Samples whose parts, as the "
    "points of a cloud, are shuffled where they lie: nothing is lost. A warning is what shifts values and turns signs, "
    "what is assigned otherwise, by a line that says so, and what may be the state of a simulator: a reading that "
    "changes it gives out a series of values of its shape.",
    needs=(StoredDataChanged, GivenRowsChanged),
    folds=("AD703",),
    examine=examine,
    bad=(bad, bad_numpy),
    good=(good, good_normalised_once),
    tunables={
        "samples": Tunable(
            1,
            "fewest samples that one reading after the other changed",
            "arithmetic: one that was changed again is a proof",
        )
    },
    about="data",
)
