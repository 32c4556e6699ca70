"""What GitHub Actions is told without being asked: a summary of the job, and whose commands count."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograd_doctor.report import Report
from autograd_doctor.reports import Reports
from autograd_doctor.wording import plural

_SUMMARY = "GITHUB_STEP_SUMMARY"
_ROOM = 1024 * 1024
"""GitHub drops the summary of a step that is longer."""


def summarize(report: Report | Reports, environment: Mapping[str, str]) -> None:
    """Append the report in Markdown to the summary of the job, if there is one; an empty variable switches it off."""
    if not (name := environment.get(_SUMMARY)):
        return
    from autograd_doctor.renderers.markdown import several_within, within

    file = Path(name)
    try:
        before = file.stat().st_size if file.exists() else 0
        room = _ROOM - before - 1
        fitting = several_within(report, room) if isinstance(report, Reports) else within(report, room)
        if before + len(fitting.text.encode()) >= _ROOM:
            _note("it is full and lacks the report")
            return
        with file.open("a", encoding="utf-8") as summary:
            summary.write(f"\n{fitting.text}" if before else fitting.text)
    except OSError as error:
        _note(f"cannot be written: {error.strerror}")
        return
    if fitting.left_out:
        _note(f"it has no room for the details of {plural(fitting.left_out, 'finding')}")


def _note(said: str) -> None:
    print(f"note: the summary of the job ({_SUMMARY}): {said}", file=sys.stderr)


@contextmanager
def only_output() -> Iterator[None]:
    """On GitHub, what the program prints is output: a line of it that begins with `::error` commands nothing."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(f"\n::{token}::", file=sys.stderr, flush=True)
