"""The options that several commands share, and the panels that `--help` sorts them into."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Option

HOW_LONG = "How long to watch"
WHAT = "What to check"
OUTPUT = "Output"
SETTINGS = "Settings file"


class TextFormat(StrEnum):
    """How commands that run nothing print."""

    TEXT = "text"
    JSON = "json"


Select = Annotated[
    list[str] | None,
    Option(help="Rules to check: codes, names, prefixes (`AD1`), or `ALL`; commas or repeated.", rich_help_panel=WHAT),
]
Ignore = Annotated[
    list[str] | None, Option(help="Rules to leave out, written as for `--select`.", rich_help_panel=WHAT)
]
FailOn = Annotated[
    str | None,
    Option(
        metavar="SEVERITY",
        help="Exit with 1 from this severity on: error, warning, info or never.",
        rich_help_panel=WHAT,
    ),
]
MinSteps = Annotated[
    int | None, Option(help="Training steps that must be seen; otherwise exit with 4.", rich_help_panel=WHAT)
]
ExitZero = Annotated[bool, Option("--exit-zero", help="Exit with 0 whatever was found.", rich_help_panel=WHAT)]
Config = Annotated[Path | None, Option(metavar="FILE", help="Use this settings file.", rich_help_panel=SETTINGS)]
Isolated = Annotated[bool, Option("--isolated", help="Read no settings file.", rich_help_panel=SETTINGS)]
OutputFormat = Annotated[
    list[str] | None,
    Option(metavar="FMT[:FILE]", help="Format of the report, and a file for it; repeatable.", rich_help_panel=OUTPUT),
]
OutputFile = Annotated[
    Path | None,
    Option("--output-file", "-o", metavar="FILE", help="Write the report here.", rich_help_panel=OUTPUT),
]
Color = Annotated[str | None, Option(metavar="WHEN", help="auto, always or never.", rich_help_panel=OUTPUT)]
TextOrJson = Annotated[TextFormat, Option("--output-format", help="For a person or for a machine.")]


def judging(
    select: list[str] | None,
    ignore: list[str] | None,
    fail_on: str | None,
    min_steps: int | None,
    output_format: list[str] | None,
    color: str | None,
) -> dict[str, Any]:
    """The options that the commands that judge share."""
    return {
        "select": _words(select),
        "ignore": _words(ignore),
        "fail_on": fail_on,
        "min_steps": min_steps,
        "output_format": output_format or None,
        "color": color,
    }


def _words(given: list[str] | None) -> list[str] | None:
    """ "AD1,AD2" and a repeated option say the same."""
    words = [word.strip() for part in given or [] for word in part.split(",")]
    return words or None
