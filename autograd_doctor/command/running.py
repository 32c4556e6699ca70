"""The run of a check: the plan, the child that carries it out, runs again, and the trace that is kept."""

from __future__ import annotations

import io
import os
import secrets
from pathlib import Path

import msgspec

from autograd_doctor import launch, recording
from autograd_doctor.command import outputs, writing
from autograd_doctor.command.again import Again
from autograd_doctor.command.job import Job
from autograd_doctor.command.progress import Progress, ToldProgress
from autograd_doctor.command.request import Request, note, only_output
from autograd_doctor.config import Settings
from autograd_doctor.events.efficiency import PROFILED
from autograd_doctor.events.run import CheckEnded, RecordingDamaged, RunStarted
from autograd_doctor.events.steps import WeightsFingerprinted
from autograd_doctor.findings import ExitCode
from autograd_doctor.members import STARTER
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Plan, Ranks, Target
from autograd_doctor.ranks import this_rank
from autograd_doctor.screen import Screen
from autograd_doctor.serving.told_progress import TELLS
from autograd_doctor.wording import plural


def plan_of(job: Job, what: Target, workspace: launch.Workspace) -> Plan:
    """What the child is to run and to record, and where."""
    settings = job.settings
    return Plan(
        target=what,
        trace=workspace.trace,
        scratch=workspace.scratch,
        selected=[rule.code for rule in job.rules],
        needs=needs_of(job),
        steps=settings.steps,
        seconds=settings.seconds,
        max_seconds=settings.max_seconds,
        # A pass that one rank cuts by its clock would leave the others waiting.
        batches_per_epoch=0 if job.ranks.are_several or job.profiles else settings.batches_per_epoch,
        polite=settings.polite,
        stdout_to_stderr=outputs.owns_stdout(job.outputs),
        runs_again=True,
        seed=secrets.randbits(32),
        ranks=_talking(job, workspace),
        members=workspace.members,
    )


def needs_of(job: Job) -> list[str]:
    """The names of the events that the rules ask for, of those that a profile consists of, and of what tells whether
    two runs compute the same."""
    needs = {event for rule in job.rules for event in rule.needs} | set(PROFILED if job.profiles else ())
    needs |= {WeightsFingerprinted} if job.fixes else set()
    return sorted(event.__name__ for event in needs)


def _talking(job: Job, workspace: launch.Workspace) -> Ranks:
    """Where the processes of the program leave each other word: with other ranks of its launch, if it has any."""
    ranks = job.ranks
    return ranks if ranks.are_several else msgspec.structs.replace(ranks, folder=workspace.members)


def run_again(request: Request, second: Again, job: Job) -> launch.Recording:
    """The run that is to show what the first one lacked, which is said."""
    first = second.first
    note(request, f"{first.how}; running it again with {first.wanted}")
    run = watch(request, second.plan, job)
    return run._replace(outcome=msgspec.structs.replace(run.outcome, first_run=first))


def watch(
    request: Request, plan: Plan, job: Job, called: str = "second run", *, silent: bool = False
) -> launch.Recording:
    """A further run, in a folder of its own. silent: what the program prints was printed already."""
    screen, progress = screen_of(job.settings, called)
    child = launch.Child(screen, job.python.command, silent=silent)
    with launch.workspace() as workspace, child, only_output(request):
        plan = msgspec.structs.replace(
            plan,
            trace=workspace.trace,
            scratch=workspace.scratch,
            members=workspace.members,
            ranks=_talking(job, workspace),
        )
        folders = folders_of(plan.target)
        return child.watch(plan, timeout=job.settings.timeout or None, on_event=progress, folders=folders)


def folders_of(what: Target) -> list[str]:
    """Where the program is likely to write: the working folder, and its own."""
    named = Path(what.name)
    return [os.getcwd(), *([str(named if named.is_dir() else named.parent)] if named.exists() else [])]


def put_abandoned_back(request: Request) -> None:
    for done in launch.abandoned():
        paths = [*done.restored, *done.removed]
        said = (
            f"an earlier check was killed; what its program had changed has been restored, {plural(len(paths), 'path')}"
        )
        note(request, f"{said}: {', '.join(paths[:3])}{' …' * (len(paths) > 3)}")
        for path in done.wrote:
            note(request, f"{path} was not restored: something else has written to it since")
        for path, beside in done.beside.items():
            note(request, f"the earlier content of {path} is in {beside}")
        for path, why in done.failed.items():
            note(request, f"{path} could not be restored: {why}")


def screen_of(settings: Settings, run: str = "") -> tuple[Screen | None, Progress | None]:
    """A status line for a person who watches a terminal, and the same told to a process of ours that follows."""
    is_first = this_rank(os.environ).rank == 0
    if is_first and os.environ.get(TELLS) == str(os.getppid()):
        return None, ToldProgress(settings, run)
    if not is_first or outputs.PERSON not in settings.output_format or not Screen.is_possible():
        return None, None
    progress = Progress(settings, run)
    return Screen(progress.line), progress


def was_refused(run: launch.Recording, what: Target) -> bool:
    """Whether the child found a mistake in the settings or the inputs, which it has said on standard error.

    Raises `Mistake` if the child failed before it came to run anything; where it could not record that it ran, as on a
    full disk, nobody knows.
    """
    trace, outcome, _ = run
    if trace.of(RecordingDamaged):
        return False
    if not trace.of(RunStarted) and not outcome.interrupted and not outcome.timed_out:
        how = f"exited with {outcome.exit_code}" if outcome.signal is None else f"was killed by signal {outcome.signal}"
        raise Mistake(f"the program was not started: its process {how}")
    # A function that trained was not refused: it exited with that code itself.
    may_be = what.kind in ("model", "function") or (what.kind == "call" and not trace.steps)
    return may_be and outcome.exit_code == ExitCode.USAGE and trace.crash is None


def save(run: launch.Recording, what: Target, path: Path) -> None:
    """Keep the trace; of several processes that trained, those of all, each with its number in every event."""
    data = io.BytesIO()
    if not run.members:
        data.write(as_bytes(run, what))
    else:
        parts = [(member.rank, member.trace, member.outcome) for member in run.members]
        if run.has_starter:
            parts.insert(0, (STARTER, run.trace, run.outcome))
        recording.save_several(
            ((rank, trace, CheckEnded(target=what, outcome=outcome)) for rank, trace, outcome in parts), data
        )
    writing.write(path, data.getvalue())


def as_bytes(run: launch.Recording, what: Target) -> bytes:
    """The trace of this rank, as others are given it."""
    data = io.BytesIO()
    recording.save(run.trace, data, CheckEnded(rank=run.trace.rank, target=what, outcome=run.outcome))
    return data.getvalue()
