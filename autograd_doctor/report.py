"""The report: everything that a renderer shows and that the JSON format holds, as plain frozen data.

`schema_version` grows when a field changes its meaning or goes away; new fields do not change it. Paths are POSIX and
relative to `target.cwd` where they lie below it; NaN and infinities are the strings "nan", "inf" and "-inf".

The JSON of a report carries a checksum of all the rest, by which one that was edited is told. It is no signature: who
wants to forge a report can compute it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from autograd_doctor.findings import SEVERITIES, ExitCode, Fault, Fix, Severity
from autograd_doctor.profiling import Profile
from autograd_doctor.run_course import Course
from autograd_doctor.surrogate_pairs import spelt_out

SCHEMA_VERSION = 2
WITHOUT_CHECKSUM = 1
"""The version of reports that a doctor wrote before there was a checksum; they are read all the same."""
CHECKSUM = "checksum"

Verdict = Literal["passed", "faults", "doctor-failed", "program-failed", "not-judged", "interrupted"]
StoppedBy = Literal[
    "finished", "steps", "time", "hung", "exited", "raised", "interrupted", "killed", "timeout", "unknown"
]


class Tool(Struct, frozen=True):
    """Who made the report."""

    name: str
    version: str


class TargetFacts(Struct, frozen=True, kw_only=True):
    """What was run: exactly one of `script`, `module`, `notebook`, `call`, `model`, `function` and `block` is there.

    `call` is a function that trains, `function` an `autograd.Function` that was judged by itself, `block` the line at
    which a program began to watch itself.
    """

    script: str | UnsetType = UNSET
    module: str | UnsetType = UNSET
    notebook: str | UnsetType = UNSET
    call: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    function: str | UnsetType = UNSET
    block: str | UnsetType = UNSET
    argv: list[str]
    cwd: str

    @property
    def name(self) -> str:
        """The target as it was typed."""
        names = (self.script, self.module, self.notebook, self.call, self.model, self.function, self.block, "")
        return next(name for name in names if name is not UNSET)


class Environment(Struct, frozen=True, kw_only=True):
    """Where it ran; empty strings if the program's process never came that far.

    world_size: how many ranks trained together, each of which was watched by itself; 1 for a program alone.
    """

    python: str = ""
    torch: str = ""
    device: str = ""
    packages: dict[str, str] = {}
    world_size: int = 1


class OptimizerFacts(Struct, frozen=True):
    """An optimizer of the program and how many of its steps took effect; updates written by hand have no kind."""

    name: str
    kind: str
    parameters: int
    steps: int


class Assumed(Struct, frozen=True, kw_only=True):
    """How the doctor trained a model of which no settings say how; `settings` is what would say so, as YAML."""

    said: list[str]
    settings: str


class Place(Struct, frozen=True, kw_only=True):
    """A span of source. Lines and columns count from 1, `end_column` is exclusive, 0 means unknown.

    `cell` is the number of the cell of a notebook in which lines are counted, 0 in any other file; `path` is empty for
    a cell that ran in IPython, which has the number of its execution.
    `snippet` holds the lines of the span as they were, with their indentation; empty if the file could not be read.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    snippet: str
    cell: int = 0


class Run(Struct, frozen=True, kw_only=True):
    """What was seen. `micro_batches` counts backwards; `program_exit` is None for a program that was killed.

    `steps_in_full`: those of the steps that were recorded operation by operation.
    `processes_started` counts those that the program started and that were not watched: what they do is not seen.
    `seen_whole`: the program came to its end by itself, and no pass over its data was cut.
    `not_reached`: for each function of the program's own files, or a file's own statements, whose backwards never ran,
    the first of these.
    `ranks`: the numbers of those that were watched, of several that trained together; the rest is told of one of them,
    `told_by`: the first that died or hung, else the first.
    """

    steps: int
    steps_in_full: int
    micro_batches: int
    optimizers: list[OptimizerFacts]
    phases_seen: list[str]
    phases_not_seen: list[str]
    stopped_by: StoppedBy
    program_exit: int | None
    processes_started: int
    seconds: float
    seen_whole: bool = False
    not_reached: list[Place] = []
    ranks: list[int] = []
    told_by: int = 0


class RelatedPlace(Struct, frozen=True):
    """A second place that takes part in a finding, with a short label that says how."""

    message: str
    location: Place


class Suppression(Struct, frozen=True):
    """Why a finding does not count: a comment, an entry of the settings, or a baseline that holds it."""

    kind: Literal["comment", "file-comment", "settings", "baseline"]
    reason: str


class ReportedFinding(Fault, frozen=True, kw_only=True):
    """A finding as the person sees it. `fingerprint` stays the same when lines move or numbers change.

    `url` is empty while the rule has no page; `doctor explain CODE` always has one. `explains_crash`: this is why the
    program died.
    """

    location: Place | None
    related: list[RelatedPlace]
    notes: list[str]
    explains_crash: bool
    fingerprint: str
    url: str
    suppressed: Suppression | None = None


class Checks(Struct, frozen=True):
    """The codes of the rules for which all that they need had watched, and for the others why they could not judge.

    A rule of those others may have found something all the same, in what was seen.
    """

    ran: list[str]
    skipped: dict[str, str]


