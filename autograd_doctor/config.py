"""The settings: their defaults, and what the command line, the environment and a file say instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct, field

from autograd_doctor import config_file
from autograd_doctor.accepted import Ignored
from autograd_doctor.config_file import describe, shown
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import Build, LossPlan, TensorPlan

ENVIRONMENT_PREFIX = "AUTOGRAD_DOCTOR_"
_OPTION = "--"
_COMMAND_LINE = "command line"
_ENVIRONMENT = "environment"
_LONGEST = 1e9
_WIDEST = 60
"""Longer settings push only their own origin to the right."""

Count = Annotated[int, Meta(ge=0, le=2**53)]
Positive = Annotated[int, Meta(ge=1, le=2**53)]
FailOn = Literal["error", "warning", "info", "never"]
ColorMode = Literal["auto", "always", "never"]


class DataSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model.data`: what to make up, or the name of a function of the file that yields batches."""

    inputs: TensorPlan | list[TensorPlan] = []
    targets: TensorPlan | list[TensorPlan] = []
    batch_size: Positive = 16
    batches: Positive | str = 8


class ModelSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"class_name": "class"}):
    """`model`: how to train the model of a file that does not train it itself."""

    class_name: str = ""
    factory: str = ""
    arguments: dict[str, Any] = {}
    loss: str | LossPlan | list[str | LossPlan] | None = None
    optimizer: str | Build | None = None
    data: DataSection | None = None


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set; the comments of `configs/default.yaml` say what each means."""

    steps: Positive = 30
    seconds: Annotated[float, Meta(ge=0, le=_LONGEST)] = 10.0
    max_seconds: Annotated[float, Meta(gt=0, le=_LONGEST)] = 60.0
    batches_per_epoch: Count = 10
    timeout: Annotated[float, Meta(ge=0, le=_LONGEST)] = 600.0
    select: list[str] = field(default_factory=lambda: ["ALL"])
    extend_select: list[str] = []
    ignore: list[str | Ignored] = []
    fail_on: FailOn = "error"
    min_steps: Count = 1
    baseline: str | None = None
    strict_baseline: bool = False
    polite: bool = True
    python: str | None = None
    output_format: list[str] = field(default_factory=lambda: ["full"])
    color: ColorMode = "auto"
    rules: dict[str, Any] = {}
    model: ModelSection | None = None
    gradcheck: dict[str, Any] = {}
    targets: list[dict[str, Any]] = []


class Invocation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be asked for on the command line and in the environment, and not in a file: it is about one call."""

    target: list[str] = []
    nproc_per_node: Positive | None = None
    rank_reports: str | None = None
    profile: bool = False
    exit_zero: bool = False
    no_ignores: bool = False
    write_baseline: bool = False
    prune_baseline: bool = False
    add_ignore: str | None = None
    output_file: str | None = None
    save_trace: str | None = None
    config: str | None = None
    isolated: bool = False


_IN_FILES_ONLY = ("rules", "model", "gradcheck", "targets")
SELECTORS = ("select", "extend_select", "ignore")
"""Settings that hold codes and names of rules."""


class Loaded(NamedTuple):
    """The settings in force, where each that was set comes from, and the file if one was read.

    said: what the person should know of that file, because it lies in a folder that was not named. section: the entry
    of the file that is about this target alone, such as `targets[0]`.
    """

    settings: Settings
    origins: dict[str, str]
    file: Path | None
    said: tuple[str, ...] = ()
    section: str = ""

    @property
    def ignored_rules(self) -> list[str]:
        """Rules to leave out."""
        return [word for word in self.settings.ignore if isinstance(word, str)]

    @property
    def ignored_findings(self) -> list[tuple[Ignored, str]]:
        """Findings to silence, each with its place in the settings file, where alone they can stand."""
        if self.file is None or not any(isinstance(each, Ignored) for each in self.settings.ignore):
            return []
        document, lines = config_file.read(self.file), config_file.lines(self.file)
        keys = ["ignore", *([f"{self.section}.ignore"] if self.section else [])]
        return [
            (msgspec.convert(entry, Ignored), f"{shown(self.file)}:{lines.get(f'{key}[{number}]', 1)}")
            for key in keys
            for number, entry in enumerate(_value_at(document, key, []))
            if isinstance(entry, dict)
        ]

    def where(self, key: str) -> str:
        """How messages name the place where a setting was made."""
        labels = {_COMMAND_LINE: _OPTION, _ENVIRONMENT: ENVIRONMENT_PREFIX}
        origin = self.origins.get(key, "default")
        return _Layer(origin, {}, labels.get(origin, origin)).name(key)


