"""A bare `doctor check`: the targets of the settings, one after another, with one report and one exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from autograd_doctor import config_file
from autograd_doctor.command import checking, outputs, workflow
from autograd_doctor.command.checking import Settled
from autograd_doctor.command.complaints import complain
from autograd_doctor.command.job import job_of
from autograd_doctor.command.request import Request, load_settings, working_folder
from autograd_doctor.findings import ExitCode
from autograd_doctor.interrupts import interrupts
from autograd_doctor.mistakes import Mistake
from autograd_doctor.ranks import this_rank
from autograd_doctor.reports import Named, Reports, together
from autograd_doctor.settings import target_list
from autograd_doctor.settings.target_list import Listed

_HOW = "give a program (`doctor check train.py`), or list `targets` in the settings"


def check(request: Request) -> int:
    """Check the targets that the settings list, or those of them that are asked for. Raises `Mistake`.

    What is wrong with any of them is said before the first is run.
    """
    listed = _listed(request)
    requests = [_request(request, each, is_one_of_several=len(listed) > 1) for each in listed]
    if len(requests) == 1:
        return checking.check(requests[0])
    _check_can_be_several(request)
    settled = [checking.settle(each) for each in requests]
    for each in settled:
        job_of(each.loaded, each.request, each.what)
    settings = load_settings(request).settings
    asked = outputs.parse(settings.output_format, request.output_file)
    failed: list[Mistake] = []
    reports = _judged([(each.name, one) for each, one in zip(listed, settled, strict=True)], failed)
    if reports.reports:
        _tell(outputs.write(reports, asked, settings.color), failed)
        workflow.summarize(reports, os.environ)
    code = reports.exit_code(request.asked.exit_zero)
    return ExitCode.USAGE if failed and code != ExitCode.INTERRUPTED else code


def _listed(request: Request) -> list[Listed]:
    here = working_folder()
    file = request.config or (None if request.asked.isolated else config_file.discover(here))
    if file is None:
        raise Mistake(f"nothing to check: {_HOW}")
    file = file.absolute()
    found = target_list.chosen(file, request.asked.target)
    if not found:
        raise Mistake(f"nothing to check: {config_file.shown(file)} lists no `targets`; {_HOW}")
    if request.config is None and file.parent != here.resolve():
        name = config_file.shown(file)
        raise Mistake(f"nothing to check here: targets of {name} are checked from its folder, {file.parent}")
    return found


def _request(request: Request, listed: Listed, *, is_one_of_several: bool) -> Request:
    """What is asked for, of one target."""
    is_call = not listed.is_module and ":" in listed.typed
    return request._replace(
        name=listed.typed,
        arguments=() if is_call else listed.arguments,
        is_module=listed.is_module,
        sets=listed.arguments if is_call else (),
        section=listed.section,
        label=listed.name if listed.is_named else "",
        is_one_of_several=is_one_of_several,
    )


def _check_can_be_several(request: Request) -> None:
    if request.save_trace:
        raise Mistake("--save-trace: a trace holds one target: choose it with `--target`")
    if this_rank(os.environ).are_several:
        raise Mistake("several ranks can run only one program: choose a target of the settings with `--target`")


def _judged(settled: Sequence[tuple[str, Settled]], failed: list[Mistake]) -> Reports:
    """The reports on all. A mistake that only the run of a target shows is told there, and keeps no other from being
    checked."""
    reports: list[Named] = []
    refused: list[str] = []
    with interrupts() as heard:
        for number, (name, each) in enumerate(settled, start=1):
            # What the program prints stands below the name of its target.
            print(f"note: target {number} of {len(settled)}: {name}", file=sys.stderr, flush=True)
            try:
                judged = checking.judge(each)
            except KeyboardInterrupt:
                break
            except Mistake as mistake:
                judged = checking.Judged(None, [mistake])
            _tell(judged.failed, failed)
            if judged.report is None:
                refused.append(name)
                continue
            reports.append(Named(name, judged.report))
            if judged.report.exit_code == ExitCode.INTERRUPTED:
                break
    done = {*(each.name for each in reports), *refused}
    left = [name for name, _ in settled if name in refused or name not in done]
    return together(reports, left, interrupted=bool(heard.count))


def _tell(mistakes: Sequence[Mistake], failed: list[Mistake]) -> None:
    """At once: what comes later may be interrupted."""
    for mistake in mistakes:
        complain(mistake)
    failed += mistakes
