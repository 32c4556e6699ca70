"""AD724 integer-overflow: arithmetic in whole numbers of few bits wraps round, and the model learns from the result."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import IntegersWrapped
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_WHAT = {"add": "sum", "mul": "product", "neg": "negative", "sub": "difference"}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[Location | None] = set()
    for event in trace.of(IntegersWrapped):
        if event.location not in told and event.wrapped >= tunables["share"] * event.values:
            told.add(event.location)
            yield _finding(event)


def _finding(event: IntegersWrapped) -> Finding:
    what = _WHAT[event.operation]
    return RULE.finding(
        f"the {what} of {event.dtype} wraps round in {event.wrapped / event.values:.0%} of the "
        f"{plural(event.values, 'value')} that were looked at, and goes into the loss: where it would be "
        f"{event.should_be:,}, it is {event.is_now:,}",
        subject=event.operation,
        location=event.location,
        confidence="medium",
        help="convert before the arithmetic: `.float()`, or `.int()` for whole numbers",
        evidence={"dtype": event.dtype, "wrapped": event.wrapped, "values": event.values},
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (64, 1, 6, 6), dtype=torch.uint8)
    bright = images.float().mean((1, 2, 3)) / 255
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(30):
        rows = torch.randint(64, (16,))
        x = images[rows] - 128  # <- AD724
        loss = nn.functional.mse_loss(model(x / 128)[:, 0], bright[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (64, 1, 6, 6), dtype=torch.uint8)
    bright = images.float().mean((1, 2, 3)) / 255
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(30):
        rows = torch.randint(64, (16,))
        x = images[rows].float() - 128
        loss = nn.functional.mse_loss(model(x / 128)[:, 0], bright[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD724",
    name="integer-overflow",
    severity="warning",
    title="arithmetic in whole numbers of few bits wraps round",
    observes="Sums, differences, products and negatives whose result has 8, 16 or 32 bits, in steps that are looked at "
    "closely: the same in 64 bits, of up to 4,096 values. And whether the loss comes of the result as of an amount.",
    why="PyTorch warns of nothing: of `images - 128` in uint8, what is dark becomes light. The model learns "
    "from data that are not what they were meant to be.",
    fix="Convert before the arithmetic: `images.float() - 128`.",
    fine="What goes into an index, an embedding, a class, a comparison or a mask, is taken modulo something or bit by "
    "bit, or goes into a sine; what another sum brings back into the range; what is read as numbers with a sign "
    "afterwards; factors and summands of 2 to the 16th and more, as hashes have them; less than 1 percent of the "
    "values.",
    needs=(IntegersWrapped,),
    examine=examine,
    bad=(bad,),
    good=(good,),
    about="data",
    tunables={"share": Tunable(0.01, "least share of the values that wrap round", "chosen: fewer are hardly missed")},
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html",),
)
