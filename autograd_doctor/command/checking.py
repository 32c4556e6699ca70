"""`doctor check` from end to end: settings, target, rules, plan, run, judgement, reports, exit code."""

from __future__ import annotations

import importlib
import io
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from autograd_doctor import config, config_file, launch, recording, target
from autograd_doctor.accepted import Accepted
from autograd_doctor.command import baselines, outputs, workflow, writing
from autograd_doctor.command.add_ignores import add_ignores
from autograd_doctor.command.again import Again, again
from autograd_doctor.command.assumed import trained
from autograd_doctor.command.baselines import Shelf
from autograd_doctor.command.outputs import Output
from autograd_doctor.command.progress import Progress
from autograd_doctor.config import Invocation, Loaded, ModelSection, Settings
from autograd_doctor.events.run import CheckEnded, Noted, RecordingDamaged, RunStarted
from autograd_doctor.findings import ExitCode, Number
from autograd_doctor.interrupts import interrupts
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import CallPlan, FunctionPlan, ModelPlan, Outcome, Plan, Ranks, Target
from autograd_doctor.ranks import ALONE, Talk, this_rank
from autograd_doctor.report import Report, from_json, to_json
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.screen import Screen
from autograd_doctor.settings import calls, model_section, selection
from autograd_doctor.settings.model_file import ModelFile, look
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_JUDGED = ("passed", "faults")
_FOR_OTHERS = 60.0
"""Seconds that rank 0 waits for the reports of others, which have stopped at the same step."""


class Request(NamedTuple):
    """What is asked for: a target, settings that `options` override, and what is about this call alone.

    caller: the function that asks instead of the command line; it gets a report, and nothing is printed.
    """

    name: str
    arguments: Sequence[str] = ()
    is_module: bool = False
    options: Mapping[str, Any] = {}
    asked: Invocation = Invocation()
    sets: Sequence[str] = ()
    caller: str = ""

    @property
    def config(self) -> Path | None:
        """The settings file that is named."""
        return Path(self.asked.config) if self.asked.config else None

    @property
    def save_trace(self) -> Path | None:
        """Where to keep the trace."""
        return Path(self.asked.save_trace) if self.asked.save_trace else None

    @property
    def output_file(self) -> Path | None:
        """Where the report goes."""
        return Path(self.asked.output_file) if self.asked.output_file else None


class _Job(NamedTuple):
    """A request with everything settled: how to judge, what is accepted, where reports go, what to say of settings."""

    settings: Settings
    rules: list[Rule]
    tunables: dict[str, dict[str, Number]]
    outputs: list[Output]
    accepted: Accepted
    shelf: Shelf
    repository: Path
    said: Sequence[str]
    ranks: Ranks = ALONE


def check(request: Request) -> int:
    """Run the target under instruments, judge, write the reports; returns the exit code. Raises `Mistake`."""
    judged = examined(request)
    return ExitCode.USAGE if judged is None else _told(judged, request)


def examined(request: Request) -> Report | None:
    """The report on a target, None where the child has refused it and said why. Raises `Mistake`."""
    loaded = load_settings(request)
    if calls.is_call(request.name) or request.sets:
        what, call = _call(request)
        return _examined(request, loaded, what, call=call)
    what, model = _target(request, loaded)
    return _examined(request, loaded, what, model=model)


def _told(judged: Report, request: Request) -> int:
    if this_rank(os.environ).hands_in:
        return ExitCode.OK  # a launcher that sees another code ends rank 0, which has the report to write
    return exit_code(judged, request.asked.exit_zero)


def run(request: Request, loaded: Loaded, what: Target, *, function: FunctionPlan) -> int:
    """The way of a check from the settled target on; returns the exit code. Raises `Mistake`."""
    judged = _examined(request, loaded, what, function=function)
    return ExitCode.USAGE if judged is None else _told(judged, request)