class Statistics(Struct, frozen=True):
    """How many findings there are, suppressed ones left out."""

    by_rule: dict[str, int]
    by_severity: dict[Severity, int]

    @staticmethod
    def of(findings: Sequence[ReportedFinding]) -> Statistics:
        """Count them."""
        by_rule = Counter(finding.code for finding in findings)
        by_severity = Counter(finding.severity for finding in findings)
        return Statistics(dict(sorted(by_rule.items())), {severity: by_severity[severity] for severity in SEVERITIES})


class BaselineFacts(Struct, frozen=True, kw_only=True):
    """A baseline that was read: how many of its findings came again, and how many did not, of rules that judged."""

    path: str
    matched: int
    stale: int


class Tried(Struct, frozen=True, kw_only=True):
    """A change that was tried for a finding, by its fingerprint. `title` is that of the finding.

    `later`: what it is about showed only in the program with the changes before, whose lines are counted then.
    """

    code: str
    name: str
    title: str
    fingerprint: str
    place: str
    fix: Fix
    later: bool = False


class Fixing(Struct, frozen=True, kw_only=True):
    """The changes that were tried, in this order: each in the program that those proven before it have made.

    `diff`: all that are proven together, of the files as they were. `left`: what the program has with them, in words.
    `exit_code`: that of a check of the program with them. `written`: the files that they were written into. `cut_off`:
    there was no time to try them all.
    """

    tried: list[Tried]
    diff: str
    left: list[str]
    exit_code: int
    written: list[str] = []
    cut_off: bool = False

    @property
    def proven(self) -> list[Tried]:
        """Those that are proven."""
        return [each for each in self.tried if each.fix.proof is not None and each.fix.proof.proven]


class Report(Struct, frozen=True, kw_only=True):
    """One judged run. Findings come most important first, in an order that depends on nothing but the trace.

    `advice` is what to do next, each a sentence or a command. `profile`: where the time and the memory of an iteration
    go, if that was asked for. `fixing`: changes that were tried, if that was asked for.
    """

    schema_version: int
    tool: Tool
    target: TargetFacts
    environment: Environment
    assumed: Assumed | None
    run: Run
    verdict: Verdict
    exit_code: int
    exit_reason: str
    findings: list[ReportedFinding]
    suppressed: list[ReportedFinding]
    checks: Checks
    statistics: Statistics
    notes: list[str]
    advice: list[str] = []
    baseline: BaselineFacts | None = None
    course: Course = Course()
    profile: Profile | None = None
    fixing: Fixing | None = None


class ReportError(Exception):
    """What was read is no report, or one of another version; the message says what is wrong with it."""


class _Head(Struct):
    schema_version: int


def to_json(report: Report) -> bytes:
    """The report as indented JSON, but for the course of the run: thousands of numbers, which stay on one line."""
    everything = msgspec.to_builtins(report)
    if report.schema_version > WITHOUT_CHECKSUM:
        everything[CHECKSUM] = checksum(msgspec.json.encode(report))
    course = msgspec.json.encode(everything.pop("course"))
    indented = msgspec.json.format(msgspec.json.encode(everything), indent=2)
    return b'%s,\n  "course": %s\n}' % (indented.removesuffix(b"\n}"), course)


def from_json(data: bytes) -> Report:
    """The report that `to_json` wrote, with any fields that it does not know left out.

    Raises `ReportError`, also if the report is not as it was written.
    """
    try:
        version = msgspec.json.decode(data, type=_Head).schema_version
        if version not in (WITHOUT_CHECKSUM, SCHEMA_VERSION):
            raise ReportError(f"a report of version {version}, but this version of the doctor reads {SCHEMA_VERSION}")
        report = msgspec.json.decode(data, type=Report)
        if version == WITHOUT_CHECKSUM:
            _check_coherent(report)
        elif msgspec.json.decode(data).get(CHECKSUM) != checksum(data):
            raise ReportError("changed after it was written: its `checksum` does not match its content")
    except msgspec.ValidationError as error:
        raise ReportError(f"not a saved report: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportError(f"not a saved report: its JSON is broken ({error})") from None
    return report


def checksum(data: bytes) -> str:
    """Of what a report holds, however it is laid out; other programs write 1.0 as 1."""
    held = msgspec.json.decode(data)
    held.pop(CHECKSUM, None)
    text = json.dumps(_plainly(held), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plainly(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plainly(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plainly(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_EXIT_CODES: dict[Verdict, ExitCode] = {
    "passed": ExitCode.OK,
    "faults": ExitCode.FINDINGS,
    "doctor-failed": ExitCode.USAGE,
    "program-failed": ExitCode.PROGRAM_FAILED,
    "not-judged": ExitCode.NOT_JUDGED,
    "interrupted": ExitCode.INTERRUPTED,
}


def _check_coherent(report: Report) -> None:
    """What can be told of a report without a checksum: whether its parts say the same."""
    expected = _EXIT_CODES[report.verdict]
    if report.exit_code != expected:
        said = f"its `exit_code` is {report.exit_code}, but the verdict `{report.verdict}` has {expected.value}"
        raise ReportError(f"changed after it was written: {said}")
    if report.statistics.by_severity != Statistics.of(report.findings).by_severity:
        raise ReportError("changed after it was written: its `statistics` do not match its findings")


def writable(report: Report) -> Report:
    """The report as a file can hold it: halves of surrogate pairs, as in names that are no UTF-8, are spelt out."""
    try:
        msgspec.json.encode(report)
    except UnicodeEncodeError:
        return msgspec.convert(spelt_out(msgspec.to_builtins(report)), Report)
    return report
