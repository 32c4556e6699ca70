"""`doctor report`: a saved report is rendered again, a saved trace is judged again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from autograd_doctor.command import checking, monitored_runs, outputs, writing
from autograd_doctor.command.outputs import Output
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.command.verdict import exit_code
from autograd_doctor.mistakes import Mistake, nearest_file
from autograd_doctor.report import WITHOUT_CHECKSUM, Report, ReportError, from_json
from autograd_doctor.reports import Reports, is_reports, reports_from_json

_JUDGES = ("select", "extend_select", "ignore", "fail_on", "min_steps", "baseline", "strict_baseline")
_ACCEPTS = ("no_ignores", "write_baseline", "prune_baseline")


def report(request: Request, against: Path | None = None) -> int:
    """Write the reports; returns the exit code. Nothing is run. Raises `Mistake`.

    against: an earlier report, to tell what has become of it.
    """
    path = Path(request.name)
    if monitored_runs.is_run(path) and not against:
        return monitored_runs.report(request)
    if path.is_dir() and not against:
        return checking.report(request)
    data = _read(path)
    if not _is_json(path, data):
        if against:
            raise Mistake(
                f"--against: {path} is a trace, but only reports can be compared (`doctor report {path} -o "
                "report.json` makes one)"
            )
        return checking.report(request)
    return _render(request, _report(path, data), (str(against), _report(against, _read(against))) if against else None)


def read_report(path: Path) -> Report | Reports:
    """What a file holds that was written in the format `json`. Raises `Mistake`."""
    data = _read(path)
    if not _is_json(path, data):
        raise Mistake(f"{path}: not a report (`doctor report {path} --output-format json` makes one of a trace)")
    return _report(path, data)


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise Mistake(f"{path}: a folder, not a saved report or trace")
    if not path.is_file():
        raise Mistake(f"{path}: no such file{nearest_file(path)}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from None


def _is_json(path: Path, data: bytes) -> bool:
    """A trace begins with a line of its own; whatever is called like JSON, or looks like it, is taken for a report."""
    return not data.startswith(b"autograd_doctor") and (path.suffix == ".json" or data.lstrip()[:1] == b"{")


def _report(path: Path, data: bytes) -> Report | Reports:
    try:
        if is_reports(data):
            return reports_from_json(data)
        report = from_json(data)
    except ReportError as error:
        raise Mistake(f"{path}: {error}") from None
    if report.schema_version == WITHOUT_CHECKSUM:
        print(f"note: {path}: has no checksum, as reports of older versions: edits cannot be detected", file=sys.stderr)
    return report


def _render(request: Request, saved: Report | Reports, earlier: tuple[str, Report | Reports] | None) -> int:
    given = [name for name in _JUDGES if request.options.get(name) is not None]
    for name in (*given, *(name for name in _ACCEPTS if getattr(request.asked, name))):
        instead = "a saved report cannot be judged again; a trace can (`doctor check --save-trace FILE`)"
        raise Mistake(f"--{name.replace('_', '-')}: {instead}")
    loaded = load_settings(request)
    asked = outputs.parse(loaded.settings.output_format, request.output_file, *filter(None, (loaded.file,)))
    outputs.check_apart(asked, request.name, earlier and earlier[0])
    if earlier:
        _check_compares(asked)
        if isinstance(saved, Reports) != isinstance(earlier[1], Reports):
            several, one = (request.name, earlier[0]) if isinstance(saved, Reports) else (earlier[0], request.name)
            raise Mistake(f"--against: {several} has reports on several targets, and {one} on one")
    writing.tell(outputs.write(saved, asked, loaded.settings.color, earlier))
    if isinstance(saved, Reports):
        return saved.exit_code(request.asked.exit_zero)
    return exit_code(saved, request.asked.exit_zero)


def _check_compares(asked: Sequence[Output]) -> None:
    from autograd_doctor.renderers import COMPARING

    for output in asked:
        if output.format not in COMPARING:
            known = ", ".join(f"`{name}`" for name in COMPARING)
            raise Mistake(f"--against: `{output.format}` shows a single report ({known} can compare two)")
