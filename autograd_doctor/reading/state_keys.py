"""How the keys of a state differ from those of the module that it is loaded into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import torch

from autograd_doctor.reading.without_running import is_a

Shapes = Mapping[str, tuple[int, ...]]


class Renaming(NamedTuple):
    """What is to be done to the beginnings of a state's keys, so that so many of them fit."""

    how: Literal["", "remove", "add"] = ""
    prefix: str = ""
    fitting: int = 0


def shapes_of(state: Any) -> dict[str, tuple[int, ...]]:
    """The tensors of a mapping, by their keys; nothing of its class is called."""
    return {
        key: tuple(value.shape)
        for key, value in (dict.items(state) if is_a(state, dict) else ())
        if type(key) is str and isinstance(value, torch.Tensor)
    }


def renaming(missing: Shapes, unexpected: Shapes) -> Renaming:
    """The prefix that has to go from, or come before, most keys that were not expected, for the missing ones to fit."""
    found: Counter[tuple[Literal["remove", "add"], str]] = Counter()
    for key, shape in unexpected.items():
        found.update(("remove", prefix) for prefix, rest in _splits(key) if missing.get(rest) == shape)
    for key, shape in missing.items():
        found.update(("add", prefix) for prefix, rest in _splits(key) if unexpected.get(rest) == shape)
    for (how, prefix), fitting in found.most_common(1):
        return Renaming(how, prefix, fitting)
    return Renaming()


def _splits(key: str) -> Iterator[tuple[str, str]]:
    """A key, cut after each of its dots."""
    for position, letter in enumerate(key):
        if letter == ".":
            yield key[: position + 1], key[position + 1 :]


def nested_in(state: Any, missing: Shapes) -> tuple[str, int]:
    """The entry of a checkpoint that holds a state with keys that are missing, and how many; "" if there is none."""
    inner = {key: shapes_of(value) for key, value in (dict.items(state) if is_a(state, dict) else ())}
    fitting = {
        key: sum(missing.get(name) == shape for name, shape in held.items())
        for key, held in inner.items()
        if type(key) is str
    }
    best = max(fitting, key=fitting.__getitem__, default="")
    return (best, fitting[best]) if best and fitting[best] else ("", 0)
