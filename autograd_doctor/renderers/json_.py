"""The report as JSON, described by `report.schema.json`."""

from __future__ import annotations

from autograd_doctor.renderers import Options
from autograd_doctor.report import Report, to_json

NAME = "json"


def render(report: Report, options: Options) -> str:
    """Indented JSON; neither width nor colour matter."""
    return to_json(report).decode() + "\n"
