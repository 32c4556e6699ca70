"""A request with everything settled: target, rules, what is accepted, where reports go."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from autograd_doctor import interpreter, target
from autograd_doctor.accepted import Accepted
from autograd_doctor.command import baselines, outputs, writing
from autograd_doctor.command.baselines import Shelf
from autograd_doctor.command.outputs import Output
from autograd_doctor.command.request import Request, folder_of, working_folder
from autograd_doctor.config import Invocation, Loaded, ModelSection, Settings
from autograd_doctor.findings import Number
from autograd_doctor.interpreter import OWN, Interpreter
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import CallPlan, ModelPlan, Ranks, Target
from autograd_doctor.ranks import ALONE, this_rank
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.settings import calls, model_section, selection
from autograd_doctor.settings.model_file import ModelFile, look


class Job(NamedTuple):
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
    python: Interpreter = OWN
    profiles: bool = False
    fixes: bool = False


def job_of(loaded: Loaded, request: Request, what: Target, cwd: str = "") -> Job:
    """`cwd` is where the program ran, if it ran before."""
    settings, catalogue = loaded.settings, all_rules()
    rules = _rules(loaded, request, what)
    if not rules and not request.profiles:
        raise Mistake("no rules left to check: `select` and `ignore` exclude all of them")
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
    return Job(
        settings,
        rules,
        selection.tunables(loaded, catalogue),
        written,
        accepted,
        shelf,
        baselines.repository(folder_of(request)),
        loaded.said,
        this_rank(os.environ),
        profiles=request.profiles,
        fixes=request.fixes,
    )


def _rules(loaded: Loaded, request: Request, what: Target) -> list[Rule]:
    if what.kind == "function":
        return selection.about_functions(all_rules())
    if request.profiles:
        return selection.about_profiles(loaded, all_rules())
    return selection.selected(loaded, all_rules())


def _shelf(loaded: Loaded, request: Request, what: Target, cwd: str) -> tuple[Shelf, bool]:
    """The baseline for a target, and whether there is one."""
    asked, named = request.asked, loaded.settings.baseline
    changing = [option for option in ("write_baseline", "prune_baseline") if getattr(asked, option)]
    options = [f"`--{option.replace('_', '-')}`" for option in (*changing, *_exclude_these(asked))]
    if len(options) > 1:
        raise Mistake(f"{' and '.join(options)} cannot be used together")
    found = Path(named) if named else None if asked.isolated else baselines.find(folder_of(request))
    file = found or baselines.default(folder_of(request), None if request.config else loaded.file)
    if not asked.write_baseline and not file.is_file() and (named or changing):
        raise baselines.missing(file, loaded.where("baseline") if named else options[0].strip("`"))
    if changing:
        baselines.check_writable(file)
    place = cwd or str(working_folder())
    return baselines.shelf(file, what, place, request.label), found is not None and file.is_file()


def _exclude_these(asked: Invocation) -> Iterator[str]:
    if asked.add_ignore is not None:
        yield "add_ignore"
    if asked.no_ignores:
        yield "no_ignores"


def interpreter_of(request: Request, loaded: Loaded) -> Interpreter:
    """The Python that runs the target. Raises `Mistake` if it cannot be checked there."""
    return interpreter.of_program(loaded.settings.python, loaded.where("python"), folder_of(request))


def call_of(request: Request, python: Interpreter) -> tuple[Target, CallPlan]:
    """A function as the target, and what it is given."""
    if not calls.is_call(request.name):
        raise Mistake("--set: passes arguments to a function, as in `doctor check pkg.train:main --set epochs=1`")
    if request.is_module:
        raise Mistake(f"{request.name}: `-m` runs a module, but this names a function in a module (leave `-m` out)")
    return calls.call(request.name, request.sets, python)


def target_of(request: Request, loaded: Loaded, python: Interpreter) -> tuple[Target, ModelPlan | None]:
    """The target, and in model mode how to train it."""
    if request.is_module:
        return target.module(request.name, request.arguments, python), None
    if request.name.endswith(".ipynb") and Path(request.name).is_file():
        return target.notebook(request.name, request.arguments, python), None
    found = target.script(request.name, request.arguments, python)
    if not Path(request.name).is_file() or not request.name.endswith(".py"):
        return found, None
    file = look(request.name, python)
    plan = _model_plan(file, request, loaded)
    return (Target("model", found.name, found.arguments) if plan else found), plan


def may_be_assumed(what: Target, loaded: Loaded) -> bool:
    """Whether a file that turns out to train nothing may be trained as a model, of which no settings speak."""
    is_file = what.kind == "script" and what.name.endswith(".py") and Path(what.name).is_file()
    return is_file and loaded.settings.model is None


def _model_plan(file: ModelFile, request: Request, loaded: Loaded) -> ModelPlan | None:
    """How to train the model of a file, None if it is a program that trains by itself.

    A section that was found rather than asked for is not for a program of the same folder.
    """
    section = loaded.settings.model
    is_asked_for = request.config or (request.section and "model" in request.section.values)
    if section and loaded.file and (is_asked_for or file.is_for_model_mode):
        return model_section.plan(file, section, loaded.origins["model"])
    if file.is_for_model_mode and model_section.needs_nothing(file):
        return model_section.plan(file, ModelSection(), "")
    return None
