"""What is said of a run: the report, with what other ranks were found to have, written; the baseline; the exit code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from autograd_doctor import config_file
from autograd_doctor.command import baselines, outputs, writing
from autograd_doctor.command.add_ignores import add_ignores
from autograd_doctor.command.baselines import Shelf
from autograd_doctor.command.job import Job
from autograd_doctor.command.outputs import Output
from autograd_doctor.command.running import as_bytes
from autograd_doctor.config import Invocation
from autograd_doctor.events.run import Noted
from autograd_doctor.findings import ExitCode, Finding
from autograd_doctor.launch import Recording
from autograd_doctor.members import Member, numbered, of_trace
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.ranks import Talk
from autograd_doctor.recording import from_bytes
from autograd_doctor.report import Report
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_JUDGED = ("passed", "faults")
_FOR_OTHERS = 60.0
"""Seconds that rank 0 waits for the reports of others, which have stopped at the same step."""


def exit_code(judged: Report, exit_zero: bool) -> int:
    """What the shell is told: `--exit-zero` lets findings pass, and nothing else."""
    return 0 if exit_zero and judged.exit_code == ExitCode.FINDINGS else judged.exit_code


def concluded(run: Recording, what: Target, job: Job, asked: Invocation, failed: list[Mistake]) -> Report:
    """The report, with comments and baseline as they were asked for, and changes for what was found.

    What cannot be written is added to `failed`, and what it would have changed is as before.
    """
    from autograd_doctor.proving.proposing import with_changes

    judged = report_on(run, what, job)
    if asked.add_ignore is not None and judged.findings and judged.verdict in _JUDGED:
        with writing.noting(failed):
            for said in add_ignores(judged, job.repository, asked.add_ignore):
                print(f"note: {said}", file=sys.stderr)
        judged = report_on(run, what, job)
    if asked.write_baseline or asked.prune_baseline:
        shelf = None
        with writing.noting(failed):
            shelf = _brought_up_to_date(judged, job.shelf, asked)
        if shelf is not None:
            accepted = job.accepted._replace(baseline=shelf.before())
            judged = report_on(run, what, job._replace(accepted=accepted))
    return with_changes(judged, run.trace) if judged.findings else judged


def report_on(run: Recording, what: Target, job: Job) -> Report:
    """What the rules find in what was recorded, of one process or of several."""
    from autograd_doctor.judging.several_ranks import judge_together, with_starter

    if not run.members:
        return _on_one(run.trace, run.outcome, what, job)
    report = judge_together(
        run.members,
        lambda member, between: _on_one(member.trace, member.outcome, what, job, between),
        job.rules,
        job.tunables,
        fail_on=job.settings.fail_on,
    )
    if not run.has_starter:
        return report
    return with_starter(report, _on_one(run.trace, run.outcome, what, job))


def _on_one(trace: Trace, outcome: Outcome, what: Target, job: Job, between: Sequence[Finding] = ()) -> Report:
    from autograd_doctor.engine import judge

    return judge(
        Trace((*trace.events, *(Noted(text=text, rank=trace.rank) for text in job.said))),
        job.rules,
        job.tunables,
        target=what,
        fail_on=job.settings.fail_on,
        min_steps=job.settings.min_steps,
        outcome=outcome,
        accepted=job.accepted,
        between=between,
    )


def of_another_rank(run: Recording, what: Target, job: Job, failed: list[Mistake]) -> Report:
    """Rank 0 reports what another was found to have; what it cannot hear of, the other prints, unless it is healthy."""
    if job.ranks.hands_in:
        Talk(job.ranks).hand_in(as_bytes(run, what))
    judged = report_on(run, what, job)
    if not job.ranks.hands_in and judged.exit_code != ExitCode.OK:
        printed = [output for output in job.outputs if output.file is None]
        failed += outputs.write(judged, printed, job.settings.color)
    return judged


def with_others(run: Recording, job: Job) -> Recording:
    """What was recorded here, and what other ranks have recorded, as far as they can be heard of."""
    if job.ranks.rank or not job.ranks.folder:
        return run
    talk = Talk(job.ranks)
    others = [of_trace(from_bytes(said)) for _, said in talk.handed_in(_FOR_OTHERS) if said]
    talk.end()
    own = run.members or [Member(0, job.ranks.size, run.trace, run.outcome, run.outcome.stacks)]
    return run._replace(members=list(numbered([*own, *others])))


def _brought_up_to_date(report: Report, shelf: Shelf, asked: Invocation) -> Shelf | None:
    """The baseline after a run that could be judged, written; None if the run says nothing of what is there."""
    file = config_file.shown(shelf.file)
    if report.verdict not in _JUDGED:
        print(f"note: {file} was not changed: {report.exit_reason}", file=sys.stderr)
        return None
    changed = baselines.accepting(shelf, report) if asked.write_baseline else baselines.pruned(shelf, report)
    baselines.write(changed)
    holds = sum(known.count for known in changed.before().findings)
    print(f"note: {file} holds {plural(holds, 'finding')} of {shelf.key}", file=sys.stderr)
    return changed


def load_judges(wanted: Sequence[Output]) -> None:
    """Import what judges and renders, while the child loads torch."""
    importlib.import_module("autograd_doctor.engine")
    importlib.import_module("autograd_doctor.proving.proposing")
    for output in wanted:
        importlib.import_module("autograd_doctor.renderers").is_format(output.format)
