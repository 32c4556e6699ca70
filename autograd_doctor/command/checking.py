"""`doctor check` from end to end: request, job, run, verdict; and `doctor report` of a saved trace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograd_doctor import launch, recording
from autograd_doctor.command import outputs, workflow, writing
from autograd_doctor.command.again import again
from autograd_doctor.command.assumed import trained
from autograd_doctor.command.job import call_of, job_of, may_be_assumed, target_of
from autograd_doctor.command.request import Request, load_settings, note, only_output
from autograd_doctor.command.running import (
    folders_of,
    plan_of,
    put_abandoned_back,
    run_again,
    save,
    screen_of,
    was_refused,
    watch,
)
from autograd_doctor.command.verdict import concluded, exit_code, load_judges, of_another_rank, report_on
from autograd_doctor.config import Loaded
from autograd_doctor.events.run import CheckEnded, RecordingDamaged, RunStarted
from autograd_doctor.findings import ExitCode
from autograd_doctor.interrupts import interrupts
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import CallPlan, FunctionPlan, ModelPlan, Outcome, Target
from autograd_doctor.ranks import ALONE, this_rank
from autograd_doctor.report import Report
from autograd_doctor.settings import calls
from autograd_doctor.trace import Trace


class Settled(NamedTuple):
    """A request with its settings, and what is to be run: in model mode how to train it, of a call what it is given."""

    request: Request
    loaded: Loaded
    what: Target
    model: ModelPlan | None = None
    function: FunctionPlan | None = None
    call: CallPlan | None = None


class Judged(NamedTuple):
    """The report on a target, None where the child has refused it and said why; and what could not be written."""

    report: Report | None
    failed: list[Mistake]


def check(request: Request) -> int:
    """Run the target under instruments, judge, write the reports; returns the exit code. Raises `Mistake`."""
    judged = examined(request)
    return ExitCode.USAGE if judged is None else _told(judged, request)


def examined(request: Request) -> Report | None:
    """The report on a target, None where the child has refused it and said why. Raises `Mistake`."""
    return _examined(settle(request))


def settle(request: Request) -> Settled:
    """What a request comes to, with nothing run. Raises `Mistake`."""
    loaded = load_settings(request)
    if calls.is_call(request.name) or request.sets:
        what, call = call_of(request)
        return Settled(request, loaded, what, call=call)
    what, model = target_of(request, loaded)
    return Settled(request, loaded, what, model=model)


def _told(judged: Report, request: Request) -> int:
    if this_rank(os.environ).hands_in:
        return ExitCode.OK  # a launcher that sees another code ends rank 0, which has the report to write
    return exit_code(judged, request.asked.exit_zero)


def run(request: Request, loaded: Loaded, what: Target, *, function: FunctionPlan) -> int:
    """The way of a check from the settled target on; returns the exit code. Raises `Mistake`."""
    judged = _examined(Settled(request, loaded, what, function=function))
    return ExitCode.USAGE if judged is None else _told(judged, request)


def _examined(settled: Settled) -> Report | None:
    judged = judge(settled)
    writing.tell(judged.failed)
    return judged.report


def judge(settled: Settled) -> Judged:
    """The way of every check from the settled target on. Raises `Mistake`."""
    # Once the person has pressed Ctrl-C, nothing more of it spoils the report.
    with interrupts():
        put_abandoned_back(settled.request)
        return _run(*settled)


def _run(
    request: Request,
    loaded: Loaded,
    what: Target,
    model: ModelPlan | None,
    function: FunctionPlan | None,
    call: CallPlan | None,
) -> Judged:
    screen, progress = screen_of(loaded.settings) if function is None else (None, None)
    with launch.workspace() as workspace, launch.Child(screen) as child, only_output(request):
        # While the child loads torch, the parent loads the rules, and what will judge and render.
        job = job_of(loaded, request, what)
        load_judges(job.outputs)
        plan = msgspec.structs.replace(plan_of(job, what, workspace), model=model, function=function, call=call)
        plan = msgspec.structs.replace(plan, assumes=may_be_assumed(what, loaded))
        run = child.watch(plan, timeout=job.settings.timeout or None, on_event=progress, folders=folders_of(what))
    if not run.outcome.interrupted and (found := trained(plan, run.trace)):
        said = "; it is run again to train the model that it defines"
        note(request, f"{what.name} trains nothing by itself{said}")
        what, plan = found
        run = watch(request, plan, job)
    while not run.outcome.interrupted and (second := again(plan, run.trace)):
        plan, run = second.plan, run_again(request, second, job)
    failed: list[Mistake] = []
    if request.save_trace and job.ranks.rank == 0:
        with writing.noting(failed):
            save(run, what, request.save_trace)
    if was_refused(run, what):
        judged = None
    elif job.ranks.rank:
        judged = of_another_rank(report_on(run.trace, what, run.outcome, job), job, failed)
    else:
        judged = concluded(run.trace, what, run.outcome, job, request.asked, failed)
        if not request.is_one_of_several:
            failed += outputs.write(judged, job.outputs, job.settings.color)
    if judged is not None and not request.caller and not request.is_one_of_several and not job.ranks.hands_in:
        workflow.summarize(judged, os.environ)
    return Judged(judged, failed)


def report(request: Request) -> int:
    """Judge a saved trace again; returns the exit code. Raises `Mistake`."""
    path = Path(request.name)
    loaded = load_settings(request)
    try:
        trace = recording.load(path)
    except recording.TraceError as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from None
    if not trace.events:
        raise Mistake(f"{path}: not a saved trace: it holds no event")
    trace, what, outcome = _with_last_word(trace)
    started = next(iter(trace.of(RunStarted)), None)
    job = job_of(loaded, request, what, started.cwd if started else "")._replace(ranks=ALONE)
    failed: list[Mistake] = []
    judged = concluded(trace, what, outcome, job, request.asked, failed)
    failed += outputs.write(judged, job.outputs, job.settings.color)
    writing.tell(failed)
    return exit_code(judged, request.asked.exit_zero)


def _with_last_word(trace: Trace) -> tuple[Trace, Target, Outcome]:
    """A saved trace with what was run and how it ended. Without its last record it is not whole."""
    for ended in trace.of(CheckEnded):
        return trace, ended.target, ended.outcome
    if not trace.of(RecordingDamaged):
        trace = Trace((*trace.events, RecordingDamaged(reason="its last record is missing")))
    started = next(iter(trace.of(RunStarted)), None)
    what = Target("script", started.target, started.arguments) if started else Target("script", "")
    return trace, what, Outcome(exit_code=trace.end.exit_code if trace.end else None)
