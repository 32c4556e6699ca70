"""`doctor compare` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from autograd_doctor.command.options import TextFormat, TextOrJson


def compare(
    before: Annotated[Path, Argument(metavar="BEFORE", help="A report with a profile, in the format `json`.")],
    after: Annotated[Path, Argument(metavar="AFTER", help="A later one of the same program.")],
    fail_on_slower: Annotated[
        str | None, Option(metavar="PERCENT", help="Exit with 1 if an iteration takes so much longer.")
    ] = None,
    fail_on_larger: Annotated[
        str | None, Option(metavar="PERCENT", help="Exit with 1 if so much more memory is held.")
    ] = None,
    output_format: TextOrJson = TextFormat.TEXT,
) -> None:
    """Compare two saved profiles: what became slower or larger, beyond the noise.

    Times differ where the intervals of their medians have no point in common,
    and the medians differ by more than 5 %, as runs of one program may.

    Exit codes: 0, or 1 for what `--fail-on-slower` or `--fail-on-larger` forbids,
    2 a mistake in the command.
    """
    from autograd_doctor.command import comparing

    as_json = output_format is TextFormat.JSON
    raise typer.Exit(comparing.compare(before, after, slower=fail_on_slower, larger=fail_on_larger, as_json=as_json))
