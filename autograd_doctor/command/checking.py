"""`doctor check` from end to end: request, job, run, verdict; and `doctor report` of a saved trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograd_doctor import launch, recording
from autograd_doctor.command import outputs, workflow, writing
from autograd_doctor.command.again import again
from autograd_doctor.command.assumed import trained
from autograd_doctor.command.job import Job, call_of, interpreter_of, job_of, may_be_assumed, target_of
from autograd_doctor.command.profiled import with_profile
from autograd_doctor.command.request import Request, load_settings, note, only_output
from autograd_doctor.command.running import (
    as_bytes,
    folders_of,
    plan_of,
    put_abandoned_back,
    run_again,
    save,
    screen_of,
    was_refused,
    watch,
)
from autograd_doctor.command.several_processes import check_is_launched_once, latest, leave, rank_of, started_by_torch
from autograd_doctor.command.verdict import concluded, exit_code, load_judges, of_another_rank, with_others
from autograd_doctor.config import Loaded
from autograd_doctor.events.run import CheckEnded, RecordingDamaged, RunStarted
from autograd_doctor.findings import ExitCode
from autograd_doctor.interpreter import OWN, Interpreter
from autograd_doctor.interrupts import interrupts
from autograd_doctor.members import Saved, parted
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import CallPlan, FunctionPlan, ModelPlan, Outcome, Plan, Target
from autograd_doctor.ranks import ALONE, this_rank
from autograd_doctor.report import Report
from autograd_doctor.settings import calls
from autograd_doctor.trace import Trace


class Settled(NamedTuple):
    """A request with its settings, and what is to be run: in model mode how to train it, of a call what it is given.

    python: what runs it.
    """

    request: Request
    loaded: Loaded
    what: Target
    model: ModelPlan | None = None
    function: FunctionPlan | None = None
    call: CallPlan | None = None
    python: Interpreter = OWN


class Ran(NamedTuple):
    """A target that was run: how it is judged, the plan of the last run, and what that recorded."""

    job: Job
    what: Target
    plan: Plan
    run: launch.Recording


class Judged(NamedTuple):
    """The report on a target, None where the child has refused it and said why; and what could not be written.

    left: the exit code of the program, where a trace was left for others to judge.
    """

    report: Report | None
    failed: list[Mistake]
    left: int | None = None


def check(request: Request) -> int:
    """Run the target under instruments, judge, write the reports; returns the exit code. Raises `Mistake`."""
    judged = judge(settle(request))
    writing.tell(judged.failed)
    if judged.left is not None:
        return judged.left
    return ExitCode.USAGE if judged.report is None else _told(judged.report, request)


def examined(request: Request) -> Report | None:
    """The report on a target, None where the child has refused it and said why. Raises `Mistake`."""
    return _examined(settle(request))


def settle(request: Request) -> Settled:
    """What a request comes to, with nothing run. Raises `Mistake`."""
    loaded = load_settings(request)
    python = interpreter_of(request, loaded)
    if request.asked.nproc_per_node:
        check_is_launched_once(os.environ)
    if calls.is_call(request.name) or request.sets:
        what, call = call_of(request, python)
        return Settled(request, loaded, what, call=call, python=python)
    what, model = target_of(request, loaded, python)
    return Settled(request, loaded, what, model=model, python=python)


def _told(judged: Report, request: Request) -> int:
    if this_rank(os.environ).hands_in:
        return ExitCode.OK  # a launcher that sees another code ends rank 0, which has the report to write
    return exit_code(judged, request.asked.exit_zero)


def run(request: Request, loaded: Loaded, what: Target, *, function: FunctionPlan, python: Interpreter) -> int:
    """The way of a check from the settled target on; returns the exit code. Raises `Mistake`."""
    judged = _examined(Settled(request, loaded, what, function=function, python=python))
    return ExitCode.USAGE if judged is None else _told(judged, request)


def _examined(settled: Settled) -> Report | None:
    judged = judge(settled)
    writing.tell(judged.failed)
    return judged.report


def judge(settled: Settled) -> Judged:
    """The way of every check from the settled target on. Raises `Mistake`."""
    # Once the person has pressed Ctrl-C, nothing more of it spoils the report. A launcher ends all ranks when one has
    # failed, at any moment: what this one has recorded is left all the same.
    with interrupts(keeps=settled.request.rank_reports is not None):
        put_abandoned_back(settled.request)
        return _judged(settled.request, settled.loaded, ran(settled))


def ran(settled: Settled) -> Ran:
    """Run a target, and once more where the first run did not show all that it could. Raises `Mistake`."""
    request, loaded, what = settled.request, settled.loaded, settled.what
    screen, progress = screen_of(loaded.settings) if settled.function is None else (None, None)
    with launch.workspace() as workspace, launch.Child(screen, settled.python.command) as child, only_output(request):
        # While the child loads torch, the parent loads the rules, and what will judge and render.
        job = job_of(loaded, request, what)._replace(python=settled.python)
        if request.rank_reports:
            job = job._replace(ranks=rank_of(request.rank_reports))
        load_judges(job.outputs)
        plan = msgspec.structs.replace(
            plan_of(job, what, workspace),
            model=settled.model,
            function=settled.function,
            call=settled.call,
            assumes=may_be_assumed(what, loaded),
        )
        if request.asked.nproc_per_node:
            plan = started_by_torch(plan, request.asked.nproc_per_node)
        run = child.watch(plan, timeout=job.settings.timeout or None, on_event=progress, folders=folders_of(what))
    if not run.outcome.interrupted and not run.members and (found := trained(plan, run.trace)):
        said = "; running it again to train the model that it defines"
        note(request, f"{what.name} does not train when it is run{said}")
        what, plan = found
        run = watch(request, plan, job)
    while not run.outcome.interrupted and not run.members and (second := again(plan, run.trace)):
        plan, run = second.plan, run_again(request, second, job)
    return Ran(job, what, plan, run)


def _judged(request: Request, loaded: Loaded, done: Ran) -> Judged:
    job, what, plan, run = done
    failed: list[Mistake] = []
    if request.rank_reports and not was_refused(run, what):
        leave(request.rank_reports, as_bytes(run, what), job.ranks)
        return Judged(None, [], _program_exit(run.outcome))
    run = with_others(run, job)
    if request.save_trace and job.ranks.rank == 0:
        with writing.noting(failed):
            save(run, what, request.save_trace)
    if was_refused(run, what):
        judged = None
    elif job.ranks.rank:
        judged = of_another_rank(run, what, job, failed)
    else:
        judged = concluded(run, what, job, request.asked, failed)
        if request.asked.profile:
            judged = with_profile(judged, request, loaded, what, plan)
        if not request.is_one_of_several:
            failed += outputs.write(judged, job.outputs, job.settings.color)
    if judged is not None and not request.caller and not request.is_one_of_several and not job.ranks.hands_in:
        workflow.summarize(judged, os.environ)
    return Judged(judged, failed)


def _program_exit(outcome: Outcome) -> int:
    """What the launcher is told: what the program itself would have told it."""
    return outcome.exit_code if outcome.exit_code is not None else 128 + (outcome.signal or 0)


def report(request: Request) -> int:
    """Judge a saved trace again, or those of ranks in a folder; returns the exit code. Raises `Mistake`."""
    path = Path(request.name)
    loaded = load_settings(request)
    if path.is_dir():
        return _report_on_ranks(request, loaded, latest(path))
    try:
        trace = recording.load(path)
    except recording.TraceError as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from None
    if not trace.events:
        raise Mistake(f"{path}: not a saved trace: it holds no event")
    trace, what, outcome = _with_last_word(trace)
    trace, members = parted(trace)
    return _reported(request, loaded, what, launch.Recording(trace, outcome, members))


def _report_on_ranks(request: Request, loaded: Loaded, files: Sequence[Path]) -> int:
    try:
        first = recording.load(files[0])
        first, what, outcome = _with_last_word(first)
        return _reported(request, loaded, what, launch.Recording(first, outcome, Saved(files)))
    except recording.TraceError as error:
        raise Mistake(str(error)) from None


def _reported(request: Request, loaded: Loaded, what: Target, run: launch.Recording) -> int:
    started = next(iter(run.trace.of(RunStarted)), None)
    job = job_of(loaded, request, what, started.cwd if started else "")._replace(ranks=ALONE)
    failed: list[Mistake] = []
    judged = concluded(run, what, job, request.asked, failed)
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
