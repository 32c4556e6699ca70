"""AD806 data-bound: training waits for its data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from autograd_doctor.events.efficiency import (
    ItemsReread,
    IterationTimed,
    PassTimed,
    WorkersKept,
    WorkersRuledOut,
    WorkersTried,
)
from autograd_doctor.findings import Finding
from autograd_doctor.profiling import Measured
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.iterations import lines_of, shares, split, typical, whole
from autograd_doctor.wording import in_bytes, plural

_WORTH_IT = 0.8
"""Of the time of a batch: workers that save less are not worth their memory."""
_MOSTLY = 0.5
"""Of the time that a sample is waited for: where reading it takes less, or as little the second time, it is not what
there is to save."""


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


def bad_workers_start_in_each_pass() -> None:
    """Workers that open an archive first are started anew in each epoch."""
    import time

    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def open_archive(worker: int) -> None:
        time.sleep(0.4)

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 16), torch.arange(64) % 2)
    loader = DataLoader(data, 8, num_workers=2, worker_init_fn=open_archive, multiprocessing_context="fork")
    model = torch.nn.Linear(16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        for inputs, labels in loader:  # <- AD806
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def good_workers_are_kept() -> None:
    """The same with workers that outlive a pass."""
    import time

    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def open_archive(worker: int) -> None:
        time.sleep(0.4)

    class Model(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.02)
            return super().forward(x)

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 16), torch.arange(64) % 2)
    options = {"worker_init_fn": open_archive, "persistent_workers": True, "multiprocessing_context": "fork"}
    loader = DataLoader(data, batch_size=8, num_workers=2, **options)  # type: ignore[arg-type]
    model = Model(16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def good_first_batch_is_slow() -> None:
    """A batch takes long to read, also for workers that are there already, and computing takes longer."""
    import time

    import torch
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset[tuple[torch.Tensor, torch.Tensor]]):
        def __len__(self) -> int:
            return 16

        def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
            time.sleep(0.1)
            return torch.full((16,), index / 16), torch.tensor(index % 2)

    class Model(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.25)
            return super().forward(x)

    torch.manual_seed(0)
    loader = DataLoader(Pictures(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    model = Model(16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for kept in trace.of(WorkersKept):
        yield from _starts(kept, [each for each in trace.of(PassTimed) if each.location == kept.location], tunables)
    yield from _waiting(trace, tunables)


def _starts(kept: WorkersKept, passes: Sequence[PassTimed], tunables: Tunables) -> Iterator[Finding]:
    """Of workers that are not there yet when a pass begins. The first pass of all has to start them."""
    later = [each for each in passes if each.since is not None and each.workers]
    is_new = len({each.loader for each in passes}) == len(passes)
    if len(later) < tunables["passes"] or (all(each.kept for each in later) and not is_new):
        return
    starts, ready = Measured.of([each.start for each in later]), Measured.of(kept.ready)
    between = median(each.since or 0.0 for each in later)
    saved = starts.median - ready.median
    share = saved / between if between else 0.0
    if starts.low <= ready.high or saved < tunables["start"] or share < tunables["starts"]:
        return
    workers = later[0].workers
    yield RULE.finding(
        f"{plural(workers, 'worker')} {'start' if workers > 1 else 'starts'} anew in each pass: its first batch comes "
        f"after {1e3 * starts.median:.3g} ms, and after {1e3 * ready.median:.3g} ms from workers that are kept",
        subject="workers",
        location=kept.location,
        help=f"{'build the loader once, before the loop over passes, with' if is_new else 'add'} "
        "`persistent_workers=True`",
        evidence={
            "share_of_the_time": share,
            "seconds_to_the_first_batch": starts.median,
            "seconds_with_kept_workers": ready.median,
            "seconds_from_pass_to_pass": between,
            "passes": len(later),
        },
        notes=(
            f"{share:.0%} of the time from one pass to the next, in {len(later)} passes after the first",
            f"tried: the same data set was read by {plural(workers, 'worker')} in {len(kept.ready)} passes",
        ),
        step_first=later[0].step,
        step_count=len(later),
    )


def _waiting(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """In iterations in which no workers had to start."""
    timed = [each for each in typical(trace) if not each.starts]
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
    repeated = next((each for each in trace.of(ItemsReread) if _is_repeated(each, tunables)), None)
    timed_there = next((each for each in trace.of(PassTimed) if each.location == where), None)
    yield RULE.finding(
        f"{share:.0%} of an iteration is spent waiting for the next batch: {1e3 * waited:.3g} of {1e3 * taken:.3g} ms",
        subject="",
        location=where,
        help=_help(tried, taken - waited, timed_there, repeated),
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
            *(f"workers are not advised: {each.why}" for each in trace.of(WorkersRuledOut)),
            *([_repeated(repeated)] if repeated is not None else []),
        ),
        step_first=timed[0].step,
        step_count=len(timed),
    )


def _is_repeated(read: ItemsReread, tunables: Tunables) -> bool:
    """Whether the same is computed for a sample in each pass, and that is what takes the time."""
    takes_long = min(read.first, read.again) >= _MOSTLY * read.waited
    return read.same == read.samples >= tunables["samples"] and takes_long


def _repeated(read: ItemsReread) -> str:
    return (
        f"tried: {read.samples} samples were read twice, each time the same to the last bit and with no random number; "
        f"all {read.of:,} take {in_bytes(read.bytes * read.of)} as tensors"
    )


def _help(
    tried: Sequence[WorkersTried], computing: float, passed: PassTimed | None, repeated: ItemsReread | None
) -> str:
    """The fewest workers that keep up with the model, or else as many as read fastest, where they were tried.

    passed: over the loader that is waited for.
    """
    otherwise = "do what is the same for each sample once and store it, or read and decode larger pieces at a time"
    if repeated is not None:
        otherwise = "keep what `__getitem__` returns: it is the same for a sample in each pass"
    if passed is not None and passed.workers:
        return _more_than(passed, otherwise)
    if not tried:
        return otherwise
    faster = [each for each in tried if each.after < _WORTH_IT * each.before]
    keeping_up = [each for each in faster if each.after <= computing]
    fastest = min(faster, key=lambda each: each.after, default=None)
    best = min(keeping_up, key=lambda each: each.workers, default=fastest)
    if best is None:
        return f"workers would not be much faster here: {otherwise}"
    several = f"`num_workers={best.workers}`, `persistent_workers=True`"
    return f"let workers prepare batches while the model trains ({several}); or {otherwise}"


def _more_than(passed: PassTimed, otherwise: str) -> str:
    """For a loader that has workers: more of them were not tried, and need cores."""
    several = plural(passed.workers, "worker")
    already = f"{several} {'prepare' if passed.workers > 1 else 'prepares'} batches already"
    if passed.cores <= passed.workers:
        return f"{already}: {otherwise}"
    return f"{already}: {otherwise}; or try more of them, as this machine has {passed.cores} cores"


RULE = Rule(
    code="AD806",
    name="data-bound",
    severity="info",
    title="training waits for its data",
    observes="The time of each iteration is split by what the program does. The rule speaks where much of it goes by "
    "between asking a `DataLoader` for the next batch and getting it, and where each pass waits for its workers to "
    "start: it compares the first batches of passes with those that come from workers which are kept. `doctor profile` "
    "measures that. It has a worker read samples twice, too, to see whether the same is computed in each pass. Workers "
    "are advised only where they were tried: not where reading uses what changes while the program trains, or a file, "
    "a connection or a lock that processes cannot share, not where it would be seen outside of a worker, and not where "
    "each worker would read all of an `IterableDataset`.",
    why="The model and the device idle while samples are read, decoded and collated. A faster device, a smaller model "
    "or a lower precision change nothing then: the loader sets the pace.",
    fix="Raise `num_workers`, so that batches are prepared while the model trains; an `IterableDataset` has to ask "
    "`get_worker_info` then, and yield a part of the samples in each. Move what is the same in every epoch (decoding, "
    "resizing, tokenising) out of `__getitem__`, and store the result. Build a loader once, and keep its workers with "
    "`persistent_workers=True`.",
    fine="Data that come when they come, from a stream, a service or the model itself; a model so small that an "
    "iteration takes next to nothing; a check on a slow disk, or on a machine with fewer cores than the one on which "
    "you train.",
    needs=(IterationTimed, WorkersTried, WorkersRuledOut, ItemsReread, PassTimed, WorkersKept),
    bad=(bad, bad_workers_start_in_each_pass),
    good=(good, good_loop_of_its_own, good_workers_are_kept, good_first_batch_is_slow),
    tunables={
        "share": Tunable(
            0.3, "the least share of an iteration that is spent waiting", "chosen: below, nothing can be won that pays"
        ),
        "seconds": Tunable(
            0.001,
            "the fewest seconds that an iteration waits",
            "chosen: to hand a batch over from another process takes about as long",
        ),
        "starts": Tunable(
            0.1,
            "the least share of the time from pass to pass that goes to starting workers",
            "chosen: below, nothing can be won that pays",
        ),
        "start": Tunable(
            0.1,
            "the fewest seconds that a pass loses to starting workers",
            "measured: two are forked in 0.03 to 0.05 s, and passes to which that matters are over at once",
        ),
        "samples": Tunable(
            4,
            "the fewest samples that were the same when they were read again",
            "chosen: random numbers would show in the first; what else changes, in one of them",
        ),
        "passes": Tunable(2, "the fewest passes after the first that start workers", MORE_THAN_ONCE),
        "iterations": Tunable(
            10, "the fewest iterations that were timed", "arithmetic: of fewer, a median says little"
        ),
    },
    about="data",
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
    examine=examine,
)
