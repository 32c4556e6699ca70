"""AD513: a device had no memory left for what the program asked for."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import MemoryRanOut, SavedAt
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.findings import Evidence, Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.wording import in_bytes, plural

_MOST_SHOWN = 4
_LARGE_SHARE = 0.5
"""Of what was held, or asked for, from which on it is what to begin with."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "out_of_memory")
    if crash is not None:
        held = next(iter(reversed(trace.of(MemoryRanOut))), None)
        yield _finding(crash, held)


def _finding(crash: Crash, held: MemoryRanOut | None) -> Finding:
    raised = crash.raised
    where = "in backward" if raised.in_backward else "before the first step" if raised.step == 0 else ""
    when = where or f"after {plural(raised.step, 'step')}"
    asked = held.asked if held is not None else None
    what = f" for the {in_bytes(asked)} that this line asked for" if asked else ""
    device = held.device if held is not None else "a device"
    memory = "main memory" if device == "cpu" else "the memory of " + (f"`{device}`" if held is not None else device)
    return RULE.finding(
        f"{memory} ran out {when}{what}",
        subject=device,
        location=crash.site,
        help=_help(held),
        evidence=_evidence(held) if held is not None else {},
        related=tuple(
            Related(
                f"`{line.operation}`{_within(line)} keeps {in_bytes(line.bytes)} for the backward here", line.location
            )
            for line in (held.saved[:_MOST_SHOWN] if held is not None else ())
            if line.location is not None
        ),
        notes=(*_notes(held), f"the error was: {crash.said}"),
        step_first=crash.step_first,
        step_count=1,
    )


def _within(line: SavedAt) -> str:
    """The modules that run a line."""
    if not line.modules:
        return ""
    others = f" and {len(line.modules) - 1} more" if len(line.modules) > 1 else ""
    return f" in `{line.modules[0]}`{others}"


def _parts(held: MemoryRanOut) -> dict[str, int]:
    """What held the memory, in bytes."""
    return {
        "parameters": held.parameters,
        "gradients": held.gradients,
        "the state of optimizers": held.optimizer_state,
        "what was saved for the backward": held.saved_bytes,
        "other tensors": held.other_bytes,
    }


def _evidence(held: MemoryRanOut) -> Evidence:
    found: Evidence = {
        "parameter_bytes": held.parameters,
        "gradient_bytes": held.gradients,
        "optimizer_bytes": held.optimizer_state,
        "saved_bytes": held.saved_bytes,
        "other_bytes": held.other_bytes,
    }
    if held.asked is not None:
        found["asked_bytes"] = held.asked
    return found


def _notes(held: MemoryRanOut | None) -> Iterator[str]:
    if held is None:
        return
    parts = [f"{name} {in_bytes(size)}" for name, size in _parts(held).items() if size]
    if parts:
        yield f"at that moment it held: {', '.join(parts)}"
    known = sum(_parts(held).values())
    if held.allocated is not None and held.allocated > known:
        rest = in_bytes(held.allocated - known)
        yield f"of {in_bytes(held.allocated)} that were allocated, {rest} are of tensors that were not told apart"
    if held.older_bytes:
        yield f"{in_bytes(held.older_bytes)} of what was saved are from earlier steps, whose graphs are still held"


def _help(held: MemoryRanOut | None) -> str:
    """What would help most, by what held most."""
    if held is None:
        return "make batches smaller, or compute with fewer bits"
    parts = _parts(held)
    whole = sum(parts.values())
    if held.asked is not None and held.asked > _LARGE_SHARE * (whole + held.asked):
        return _LARGE
    if held.older_bytes > _LARGE_SHARE * held.saved_bytes > 0:
        return _OLDER
    most = max(parts, key=lambda name: parts[name])
    return _OF_THE_HOST if held.device == "cpu" and most == "other tensors" else _HELP[most]


_LARGE = "what this line makes is larger than all that is held: compute it in parts, or without so large a tensor"
_OLDER = "let go of the graphs of earlier steps: keep numbers (`loss.item()`), or tensors without one (`x.detach()`)"
_OF_THE_HOST = "let go of data that is not needed any more, and read the rest in parts"
_HELP = {
    "parameters": "use a smaller model, fewer bits for its weights, or shard it over several devices",
    "gradients": "clear gradients to None before the forward, or shard them over several devices",
    "the state of optimizers": "use an optimizer that keeps less, as SGD or Adafactor do, or shard its state",
    "what was saved for the backward": "make batches smaller and accumulate gradients, checkpoint the layers that save "
    "most (`torch.utils.checkpoint`), or compute them with fewer bits (`torch.autocast`)",
    "other tensors": "keep data on the CPU, and bring only the batch that is needed",
}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    points = torch.rand(2**24)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    distances = (points[:, None] - points[None]).abs()  # <- AD513
    print(distances.mean())


def bad_in_forward() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = self.query(x) @ self.key(x).transpose(0, 1)  # <- AD513
            mixed: torch.Tensor = scores.softmax(1) @ self.value(x)
            return mixed

    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for length in (16, 24, 32, 48, 2**24):
        x = torch.randn(length, 2)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    points = torch.rand(2**12)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = sum(float((part[:, None] - points[None]).abs().sum()) for part in points.split(512))
    print(total / len(points) ** 2)


def good_smaller_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    size = 2**45
    for _ in range(12):
        try:
            x = torch.randn(size, 8)
        except RuntimeError:
            size = 16
            x = torch.randn(size, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD513",
    name="out-of-memory",
    severity="error",
    title="the memory of a device ran out",
    observes="The exception that ended the program, of PyTorch, NumPy or Python, says that a device has no memory left "
    "(one that a `raise` of the program's own made does not count). What held it at that moment is counted, each "
    "storage once: parameters, gradients, the state of optimizers, what operations of a recorded step saved for the "
    "backward, by line, and other tensors.",
    why="Training did not finish.",
    fix="Begin with what holds most: smaller batches with accumulated gradients, checkpointing and fewer bits for what "
    "is saved for the backward; an optimizer that keeps less, or sharding, for weights and their optimizer; numbers "
    "instead of tensors with a graph for what is kept from step to step.",
    fine="A program that catches the exception and goes on with less. Memory that other programs hold on the same "
    "device is not seen, nor is what an allocator keeps for later.",
    needs=(ProgramRaised, MemoryRanOut),
    examine=examine,
    folds=("AD599",),
    bad=(bad, bad_in_forward),
    good=(good, good_smaller_batches),
)
