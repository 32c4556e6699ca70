"""`autograd_doctor.assert_healthy`: a test that fails with the report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from autograd_doctor.api.shown_report import Report
from autograd_doctor.api.watching import watch

_INDENT = 8
"""What pytest puts in front of each line of a failure."""


def assert_healthy(train: Callable[[], object], *, calls: int = 1, steps: int | None = None, **settings: Any) -> Report:
    """Call `train()` under `watch`, and raise `AssertionError` with the report unless the training is healthy.

    train: a function without arguments that trains: a whole loop, or one training step that is called `calls` times.
    steps, settings: as of `watch`: how many training steps are watched, and `select`, `ignore`, `fail_on`…

    Healthy is what was seen to be: the assertion fails with findings at or above `fail_on` ("error" unless the settings
    say otherwise), and where nothing could be judged, as without a single training step. What `train` raises is raised,
    with the report as a note where it has findings. Returns the report, for more assertions about it. Raises `Mistake`
    as `watch` does.
    """
    __tracebackhide__ = True
    watched = watch(steps=steps, **settings)
    try:
        with watched:
            for _ in range(calls):
                train()
    except Exception as error:
        if watched.report.findings:
            error.add_note(_shown(watched.report))
        raise
    report = watched.report
    if report.verdict != "passed":
        raise AssertionError(f"training is not healthy: {report.exit_reason}\n\n{_shown(report)}")
    return report


def _shown(report: Report) -> str:
    """The report for people, as wide as pytest has room for."""
    width = shutil.get_terminal_size((80, 24)).columns - _INDENT
    return report.render(width=width).rstrip("\n")
