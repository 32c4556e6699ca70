"""Where reports go: formats bound to standard output or to files, and whether to colour them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from autograd_doctor.command import writing
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.report import Report
from autograd_doctor.reports import Reports, closing

PERSON = "full"
_DRAWN = ("full", "concise")
"""Formats that make do with what the terminal's encoding has."""
_WIDTH = 100


class Output(NamedTuple):
    """A format, and the file it is written to; None is standard output."""

    format: str
    file: Path | None = None


def parse(formats: Sequence[str], output_file: Path | None, *others: Path) -> list[Output]:
    """`FMT[:FILE]` words; `output_file` takes the format that names no file of its own. Raises `Mistake`.

    others: files that have a part in the check, and that no report may replace.
    """
    outputs = []
    for word in formats:
        name, colon, file = word.partition(":")
        _check_format(name)
        if colon and not file:
            raise Mistake(f"`{word}`: the file is missing, as in `{name}:report.txt`")
        outputs.append(Output(name, Path(file) if file else output_file))
    if output_file and all(":" in word for word in formats):
        raise Mistake(f"--output-file: no format left for `{output_file}`: every format already has a file")
    files = [output.file and output.file.resolve() for output in outputs]
    for output, resolved in zip(outputs, files, strict=True):
        if files.count(resolved) > 1:
            where = f"`{output.file}`" if output.file else "standard output"
            raise Mistake(f"two output formats go to {where}; give all but one a file, as in `json:report.json`")
        if output.file:
            writing.check(output.file, "report", *others)
    return outputs


def check_apart(outputs: Sequence[Output], *others: Path | str | None) -> None:
    """No report may overwrite what is checked or read, or what else is written."""
    for other in others:
        for output in outputs:
            if other and output.file and output.file.resolve() == Path(other).resolve():
                raise Mistake(f"{output.file}: the report would overwrite `{other}`")


def _check_format(name: str) -> None:
    if name == PERSON:
        return
    # Loading renderers takes a while that the usual check need not wait.
    from autograd_doctor.renderers import formats, is_format

    if not is_format(name):
        known = ", ".join(f"`{known}`" for known in formats())
        raise Mistake(f"`{name}`: no such output format{nearest(name, formats()) or f' (known: {known})'}")


def owns_stdout(outputs: Sequence[Output]) -> bool:
    """Whether standard output must hold nothing but a report that a machine reads."""
    return any(output.file is None and output.format != PERSON for output in outputs)


def write(
    report: Report | Reports, outputs: Sequence[Output], color: str, earlier: tuple[str, Report | Reports] | None = None
) -> list[Mistake]:
    """Render the report to every output, files first; returns what could not be written after all.

    earlier: a report to compare it with, and the name of its file. Where all go to files, the verdict and their names
    are said on standard error.
    """
    failed: list[Mistake] = []
    written: list[Path] = []
    for output in sorted(outputs, key=lambda output: output.file is None):
        with writing.noting(failed):
            _write(report, output, color, earlier)
            written += [output.file] if output.file else []
    if outputs and all(output.file for output in outputs):
        _tell_verdict(report, written)
    return failed


def _tell_verdict(report: Report | Reports, written: Sequence[Path]) -> None:
    from autograd_doctor.renderers.printable import one_line
    from autograd_doctor.renderers.wording import summary

    wrote = f"; wrote {', '.join(map(str, written))}" if written else ""
    said = closing(report) if isinstance(report, Reports) else summary(report)
    print(f"{one_line(said)}{wrote}", file=sys.stderr)


def _write(report: Report | Reports, output: Output, color: str, earlier: tuple[str, Report | Reports] | None) -> None:
    from autograd_doctor.renderers import shows_unicode

    if output.file is None:
        colors, unicode = colored(color, sys.stdout, os.environ), shows_unicode(sys.stdout.encoding)
        text = _rendered(report, output.format, earlier, width=width(), color=colors, unicode=unicode)
        say(text, encoded=output.format in _DRAWN)
    else:
        text = _rendered(report, output.format, earlier, width=_WIDTH, color=color == "always", unicode=True)
        writing.write(output.file, text.encode())


def _rendered(
    report: Report | Reports,
    output_format: str,
    earlier: tuple[str, Report | Reports] | None,
    *,
    width: int,
    color: bool,
    unicode: bool,
) -> str:
    """In one format. Of several reports, each is compared with the earlier one on the target of its name."""
    from autograd_doctor.renderers import Earlier, render, render_several

    file, before = earlier or ("", None)
    if isinstance(report, Report):
        compared = Earlier(file, before) if isinstance(before, Report) else None
        return render(output_format, report, width=width, color=color, unicode=unicode, earlier=compared)
    by_name = {each.name: Earlier(file, each.report) for each in before.reports} if isinstance(before, Reports) else {}
    return render_several(output_format, report, width=width, color=color, unicode=unicode, earlier=by_name)


def say(text: str, *, encoded: bool = True) -> None:
    """Write to standard output, of which a reader may take as much as it likes (`| head`). Raises `Mistake`.

    What machines read is UTF-8; else the encoding is that of the terminal.
    """
    try:
        buffer = None if encoded else getattr(sys.stdout, "buffer", None)
        if buffer is None:
            sys.stdout.write(text)
        else:
            sys.stdout.flush()
            buffer.write(text.encode())
        sys.stdout.flush()
    except OSError as error:
        # What is still buffered would fail once more when the interpreter ends, and spoil the exit code.
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise Mistake(f"standard output: cannot be written: {error.strerror}") from None


def width() -> int:
    return shutil.get_terminal_size((_WIDTH, 24)).columns


def colored(mode: str, stream: TextIO, environment: Mapping[str, str]) -> bool:
    """`--color`, then `NO_COLOR`, then `FORCE_COLOR`, then whether the stream is a terminal."""
    if mode != "auto":
        return mode == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"
