"""AD512: an operation got operands whose shapes, dtypes or devices do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.wording import tensor

_HELP = {
    "device": "move both to one device: `model.to(device)`, and every batch with `x = x.to(device)`",
    "dtype": "convert one to the dtype of the other, as in `x = x.to(model_dtype)` or `x.float()`",
    "shape": "check where the two shapes come from, and change the layer's size or the tensor's shape",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "device", "dtype", "shape")
    if crash is None:
        return
    raised = crash.raised
    if crash.operation is not None:
        yield _explained(crash, crash.operation)
    elif not raised.in_backward and raised.frames and not raised.frames[-1].own:
        yield _unexplained(crash)


def _explained(crash: Crash, failed: OperationFailed) -> Finding:
    operands = _operands(failed)
    made = [(f"{tensor(facts)} comes from here", facts.made_at) for facts in operands]
    made += [(f"the dataset takes {tensor(facts)} from here", facts.drawn_from) for facts in operands]
    within = f" in `{failed.module}`" if failed.module else ""
    return RULE.finding(
        f"`{failed.operation}`{within} got operands whose {crash.kind}s do not match: "
        f"{' and '.join(tensor(facts) for facts in operands[:2])}",
        subject=next((facts.name for facts in operands if facts.name), failed.operation),
        location=crash.location,
        help=_HELP[crash.kind],
        evidence={"operation": failed.operation, "operands": [tensor(facts) for facts in operands]},
        related=tuple(Related(text, place) for text, place in made if place not in (None, failed.location)),
        notes=(f"the error was: {crash.said}",),
        step_first=crash.step_first,
        step_count=1,
    )


def _operands(failed: OperationFailed) -> list[TensorFacts]:
    """The operands, the parameters among them last: what reached a layer matters more than its own weights."""
    return sorted(failed.operands, key=lambda facts: facts.parameter is not None)


def _unexplained(crash: Crash) -> Finding:
    return RULE.finding(
        f"an operation got operands whose {crash.kind}s do not match: {crash.said}",
        subject="",
        location=crash.site,
        help=_HELP[crash.kind],
        evidence={"error": crash.said},
        notes=tuple(tensor(facts) for facts in crash.tensors[:6]),
        step_first=crash.step_first,
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
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 12)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            moved: torch.Tensor = h + self.second(h)  # <- AD512
            return moved

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
    title="operands whose shapes, dtypes or devices do not match",
    observes="The operation that raised, its operands with shape, dtype and device, and the lines and modules that "
    "made them.",
    why="PyTorch's error names an internal operation and the two sizes; which tensors they are, and where they got "
    "their shapes, must be found by hand.",
    fix="Change the layer's size or the tensor's shape or dtype, or move both to one device.",
    fine="Mismatches that the program catches itself.",
    needs=(OperationFailed, ModuleSeen, ProgramRaised),
    examine=examine,
    bad=(bad, bad_dtype, bad_device, bad_skip_connection),
    good=(good, good_mismatch_that_was_caught),
    folds=("AD599",),
)
