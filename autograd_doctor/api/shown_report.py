"""The report that `check`, `watch` and `assert_healthy` return: it can be shown, printed and saved."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Self

from autograd_doctor import report as plain
from autograd_doctor.api.rendering import render
from autograd_doctor.command import writing
from autograd_doctor.mistakes import Mistake
from autograd_doctor.wording import plural

_BY_ENDING = {
    ".html": "html",
    ".sarif.json": "sarif",
    ".json": "json",
    ".jsonl": "json-lines",
    ".md": "markdown",
    ".sarif": "sarif",
    ".txt": "full",
    ".xml": "junit",
}
_FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts" '
    'style="width: 100%; height: 640px; border: 0; resize: vertical; overflow: auto"></iframe>'
)
"""The page stays by itself: its style and scripts do not reach the notebook, nor those of the notebook it."""
_HEAD = "<head>\n"
_BASE = '<base href="about:srcdoc">\n'
"""Else links to parts of the page would lead to those of the notebook."""


class Report(plain.Report, frozen=True, kw_only=True):
    """One judged run: `verdict`, `exit_code`, `findings`, and whatever else the format `json` holds.

    At the end of a cell of a notebook it is shown as the page of the format `html`; `print(report)` writes what
    `doctor check` does.
    """

    @classmethod
    def of(cls, report: plain.Report) -> Self:
        """The same report, with these ways to show it."""
        return cls(**{name: getattr(report, name) for name in report.__struct_fields__})

    def render(self, output_format: str = "full", *, width: int = 100, color: bool = False) -> str:
        """The report as text; see `autograd_doctor.render`. Raises `Mistake` for a format that there is not."""
        return render(self, output_format, width=width, color=color)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, in the format that the end of its name stands for: `report.html`, `.json`,
        `.jsonl` (a line for each finding), `.md`, `.sarif`, `.txt` (as on the terminal), `.xml` (JUnit).

        An earlier report is replaced, and no other file. Raises `Mistake` for names that end otherwise, and for what
        cannot be written.
        """
        file = Path(path)
        output_format = next((name for ending, name in _BY_ENDING.items() if file.name.endswith(ending)), "")
        if not output_format:
            known = ", ".join(f"`{ending}`" for ending in _BY_ENDING)
            raise Mistake(f"save(): {file}: no format is known by the end of this name (known: {known})")
        writing.check(file, "report")
        writing.write(file, self.render(output_format).encode())

    def summary(self) -> str:
        """ "faults, 2 findings in 30 steps"."""
        found = plural(len(self.findings), "finding")
        return f"{self.verdict.replace('-', ' ')}, {found} in {plural(self.run.steps, 'step')}"

    def __repr__(self) -> str:
        return f"<report on {self.target.name}: {self.summary()}>"

    def __str__(self) -> str:
        return self.render().rstrip("\n")

    def _repr_html_(self) -> str:
        page = self.render("html").replace(_HEAD, _HEAD + _BASE, 1)
        return _FRAME.format(title=escape(f"autograd_doctor: {self.target.name}"), page=escape(page))
