"""Changes for the findings of a program, made and tried as `doctor fix` does, in processes that have torch already."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autograd_doctor import engine, recording
from autograd_doctor.command.again import again
from autograd_doctor.command.fixing import as_far
from autograd_doctor.events.steps import WeightsFingerprinted
from autograd_doctor.findings import Proof
from autograd_doctor.fixers import candidates
from autograd_doctor.fixing.candidate import Candidate, Case
from autograd_doctor.fixing.changed_sources import Sources
from autograd_doctor.judging import source
from autograd_doctor.plan import Plan
from autograd_doctor.proving.proof import Seen, computes_the_same, proof
from autograd_doctor.proving.trying import Series, tried
from autograd_doctor.report import Place, RelatedPlace, ReportedFinding
from autograd_doctor.trace import Trace
from tests.harness import checked, plan_for, record


def changed(program: str, **overrides: Any) -> Series:
    """What comes of trying changes for all that is found in a program, given as source."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name, "train.py")
        script.write_text(program, encoding="utf-8")
        return tried_in(script, **overrides)[1]


def tried_in(script: Path, **overrides: Any) -> tuple[Seen, Series]:
    """The same of a file, which stays as it is; with what was seen of it at first."""
    with _seen(script, Sources(), **overrides) as (first, plan):
        beyond = as_far(plan, first)

        def run(candidate: Candidate) -> Seen:
            how = {name: getattr(beyond, name) for name in ("steps", "seconds", "max_seconds", "batches_per_epoch")}
            with _seen(script, candidate.sources, **{**overrides, **how, "runs_again": False}) as (seen, _):
                return seen

        return first, tried(first, run, lambda: first, is_over=lambda: False)


def proof_of(
    program: str,
    change: Callable[[str], str],
    code: str,
    *,
    keeps: bool = False,
    same_loss: bool = False,
    **overrides: Any,
) -> Proof:
    """What a run shows of a change of a program that is made by hand, for its finding of this code."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name, "train.py")
        script.write_text(program, encoding="utf-8")
        with _seen(script, Sources(), **overrides) as (first, plan):
            pass
        sources = first.sources.with_text(str(script), change(program))
        far = {"steps": as_far(plan, first).steps, "batches_per_epoch": 0}
        with _seen(script, sources, **{**overrides, **far}) as (after, _):
            pass
        target = next(finding for finding in first.report.findings if finding.code == code)
        differs = computes_the_same(first, after) if keeps else None
        return proof(target, first, after, differs=differs, same_loss=same_loss)


def candidates_for(code: str, marked: str, folder: Path, **facts: Any) -> list[str]:
    """The texts that changes for a finding make of a file. The place of the finding stands in «», that of what takes
    part in it in ‹›, with the label `related`; what was recorded is `trace`."""
    script = folder / "train.py"
    script.write_bytes("".join(part for part in marked if part not in "«»‹›").encode())
    trace = facts.pop("trace", Trace.of_events())
    label, place = facts.pop("related", ""), _place(marked, "«", "»")
    related = [RelatedPlace(label, _place(marked, "‹", "›"))] if label else []
    blank: dict[str, Any] = dict.fromkeys(("name", "title", "message", "subject", "help", "fingerprint", "url"), "")
    told: dict[str, Any] = {"severity": "error", "confidence": "high", "evidence": {}, "fix": None, "notes": []}
    seen: dict[str, Any] = {"step_first": 1, "step_count": 1, "ranks": (), "explains_crash": False}
    finding = ReportedFinding(**{**blank, **told, **seen, **facts}, code=code, location=place, related=related)
    found = candidates(Case(finding, trace, Sources(), str(folder)))
    return [each.sources.text(str(script)) for each in found]


def _place(marked: str, first: str, last: str) -> Place:
    (line, column), (end_line, end_column) = (_at(marked, mark) for mark in (first, last))
    span = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    return Place(path="train.py", function="", snippet="", **span)


def _at(marked: str, mark: str) -> tuple[int, int]:
    """Line and column of a mark in the text without marks."""
    before = "".join(part for part in marked[: marked.index(mark)] if part not in "«»‹›")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@contextmanager
def _seen(script: Path, sources: Sources, **overrides: Any) -> Iterator[tuple[Seen, Plan]]:
    chosen = checked()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = plan_for(script, folder, overlay=dict(sources.changed), seed=0, **overrides)
        plan = replace(plan, needs=[*plan.needs, WeightsFingerprinted.__name__])
        outcome = record(plan, cwd=script.parent, log=folder / "output.txt")
        while plan.runs_again and (second := again(plan, recording.load(Path(plan.trace)))) is not None:
            plan = replace(second.plan, trace=f"{second.plan.trace} {second.first.lacked}")
            outcome = replace(record(plan, cwd=script.parent, log=folder / "output.txt"), first_run=second.first)
        trace = recording.load(Path(plan.trace))
        tunables = {rule.code: rule.defaults for rule in chosen}
        with source.overlaid(sources.changed):
            report = engine.judge(
                trace, chosen, tunables, target=plan.target, fail_on="error", min_steps=1, outcome=outcome
            )
        yield Seen(sources, trace, report), plan
