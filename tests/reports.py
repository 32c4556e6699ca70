"""Rules, traces and reports made by hand, for the tests of the engine and the renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from autograd_doctor import engine
from autograd_doctor.events import (
    BackwardRan,
    Event,
    OptimizerBuilt,
    OptimizerStepped,
    ParameterGroup,
    RunEnded,
    RunStarted,
    TensorFacts,
)
from autograd_doctor.findings import Finding, Location, Number
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.report import Report
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
        "why": "it hurts",
        "fix": "do it otherwise",
        "fine": "never",
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
    )


def at(path: Path | str, line: int, column: int = 0, end_column: int = 0, **fields: Any) -> Location:
    """A location, by default on one line."""
    return Location(
        path=str(path), line=line, column=column, end_column=end_column, end_line=fields.pop("end_line", line), **fields
    )
