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
    """A span of the user's source. Lines and columns count from 1; `end_column` is exclusive; 0 means unknown."""

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


class Finding(Struct, frozen=True, kw_only=True):
    """One fault with one cause.

    `message` states what was seen, with its numbers, and holds no remedy; `help` holds the change to make.
    `subject` is the parameter, module, optimizer or variable under the name that the user gave it.
    `step_first` counts optimizer steps from 1 (0: before the first step took effect). `parameters` are the numbers of
    the parameters concerned: a finding folds another one only if they share some, or if one of them names none.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    title: str
    message: str
    subject: str
    location: Location | None
    help: str
    evidence: Evidence = {}
    related: tuple[Related, ...] = ()
    notes: tuple[str, ...] = ()
    step_first: int = 0
    step_count: int = 0
    parameters: tuple[int, ...] = ()


class ExitCode(IntEnum):
    """What `doctor check` tells the shell (see docs of the command line)."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    PROGRAM_FAILED = 3
    NOT_JUDGED = 4
    INTERRUPTED = 130
