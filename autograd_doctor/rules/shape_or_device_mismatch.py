"""AD512: an operation got operands whose shapes, dtypes or devices do not go together."""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autograd_doctor.events import ModuleSeen, OperationFailed, ProgramRaised, TensorFacts
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import first_line, tensor

_DEVICE = re.compile(r"same device|expected device|device type|is not on the expected")
_DTYPE = re.compile(
    r"same dtype|expected scalar type|dtype mismatch|Input type .* and (?:weight|bias) type|must be the same dtype|"
    r"Found dtype"
)
_SHAPE = re.compile(
    r"shapes? (?:cannot be multiplied|mismatch)|must match the size|Sizes of tensors must match|size mismatch|"
    r"is invalid for input of size|expected input\[|[Ee]xpected size|Expected \dD|The expanded size|"
    r"doesn't match the broadcast shape|should contain \d+ elements|expected input with shape|"
    r"must be equal to input_size|input\.size\(-1\)|inconsistent tensor size|must have the same (?:shape|size|number)|"
    r"not broadcastable|shape mismatch|dimension out of range|Dimension out of range|stack expects each tensor"
)
_HELP = {
    "devices": "move both to one device: `model.to(device)`, and every batch with `x = x.to(device)`",
    "dtypes": "convert one to the other's dtype, as in `x = x.to(model_dtype)` or `x.float()`",
    "shapes": "follow the two shapes back to where they were made, and change the layer's size or the tensor's shape",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = trace.crash
    what = _what(crash.message) if crash and crash.kind in ("RuntimeError", "ValueError", "IndexError") else ""
    if crash is None or not what:
        return
    failed = trace.fatal_operation
    if failed is not None:
        yield _explained(trace, failed, crash, what)
    elif not crash.in_backward and crash.frames and not crash.frames[-1].own:
        yield _unexplained(trace, crash, what)


def _what(error: str) -> str:
    if _DEVICE.search(error):
        return "devices"
    if _DTYPE.search(error):
        return "dtypes"
    return "shapes" if _SHAPE.search(error) else ""


def _explained(trace: Trace, failed: OperationFailed, crash: ProgramRaised, what: str) -> Finding:
    operands = _named(trace, failed.operands)
    made = [(f"{tensor(facts)} comes from here", facts.made_at) for facts in operands]
    within = f" in `{failed.module}`" if failed.module else ""
    return RULE.finding(
        f"`{failed.operation}`{within} got operands whose {what} do not go together: "
        f"{' and '.join(tensor(facts) for facts in operands[:2])}",
        subject=next((facts.name for facts in operands if facts.name), failed.operation),
        location=failed.location or trace.crash_site,
        help=_HELP[what],
        evidence={"operation": failed.operation, "operands": [tensor(facts) for facts in operands]},
        related=tuple(Related(text, place) for text, place in made if place not in (None, failed.location)),
        notes=(f"the error was: {first_line(crash.message)}",),
        step_first=crash.step + 1,
        step_count=1,
    )


def _named(trace: Trace, operands: Sequence[TensorFacts]) -> list[TensorFacts]:
    """The operands, the parameters among them last: what reached a layer matters more than its own weights."""
    parameters = {event.name for event in trace.parameters.values()}
    return sorted(operands, key=lambda facts: facts.name in parameters)


def _unexplained(trace: Trace, crash: ProgramRaised, what: str) -> Finding:
    own = [frame for frame in crash.frames if frame.own]
    return RULE.finding(
        f"an operation got operands whose {what} do not go together: {first_line(crash.message)}",
        subject="",
        location=trace.crash_site,
        help=_HELP[what],
        evidence={"error": first_line(crash.message)},
        notes=tuple(tensor(facts) for frame in own[-1:] for facts in frame.tensors)[:6],
        step_first=crash.step + 1,
        step_count=1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(32, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        hidden = torch.tanh(body(x))
        prediction = head(hidden)  # <- AD512
        loss = nn.functional.mse_loss(prediction, x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_dtype() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.randn(160, 8, dtype=torch.float64)
    for x in data.split(16):
        prediction = model(x)  # <- AD512
        loss = nn.functional.mse_loss(prediction, x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_device() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        shift = torch.randn(16, 4, device="meta")
        prediction = model(x) + shift  # <- AD512
        loss = prediction.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_skip_connection() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 12)

        def forward(self, x):
            h = torch.relu(self.first(x))
            return h + self.second(h)  # <- AD512

    torch.manual_seed(0)
    model = Block()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(head(torch.tanh(body(x))), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_mismatch_that_was_caught() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    try:
        model(torch.randn(16, 4))
    except RuntimeError:
        print("four features are too few")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD512",
    name="shape-or-device-mismatch",
    severity="error",
    title="operands whose shapes, dtypes or devices do not go together",
    observes="the operation that raised, its operands with shape, dtype and device, and the lines and modules from "
    "which they came",
    why="torch names the operation inside its library and the two sizes; which tensors these are, and where they took "
    "their shape, has to be found by hand",
    fix="change the layer's size, the tensor's shape or dtype, or move both to one device",
    fine="mismatches that the program catches itself",
    needs=(OperationFailed, ModuleSeen, ProgramRaised),
    examine=examine,
    bad=(bad, bad_dtype, bad_device, bad_skip_connection),
    good=(good, good_mismatch_that_was_caught),
    folds=("AD599",),
)
