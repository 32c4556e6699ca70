"""Model mode: a `model:` section as the person would write it in a settings file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_BLOCKS = ("data", "arguments")
_PLAIN = re.compile(r"[A-Za-z_]\w*|<\w+>")
_NOT_TEXT = ("null", "true", "false", "yes", "no", "on", "off")
_TO_FILL_IN = {"class": "<name>", "loss": "CrossEntropyLoss"}
_DATA = {"inputs": {"shape": [3, 32, 32], "range": [0, 1]}, "targets": {"classes": 10}, "batch_size": 16}


def written(section: dict[str, Any]) -> str:
    """A section as YAML, each of its keys on a line."""
    return "\n".join(["model:", *_lines(section, "  ")]) + "\n"


def to_fill_in(found: dict[str, Any]) -> str:
    """A whole section, with what was found out, and something to replace for the rest."""
    named = {} if "factory" in found else {"class": _TO_FILL_IN["class"]}
    section = {**named, **found, "loss": found.get("loss", _TO_FILL_IN["loss"])}
    section.pop("data", None)
    return written({**section, "data": {**_DATA, **found.get("data", {})}})


def _lines(values: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if key in _BLOCKS and value:
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_flow(value)}"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(part)}' for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
    return value if plain else json.dumps(value, ensure_ascii=False)
