"""Checking whole programs from tests, along the same path as `doctor check`: plan, runner, trace, rules, report."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ForkServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from msgspec.structs import replace

from autograd_doctor import engine, recording
from autograd_doctor.command.again import again
from autograd_doctor.findings import Finding
from autograd_doctor.judging.several_ranks import judge_together
from autograd_doctor.keeping.put_back import put_back
from autograd_doctor.launch import of_members
from autograd_doctor.members import Member, Traces
from autograd_doctor.plan import Outcome, Plan, Ranks, Target, plan_of_members
from autograd_doctor.report import Report
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.trace import Trace

ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / "tests" / "programs"
RANKS = PROGRAMS / "ranks"
"""Programs of several processes, which `test_several_processes.py` starts by the command line."""
PATIENCE = 300.0
_GUARDS = re.compile(r"\A(?:#!.*\n)?# guards: (AD\d{3}(?: AD\d{3})*)\n")
_HINTED = re.compile(r"^# hinted: (AD\d{3}(?: AD\d{3})*)$", re.MULTILINE)
_TESTS_IN_SERVERS = ("tests", "tests.harness", "tests.preloaded", "tests.preloaded_frameworks", "tests.warmed")
_shared_modules = 0
_FRAMEWORKS = re.compile(r"^\s*(?:import|from) (?:accelerate|lightning|transformers)\b", re.MULTILINE)
_DEVICES = re.compile(r"\btests\.stand_in\b")
_FAILED = re.compile(r"`\w+` failed in ")
_EXPECTATION = re.compile(r"#\s*(?:expect:|<-)\s*(AD\d{3}(?:[ ,]+AD\d{3})*)\s*$")


# ------------------------------------------------------------------------------------------------- programs, and marks


def programs(*, late: bool = False) -> list[Path]:
    """The programs of all families by name: those that are seen to their end, or the others."""
    alone = (path for path in PROGRAMS.rglob("*.py") if path.parent != RANKS)
    found = (path for path in alone if (path.parent.name == "late") == late)
    return sorted(found, key=lambda path: path.name)


def marks(source: str) -> list[tuple[str, int]]:
    """Codes and lines that a source asks for with `# expect: AD101 AD410` or `# <- AD101` at the end of a line."""
    found = []
    for number, line in enumerate(source.splitlines(), start=1):
        match = _EXPECTATION.search(line)
        if match:
            found += [(code, number) for code in re.findall(r"AD\d{3}", match.group(1))]
    return found


def guarded(source: str) -> list[str]:
    """The codes that a healthy program could wrongly set off, the nearest first: `# guards: AD202 AD216` on top."""
    match = _GUARDS.match(source)
    return match.group(1).split() if match else []


def hinted(source: str) -> list[str]:
    """The codes that may give a hint, and no error, on a healthy program that cannot be told from a slip."""
    match = _HINTED.search(source)
    return match.group(1).split() if match else []


def body_of(example: Callable[[], None]) -> str:
    """The body of a rule's example as the source of a script."""
    lines = textwrap.dedent(inspect.getsource(example)).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("def ")) + 1
    return textwrap.dedent("\n".join(lines[start:])) + "\n"


# ------------------------------------------------------------------------------------------------- running and judging


def record(plan: Plan, *, cwd: Path, log: Path) -> Outcome:
    """Run a plan in a process forked from a server that has torch imported already."""
    process = forked(_child, plan, str(cwd), str(log), near=Path(plan.target.name))
    process.join(PATIENCE)
    timed_out = process.is_alive()
    if timed_out:
        process.kill()
        process.join()
    put_back(Path(plan.scratch))
    code = process.exitcode
    died_of = -code if code is not None and code < 0 else None
    return Outcome(exit_code=None if died_of else code, signal=died_of, timed_out=timed_out)


class _Process(ForkServerProcess):
    """Processes that it starts begin as elsewhere on this system, and not at a server of their own."""

    _start_method = None


