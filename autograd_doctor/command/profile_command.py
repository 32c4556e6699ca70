"""`doctor profile` on the command line."""

from __future__ import annotations

import typer
from typer import Context

from autograd_doctor.command.options import (
    Arguments,
    Color,
    Config,
    IsModule,
    Isolated,
    MaxSeconds,
    OutputFile,
    OutputFormat,
    Python,
    SaveTrace,
    Script,
    Seconds,
    Sets,
    Steps,
    request,
)
from autograd_doctor.mistakes import Mistake


def profile(
    ctx: Context,
    script: Script = None,
    arguments: Arguments = None,
    is_module: IsModule = False,
    sets: Sets = None,
    steps: Steps = None,
    seconds: Seconds = None,
    max_seconds: MaxSeconds = None,
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

    if script is None:
        raise Mistake("which program? `doctor profile train.py` measures one")
    asked = request(ctx, script, arguments or [], is_module=is_module, sets=sets or [])
    raise typer.Exit(checking.check(asked._replace(profiles=True)))