class _Layer(NamedTuple):
    """One source of settings. `label` tells how the person wrote a key there; text stands for numbers if `lax`."""

    origin: str
    values: dict[str, Any]
    label: str
    lax: bool = False

    def name(self, path: str) -> str:
        if self.label == ENVIRONMENT_PREFIX:
            return self.label + path.partition("[")[0].upper()
        if self.label == _OPTION:
            return self.label + path.partition("[")[0].replace("_", "-")
        return f"{self.label}{'.' if self.label.endswith(']') else ': '}{path}" if path else self.label


class Section(NamedTuple):
    """An entry of `targets`: the file that it stands in, its key there, and the settings that it has of its own."""

    file: Path
    key: str
    values: Mapping[str, Any]

    @property
    def place(self) -> str:
        """How messages name it."""
        return f"{shown(self.file)}: {self.key}"


def load(
    options: Mapping[str, Any],
    *,
    folder: Path,
    environment: Mapping[str, str],
    file: Path | None = None,
    isolated: bool = False,
    caller: str = "",
    section: Section | None = None,
) -> Loaded:
    """The settings in force for a script in `folder`; an option of None was not given. Raises `Mistake`.

    caller: the function of which the options are keyword arguments, where they are none of the command line. section:
    what a settings file says of this target, which wins over what else the file says.
    """
    file = section.file if section else file
    given = _Layer(caller, dict(options), caller) if caller else _command_line_layer(options, Settings)
    found = file or (None if isolated else config_file.discover(folder))
    in_file = _file_layer(found) if found else None
    said = _restrained(in_file) if in_file and found and not file and _is_from_above(found, folder) else ()
    layers = [
        *([in_file] if in_file else []),
        *([_Layer(section.place, dict(section.values), section.place)] if section else []),
        _environment_layer(environment, Settings),
        given,
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        checked = _checked(layer, Settings)
        silenced = [each for each in values.get("ignore", []) if isinstance(each, Ignored)]
        values |= {key: getattr(checked, key) for key in layer.values}
        origins |= dict.fromkeys(layer.values, layer.origin)
        if "ignore" in layer.values:
            # Words replace words: findings that a file silences are none of what the command line leaves out.
            values["ignore"] = [*values["ignore"], *silenced]
    in_all = msgspec.structs.replace(Settings(), **values)
    return Loaded(in_all, origins, found, tuple(said), section.key if section else "")


def _is_from_above(file: Path, folder: Path) -> bool:
    """Whether a settings file lies neither beside the program nor in the working folder."""
    return file.parent not in (folder.resolve(), Path.cwd())


def _restrained(layer: _Layer) -> list[str]:
    """Take from a settings file that nobody pointed to what would run or write files; says so, and where it is."""
    said = [f"using the settings in `{layer.label}`, in a folder above the program"]
    if layer.values.get("polite") is False:
        del layer.values["polite"]
        said.append(f"`polite: false` in `{layer.label}` has no effect there: use `--no-polite`")
    if layer.values.get("python") is not None:
        del layer.values["python"]
        said.append(f"`python` in `{layer.label}` has no effect there: use `--python`")
    formats = layer.values.get("output_format")
    if isinstance(formats, list) and any(isinstance(entry, str) and ":" in entry for entry in formats):
        layer.values["output_format"] = [entry for entry in formats if not isinstance(entry, str) or ":" not in entry]
        said.append(f"`{layer.label}` cannot choose where reports are written: use `--output-format`")
        if not layer.values["output_format"]:
            del layer.values["output_format"]
    return said


def invocation(options: Mapping[str, Any], environment: Mapping[str, str]) -> Invocation:
    """What is asked for of one call; an option of None was not given. Raises `Mistake`."""
    layers = (_environment_layer(environment, Invocation), _command_line_layer(options, Invocation))
    checked = [(layer.values, _checked(layer, Invocation)) for layer in layers]
    values = {key: getattr(asked, key) for given, asked in checked for key in given}
    return msgspec.structs.replace(Invocation(), **values)


def _file_layer(path: Path) -> _Layer:
    name = shown(path)
    values = config_file.read(path)
    formats = values.get("output_format")
    if isinstance(formats, list):
        values["output_format"] = [_beside(path, entry) if isinstance(entry, str) else entry for entry in formats]
    targets = values.get("targets")
    for table in (values, *(targets if isinstance(targets, list) else ())):
        if isinstance(table, dict):
            table |= paths_from(path, table)
    return _Layer(name, values, name)


def paths_from(file: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """The paths among settings: they count from the file that they stand in."""
    found = {key: table[key] for key in ("baseline", "python") if isinstance(table.get(key), str)}
    if "python" in found and _is_looked_up(file, found["python"]):
        del found["python"]
    return {key: str(file.parent / value) for key, value in found.items()}


def _is_looked_up(file: Path, python: str) -> bool:
    """ "python3.12" is the shell's to find; "~/env" counts from the home folder."""
    return python.startswith("~") or not (os.path.dirname(python) or (file.parent / python).exists())


def _beside(path: Path, entry: str) -> str:
    """`json:report.json` in a settings file means a report beside that file."""
    name, colon, report = entry.partition(":")
    return f"{name}:{path.parent / report}" if colon and report else entry


def _environment_layer(environment: Mapping[str, str], kind: type[Struct]) -> _Layer:
    values: dict[str, Any] = {}
    settable = [key for key in known_options() if key not in _IN_FILES_ONLY]
    for variable in sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX)):
        key = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if key not in settable:
            known = (ENVIRONMENT_PREFIX + name.upper() for name in settable)
            raise Mistake(f"{variable}: no setting has this environment variable{nearest(variable, known)}")
        # An empty variable is how a pipeline says that it sets none.
        if key in kind.__struct_fields__ and (text := environment[variable]):
            values[key] = [part.strip() for part in text.split(",")] if _is_list(key) else text
    return _Layer(_ENVIRONMENT, values, ENVIRONMENT_PREFIX, lax=True)


