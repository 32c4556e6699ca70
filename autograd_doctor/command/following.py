"""`doctor watch`: a run that is being recorded, followed until it is over."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from autograd_doctor.command import monitored_runs, run_view
from autograd_doctor.command.outputs import colored, say
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.monitoring.poll import Poll, Seen
from autograd_doctor.renderers import Options, shows_unicode
from autograd_doctor.renderers.canvas import Canvas
from autograd_doctor.renderers.printable import one_line
from autograd_doctor.renderers.wording import summary

_EVERY = 1.0
_SAID_EVERY = 60.0
"""Seconds between two lines where there is no terminal."""


def watch(request: Request) -> int:
    """Show a run until it is over; returns the exit code that `doctor report` has then. Raises `Mistake`."""
    path = Path(request.name)
    _check(path)
    color = load_settings(request).settings.color
    poll = Poll(path, time.time)
    is_live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    run = _shown(poll, path, color) if is_live else _said(poll)
    report, _ = monitored_runs.judged(request)
    ended = "" if is_live else run_view.ending(run[0])
    say(f"{ended}\n{one_line(summary(report))}\n`doctor report {path}` shows it in full\n")
    return report.exit_code


def _check(path: Path) -> None:
    if not path.exists():
        folders = [each.name for each in path.parent.iterdir() if each.is_dir()] if path.parent.is_dir() else []
        raise Mistake(f"{path}: no such folder{nearest(path.name, folders)}")
    if not path.is_dir():
        raise Mistake(f"{path}: a file, not the folder of a run that is monitored (`doctor report {path}` reads files)")


def _shown(poll: Poll, path: Path, color: str) -> list[Seen]:
    """On a terminal: one picture that is brought up to date."""
    from rich.console import Console, Group
    from rich.live import Live

    colors = colored(color, sys.stdout, os.environ)
    console = Console(force_terminal=True, no_color=not colors, highlight=False, legacy_windows=False)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        while True:
            run = poll.look()
            canvas = Canvas(Options(console.width, colors, shows_unicode(sys.stdout.encoding)))
            live.update(Group(*run_view.picture(canvas, path, run, console.height - 1)), refresh=True)
            if _is_over(run):
                return run
            time.sleep(_EVERY)


def _said(poll: Poll) -> list[Seen]:
    """Elsewhere: a line each minute, and one for each finding."""
    told, at = set[str](), 0.0
    while True:
        run = poll.look()
        for found in run_view.findings(run):
            if found.finding.fingerprint not in told:
                told.add(found.finding.fingerprint)
                say(run_view.sentence(found) + "\n")
        if not at or time.monotonic() - at >= _SAID_EVERY or _is_over(run):
            at = time.monotonic()
            say(run_view.minute(run) + "\n")
        if _is_over(run):
            return run
        time.sleep(_EVERY)


def _is_over(run: Sequence[Seen]) -> bool:
    return all(each.is_over for each in run)
