"""The options that several commands share, and the panels that `--help` sorts them into.

Each is a parameter with the name of a field of `config.Settings` or `config.Invocation`: these say what it takes, and
what it is called in the environment and in a settings file. So its name is all that is said of it here twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option

from autograd_doctor.command import completion

HOW_LONG = "How long to watch"
RANKS = "Several processes"
WHAT = "What to check"
GATE = "What to accept"
OUTPUT = "Output"
SETTINGS = "Settings file"


class TextFormat(StrEnum):
    """How commands that run nothing print."""

    TEXT = "text"
    JSON = "json"


Script = Annotated[
    str | None,
    Argument(
        metavar="SCRIPT",
        help="A Python program, a notebook, `MODULE:FUNCTION`, or a module with `-m`.",
        show_default=False,
    ),
]
Arguments = Annotated[list[str] | None, Argument(metavar="ARGS", help="Passed to the program unchanged.")]
IsModule = Annotated[bool, Option("-m", help="Run SCRIPT as a module, as `python -m` does.")]
Sets = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="An argument for `MODULE:FUNCTION`; repeatable."),
]
Steps = Annotated[
    int | None, Option(metavar="N", help="Minimum number of optimizer steps to watch.", rich_help_panel=HOW_LONG)
]
Seconds = Annotated[
    float | None, Option(metavar="S", help="Minimum seconds of training to watch.", rich_help_panel=HOW_LONG)
]
MaxSeconds = Annotated[
    float | None, Option(metavar="S", help="Maximum seconds of training to watch.", rich_help_panel=HOW_LONG)
]
Select = Annotated[
    list[str] | None,
    Option(
        metavar="RULES",
        help="Rules to check: codes, names, prefixes (`AD1`), or `ALL`; comma-separated or repeated.",
        rich_help_panel=WHAT,
        autocompletion=completion.rules,
    ),
]
ExtendSelect = Annotated[
    list[str] | None,
    Option(
        metavar="RULES",
        help="Rules to check in addition to `--select` and the settings.",
        rich_help_panel=WHAT,
        autocompletion=completion.rules,
    ),
]
Ignore = Annotated[
    list[str] | None,
    Option(
        metavar="RULES",
        help="Rules to leave out, written as in `--select`.",
        rich_help_panel=WHAT,
        autocompletion=completion.rules,
    ),
]
FailOn = Annotated[
    str | None,
    Option(
        metavar="SEVERITY",
        help="Exit with 1 for findings of this severity or above: error, warning, info or never.",
        rich_help_panel=WHAT,
        autocompletion=completion.severities,
    ),
]
MinSteps = Annotated[
    int | None,
    Option(metavar="N", help="Training steps that must be seen; otherwise exit with 4.", rich_help_panel=WHAT),
]
OneTarget = Annotated[
    list[str] | None,
    Option(
        "--target",
        metavar="NAME",
        help="Check only this target of the settings; repeatable.",
        rich_help_panel=WHAT,
    ),
]
ExitZero = Annotated[
    bool | None,
    Option("--exit-zero", help="Exit with 0 instead of 1, even if there are findings.", rich_help_panel=WHAT),
]
NoIgnores = Annotated[
    bool | None,
    Option(
        "--no-ignores",
        help="Also count findings that comments, settings or the baseline silence.",
        rich_help_panel=GATE,
    ),
]
Baseline = Annotated[
    str | None,
    Option(
        metavar="FILE",
        help="File of accepted findings; default: .autograd_doctor/baseline.json, if it exists.",
        rich_help_panel=GATE,
    ),
]
WriteBaseline = Annotated[
    bool | None,
    Option("--write-baseline", help="Accept the current findings: write them to the baseline.", rich_help_panel=GATE),
]
PruneBaseline = Annotated[
    bool | None,
    Option("--prune-baseline", help="Remove from the baseline what was not found again.", rich_help_panel=GATE),
]
AddIgnore = Annotated[
    str | None,
    Option(
        metavar="[=REASON]",
        help="Silence the current findings by comments in the source.",
        rich_help_panel=GATE,
    ),
]
StrictBaseline = Annotated[
    bool | None,
    Option(
        "--strict-baseline/--no-strict-baseline",
        help="Exit with 1 if something in the baseline was not found again.",
        rich_help_panel=GATE,
        show_default=False,
    ),
]
Python = Annotated[
    str | None,
    Option(
        "--python",
        metavar="PATH",
        help="The program's Python, if it is not the one that runs the doctor.",
        rich_help_panel=WHAT,
    ),
]
Config = Annotated[Path | None, Option(metavar="FILE", help="Use this settings file.", rich_help_panel=SETTINGS)]
Isolated = Annotated[
    bool | None,
    Option("--isolated", help="Ignore settings files, and any baseline that is not named.", rich_help_panel=SETTINGS),
]
OutputFormat = Annotated[
    list[str] | None,
    Option(
        metavar="FMT[:FILE]",
        help="Report format, with an optional file; repeatable.",
        rich_help_panel=OUTPUT,
        autocompletion=completion.formats,
    ),
]
OutputFile = Annotated[
    Path | None,
    Option("--output-file", "-o", metavar="FILE", help="Write the report to this file.", rich_help_panel=OUTPUT),
]
Against = Annotated[
    Path | None,
    Option(metavar="FILE", help="An earlier report (format `json`) to compare with.", rich_help_panel=OUTPUT),
]
SaveTrace = Annotated[
    Path | None, Option(metavar="FILE", help="Keep the trace, for `doctor report`.", rich_help_panel=OUTPUT)
]
Color = Annotated[
    str | None,
    Option(metavar="WHEN", help="auto, always or never.", rich_help_panel=OUTPUT, autocompletion=completion.colors),
]
TextOrJson = Annotated[TextFormat, Option("--output-format", help="Output for people (text) or programs (json).")]


def request(
    ctx: Context, name: str, arguments: Sequence[str] = (), *, is_module: bool = False, sets: Sequence[str] = ()
) -> Any:
    """The request that the options of a command, and the environment, make of a target. Raises `Mistake`."""
    from autograd_doctor.command.request import Request
    from autograd_doctor.config import SELECTORS, Settings, invocation, known_options

    options = {key: ctx.params[key] for key in known_options() if ctx.params.get(key) not in (None, [], ())}
    options |= {key: str(value) for key, value in options.items() if isinstance(value, Path)}
    options |= {key: _words(options[key]) for key in SELECTORS if key in options}
    lasting = {key: value for key, value in options.items() if key in Settings.__struct_fields__}
    return Request(name, arguments, is_module, lasting, invocation(options, os.environ), sets)


def _words(given: Sequence[str]) -> list[str]:
    """ "AD1,AD2" and a repeated option say the same."""
    return [word.strip() for part in given for word in part.split(",")]
