"""The settings file: where it is looked for, and how YAML and TOML become plain data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import yaml

from autograd_doctor.mistakes import Mistake, nearest_file

NAMES = ("autograd_doctor.yaml", "autograd_doctor.yml", ".autograd_doctor.yaml")
PYPROJECT = "pyproject.toml"
_TABLES = ("autograd_doctor", "autograd-doctor")


def discover(folder: Path) -> Path | None:
    """The settings file that applies to a folder: the first one upward, no further than the repository's root."""
    return next((found for here in upward(folder) if (found := in_folder(here))), None)


def upward(folder: Path) -> Iterator[Path]:
    """A folder and those above it, no further than the repository's root."""
    start = folder.resolve()
    for here in (start, *start.parents):
        yield here
        if (here / ".git").exists():
            return


def in_folder(folder: Path) -> Path | None:
    """The settings file of a folder, if there is one."""
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    pyproject = folder / PYPROJECT
    return pyproject if pyproject.is_file() and _table(parse_toml(pyproject)) is not None else None


def read(path: Path) -> dict[str, Any]:
    """The settings that a file holds, not yet validated. Raises `Mistake` if it is no mapping of settings."""
    if not path.is_file():
        raise Mistake(f"{shown(path)}: no such settings file{nearest_file(path)}")
    if path.suffix == ".toml":
        document = parse_toml(path)
        table = _table(document)
        values: Any = document if table is None and path.name != PYPROJECT else table
    else:
        values = _parse_yaml(path)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise Mistake(f"{shown(path)}: expected a mapping of settings, found {describe(values)}")
    return values


def lines(path: Path) -> dict[str, int]:
    """The line of each key and entry of a settings file that can be read, by names such as `ignore[0].code`."""
    if path.suffix == ".toml":
        return _toml_lines(_text(path).split("\n"))
    root = yaml.compose(_text(path), Loader=_Loader)
    return dict(_yaml_lines(root, "")) if root else {}


def _yaml_lines(node: yaml.Node, name: str) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{name}.{key.value}".lstrip(".")
            yield below, key.start_mark.line + 1
            yield from _yaml_lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield f"{name}[{number}]", value.start_mark.line + 1
            yield from _yaml_lines(value, f"{name}[{number}]")


def _toml_lines(rows: list[str]) -> dict[str, int]:
    """The parser names no lines, but what it makes of the first lines alone tells what the last of them adds."""
    found: dict[str, int] = {}
    begun = 1
    for last in range(1, len(rows) + 1):
        try:
            document = tomllib.loads("\n".join(rows[:last]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        table = _table(document)
        for name in _names(document if table is None else table, ""):
            found.setdefault(name, begun)
        begun = last + 1
    return found


def _names(values: Any, name: str) -> Iterator[str]:
    below = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in below:
        inner = f"{name}[{key}]" if isinstance(key, int) else f"{name}.{key}".lstrip(".")
        yield inner
        yield from _names(value, inner)


def shown(path: Path) -> str:
    """A path as messages name it: relative where it lies below the working directory."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def describe(value: object) -> str:
    """A value from a settings file as messages quote it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = str(value)
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"


def _table(document: dict[str, Any]) -> Any:
    tools = document.get("tool")
    if not isinstance(tools, dict):
        return None
    return next((tools[name] for name in _TABLES if name in tools), None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Mistake(f"{shown(path)}: cannot be read: {error}") from None


def parse_toml(path: Path) -> dict[str, Any]:
    """A TOML file as plain data. Raises `Mistake`."""
    try:
        return tomllib.loads(_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Mistake(f"{shown(path)}: not valid TOML: {error}") from None


def _parse_yaml(path: Path) -> Any:
    try:
        return yaml.load(_text(path), Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise Mistake(f"{shown(path)}{where}: not valid YAML: {error.problem}") from None
    # PyYAML's constructors let the exceptions of int(), float() and their own tables through.
    except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:
        raise Mistake(f"{shown(path)}: not valid YAML: {_first_line(error)}") from None


def parse_value(text: str) -> Any:
    """A value as a settings file would have it; what is no YAML is text."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):
        return text


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


class _Loader(yaml.SafeLoader):
    """YAML as people expect it: only what JSON has, keys are text, `1e-3` is a number; twice a key is an error."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        """Keys as they are written: YAML 1.1 would turn the keys `on`, `off` and `no` into booleans."""
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key_node.start_mark)
            if key_node.value in mapping:
                problem = f"the key `{key_node.value}` appears twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            mapping[key_node.value] = self.construct_object(value_node, deep=deep)
        return mapping


_Loader.yaml_implicit_resolvers = {}
_Loader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in {"null", "bool", "int", "float", "str", "seq", "map"}
}
_SCALARS = {
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "bool": (r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    "int": (r"[-+]?(?:[0-9][0-9_]*|0x[0-9a-fA-F]+)", "-+0123456789"),
    "float": (
        r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
}
for _kind, (_pattern, _starts) in _SCALARS.items():
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), ["" if c == "\0" else c for c in _starts]
    )
