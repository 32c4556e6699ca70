"""How the keys of a state differ from those of the module that it is loaded into."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from autograd_doctor.reading.module_tree import modules_in, parameters_in
from autograd_doctor.reading.without_running import is_a

Shapes = Mapping[str, tuple[int, ...]]
_SEQUENCES = (nn.Sequential, nn.ModuleList)
"""They number what they hold."""


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


class Swap(NamedTuple):
    """What the keys of a state begin with, and those of a module in its place, for so many of them to fit."""

    theirs: str = ""
    ours: str = ""
    fitting: int = 0


def swap(own: Shapes, given: Shapes) -> Swap:
    """The change of one beginning by which most of a state's keys fit a module, tensor by tensor."""
    found: Counter[tuple[str, str]] = Counter()
    places: defaultdict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for key, shape in own.items():
        places[_last(key), shape].append(key)
    for key, shape in given.items():
        found.update({_beginnings(key, ours) for ours in places[_last(key), shape]})
    for (theirs, ours), fitting in found.most_common(1):
        return Swap(theirs, ours, fitting)
    return Swap()


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _beginnings(one: str, other: str) -> tuple[str, str]:
    """What two keys begin with, up to the dot from which on they are the same."""
    ends = {rest for _, rest in _splits(one)} | {one}
    common = max((rest for rest in (other, *(rest for _, rest in _splits(other))) if rest in ends), key=len)
    return one.removesuffix(common), other.removesuffix(common)


def whole_parts(module: nn.Module, state: Collection[str], missing: Collection[str]) -> list[str]:
    """The outermost modules of which a state holds all that they have, by names that are no numbers of a sequence."""
    found: list[str] = []
    for path, inner in modules_in(module):
        is_named = path and not path.rpartition(".")[2].isdecimal()
        if is_named and not any(path.startswith(f"{outer}.") for outer in found):
            held = [f"{path}.{name}" for name, _ in parameters_in(inner)]
            is_whole = bool(held) and not any(key.startswith(f"{path}.") for key in missing)
            found += [path] * (is_whole and all(key in state for key in held))
    return found


def is_shifted(module: nn.Module, *kinds: Collection[str]) -> bool:
    """Whether there is a sequence in which keys of each of these kinds have a place, or past its end."""
    sequences = [f"{path}." if path else "" for path, inner in modules_in(module) if is_a(inner, _SEQUENCES)]
    return any(all(any(_is_place(key, start) for key in keys) for keys in kinds) for start in sequences)


def _is_place(key: str, sequence: str) -> bool:
    return key.startswith(sequence) and key.removeprefix(sequence).partition(".")[0].isdecimal()


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
