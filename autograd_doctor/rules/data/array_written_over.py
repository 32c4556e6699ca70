"""AD723 array-written-over: tensors are kept of an array that is written over, so that all hold the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.data import ArrayWrittenOver
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_memory: dict[int, list[ArrayWrittenOver]] = {}
    for event in trace.of(ArrayWrittenOver):
        by_memory.setdefault(event.memory, []).append(event)
    told: set[Location | None] = set()
    for events in by_memory.values():
        event = max(events, key=lambda event: event.contents)
        if event.contents >= tunables["contents"] and event.location not in told and _are_kept(events):
            told.add(event.location)
            yield _finding(event, events[0].step)


def _are_kept(events: Sequence[ArrayWrittenOver]) -> bool:
    """Not so views that were made once, and are used again and again for what the array holds at the time."""
    goes_on = any(event.newest > events[0].made for event in events)
    return goes_on or len({event.held for event in events}) == 1


def _finding(event: ArrayWrittenOver, first: int) -> Finding:
    return RULE.finding(
        f"{event.tensors} tensors that `{event.used_by}` is given share the memory of one array, and hold the same: "
        f"when `{event.operation}` made them, the array held {event.contents} different contents, and it has been "
        "written over since",
        subject=event.operation,
        location=event.location,
        help=f"keep a copy: `.clone()` of what `{event.operation}` returns, or `.copy()` of the array before",
        evidence={"tensors": event.tensors, "contents": event.contents},
        related=(Related("uses them", event.used_at),) if event.used_at else (),
        step_first=first + 1,
    )


def bad() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    state = np.zeros(3, np.float32)
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    states = []
    for step in range(60):
        state *= 0.5
        state += generator.normal(size=3)
        states.append(torch.from_numpy(state))  # <- AD723
        if step >= 20:
            rows = torch.randint(1, len(states), (16,)).tolist()
            before, after = torch.stack([states[i - 1] for i in rows]), torch.stack([states[i] for i in rows])
            loss = nn.functional.mse_loss(model(before), after)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    state = np.zeros(3, np.float32)
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    states = []
    for step in range(60):
        state *= 0.5
        state += generator.normal(size=3)
        states.append(torch.from_numpy(state).clone())
        if step >= 20:
            rows = torch.randint(1, len(states), (16,)).tolist()
            before, after = torch.stack([states[i - 1] for i in rows]), torch.stack([states[i] for i in rows])
            loss = nn.functional.mse_loss(model(before), after)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_one_buffer_for_all_batches() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    buffer = np.empty((8, 3), np.float32)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = []
    for _ in range(30):
        buffer[:] = generator.normal(size=buffer.shape)
        batches.append(torch.from_numpy(buffer))
        loss = nn.functional.mse_loss(model(batches[-1]), batches[-1].sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD723",
    name="array-written-over",
    severity="error",
    title="tensors are kept of an array that is written over",
    observes="Tensors that share the memory of an array or a buffer (`from_numpy`, `as_tensor`, `asarray`, "
    "`frombuffer`), and what that held when each of them was made, in steps that are recorded. Where a step uses at "
    "least 4 of one memory at a time that were made of different contents, all but one have lost theirs.",
    why="`from_numpy` copies nothing. Environments, sensors and decoders often hand out the same array again and "
    "again: what is kept of it is one state many times, the one of which the next is to be predicted is the next one "
    "itself, and the loss gets small for nothing.",
    fix="Copy what is kept: `torch.from_numpy(array).clone()`, `torch.tensor(array)`, or `array.copy()`.",
    fine="Buffers that are filled anew, while what was made of them before is used no more; one tensor that is stacked "
    "several times; several tensors of an array that nobody changes; what was copied before the array was written "
    "over; other parts of the array, and slots of a ring; views that were made once, and show what the array holds "
    "at the time, in each step something else.",
    needs=(ArrayWrittenOver,),
    examine=examine,
    bad=(bad,),
    good=(good, good_one_buffer_for_all_batches),
    about="data",
    tunables={
        "contents": Tunable(
            4,
            "fewest contents of one memory that tensors were made of",
            "chosen: an older one or two may be left over, or looked at on purpose",
        )
    },
    references=("https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html",),
)