def forked(target: Callable[..., None], *arguments: Any, near: Path | None = None) -> ForkServerProcess:
    """A process that has torch imported already, and calls a function of a module.

    near: a program that it is going to run; where that imports a framework, the process has it imported, too, and where
    it brings a device, nothing was trained before in what it was forked from.
    """
    source = near.read_text("utf-8") if near is not None and near.is_file() else ""
    return _started(_Process(target=target, args=arguments), source)


def _started(process: _Process, source: str) -> ForkServerProcess:
    _server()
    if _DEVICES.search(source):
        server = _server_without_training()
    elif _FRAMEWORKS.search(source):
        server = _server_of_frameworks()
    else:
        process.start()
        return process
    with patch.object(forkserver, "connect_to_new_process", server.connect_to_new_process):
        process.start()
    return process


def answered(question: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a module returns in a process of its own, where programs may leave torch as they like; None
    if that process died."""
    here, there = _server().Pipe(duplex=False)
    source = "\n".join([inspect.getsource(question), *(each for each in arguments if isinstance(each, str))])
    process = _started(_Process(target=_answer, args=(there, question, arguments)), source)
    there.close()
    try:
        return here.recv() if here.poll(PATIENCE) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def _answer(there: Connection, question: Callable[..., Any], arguments: Sequence[Any]) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    there.send(question(*arguments))


@contextmanager
def recorded(
    program: Path | str, *, arguments: Sequence[str] = (), rules: Iterable[Rule] | None = None, **overrides: Any
) -> Iterator[tuple[Trace, Plan, Outcome]]:
    """The trace of a program given by its path or as source, its plan, and how the child ended.

    The program's folder lives as long as the block: whoever quotes the source does it inside.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = plan_for(_as_file(program, folder), folder, arguments=arguments, rules=rules, **overrides)
        outcome = record(plan, cwd=folder, log=folder / "output.txt")
        while (second := again(plan, recording.load(Path(plan.trace)))) is not None:
            plan = replace(second.plan, trace=f"{second.plan.trace} {second.first.lacked}")
            outcome = replace(record(plan, cwd=folder, log=folder / "output.txt"), first_run=second.first)
        yield recording.load(Path(plan.trace)), plan, outcome


def checked() -> tuple[Rule, ...]:
    """The rules of a check; the others judge a profile."""
    return tuple(rule for rule in all_rules() if not rule.profiles)


def profile_program(program: Path | str, rules: Iterable[Rule] = all_rules(), **overrides: Any) -> Report:
    """The same of a profile."""
    return check_program(program, rules=[rule for rule in rules if rule.profiles], batches_per_epoch=0, **overrides)


def check_program(
    program: Path | str, *, arguments: Sequence[str] = (), rules: Iterable[Rule] | None = None, **overrides: Any
) -> Report:
    """The report on a program given by its path or as source; `overrides` are fields of the plan."""
    chosen = checked() if rules is None else tuple(rules)
    tunables = {rule.code: rule.defaults for rule in chosen}
    with recorded(program, arguments=arguments, rules=chosen, **overrides) as (trace, plan, outcome):

        def judge(member: Member, between: Sequence[Finding] = ()) -> Report:
            return engine.judge(
                member.trace,
                chosen,
                tunables,
                target=plan.target,
                fail_on="error",
                min_steps=1,
                outcome=member.outcome,
                between=between,
            )

        members = Traces(Path(plan.members)).ended(trace, outcome)
        if members:
            return judge_together(members, judge, chosen, tunables, fail_on="error")
        return judge(Member(0, 1, trace, outcome))


def plan_for(
    script: Path, folder: Path, *, arguments: Sequence[str] = (), rules: Iterable[Rule] | None = None, **overrides: Any
) -> Plan:
    """The plan that the command line would make for a script, with everything written below `folder`."""
    chosen = checked() if rules is None else tuple(rules)
    needs = {event for rule in chosen for event in rule.needs}
    scratch = folder / "scratch"
    scratch.mkdir()
    members = folder / "members"
    members.mkdir()
    trace = folder / "trace"
    trace.touch()
    settings: dict[str, Any] = {
        "target": Target(kind="script", name=str(script), arguments=list(arguments)),
        "trace": str(trace),
        "scratch": str(scratch),
        "selected": [rule.code for rule in chosen],
        "needs": sorted(event.__name__ for event in needs),
        "seconds": 0.0,
        "runs_again": True,
        "members": str(members),
        "ranks": Ranks(folder=str(members)),
        **overrides,
    }
    plan = Plan(**settings)
    plan_of_members(plan.members).write_bytes(msgspec.json.encode(of_members(plan)))
    return plan


@cache
def _server() -> ForkServerContext:
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded", "tests.warmed"])
    return context


@cache
def _server_without_training() -> ForkServer:
    """With its first backward, torch counts the devices that there are."""
    server = ForkServer()
    server.set_forkserver_preload(["tests.preloaded"])
    return server


@cache
def _server_of_frameworks() -> ForkServer:
    server = ForkServer()
    server.set_forkserver_preload(["tests.preloaded", "tests.warmed", "tests.preloaded_frameworks"])
    return server


def _child(plan: Plan, cwd: str, log: str) -> None:
    from autograd_doctor.runner.run import run

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(cwd)
    leave_tests()
    sys.exit(run(plan))


def leave_tests() -> None:
    """Modules of the tests are the user's own to whoever looks for these: no program has them loaded.

    To look at the names of all that a server has imported would copy the pages that its processes share.
    """
    since = islice(reversed(sys.modules), len(sys.modules) - _shared_modules)
    for name in [*_TESTS_IN_SERVERS, *(name for name in [*since] if name.partition(".")[0] == "tests")]:
        sys.modules.pop(name, None)


def count_shared_modules() -> None:
    """In a server: what was imported by now is what its processes share."""
    global _shared_modules
    _shared_modules = len(sys.modules)


# A file name that belongs to nobody: otherwise the frame below the program's would count as the user's own.
_child.__code__ = _child.__code__.replace(co_filename="<harness>")


def _as_file(program: Path | str, folder: Path) -> Path:
    if isinstance(program, Path):
        return program
    script = folder / "train.py"
    script.write_text(program, encoding="utf-8")
    return script


# ------------------------------------------------------------------------------------------------------- what is wanted


def assert_findings(report: Report, expected: list[tuple[str, int]], *, slack: int) -> None:
    """The expected codes come first, each at most `slack` lines from its mark; no other error follows, and no look
    of an instrument failed."""
    first, rest = report.findings[: len(expected)], report.findings[len(expected) :]
    wanted = sorted(expected)
    found = sorted((finding.code, finding.location.line if finding.location else 0) for finding in first)
    assert [code for code, _ in found] == [code for code, _ in wanted], summary(report)
    for (code, line), (_, mark) in zip(found, wanted, strict=True):
        assert abs(line - mark) <= slack, f"{code} is at line {line} instead of {mark}\n{summary(report)}"
    assert not [finding for finding in rest if finding.severity == "error"], summary(report)
    assert not _failures(report), _failures(report)


def assert_healthy(report: Report, hinted: Sequence[str] = ()) -> None:
    """Training was seen, no instrument failed, and there is nothing to say, but for hints under these codes."""
    assert report.run.steps > 0, summary(report)
    assert report.run.stopped_by != "timeout", f"not ended within {PATIENCE:g} s\n{summary(report)}"
    assert {finding.code for finding in report.findings} == set(hinted), summary(report)
    assert not [finding for finding in report.findings if finding.severity == "error"], summary(report)
    assert not _failures(report), _failures(report)


def _failures(report: Report) -> list[str]:
    return [note for note in report.notes if _FAILED.match(note)]


def summary(report: Report) -> str:
    """The findings of a report, one to a line, for the message of a failed assertion."""
    lines = [f"{report.verdict} after {report.run.steps} steps: {report.exit_reason}"]
    for finding in report.findings:
        line = finding.location.line if finding.location else "?"
        lines.append(f"  {line}: {finding.severity} {finding.code} {finding.name}: {finding.message}")
        lines += [f"      note: {note}" for note in finding.notes]
    return "\n".join(lines)
