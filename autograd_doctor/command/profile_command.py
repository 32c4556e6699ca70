"""`doctor profile` on the command line."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Context, Option

from autograd_doctor.command.options import (
    HOW_LONG,
    Color,
    Config,
    Isolated,
    OutputFile,
    OutputFormat,
    Python,
    SaveTrace,
    request,
)


def profile(
    ctx: Context,
    script: Annotated[
        str,
        Argument(
            metavar="SCRIPT",
            help="A Python program, a notebook, `MODULE:FUNCTION`, or a module with `-m`.",
            show_default=False,
        ),
    ],
    arguments: Annotated[list[str] | None, Argument(metavar="ARGS", help="Passed to the program unchanged.")] = None,
    is_module: Annotated[bool, Option("-m", help="Run SCRIPT as a module, as `python -m` does.")] = False,
    sets: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="An argument for `MODULE:FUNCTION`; repeatable."),
    ] = None,
    steps: Annotated[
        int | None, Option(metavar="N", help="Minimum number of optimizer steps to watch.", rich_help_panel=HOW_LONG)
    ] = None,
    seconds: Annotated[
        float | None, Option(metavar="S", help="Minimum seconds of training to watch.", rich_help_panel=HOW_LONG)
    ] = None,
    max_seconds: Annotated[
        float | None, Option(metavar="S", help="Maximum seconds of training to watch.", rich_help_panel=HOW_LONG)
    ] = None,
    python: Python = None,
    output_format: OutputFormat = None,
    output_file: OutputFile = None,
    color: Color = None,
    save_trace: SaveTrace = None,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Measure where the time and the memory of a training iteration go.

    The program runs as in `doctor check`, and is stopped when enough was seen.
    Seconds and bytes are told by what the program does, by module, and by line.

    Exit codes: 0 measured, 2 a mistake in the command or the settings, 3 the
    program failed, 4 nothing could be measured, 130 Ctrl-C.
    """
    from autograd_doctor.command import checking

    asked = request(ctx, script, arguments or [], is_module=is_module, sets=sets or [])
    raise typer.Exit(checking.check(asked._replace(profiles=True)))