def _examined(
    request: Request,
    loaded: Loaded,
    what: Target,
    *,
    model: ModelPlan | None = None,
    function: FunctionPlan | None = None,
    call: CallPlan | None = None,
) -> Report | None:
    """The way of every check from the settled target on."""
    # Once the person has pressed Ctrl-C, nothing more of it spoils the report.
    with interrupts():
        _put_abandoned_back(request)
        return _run(request, loaded, what, model, function, call)


def _run(
    request: Request,
    loaded: Loaded,
    what: Target,
    model: ModelPlan | None,
    function: FunctionPlan | None,
    call: CallPlan | None,
) -> Report | None:
    screen, progress = _screen(loaded.settings) if function is None else (None, None)
    with launch.workspace() as workspace, launch.Child(screen) as child, _only_output(request):
        # While the child loads torch, the parent loads the rules, and what will judge and render.
        job = _job(loaded, request, what)
        _load_judges(job.outputs)
        plan = msgspec.structs.replace(_plan(job, what, workspace), model=model, function=function, call=call)
        plan = msgspec.structs.replace(plan, assumes=_may_be_assumed(what, loaded))
        run = child.watch(plan, timeout=job.settings.timeout or None, on_event=progress, folders=_folders(what))
    if not run.outcome.interrupted and (found := trained(plan, run.trace)):
        said = "; it is run again to train the model that it defines"
        _note(request, f"{what.name} trains nothing by itself{said}")
        what, plan = found
        run = _watch(request, plan, job)
    while not run.outcome.interrupted and (second := again(plan, run.trace)):
        plan, run = second.plan, _run_again(request, second, job)
    failed: list[Mistake] = []
    if request.save_trace and job.ranks.rank == 0:
        with writing.noting(failed):
            _save(run, what, request.save_trace)
    if _refused(run, what):
        judged = None
    elif job.ranks.rank:
        judged = _of_another_rank(_judged(run.trace, what, run.outcome, job), job, failed)
    else:
        judged = _judge(run.trace, what, run.outcome, job, request.asked, failed)
    if judged is not None and not request.caller and not job.ranks.hands_in:
        workflow.summarize(judged, os.environ)
    writing.tell(failed)
    return judged


def _of_another_rank(judged: Report, job: _Job, failed: list[Mistake]) -> Report:
    """Rank 0 reports what another was found to have; what it cannot hear of, the other prints, unless it is healthy."""
    if job.ranks.hands_in:
        Talk(job.ranks).hand_in(to_json(judged))
    elif judged.exit_code != ExitCode.OK:
        printed = [output for output in job.outputs if output.file is None]
        failed += outputs.write(judged, printed, job.settings.color)
    return judged


def _others(ranks: Ranks) -> list[tuple[int, Report | None]]:
    """What other ranks were found to have, as far as they can be heard of."""
    if not ranks.folder:
        return []
    talk = Talk(ranks)
    found = [(rank, from_json(said) if said else None) for rank, said in talk.handed_in(_FOR_OTHERS)]
    talk.end()
    return found


def _note(request: Request, said: str) -> None:
    if not request.caller and not this_rank(os.environ).rank:
        print(f"note: {said}", file=sys.stderr)


def _only_output(request: Request) -> AbstractContextManager[None]:
    """What the child prints is no command to GitHub; to say so is printing, too."""
    return nullcontext() if request.caller else workflow.only_output()


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
    job = _job(loaded, request, what, started.cwd if started else "")._replace(ranks=ALONE)
    failed: list[Mistake] = []
    judged = _judge(trace, what, outcome, job, request.asked, failed)
    writing.tell(failed)
    return exit_code(judged, request.asked.exit_zero)


def load_settings(request: Request) -> Loaded:
    """The settings for the folder of the script, or the working directory for a module."""
    return config.load(
        request.options,
        folder=_folder(request),
        environment=os.environ,
        file=request.config,
        isolated=request.asked.isolated,
        caller=request.caller,
    )


