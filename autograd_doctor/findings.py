"""What the doctor says: places in the user's source, findings, and the report that gathers them."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
Number = int | float
Evidence = dict[str, Number | str | list[str]]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")


class Location(Struct, frozen=True, omit_defaults=True):
    """A span of the user's source. Lines and columns count from 1; `end_column` is exclusive; 0 means unknown.

    Each cell of a notebook is a file of its own, as `notebook.cell_file` names it; one that runs in IPython has the
    name that IPython gives it (`events.run.CellRan`).
    """

    path: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""


class Related(Struct, frozen=True):
    """A second place that takes part in a finding, with a short label that says how."""

    message: str
    location: Location


class Edit(Struct, frozen=True, kw_only=True):
    """A span of source, counted as in `Location`, and the text to put in its place.

    In a report, `cell` is the number of the cell of a notebook in which lines are counted, 0 in any other file.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    content: str
    cell: int = 0


class Losses(Struct, frozen=True):
    """The values of one loss: the steps, counted from 1, and the loss in each; what is not finite is a word."""

    name: str
    steps: list[int]
    values: list[float | str]


class Proof(Struct, frozen=True, kw_only=True):
    """What a second run of the changed program showed, from the same random numbers.

    said: each in a sentence, why it is proven, or first of all why not. gone: codes and lines of all findings that the
    change removed. before, after: the losses of both runs. steps: how many each of them took.
    """

    proven: bool
    said: tuple[str, ...]
    gone: tuple[str, ...] = ()
    steps: tuple[int, int] = (0, 0)
    before: tuple[Losses, ...] = ()
    after: tuple[Losses, ...] = ()


class Fix(Struct, frozen=True, kw_only=True):
    """A change that removes a fault.

    `applicability`: "safe" keeps what the program computes, "unsafe" may not, "display" is only to be read. `diff`: the
    change as a unified diff; `edits`: the same as edits of the files as they were, empty where other changes had to be
    made first. `proof`: what a run with the change showed, None where it was not tried.
    """

    applicability: Literal["display", "unsafe", "safe"]
    description: str
    edits: tuple[Edit, ...] = ()
    diff: str = ""
    proof: Proof | None = None


class Fault(Struct, frozen=True, kw_only=True):
    """What is said of one fault with one cause, by a rule and in a report alike.

    `message` states what was seen, with its numbers, and holds no remedy; `help` holds the change to make, and `fix`
    that change as edits, where it is known.
    `subject` is the parameter, module, optimizer or variable under the name that the user gave it.
    `step_first` is the number of the step, counted from 1, in which it was first seen; 0 is before the first step.
    `ranks` are those that showed it, of a run of several; empty if they cannot be told apart.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    title: str
    message: str
    subject: str
    help: str
    fix: Fix | None
    evidence: Evidence
    step_first: int
    step_count: int
    ranks: tuple[int, ...]


class Finding(Fault, frozen=True, kw_only=True):
    """A fault as a rule finds it.

    `parameters` are the numbers of the parameters concerned: a finding folds another one only if they share some, or if
    one of them names none.
    """

    location: Location | None
    related: tuple[Related, ...] = ()
    notes: tuple[str, ...] = ()
    parameters: tuple[int, ...] = ()
    fix: Fix | None = None
    evidence: Evidence = {}
    step_first: int = 0
    step_count: int = 0
    ranks: tuple[int, ...] = ()


class ExitCode(IntEnum):
    """What `doctor check` tells the shell (see docs of the command line)."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    PROGRAM_FAILED = 3
    NOT_JUDGED = 4
    INTERRUPTED = 130
