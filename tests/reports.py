"""Rules, traces and reports made by hand, for the tests of the engine and the renderers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from autograd_doctor import engine
from autograd_doctor.accepted import Accepted
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import Noted, ProgramRaised, RunEnded, RunStarted
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterGroup
from autograd_doctor.findings import Finding, Location, Number, Related
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.report import Report, Statistics, Suppression
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace

Examine = Callable[[Trace, Tunables], Iterator[Finding]]


def example() -> None:
    """Stands for a program that the tests of the engine never run."""


def rule(code: str = "AD101", examine: Examine | None = None, **changes: Any) -> Rule:
    """A rule that finds what `examine` says, by default nothing."""
    values: dict[str, Any] = {
        "code": code,
        "name": f"fault-{code.lower()}",
        "severity": "error",
        "title": "something is wrong",
        "observes": "what happens",
        "why": "It hurts.",
        "fix": "Do it otherwise.",
        "fine": "Never.",
        "needs": (),
        "examine": examine or (lambda trace, tunables: iter(())),
        "bad": (example,),
        "good": (example,),
        **changes,
    }
    return Rule(**values)


def finding_rule(code: str, *findings: dict[str, Any], **changes: Any) -> Rule:
    """A rule that always finds the given things."""

    def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
        for fields in findings or ({},):
            yield made.finding(**{"message": "it went wrong", "subject": "", "location": None, "help": "", **fields})

    made = rule(code, examine, **changes)
    return made


def training(steps: int = 30, *, cwd: str = "/home/me/project", reason: str | None = "steps") -> list[Event]:
    """The events of a run that trains for some steps; without a reason it never comes to its end."""
    happened: list[Event] = [
        RunStarted(target="train.py", arguments=[], cwd=cwd, python="3.11.9", torch="2.13.0", device="cpu"),
        OptimizerBuilt(
            optimizer=1,
            name="optimizer",
            kind="AdamW",
            location=None,
            groups=[ParameterGroup(parameters=[1, 2], lr=0.1)],
        ),
    ]
    for step in range(steps):
        root = TensorFacts(shape=[], dtype="float32")
        happened.append(BackwardRan(step=step, backward=step, location=None, kind="backward", root=root, wrote=[1, 2]))
        happened.append(OptimizerStepped(step=step, optimizer=1, location=None))
    if reason is not None:
        happened.append(RunEnded(step=steps, reason=reason, exit_code=0, seconds=12.34))  # type: ignore[arg-type]
    return happened


def judged(
    happened: Sequence[Event],
    *rules: Rule,
    tunables: dict[str, dict[str, Number]] | None = None,
    target: Target | None = None,
    fail_on: str = "error",
    min_steps: int = 1,
    outcome: Outcome | None = None,
    accepted: Accepted | None = None,
) -> Report:
    """The engine's report on hand-made events."""
    return engine.judge(
        Trace(tuple(happened)),
        rules,
        tunables or {},
        target=target or Target(kind="script", name="train.py"),
        fail_on=fail_on,
        min_steps=min_steps,
        outcome=outcome or Outcome(),
        accepted=accepted or Accepted(),
    )


def at(path: Path | str, line: int, column: int = 0, end_column: int = 0, **fields: Any) -> Location:
    """A location, by default on one line."""
    return Location(
        path=str(path), line=line, column=column, end_column=end_column, end_line=fields.pop("end_line", line), **fields
    )


# --------------------------------------------------------------------------------------------- reports worth looking at

GOLDEN = Path(__file__).parent / "golden"
_PROGRAM = GOLDEN / "train.py"


def _started(steps: int = 30, **fields: Any) -> list[Event]:
    happened = training(steps, cwd=str(GOLDEN), **fields)
    started = msgspec.structs.replace(happened[0], packages={"torch": "2.13.0", "lightning": "2.6.0"})  # type: ignore[arg-type]
    return [started, Noted(text="what `torch.save` writes goes to a scratch folder"), *happened[1:]]


