"""The `targets` of a settings file: what a bare `doctor check` checks, each with arguments and settings of its own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from autograd_doctor import config, config_file
from autograd_doctor.config import Section, Settings
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.settings import calls

KINDS = ("script", "module", "function")
_OF_ALL = ("output_format", "color", "gradcheck", "targets")
"""Settings of the whole check: it has one report, whatever its targets are."""


class _Target(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What names a target; the settings of its own stand beside it."""

    script: str | UnsetType = UNSET
    module: str | UnsetType = UNSET
    function: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    arguments: list[str] = []


_WithSettings = msgspec.defstruct(
    "_WithSettings",
    [
        (field.name, field.type | UnsetType, UNSET)
        for field in msgspec.structs.fields(Settings)
        if field.name not in _OF_ALL
    ],
    bases=(_Target,),
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
)
_Table = msgspec.defstruct("_Table", [("targets", list[_WithSettings], msgspec.field(default_factory=list))])  # type: ignore[valid-type]


class Listed(NamedTuple):
    """A target of a settings file, as it would be typed: `typed` is a script, a module or a function.

    arguments: those of the program, of a function `NAME=VALUE`. is_named: whether the person has given it its name.
    """

    name: str
    typed: str
    is_module: bool
    arguments: Sequence[str]
    section: Section
    is_named: bool


def listed(file: Path) -> list[Listed]:
    """The targets of a settings file in its order. Raises `Mistake`."""
    values = config_file.read(file).get("targets", [])
    table: Any = config.checked(file, {"targets": values}, _Table)
    found = [_one(file, f"targets[{at}]", each, values[at]) for at, each in enumerate(table.targets)]
    counts = Counter(each.name for each in found)
    for each in found:
        if counts[each.name] > 1:
            said = f"expected a name for each target, found `{each.name}` {counts[each.name]} times"
            raise Mistake(f"{each.section.place}.name: {said}")
    return found


def chosen(file: Path, names: Sequence[str]) -> list[Listed]:
    """Those of the targets that are asked for, all without a name. Raises `Mistake`."""
    found = listed(file)
    known = [each.name for each in found]
    for name in names:
        if name not in known:
            there = nearest(name, known) or (
                f" (there are {', '.join(f'`{each}`' for each in known)})" if known else ""
            )
            raise Mistake(f"{config_file.shown(file)}: no such target: `{name}`{there}")
    return [each for each in found if not names or each.name in names]


def _one(file: Path, key: str, target: _Target, values: dict[str, Any]) -> Listed:
    kinds = {kind: value for kind in KINDS if isinstance(value := getattr(target, kind), str)}
    place = f"{config_file.shown(file)}: {key}"
    if len(kinds) != 1:
        there = " and ".join(f"`{kind}`" for kind in kinds) or "none of them"
        raise Mistake(f"{place}: expected one of the keys `script`, `module` and `function`, found {there}")
    ((kind, value),) = kinds.items()
    if not value or target.name == "":
        raise Mistake(f"{place}.{kind if not value else 'name'}: expected text, found an empty string")
    if (kind == "function") != (calls.is_call(value)) and kind != "module":
        said = "`function` takes MODULE:FUNCTION" if kind == "function" else "a function goes under `function`"
        raise Mistake(f"{place}.{kind}: {said}, found `{value}`")
    own = {each: given for each, given in values.items() if each not in _Target.__struct_fields__}
    own |= config.paths_from(file, own)
    return Listed(
        name=target.name if isinstance(target.name, str) else _short(kind, value),
        typed=value if kind == "module" else _from_here(file, value),
        is_module=kind == "module",
        arguments=target.arguments,
        section=Section(file, key, own),
        is_named=isinstance(target.name, str),
    )


def _short(kind: str, value: str) -> str:
    """ "train" of `scripts/train.py`, "pkg.train" of a module, "main" of `pkg.train:main`."""
    if kind == "function":
        return value.rpartition(":")[2]
    return Path(value).stem if kind == "script" else value


def _from_here(file: Path, value: str) -> str:
    """A path of a settings file counts from that file; a module of `MODULE:FUNCTION` is none."""
    where, colon, _ = value.rpartition(":")
    is_path = not colon or where.endswith((".py", ".ipynb")) or "/" in where
    return os.path.relpath(file.parent / value) if is_path and file.parent != Path.cwd() else value
