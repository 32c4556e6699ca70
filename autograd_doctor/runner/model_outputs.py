"""What a model returns, taken apart: tensors, and the paths that lead to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch


def entry(output: Any, path: str) -> Any:
    """What lies at a path of names and indices with dots between them; the whole output if it is empty."""
    for step in filter(None, path.split(".")):
        output = _part(output, step)
    return output


def _part(output: Any, step: str) -> Any:
    if isinstance(output, Mapping):
        return output[step] if step in output else output[int(step)]
    if isinstance(output, Sequence) and step.isdigit():
        return output[int(step)]
    return getattr(output, step)


def tensors(output: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in what a model returned, with its path."""
    if isinstance(output, torch.Tensor):
        yield path, output
    else:
        for name, part in _parts(output):
            yield from tensors(part, f"{path}.{name}" if path else name)


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(output, Mapping):
        yield from ((str(name), part) for name, part in output.items())
    elif dataclasses.is_dataclass(output) or hasattr(output, "_fields"):
        names = getattr(output, "_fields", None) or [field.name for field in dataclasses.fields(output)]
        yield from ((name, getattr(output, name)) for name in names)
    elif isinstance(output, tuple | list):
        yield from ((str(number), part) for number, part in enumerate(output))
