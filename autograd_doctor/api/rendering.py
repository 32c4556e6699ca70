"""`autograd_doctor.render`: a report as text, in any format that `--output-format` knows."""

from __future__ import annotations

from autograd_doctor import renderers
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.report import Report


def render(report: Report, output_format: str = "full", *, width: int = 100, color: bool = False) -> str:
    """The report in one format, as `doctor check --output-format` writes it.

    width: cells in a line, and color: whether there are escape sequences for colours, of formats that are made for a
    terminal. Raises `Mistake` for a format that there is not.
    """
    if not renderers.is_format(output_format):
        known = ", ".join(f"`{name}`" for name in renderers.formats())
        said = nearest(output_format, renderers.formats()) or f" (known: {known})"
        raise Mistake(f"render(): `{output_format}`: no such output format{said}")
    return renderers.render(output_format, report, width=width, color=color)
