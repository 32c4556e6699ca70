"""AD806 data-bound: training waits for its data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from autograd_doctor.events.efficiency import IterationTimed, WorkersTried
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.iterations import lines_of, shares, split, typical, whole
from autograd_doctor.wording import plural

_WORTH_IT = 0.8
"""Of the time of a batch: workers that save less are not worth their memory."""


def bad() -> None:
    """Each sample is decoded in the process that trains, while the model waits."""
    import time

    import torch
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset[tuple[torch.Tensor, torch.Tensor]]):
        def __len__(self) -> int:
            return 320

        def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
            time.sleep(0.001)
            return torch.randn(16), torch.tensor(index % 2)

    torch.manual_seed(0)
    model = torch.nn.Linear(16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        for inputs, labels in DataLoader(Pictures(), batch_size=8, shuffle=True):  # <- AD806
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def good() -> None:
    """The samples lie in memory as tensors."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(160, 64), torch.arange(160) % 2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        for inputs, labels in DataLoader(data, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def good_loop_of_its_own() -> None:
    """There is no loader: a batch is a part of a tensor."""
    import torch

    torch.manual_seed(0)
    inputs, labels = torch.randn(160, 64), torch.arange(160) % 2
    model = torch.nn.Linear(64, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(120):
        chosen = torch.arange(8) + 8 * (step % 20)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs[chosen]), labels[chosen]).backward()
        optimizer.step()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    timed = typical(trace)
    if len(timed) < tunables["iterations"]:
        return
    parts = split(timed)
    share = shares(parts).get("data", 0.0)
    spent = [spent for each in parts for spent in each.spent]
    taken = median(each.seconds for each in whole(timed))
    waited = share * taken
    if share < tunables["share"] or waited < tunables["seconds"]:
        return
    where = next(iter(lines_of(spent, "data")), None)
    tried = trace.of(WorkersTried)
    yield RULE.finding(
        f"{share:.0%} of an iteration is spent waiting for the next batch: {1e3 * waited:.3g} of {1e3 * taken:.3g} ms",
        subject="",
        location=where,
        help=_help(tried, taken - waited),
        evidence={
            "share_of_the_time": share,
            "seconds_of_waiting": waited,
            "seconds_of_an_iteration": taken,
            "iterations": len(timed),
            **{f"seconds_with_{each.workers}_workers": each.after for each in tried},
        },
        notes=(
            f"measured in {plural(len(timed), 'iteration')} in which nothing was recorded, evaluated or saved",
            *(
                f"tried: with `num_workers={each.workers}`, a batch came every {1e3 * each.after:.3g} ms"
                for each in tried
            ),
        ),
        step_first=timed[0].step,
        step_count=len(timed),
    )


def _help(tried: Sequence[WorkersTried], computing: float) -> str:
    """The fewest workers that keep up with the model, or else as many as read fastest, where they were tried."""
    faster = [each for each in tried if each.after < _WORTH_IT * each.before]
    otherwise = "do what is the same for each sample once and store it, or read and decode larger pieces at a time"
    if tried and not faster:
        return f"workers would not be much faster here: {otherwise}"
    keeping_up = [each for each in faster if each.after <= computing]
    fastest = min(faster, key=lambda each: each.after, default=None)
    best = min(keeping_up, key=lambda each: each.workers, default=fastest)
    several = f"`num_workers={best.workers if best else 2}`{'' if best else ' or more'}, `persistent_workers=True`"
    return f"let workers prepare batches while the model trains ({several}), {otherwise}"


RULE = Rule(
    code="AD806",
    name="data-bound",
    severity="info",
    title="training waits for its data",
    observes="The time of each iteration is split by what the program does. The rule speaks where much of it goes by "
    "between asking a `DataLoader` for the next batch and getting it. `doctor profile` measures that.",
    why="The model and the device idle while samples are read, decoded and collated. A faster device, a smaller model "
    "or a lower precision change nothing then: the loader sets the pace.",
    fix="Raise `num_workers`, so that batches are prepared while the model trains. Move what is the same in every "
    "epoch (decoding, resizing, tokenising) out of `__getitem__`, and store the result.",
    fine="A model so small that an iteration takes next to nothing; a check on a slow disk, or on a machine with "
    "fewer cores than the one on which you train.",
    needs=(IterationTimed, WorkersTried),
    bad=(bad,),
    good=(good, good_loop_of_its_own),
    tunables={
        "share": Tunable(
            0.3, "the least share of an iteration that is spent waiting", "chosen: below, nothing can be won that pays"
        ),
        "seconds": Tunable(
            0.001,
            "the fewest seconds that an iteration waits",
            "chosen: to hand a batch over from another process takes about as long",
        ),
        "iterations": Tunable(
            10, "the fewest iterations that were timed", "arithmetic: of fewer, a median says little"
        ),
    },
    about="data",
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
    examine=examine,
)
