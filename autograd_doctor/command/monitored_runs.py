"""`doctor report` of a run that was monitored: what its chapters show, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograd_doctor.command import outputs, writing
from autograd_doctor.command.job import Job, job_of
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.command.verdict import exit_code
from autograd_doctor.mistakes import Mistake
from autograd_doctor.monitoring.folder import rank_folders
from autograd_doctor.monitoring.summing_up import Judge, report_on
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.ranks import ALONE
from autograd_doctor.report import Report
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace

_OF_CHECKS = ("add_ignore", "write_baseline", "prune_baseline")


def is_run(path: Path) -> bool:
    """Whether a folder holds a run that was monitored."""
    return path.is_dir() and bool(rank_folders(path))


def report(request: Request) -> int:
    """Write the reports on a run, which may still go on; returns the exit code. Raises `Mistake`."""
    for name in _OF_CHECKS:
        if getattr(request.asked, name):
            option = name.replace("_", "-")
            raise Mistake(f"--{option}: not for a run that was monitored; `doctor check` of the program can")
    told, job = judged(request)
    writing.tell(outputs.write(told, job.outputs, job.settings.color))
    return exit_code(told, request.asked.exit_zero)


def judged(request: Request) -> tuple[Report, Job]:
    """What was recorded of a run, judged, and how. Raises `Mistake`."""
    path = Path(request.name)
    about = next(about for each in rank_folders(path) if (about := each.about()) is not None)
    loaded = load_settings(request)
    job = job_of(loaded, request, about.target, about.cwd)._replace(ranks=ALONE)
    return report_on(path, _judge(job), job.rules, fail_on=job.settings.fail_on), job


def _judge(job: Job) -> Judge:
    from autograd_doctor.engine import judge

    def judged(trace: Trace, what: Target, rules: Sequence[Rule] | None) -> Report:
        return judge(
            trace,
            job.rules if rules is None else rules,
            job.tunables,
            target=what,
            fail_on=job.settings.fail_on,
            min_steps=job.settings.min_steps,
            outcome=Outcome(exit_code=trace.end.exit_code if trace.end else 0),
            accepted=job.accepted,
        )

    return judged
