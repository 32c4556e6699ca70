"""`doctor gradcheck` on the command line."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Context, Option

from autograd_doctor.command.options import (
    WHAT,
    Color,
    Config,
    ExitZero,
    FailOn,
    Isolated,
    OutputFile,
    OutputFormat,
    Python,
    SaveTrace,
    request,
)


def gradcheck(
    ctx: Context,
    function: Annotated[
        str,
        Argument(
            metavar="MODULE:FUNCTION", help="The function, as `ops.py:Cube` or `package.ops:Cube`.", show_default=False
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        Option(
            "--input",
            metavar="INPUT",
            help="An input of the function; repeatable, in the order of its parameters.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    double: Annotated[bool, Option("--double", help="Check second derivatives as well.", rich_help_panel=WHAT)] = False,
    python: Python = None,
    fail_on: FailOn = None,
    exit_zero: ExitZero = None,
    output_format: OutputFormat = None,
    output_file: OutputFile = None,
    color: Color = None,
    save_trace: SaveTrace = None,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Judge the gradients of one custom `autograd.Function`, in float64, by themselves.

    An INPUT is a shape (`3,4`, or `scalar`), with a dtype, a range or `no_grad`
    after colons where they matter: `3,4:int64:0..9`, `8:0.1..2`, `8:no_grad`.
    `NAME=VALUE` passes a plain value to a parameter: `factor=0.5`, `mode=mean`.
    Inputs of more than 512 elements in all are cut to a few of each dimension.
    Without `--input`, the `gradcheck` section of the settings is used.

    Exit codes: 0 the gradients are right, 1 findings, 2 a mistake in the command
    or the settings, 3 the function failed, 4 it could not be judged.
    """
    from autograd_doctor.command import gradchecking

    where, name, is_module = gradchecking.find(function)
    asked = request(ctx, where, is_module=is_module)
    raise typer.Exit(gradchecking.gradcheck(asked, name, inputs or [], double=double))
