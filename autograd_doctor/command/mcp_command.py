"""`doctor mcp` on the command line."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

from typer import Option

from autograd_doctor.mistakes import Mistake


def mcp(
    folder: Annotated[
        Path, Option(metavar="DIR", help="The folder of the programs, which no path may leave; default: this one.")
    ] = Path(),
) -> None:
    """Serve coding agents over standard input and output, by the Model Context Protocol.

    A client starts it, as in `{"command": "doctor", "args": ["mcp"]}`. Its tools check,
    fix and profile programs of one folder, and explain rules.
    """
    if importlib.util.find_spec("mcp") is None:
        raise Mistake("doctor mcp: needs the package `mcp`: `python -m pip install 'autograd-doctor[mcp]'`")
    if not folder.is_dir():
        raise Mistake(f"--folder: {folder}: no such folder")
    from autograd_doctor.serving.server import Doctor

    Doctor(folder).server.run()
