"""`doctor gradcheck` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from autograd_doctor.command.options import (
    OUTPUT,
    WHAT,
    Color,
    Config,
    ExitZero,
    FailOn,
    Isolated,
    OutputFile,
    OutputFormat,
    judging,
)


def gradcheck(
    function: Annotated[
        str, Argument(metavar="MODULE:FUNCTION", help="As in `ops.py:Cube` or `package.ops:Cube`.", show_default=False)
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
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
    output_format: OutputFormat = None,
    output_file: OutputFile = None,
    color: Color = None,
    save_trace: Annotated[
        Path | None, Option(metavar="FILE", help="Keep the trace, for `doctor report`.", rich_help_panel=OUTPUT)
    ] = None,
    config: Config = None,
    isolated: Isolated = False,
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
    from autograd_doctor.command.checking import Request

    where, name, is_module = gradchecking.find(function)
    options = judging(None, None, fail_on, None, output_format, color)
    request = Request(where, [], is_module, options, config, isolated, output_file, save_trace, exit_zero)
    raise typer.Exit(gradchecking.gradcheck(request, name, inputs or [], double=double))