def _command_line_layer(options: Mapping[str, Any], kind: type[Struct]) -> _Layer:
    """What was typed; an option of another kind, or one that was not given, is left out."""
    given = {key: value for key, value in options.items() if key in kind.__struct_fields__ and value is not None}
    return _Layer(_COMMAND_LINE, given, _OPTION, lax=True)


def known_options() -> tuple[str, ...]:
    """The names of all settings and of all that can be asked of one call."""
    return (*Settings.__struct_fields__, *Invocation.__struct_fields__)


def _is_list(key: str) -> bool:
    return isinstance(getattr(Settings(), key, getattr(Invocation(), key, None)), list)


# -------------------------------------------------------------------------------- saying what is wrong with a value


S = TypeVar("S", bound=Struct)


def checked(file: Path, values: dict[str, Any], kind: type[S]) -> S:
    """What a settings file holds, as a structure. Raises `Mistake`."""
    return _checked(_Layer(shown(file), values, shown(file)), kind)


def _checked(layer: _Layer, kind: type[S]) -> S:
    try:
        return msgspec.convert(layer.values, kind, strict=not layer.lax)
    except msgspec.ValidationError as error:
        raise Mistake(_explain(layer, str(error), kind)) from None


_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING = re.compile(r"missing required field `(?P<name>.*)`$")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "`true` or `false`",
    "object": "a mapping",
    "array": "a list",
    "null": "nothing",
}


