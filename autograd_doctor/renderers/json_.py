"""The report as JSON, described by `report.schema.json`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from autograd_doctor.renderers import Options, Part
from autograd_doctor.report import CHECKSUM, Report, to_json
from autograd_doctor.reports import Reports, reports_to_json

NAME = "json"
SIGN = re.compile(
    r'\{\s*"schema_version": ?\d+,\s*("tool": ?\{\s*"name": ?"autograd_doctor"|"verdict": ?"[\w-]+",\s*"not_checked")'
)


def render(report: Report, options: Options) -> str:
    """Indented JSON; neither width nor colour matter."""
    return to_json(report).decode() + "\n"


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """Indented JSON, in which each report is as it would be by itself."""
    return reports_to_json(reports).decode() + "\n"


def schema(of: type[Report] | type[Reports] = Report) -> dict[str, Any]:
    """The JSON Schema of draft 7 that `report.schema.json` or `reports.schema.json` holds, made from our own types."""
    (top,), definitions = msgspec.json.schema_components([of], ref_template="#/definitions/{name}")
    for name in {"Report", of.__name__}:
        definitions[name]["properties"][CHECKSUM] = {"type": "string"}
        definitions[name]["required"].append(CHECKSUM)
    if of is Reports:
        definitions["Reports"]["required"].append("not_checked")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a report of autograd_doctor" if of is Report else "reports of autograd_doctor on several targets",
        **top,
        "definitions": {name: _described(definition) for name, definition in definitions.items()},
    }


def _described(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition whose description is free of the line ends of the docstring that it comes from."""
    return {**definition, "description": " ".join(definition["description"].split())}
