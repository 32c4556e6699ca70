"""`doctor fix` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Context, Option

from autograd_doctor.command.options import (
    HOW_LONG,
    Arguments,
    Color,
    Config,
    ExitZero,
    ExtendSelect,
    FailOn,
    Ignore,
    IsModule,
    Isolated,
    OutputFile,
    OutputFormat,
    Python,
    Script,
    Seconds,
    Select,
    Sets,
    Steps,
    request,
)
from autograd_doctor.mistakes import Mistake

_CHANGES = "Changes"
_SECONDS = 300.0


def fix(
    ctx: Context,
    script: Script = None,
    arguments: Arguments = None,
    is_module: IsModule = False,
    sets: Sets = None,
    apply: Annotated[
        bool, Option("--apply", help="Write the proven changes into the files.", rich_help_panel=_CHANGES)
    ] = False,
    diff: Annotated[
        Path | None,
        Option("--diff", metavar="FILE", help="Write them as a patch for `git apply`.", rich_help_panel=_CHANGES),
    ] = None,
    steps: Steps = None,
    seconds: Seconds = None,
    max_seconds: Annotated[
        float | None,
        Option(
            metavar="S",
            help="Maximum seconds of training to watch, and of trying changes (300).",
            rich_help_panel=HOW_LONG,
        ),
    ] = None,
    python: Python = None,
    select: Select = None,
    extend_select: ExtendSelect = None,
    ignore: Ignore = None,
    fail_on: FailOn = None,
    exit_zero: ExitZero = None,
    output_format: OutputFormat = None,
    output_file: OutputFile = None,
    color: Color = None,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Check a program, make changes for what is found, and prove them by running it again.

    Each change is tried on a copy, from the same random numbers: it is proven if the
    finding is gone, none came, and what must not change has not. Nothing is written
    without `--apply`.

    Exit codes: as `doctor check` would end with the proven changes made.
    """
    from autograd_doctor.command import fixing

    if script is None:
        raise Mistake("which program? `doctor fix train.py` tries changes for what is found in one")
    asked = request(ctx, script, arguments or [], is_module=is_module, sets=sets or [])
    raise typer.Exit(fixing.fix(asked._replace(fixes=True), seconds=max_seconds or _SECONDS, apply=apply, diff=diff))
