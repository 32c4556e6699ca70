"""`doctor report`: a saved report is rendered again, a saved trace is judged again."""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_doctor.command import checking, outputs, writing
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.command.verdict import exit_code
from autograd_doctor.mistakes import Mistake, nearest_file
from autograd_doctor.report import WITHOUT_CHECKSUM, Report, ReportError, from_json

_JUDGES = ("select", "extend_select", "ignore", "fail_on", "min_steps", "baseline", "strict_baseline")
_ACCEPTS = ("no_ignores", "write_baseline", "prune_baseline")


def report(request: Request) -> int:
    """Write the reports; returns the exit code. Nothing is run. Raises `Mistake`."""
    path = Path(request.name)
    if path.is_dir():
        raise Mistake(f"{path}: a folder, not a saved report or trace")
    if not path.is_file():
        raise Mistake(f"{path}: no such file{nearest_file(path)}")
    data = _read(path)
    return _render(request, _report(path, data)) if _is_json(path, data) else checking.report(request)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from None


def _is_json(path: Path, data: bytes) -> bool:
    """A trace begins with a line of its own; whatever is called like JSON, or looks like it, is taken for a report."""
    return not data.startswith(b"autograd_doctor") and (path.suffix == ".json" or data.lstrip()[:1] == b"{")


def _report(path: Path, data: bytes) -> Report:
    try:
        report = from_json(data)
    except ReportError as error:
        raise Mistake(f"{path}: {error}") from None
    if report.schema_version == WITHOUT_CHECKSUM:
        print(
            f"note: {path}: without a checksum, as an older doctor wrote it: an edit would not be seen", file=sys.stderr
        )
    return report


def _render(request: Request, saved: Report) -> int:
    given = [name for name in _JUDGES if request.options.get(name) is not None]
    for name in (*given, *(name for name in _ACCEPTS if getattr(request.asked, name))):
        instead = "a saved report is not judged again; a trace is (`doctor check --save-trace FILE`)"
        raise Mistake(f"--{name.replace('_', '-')}: {instead}")
    loaded = load_settings(request)
    asked = outputs.parse(loaded.settings.output_format, request.output_file, *filter(None, (loaded.file,)))
    outputs.check_apart(asked, request.name)
    writing.tell(outputs.write(saved, asked, loaded.settings.color))
    return exit_code(saved, request.asked.exit_zero)
