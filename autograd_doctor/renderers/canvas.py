"""What the text renderers draw with: glyphs, styles, wrapping, and the way from styled lines to a string."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from rich.console import Console
from rich.text import Text

from autograd_doctor.findings import Severity
from autograd_doctor.renderers import Options
from autograd_doctor.renderers.printable import printable

SEVERITY_STYLES: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
GUTTER = "blue"
RELATED = "blue"
FAINT = "dim"
GOOD = "bold green"
NARROW = 16
"""Prose in fewer cells than this is better put on lines of its own."""


@dataclass(frozen=True)
class Glyphs:
    """Characters for drawing; the defaults are ASCII."""

    bar: str = "|"
    top: str = "/"
    side: str = "|"
    bottom: str = "\\"
    reach: str = "_"
    cut: str = "..."
    separator: str = "-"
    good: str = "ok:"
    block: str = "#"
    levels: str = "_.-=+*%#"


_UNICODE = Glyphs(
    bar="│", top="╭", side="│", bottom="╰", reach="─", cut="…", separator="·", good="✓", block="█", levels="▁▂▃▄▅▆▇█"
)


@dataclass(frozen=True)
class Canvas:
    """Where and how to draw."""

    options: Options
    glyphs: Glyphs = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "glyphs", _UNICODE if self.options.unicode else Glyphs())

    @property
    def width(self) -> int:
        return self.options.width

    def prose(self, text: str, style: str = "") -> Text:
        """Text of a finding, with identifiers in backticks set off."""
        styled = Text(printable(text, unicode=self.options.unicode), style=style)
        styled.highlight_regex(r"`[^`\n]+`", "bold")
        return styled

    def beside(self, prefix: Text, body: Text) -> Iterator[Text]:
        """A body wrapped to the right of a prefix, or below it where there is too little room."""
        margin = prefix.cell_len
        fits = "\n" not in body.plain and margin + body.cell_len <= self.width
        if self.width - margin < NARROW and not fits:
            margin = 4
            yield from self.indented(prefix, margin)
            prefix = Text(" " * margin)
        for number, line in enumerate(wrap(body, self.width - margin)):
            yield Text.assemble(prefix if number == 0 else " " * margin, line)

    def indented(self, body: Text, indent: int = 2) -> Iterator[Text]:
        """A body whose lines after the first are indented."""
        for number, line in enumerate(wrap(body, self.width - indent)):
            yield Text.assemble("" if number == 0 else " " * indent, line)

    def text(self, lines: Iterable[Text]) -> str:
        """The lines as a string, with colour if asked for."""
        colors = self.options.color
        file = io.StringIO()
        console = Console(
            file=file,
            width=self.width,
            force_terminal=colors,
            color_system="standard" if colors else None,
            no_color=not colors,
            legacy_windows=False,
            force_jupyter=False,
            markup=False,
            emoji=False,
            highlight=False,
        )
        for line in lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
        return file.getvalue()


def wrap(text: Text, width: int) -> list[Text]:
    """The text in lines of at most `width` cells; longer words are cut."""
    lines = [
        line
        for paragraph in text.split("\n", allow_blank=True)
        for line in paragraph.wrap(_console(), max(1, width), overflow="fold") or [Text("")]
    ]
    for line in lines:
        line.rstrip()
    return lines or [Text("")]


@cache
def _console() -> Console:
    return Console(file=io.StringIO(), width=80, color_system=None)