def _folder(request: Request) -> Path:
    path, here = Path(request.name), _working_folder()
    folder = here if request.is_module else path if path.is_dir() else path.parent
    return folder if folder.is_dir() else here


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Mistake("the working folder does not exist any more") from None


def _job(loaded: Loaded, request: Request, what: Target, cwd: str = "") -> _Job:
    """`cwd` is where the program ran, if it ran before."""
    settings, catalogue = loaded.settings, all_rules()
    about_one = what.kind == "function"
    rules = selection.about_functions(catalogue) if about_one else selection.selected(loaded, catalogue)
    if not rules:
        raise Mistake("no rule is left to check: `select` and `ignore` leave none")
    involved = [Path(what.name), Path(request.name), *filter(None, (loaded.file,))]
    if request.save_trace:
        writing.check(request.save_trace, "trace", *involved)
    written = outputs.parse(settings.output_format, request.output_file, *involved)
    outputs.check_apart(written, request.save_trace)
    shelf, is_there = _shelf(loaded, request, what, cwd)
    accepted = Accepted(
        comments=not request.asked.no_ignores,
        ignored=selection.ignored(loaded, catalogue),
        folder=loaded.file.parent if loaded.file else Path(),
        baseline=shelf.before() if is_there and not request.asked.write_baseline else None,
        strict=settings.strict_baseline,
    )
    if request.asked.no_ignores:
        accepted = Accepted(comments=False)
    return _Job(
        settings,
        rules,
        selection.tunables(loaded, catalogue),
        written,
        accepted,
        shelf,
        baselines.repository(_folder(request)),
        loaded.said,
        this_rank(os.environ),
    )


def _shelf(loaded: Loaded, request: Request, what: Target, cwd: str) -> tuple[Shelf, bool]:
    """The baseline for a target, and whether there is one."""
    asked, named = request.asked, loaded.settings.baseline
    changing = [option for option in ("write_baseline", "prune_baseline") if getattr(asked, option)]
    options = [f"`--{option.replace('_', '-')}`" for option in (*changing, *_exclude_these(asked))]
    if len(options) > 1:
        raise Mistake(f"{' and '.join(options)} exclude each other")
    found = Path(named) if named else None if asked.isolated else baselines.find(_folder(request))
    file = found or baselines.default(_folder(request), None if request.config else loaded.file)
    if not asked.write_baseline and not file.is_file() and (named or changing):
        raise baselines.missing(file, loaded.where("baseline") if named else options[0].strip("`"))
    if changing:
        baselines.check_writable(file)
    return baselines.shelf(file, what, cwd or str(_working_folder())), found is not None and file.is_file()


def _exclude_these(asked: Invocation) -> Iterator[str]:
    if asked.add_ignore is not None:
        yield "add_ignore"
    if asked.no_ignores:
        yield "no_ignores"


def _call(request: Request) -> tuple[Target, CallPlan]:
    if not calls.is_call(request.name):
        raise Mistake("--set: gives arguments to a function, as in `doctor check pkg.train:main --set epochs=1`")
    if request.is_module:
        raise Mistake(f"{request.name}: `-m` runs a module, and this is a function of one (leave `-m` out)")
    return calls.call(request.name, request.sets)


def _target(request: Request, loaded: Loaded) -> tuple[Target, ModelPlan | None]:
    """The target, and in model mode how to train it."""
    if request.is_module:
        return target.module(request.name, request.arguments), None
    if request.name.endswith(".ipynb") and Path(request.name).is_file():
        return target.notebook(request.name, request.arguments), None
    found = target.script(request.name, request.arguments)
    if not Path(request.name).is_file() or not request.name.endswith(".py"):
        return found, None
    file = look(request.name)
    plan = _model_plan(file, request, loaded)
    return (Target("model", found.name, found.arguments) if plan else found), plan