def _explain(layer: _Layer, complaint: str, kind: type[Struct]) -> str:
    """One of msgspec's complaints in the words of the person's own file."""
    parts = _AT.match(complaint)
    what, path = (parts["what"], parts["path"] or "") if parts else (complaint, "")
    if unknown := _UNKNOWN.search(what):
        known = [known.encode_name for known in msgspec.structs.fields(_struct_in(_type_at(path, kind)) or kind)]
        name = f"{path}.{unknown['name']}".lstrip(".")
        return f"{layer.name(name)}: no such key{nearest(unknown['name'], known)}"
    if missing := _MISSING.search(what):
        return f"{layer.name(path)}: the key `{missing['name']}` is missing"
    found = _value_at(layer.values, path)
    choices = list(_choices(_type_at(path, kind)))
    if choices:
        close = nearest(found, choices) if isinstance(found, str) else ""
        return f"{layer.name(path)}: expected {' or '.join(f'`{c}`' for c in choices)}, found {describe(found)}{close}"
    text = "the text " if isinstance(found, str) and not layer.lax else ""
    return f"{layer.name(path)}: {_plain(what)}, found {text}{describe(found)}"


def _plain(what: str) -> str:
    """ "Expected `int | null`, got `str`" as "expected a whole number or nothing"."""
    expected = what.partition(", got ")[0]
    words = re.sub(r"`([a-z |]+)`", lambda match: _or(match[1].split(" | ")), expected)
    return words[:1].lower() + words[1:]


def _or(kinds: list[str]) -> str:
    return " or ".join(_WORDS.get(kind, kind) for kind in kinds)


def _steps(path: str) -> Iterator[str | int]:
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", re.sub(r"\[(\d+)\]", r".[\1]", path)):
        yield int(index) if index else name


def _value_at(values: Any, path: str, missing: Any = None) -> Any:
    try:
        for step in _steps(path):
            values = values[step]
    except (KeyError, IndexError):
        return missing
    return values


def _type_at(path: str, kind: type[Struct]) -> Any:
    """The type that a structure gives to a key path."""
    hint: Any = kind
    for step in _steps(path):
        struct = _struct_in(hint)
        if isinstance(step, str) and struct:
            hint = next(known.type for known in msgspec.structs.fields(struct) if known.encode_name == step)
    return hint


def _choices(hint: Any) -> Iterator[str]:
    """The words of a `Literal`, also of one in a union."""
    for inner in get_args(hint):
        yield from [inner] if isinstance(inner, str) else _choices(inner)


def _struct_in(hint: Any) -> type[Struct] | None:
    """The one structure that a type names, be it in a union, a list or an annotation."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    return next((struct for struct in map(_struct_in, get_args(hint)) if struct), None)


# --------------------------------------------------------------------------------------------------- showing them


def in_force(loaded: Loaded, asked: Invocation, environment: Mapping[str, str]) -> str:
    """Every setting as a line of YAML, with where it comes from; then, as comments, what calls are asked for beside."""
    values = msgspec.to_builtins(loaded.settings)
    width = max(len(_line(key, value)) for key, value in values.items() if len(_line(key, value)) <= _WIDEST)
    lines = config_file.lines(loaded.file) if loaded.file else {}
    rows = [f"{_line(key, value):{width}}  # {_origin(loaded, key, lines)}" for key, value in values.items()]
    for key, value in msgspec.to_builtins(asked).items():
        if ENVIRONMENT_PREFIX + key.upper() in environment:
            rows.append(f"{f'# {_line(key, value)}':{width}}  # {ENVIRONMENT_PREFIX}{key.upper()}")
    return "\n".join(rows)


def _origin(loaded: Loaded, key: str, lines: Mapping[str, int]) -> str:
    origin = loaded.origins.get(key, "default")
    if origin == _ENVIRONMENT:
        return ENVIRONMENT_PREFIX + key.upper()
    of_file = loaded.file is not None and origin == shown(loaded.file)
    return f"{origin}:{lines[key]}" if of_file and key in lines else origin


def _line(key: str, value: Any) -> str:
    return f"{key}: {msgspec.json.encode(value).decode()}"
