"""AD640 repeated-block: the layers of a stack are one and the same module, called several times in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.losses import BlockRepeated
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.tape import Tape
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """What several things go through in turn is shared; what one thing goes through again and again is a stack."""
    by_line: dict[Location | None, list[BlockRepeated]] = {}
    for event in trace.of(BlockRepeated):
        if _is_layer(trace, event) and any(_takes_in_its_own(tape, event) for tape in trace.tapes):
            by_line.setdefault(event.location, []).append(event)
    for events in by_line.values():
        yield _finding(trace, events)


def _is_layer(trace: Trace, event: BlockRepeated) -> bool:
    """Whether it learns a matrix: activations and norms with parameters may serve several layers."""
    learning = trace.learning.intersection(event.parameters)
    return any(len(trace.parameters[number].shape) > 1 for number in learning)


def _takes_in_its_own(tape: Tape, event: BlockRepeated) -> bool:
    """Whether it is called with what it has made itself."""
    bits = sum(1 << number for number in event.parameters)
    given = (op.values[0] for op in tape.ops if any(each.is_parameter and each.values & bits for each in op.values[1:]))
    return any(value.values & bits for value in given)


def _finding(trace: Trace, events: Sequence[BlockRepeated]) -> Finding:
    event = events[0]
    first, *others = event.names
    also = ", ".join(f"`{name}`" for name in others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    more = f"; so it is in {plural(len(events) - 1, 'other stack')} of this line" if len(events) > 1 else ""
    names = [trace.parameter_name(each) for each in event.parameters]
    return RULE.finding(
        f"`{first}`, {also} are one and the same `{event.kind}`, called {len(event.names)} times in a row: they share "
        f"one set of {plural(len(event.parameters), 'parameter')}{more}",
        subject=first,
        location=event.location,
        confidence="medium",
        help="build one for each place: `[Block() for _ in range(n)]`, not `[Block()] * n`; to share weights, hold the "
        "module once and call it in a loop",
        evidence={"places": len(event.names), "parameters": names[:20]},
        step_first=event.step + 1,
        parameters=sorted({number for each in events for number in each.parameters}),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), *[block] * 3, nn.Linear(16, 1))  # <- AD640
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(3)]
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), *blocks, nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_shared_on_purpose() -> None:
    import torch
    from torch import nn

    class Iterated(nn.Module):
        """One block in a loop, one activation at several places, and one head for all levels."""

        def __init__(self) -> None:
            super().__init__()
            act = nn.PReLU()
            self.first, self.block = nn.Linear(4, 16), nn.Sequential(nn.Linear(16, 16), act)
            self.mix = nn.Sequential(nn.Linear(16, 16), act, nn.Linear(16, 16), act)
            self.heads = nn.ModuleList([nn.Linear(16, 1)] * 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(self.first(x))
            for _ in range(3):
                h = h + self.block(h)
            deeper = self.mix(h)
            both: torch.Tensor = self.heads[0](h) + self.heads[1](deeper)
            return both

    torch.manual_seed(0)
    model = Iterated()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD640",
    name="repeated-block",
    severity="info",
    title="the layers of a stack are one and the same module",
    observes="Lists of modules (`Sequential`, `ModuleList`) that hold one module with parameters at several places, "
    "and whether what it makes goes into it again.",
    why="The network has no more parameters than with one layer, and each step adds up the gradients of all of its "
    "calls: it can learn less than its depth suggests.",
    fix="Build a module for each place: `nn.ModuleList(Block() for _ in range(n))`.",
    fine="One module that a forward calls in a loop, as recurrent networks do; one head for several levels or "
    "branches; activations and norms. Networks that share the weights of their layers on purpose may be written as "
    "such a list, too: it is an `info`.",
    needs=(BlockRepeated, TapeSealed),
    examine=examine,
    bad=(bad,),
    good=(good, good_shared_on_purpose),
    about="model",
)
