"""The profile of a program that was checked, measured in a run of its own: what a check listens to takes time."""

from __future__ import annotations

import msgspec

from autograd_doctor.command.job import job_of
from autograd_doctor.command.request import Request, note
from autograd_doctor.command.running import needs_of, watch
from autograd_doctor.command.verdict import report_on
from autograd_doctor.config import Loaded
from autograd_doctor.plan import Plan, Target
from autograd_doctor.report import Checks, Report, Statistics

_CAME_TO_AN_END = ("passed", "faults")


def with_profile(judged: Report, request: Request, loaded: Loaded, what: Target, plan: Plan) -> Report:
    """The report on a check, with the profile and what was found in it; as it is, where the program did not train."""
    if judged.verdict not in _CAME_TO_AN_END or judged.run.ranks:
        note(request, "no profile was measured: that takes one process that trains to the end of the check")
        return judged
    note(request, "running it again to measure where time and memory go")
    job = job_of(loaded, request._replace(profiles=True), what)
    selected = [rule.code for rule in job.rules]
    plan = msgspec.structs.replace(plan, selected=selected, needs=needs_of(job), batches_per_epoch=0, full_from=None)
    measured = report_on(watch(request, plan, job), what, job)
    findings = [*judged.findings, *measured.findings]
    return msgspec.structs.replace(
        judged,
        profile=msgspec.structs.replace(measured.profile, alone=False) if measured.profile else None,
        findings=findings,
        suppressed=[*judged.suppressed, *measured.suppressed],
        statistics=Statistics.of(findings),
        checks=Checks([*judged.checks.ran, *measured.checks.ran], judged.checks.skipped | measured.checks.skipped),
    )
