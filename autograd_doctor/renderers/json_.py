"""The report as JSON, described by `report.schema.json`."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from autograd_doctor.renderers import Options
from autograd_doctor.report import CHECKSUM, Report, to_json

NAME = "json"
SIGN = re.compile(r'\{\s*"schema_version": ?\d+,\s*"tool": ?\{\s*"name": ?"autograd_doctor"')


def render(report: Report, options: Options) -> str:
    """Indented JSON; neither width nor colour matter."""
    return to_json(report).decode() + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of draft 7 that `report.schema.json` holds, made from the report's own types."""
    (top,), definitions = msgspec.json.schema_components([Report], ref_template="#/definitions/{name}")
    definitions["Report"]["properties"][CHECKSUM] = {"type": "string"}
    definitions["Report"]["required"].append(CHECKSUM)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a report of autograd_doctor",
        **top,
        "definitions": {name: _described(definition) for name, definition in definitions.items()},
    }


def _described(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition whose description is free of the line ends of the docstring that it comes from."""
    return {**definition, "description": " ".join(definition["description"].split())}
