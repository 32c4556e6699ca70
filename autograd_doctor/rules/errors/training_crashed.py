"""AD599: the program died of an exception that no other rule explains."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.run import MissingModule, ProgramRaised
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, CrashKind, crash_of
from autograd_doctor.wording import plural, tensor, values

_CLAIMED: tuple[CrashKind, ...] = ("custom_gradient", "checkpoint")
"""Every crash of these kinds has a rule, AD507 and AD510; rules that explain some of a kind fold this one instead."""
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Modules that are installed under another name, of those that training programs often import."""
_MOST_FRAMES, _MOST_TENSORS = 8, 8


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = crash_of(trace)
    if crash is not None and crash.kind != "ended" and crash.kind not in _CLAIMED:
        yield _finding(crash)


def _finding(crash: Crash) -> Finding:
    raised = crash.raised
    own = [frame for frame in raised.frames if frame.own]
    where = "in backward" if raised.in_backward else "before the first step" if raised.step == 0 else ""
    when = where or f"after {plural(raised.step, 'step')}"
    said = f": {crash.said}" if crash.said else ""
    late = "; this line, or an earlier one, asked the accelerator for what failed" if raised.late else ""
    tensors = _tensors(crash)
    return RULE.finding(
        f"the program crashed with `{raised.kind}` {when}{said}{late}",
        subject=raised.kind,
        location=crash.site,
        help=_help(raised, has_tensors=bool(tensors)),
        evidence={"exception": raised.kind, "steps_before": raised.step},
        related=tuple(Related("called from here", frame.location) for frame in reversed(own[-_MOST_FRAMES:-1])),
        notes=tuple(f"in the failing frame: {text}" for text in tensors),
        step_first=crash.step_first,
        step_count=1,
    )


def _help(raised: ProgramRaised, *, has_tensors: bool) -> str:
    if raised.missing:
        return _to_find(raised.missing)
    if raised.late:
        return "run it with `CUDA_LAUNCH_BLOCKING=1`: then the error is raised by the line that made it"
    what = "the calls and tensors" if has_tensors else "the calls"
    return f"follow {what} to the line where a value first differs from what the program expects"


def _to_find(missing: MissingModule) -> str:
    """How to have Python find a module."""
    if missing.package:
        return f"`{missing.package}` was imported, but has no `{missing.name}`: check that it is the right package"
    if missing.folder:
        return (
            f"`{missing.name}` is in `{missing.folder}`, which is not on Python's path: install your project "
            f"(`{missing.python} -m pip install -e .`), or put `PYTHONPATH={missing.folder}` before the command"
        )
    first = missing.name.partition(".")[0]
    package = _DISTRIBUTIONS.get(first, first)
    return (
        f"the program runs with `{missing.python}`, which has no module `{first}`: install it there (`{missing.python} "
        f"-m pip install {package}`), or name the Python that has it with `--python`"
    )


def _tensors(crash: Crash) -> list[str]:
    """The tensors of the innermost frame of the user's."""
    texts = (f"{tensor(each)}, {values(each)}" for each in crash.tensors)
    return list(dict.fromkeys(texts))[:_MOST_TENSORS]


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    rates = dict.fromkeys(range(6), 0.05)
    for step in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = rates[step]  # <- AD599


def bad_in_forward() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scaled: torch.Tensor = self.linear(x) * self.temperature  # <- AD599
            return scaled

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 0.05 / (step + 1)


def good_exit_with_zero() -> None:
    import sys

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(20):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 9:
            sys.exit(0)


RULE = Rule(
    code="AD599",
    name="training-crashed",
    severity="error",
    title="the program crashed",
    observes="The exception that ended the program: the program's own frames, and the tensors of the one that raised.",
    why="Training did not finish.",
    fix="Follow the traceback through the program's own lines; if a module was not found, install it for the Python "
    "that runs the program, which the finding names.",
    fine="`sys.exit(0)` and Ctrl-C; if another finding explains the crash, the crash is shown there.",
    needs=(ProgramRaised,),
    examine=examine,
    bad=(bad, bad_in_forward),
    good=(good, good_exit_with_zero),
)