def sick() -> Report:
    """Three findings, one with a consequence, one over several lines, and places near, far and gone."""
    here = {"path": _PROGRAM, "function": "main"}
    missing = finding_rule(
        "AD101",
        {
            "message": "this backward added to gradients of `0.weight`, `0.bias`, `2.weight` and 1 more "
            "that an earlier step had already used",
            "subject": "optimizer",
            "location": at(line=14, column=13, end_column=28, **here),
            "help": "call `optimizer.zero_grad()` before `loss.backward()`, once per step",
            "related": (Related("the step that uses them", at(line=15, column=13, end_column=29, **here)),),
            "evidence": {"relative_error": 4.1234, "in steps": ["2", "3", "4"]},
            "step_first": 2,
            "step_count": 29,
            "parameters": (1, 2),
        },
        name="missing-zero-grad",
        title="gradients of earlier steps are added to those of this one",
        folds=("AD405",),
    )
    diverges = finding_rule(
        "AD405",
        {"message": "the loss rose from 1.2 to 3.4e+08", "parameters": (1,), "location": at(line=13, **here)},
        name="loss-diverges",
    )
    held = finding_rule(
        "AD301",
        {
            "message": "`losses` keeps 30 tensors with their graphs, 1 more in every step",
            "subject": "losses",
            "location": at(line=16, column=13, end_column=32, **here),
            "help": "append `loss.item()`, or `loss.detach()` to stay on the device",
            "related": (
                Related("made here", at(line=13, column=20, end_column=66, **here)),
                Related("the list begins here", at(line=10, column=5, end_column=16, **here)),
            ),
            "evidence": {"tensors": 30, "bytes_per_step": 12345678, "ratio": math.nan},
            "notes": ("the tensors that the graph had saved are freed; what remains are its nodes",),
            "confidence": "medium",
            "step_first": 1,
            "step_count": 30,
        },
        severity="warning",
        name="graph-held-in-container",
        title="tensors with a graph pile up in a list",
    )
    mode = finding_rule(
        "AD210",
        {
            "message": "the model ran in eval mode from step 10 on",
            "subject": "model",
            "location": at(line=17, column=9, end_line=21, end_column=10, **here),
            "related": (
                Related("`eval()` was called here", at(_PROGRAM, 25, 5, 17, function="evaluate")),
                Related("and here", at("/elsewhere/lib.py", 7, 5, 17, function="helper")),
            ),
            "confidence": "low",
        },
        severity="info",
        name="training-in-eval-mode",
        title="training goes on in eval mode",
    )
    unseen = [rule(code, needs_phases=("evaluation",)) for code in ("AD211", "AD209", "AD608")]
    return judged(_started(), missing, diverges, held, mode, *unseen)


def healthy() -> Report:
    """Nothing to say, but for a rule that could not judge."""
    return judged(_started(), rule("AD101"), rule("AD102"), rule("AD211", needs_phases=("evaluation",)))


def unjudged() -> Report:
    """A program that ended before it trained."""
    return judged(_started(0, reason="finished"), rule("AD101"))


def crashed() -> Report:
    """A crash in the third step, in a file that is gone, with a message of several lines."""
    death = finding_rule(
        "AD512",
        {
            "message": "`x @ w` got shapes that do not fit:\n    x  (4, 8)\n    w  (16, 1)",
            "subject": "net.head",
            "location": at(GOLDEN / "gone.py", 41, 9, 20, function="Net.forward"),
            "related": (Related("`w` was made here", at(GOLDEN / "gone.py", 12, 5, 9, function="Net.__init__")),),
            "help": "give `net.head` as many inputs as `net.body` has outputs",
            "step_first": 3,
            "step_count": 1,
        },
        name="shape-or-device-mismatch",
        title="the operands of an operation do not fit",
        folds=("AD599",),
    )
    end = [
        ProgramRaised(kind="RuntimeError", message="mat1 and mat2", frames=[]),
        RunEnded(reason="raised", exit_code=1),
    ]
    report = finding_rule("AD599", {"message": "the program raised `RuntimeError`"}, name="training-crashed")
    return judged([*_started(2, reason=None), *end], death, report)


def notebook() -> Report:
    """A finding in a cell, one without a place, and one that a comment silences."""
    cell = GOLDEN / "train.ipynb#cell-3"
    found = finding_rule(
        "AD101",
        {
            "message": "`loss` kept the gradients of an earlier step",
            "location": at(cell, 5, 9, 24, function="train"),
            "related": (Related("made in another cell", at(GOLDEN / "train.ipynb#cell-2", 1, 1, 9)),),
        },
        {"message": "seen nowhere", "subject": "net"},
        name="missing-zero-grad",
    )
    silenced = finding_rule("AD304", {"message": "kept on purpose", "location": at(_PROGRAM, 14, 13, 28)})
    report = judged(_started(), found, silenced, target=Target(kind="notebook", name="train.ipynb"))
    *findings, last = sorted(report.findings, key=lambda finding: (finding.code, finding.location is None))
    silent = msgspec.structs.replace(last, suppressed=Suppression("comment", "the graph is drawn later"))
    counts = Statistics({"AD101": 2}, {"error": 2, "warning": 0, "info": 0})
    return msgspec.structs.replace(report, findings=findings, suppressed=[silent], statistics=counts)


REPORTS: dict[str, Callable[[], Report]] = {
    "sick": sick,
    "healthy": healthy,
    "unjudged": unjudged,
    "crashed": crashed,
    "notebook": notebook,
}