def _may_be_assumed(what: Target, loaded: Loaded) -> bool:
    """Whether a file that turns out to train nothing may be trained as a model, of which no settings speak."""
    is_file = what.kind == "script" and what.name.endswith(".py") and Path(what.name).is_file()
    return is_file and loaded.settings.model is None


def _model_plan(file: ModelFile, request: Request, loaded: Loaded) -> ModelPlan | None:
    """How to train the model of a file, None if it is a program that trains by itself.

    A section that was found rather than asked for is not for a program of the same folder.
    """
    section = loaded.settings.model
    if section and loaded.file and (request.config or file.is_for_model_mode):
        return model_section.plan(file, section, config_file.shown(loaded.file))
    if file.is_for_model_mode and model_section.needs_nothing(file):
        return model_section.plan(file, ModelSection(), "")
    return None


def _plan(job: _Job, what: Target, workspace: launch.Workspace) -> Plan:
    settings = job.settings
    needs = {event for rule in job.rules for event in rule.needs}
    return Plan(
        target=what,
        trace=workspace.trace,
        scratch=workspace.scratch,
        selected=[rule.code for rule in job.rules],
        needs=sorted(event.__name__ for event in needs),
        steps=settings.steps,
        seconds=settings.seconds,
        max_seconds=settings.max_seconds,
        # A pass that one rank cuts by its clock would leave the others waiting.
        batches_per_epoch=0 if job.ranks.are_several else settings.batches_per_epoch,
        polite=settings.polite,
        stdout_to_stderr=outputs.owns_stdout(job.outputs),
        runs_again=True,
        seed=secrets.randbits(32),
        ranks=job.ranks,
    )


def _run_again(request: Request, second: Again, job: _Job) -> launch.Recording:
    first = second.first
    _note(request, f"{first.how}; it is run again with {first.wanted}")
    run = _watch(request, second.plan, job)
    return run._replace(outcome=msgspec.structs.replace(run.outcome, first_run=first))


def _watch(request: Request, plan: Plan, job: _Job) -> launch.Recording:
    """A further run, in a folder of its own."""
    screen, progress = _screen(job.settings)
    with launch.workspace() as workspace, launch.Child(screen) as child, _only_output(request):
        plan = msgspec.structs.replace(plan, trace=workspace.trace, scratch=workspace.scratch)
        folders = _folders(plan.target)
        return child.watch(plan, timeout=job.settings.timeout or None, on_event=progress, folders=folders)


def _folders(what: Target) -> list[str]:
    """Where the program is likely to write: the working folder, and its own."""
    named = Path(what.name)
    return [os.getcwd(), *([str(named if named.is_dir() else named.parent)] if named.exists() else [])]


def _put_abandoned_back(request: Request) -> None:
    for done in launch.abandoned():
        paths = [*done.restored, *done.removed]
        said = (
            f"an earlier check was killed, and what its program had changed was put back, {plural(len(paths), 'path')}"
        )
        _note(request, f"{said}: {', '.join(paths[:3])}{' …' * (len(paths) > 3)}")
        for path in done.wrote:
            _note(request, f"{path} was left as it is: somebody else has written it since")
        for path, beside in done.beside.items():
            _note(request, f"what {path} held before is in {beside}")
        for path, why in done.failed.items():
            _note(request, f"{path} could not be put back: {why}")


def _screen(settings: Settings) -> tuple[Screen | None, Progress | None]:
    """A status line for a person who watches a terminal, and for nobody else."""
    is_first = this_rank(os.environ).rank == 0
    if not is_first or outputs.PERSON not in settings.output_format or not Screen.is_possible():
        return None, None
    progress = Progress(settings.steps)
    return Screen(progress.line), progress


def _load_judges(wanted: Sequence[Output]) -> None:
    importlib.import_module("autograd_doctor.engine")
    for output in wanted:
        importlib.import_module("autograd_doctor.renderers").is_format(output.format)


