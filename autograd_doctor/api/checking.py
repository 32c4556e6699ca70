"""`autograd_doctor.check`: `doctor check`, for a program that wants the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from autograd_doctor.api.shown_report import Report
from autograd_doctor.command import checking
from autograd_doctor.command.request import Request
from autograd_doctor.mistakes import Mistake

_ABOUT_PRINTING = ("color", "output_format")


def check(
    target: str | os.PathLike[str], *, arguments: Sequence[str] = (), is_module: bool = False, **settings: Any
) -> Report:
    """Run a training program under instruments, in a child process, and return the report on it.

    target: what `doctor check` takes: a script, a folder or archive with a `__main__.py`, a notebook, a file that
    defines a model, `"pkg.train:main"`; with `is_module`, the name of a module, as after `python -m`. arguments: what
    the program finds in `sys.argv` behind its name. settings: the keys of the settings file (`steps=100`,
    `select=["AD1"]`), which win over the environment and over the file that lies beside or above the target.

    Nothing is printed; the program itself writes to the standard output and error of this process. Raises `Mistake` for
    what `doctor check` exits with 2 for: a target that is not there or does not parse, a setting that is unknown or has
    a wrong value, or a call from within a program that is being checked. A program that crashes, hangs or does not
    train is no mistake: `report.verdict`, `report.exit_code` and `report.exit_reason` tell. On Ctrl-C the program is
    ended, and `KeyboardInterrupt` raised.
    """
    if os.environ.get("AUTOGRAD_DOCTOR") == "1":
        raise Mistake('check(): called by a program that is being checked (`if __name__ == "__main__":` is missing)')
    for key in _ABOUT_PRINTING:
        if key in settings:
            raise Mistake(f"check(): {key}: nothing is printed; `render(report, 'html')` gives a report as text")
    request = Request(
        os.fspath(target),
        tuple(arguments),
        is_module,
        options={**settings, "output_format": []},
        caller="check()",
    )
    report = checking.examined(request)
    if report is None:
        raise Mistake(f"check(): {request.name}: the program was not run; standard error says why")
    if report.verdict == "interrupted":
        raise KeyboardInterrupt
    return Report.of(report)
