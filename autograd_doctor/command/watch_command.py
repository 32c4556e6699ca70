"""`doctor watch` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Context

from autograd_doctor.command.options import Color, Config, Isolated, request

_FOLDER = Path("run.trace")


def watch(
    ctx: Context,
    folder: Annotated[Path, Argument(metavar="FOLDER", help="Where `autograd_doctor.monitor` records.")] = _FOLDER,
    color: Color = None,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Follow a run that is monitored: its steps, losses and norms, and what was found so far.

    On a terminal, a picture that is brought up to date each second. Elsewhere,
    a line each minute, and one for each finding. Ctrl-C leaves the run alone.

    Exit codes: when the run is over, or its process is gone, those of `doctor
    report FOLDER`; 2 a mistake in the command, 130 Ctrl-C.
    """
    from autograd_doctor.command import following

    raise typer.Exit(following.watch(request(ctx, str(folder))))
