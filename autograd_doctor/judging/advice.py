"""What to do next, once it is known how the run went: told where the report alone does not say it."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePath

from msgspec import UNSET

from autograd_doctor.events.run import RecordingDamaged
from autograd_doctor.judging import source
from autograd_doctor.report import Report
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_USAGE = 2
"""What programs exit with that were given wrong arguments, as `argparse`, `click` and `typer` do."""
_NAMED = 4
_WITH_ARGUMENTS = 2


def advice(report: Report, trace: Trace) -> list[str]:
    """One sentence or two, or a command."""
    if report.findings:
        return [f"doctor explain {report.findings[0].code}"]
    if report.target.function is not UNSET:
        return []
    if report.verdict == "program-failed":
        return [_of_a_failure(report)]
    return list(_unjudged(report, trace)) if report.verdict == "not-judged" else []


def _of_a_failure(report: Report) -> str:
    run = report.run
    if run.stopped_by == "exited" and run.program_exit == _USAGE and not run.steps and _arguments(report):
        return f"exit status {_USAGE} usually means wrong arguments; {_arguments(report)}"
    return "make the program run without the doctor first: its own output says why it failed"


def _unjudged(report: Report, trace: Trace) -> Iterator[str]:
    run = report.run
    if damaged := trace.of(RecordingDamaged):
        yield from ["free space on that disk, and check again"] * any(event.full for event in damaged)
    elif run.stopped_by == "time":
        reach = "" if run.steps else "let the program start training sooner, or "
        yield f"{reach}raise `--max-seconds` to see more"
    elif run.steps:
        return
    elif run.processes_started:
        yield "let the program train in one process"
    elif run.stopped_by in ("hung", "timeout"):
        yield "if the program is only slow to start training, raise `--timeout`"
    elif trace.end is None:
        return
    elif report.target.block is not UNSET:
        yield "run the training steps inside the block: nothing else is watched"
    elif run.micro_batches:
        yield (
            f"call an optimizer's `step()`: {plural(run.micro_batches, 'backward')} ran, but the doctor judges "
            "optimizer steps"
        )
    else:
        yield from _untrained(report)


def _untrained(report: Report) -> Iterator[str]:
    """The program came to its end by itself, and trained nothing on the way."""
    name = report.target.script if report.target.script is not UNSET else ""
    body = _body(Path(report.target.cwd, name)) if name.endswith(".py") else []
    functions = [each for each in body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    customs = [each.name for each in body if isinstance(each, ast.ClassDef) and _is_custom(each)]
    if report.run.optimizers:
        first = report.run.optimizers[0]
        yield f"the program ended before the first step of `{first.name or first.kind}`: find out why"
    elif functions:
        yield f"the program ended without training; {_call(name, functions)}"
    elif customs:
        yield f"to check the custom function alone: `doctor gradcheck {shlex.quote(name)}:{customs[0]}`"
        return
    else:
        yield "the program ended without training: name the one that trains"
    if functions and _is_for_pytest(name, functions):
        yield "this is a pytest file: in it, the fixture `doctor` judges a training (`doctor.assert_healthy(train)`)"
    elif len(report.target.argv) < _WITH_ARGUMENTS and (said := _arguments(report)):
        yield f"if it needs arguments to train, {said}"


def _call(name: str, functions: list[ast.FunctionDef]) -> str:
    """How to check a function of the file: one that needs no arguments, if there is one."""
    chosen = min(functions, key=lambda each: len(_required(each)))
    sets = "".join(f" --set {each}=…" for each in _required(chosen))
    others = [f"`{each.name}`" for each in functions if each is not chosen]
    also = f"; there is also {', '.join(others[:_NAMED])}" if others else ""
    return f"to check one of its functions: `doctor check {shlex.quote(name)}:{chosen.name}{sets}`{also}"


def _body(path: Path) -> list[ast.stmt]:
    """What stands at the top level of a file."""
    try:
        return ast.parse("\n".join(source.lines(path))).body
    except (SyntaxError, ValueError):
        return []


def _is_custom(defined: ast.ClassDef) -> bool:
    """Whether a class is an `autograd.Function`, as far as its source tells."""
    return any(
        ast.unparse(base) in ("Function", "autograd.Function", "torch.autograd.Function") for base in defined.bases
    )


def _required(function: ast.FunctionDef) -> list[str]:
    given = function.args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)]
    keyword = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    without_default = positional[: len(positional) - len(given.defaults)]
    return [*without_default, *(each.arg for each, default in keyword if default is None)]


def _is_for_pytest(name: str, functions: list[ast.FunctionDef]) -> bool:
    """Whether pytest would collect the file, and a function of it."""
    stem = PurePath(name).stem
    by_name = stem.startswith("test_") or stem.endswith("_test")
    return by_name and any(each.name.startswith("test") for each in functions)


def _arguments(report: Report) -> str:
    """Where arguments go, empty if they go nowhere."""
    target = report.target
    if target.script is not UNSET:
        return f"put arguments after it: `doctor check {shlex.quote(target.script)} --name value`"
    if target.module is not UNSET:
        return f"put arguments after it: `doctor check -m {target.module} --name value`"
    if target.call is not UNSET:
        return f"pass arguments by name: `doctor check {shlex.quote(target.call)} --set NAME=VALUE`"
    return ""