def _judge(trace: Trace, what: Target, outcome: Outcome, job: _Job, asked: Invocation, failed: list[Mistake]) -> Report:
    """The report, written. What cannot be written is added to `failed`, and what it would have changed is as before."""
    from autograd_doctor.judging.several_ranks import together

    others = _others(job.ranks)
    judged = together(_judged(trace, what, outcome, job), others)
    if asked.add_ignore is not None and judged.findings and judged.verdict in _JUDGED:
        with writing.noting(failed):
            for said in add_ignores(judged, job.repository, asked.add_ignore):
                print(f"note: {said}", file=sys.stderr)
        judged = together(_judged(trace, what, outcome, job), others)
    if asked.write_baseline or asked.prune_baseline:
        shelf = None
        with writing.noting(failed):
            shelf = _brought_up_to_date(judged, job.shelf, asked)
        if shelf is not None:
            accepted = job.accepted._replace(baseline=shelf.before())
            judged = together(_judged(trace, what, outcome, job._replace(accepted=accepted)), others)
    failed += outputs.write(judged, job.outputs, job.settings.color)
    return judged


def _judged(trace: Trace, what: Target, outcome: Outcome, job: _Job) -> Report:
    from autograd_doctor.engine import judge

    return judge(
        Trace((*trace.events, *(Noted(text=text, rank=job.ranks.rank) for text in job.said))),
        job.rules,
        job.tunables,
        target=what,
        fail_on=job.settings.fail_on,
        min_steps=job.settings.min_steps,
        outcome=outcome,
        accepted=job.accepted,
    )


def _brought_up_to_date(report: Report, shelf: Shelf, asked: Invocation) -> Shelf | None:
    """The baseline after a run that could be judged, written; None if the run says nothing of what is there."""
    file = config_file.shown(shelf.file)
    if report.verdict not in _JUDGED:
        print(f"note: {file} was left as it is: {report.exit_reason}", file=sys.stderr)
        return None
    changed = baselines.accepting(shelf, report) if asked.write_baseline else baselines.pruned(shelf, report)
    baselines.write(changed)
    holds = sum(known.count for known in changed.before().findings)
    print(f"note: {file} holds {plural(holds, 'finding')} of {shelf.key}", file=sys.stderr)
    return changed


def exit_code(judged: Report, exit_zero: bool) -> int:
    """What the shell is told: `--exit-zero` lets findings pass, and nothing else."""
    return 0 if exit_zero and judged.exit_code == ExitCode.FINDINGS else judged.exit_code


def _refused(run: launch.Recording, what: Target) -> bool:
    """Whether the child found a mistake in the settings or the inputs, which it has said on standard error.

    Raises `Mistake` if the child failed before it came to run anything.
    """
    trace, outcome = run
    if not trace.of(RunStarted) and not outcome.interrupted and not outcome.timed_out:
        how = f"exited with {outcome.exit_code}" if outcome.signal is None else f"was killed by signal {outcome.signal}"
        raise Mistake(f"the program was not started: its process {how}")
    # A function that trained was not refused: it exited with that code itself.
    may_be = what.kind in ("model", "function") or (what.kind == "call" and not trace.steps)
    return may_be and outcome.exit_code == ExitCode.USAGE and trace.crash is None


def _save(run: launch.Recording, what: Target, path: Path) -> None:
    data = io.BytesIO()
    recording.save(run.trace, data, CheckEnded(target=what, outcome=run.outcome))
    writing.write(path, data.getvalue())


def _with_last_word(trace: Trace) -> tuple[Trace, Target, Outcome]:
    """A saved trace with what was run and how it ended. Without its last record it is not whole."""
    for ended in trace.of(CheckEnded):
        return trace, ended.target, ended.outcome
    if not trace.of(RecordingDamaged):
        trace = Trace((*trace.events, RecordingDamaged(reason="its last record is missing")))
    started = next(iter(trace.of(RunStarted)), None)
    what = Target("script", started.target, started.arguments) if started else Target("script", "")
    return trace, what, Outcome(exit_code=trace.end.exit_code if trace.end else None)
