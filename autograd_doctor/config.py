"""The settings: their defaults, and what the command line, the environment and a file say instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta, Struct, field

from autograd_doctor import config_file
from autograd_doctor.config_file import describe, shown
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import Build, LossPlan, TensorPlan

ENVIRONMENT_PREFIX = "AUTOGRAD_DOCTOR_"
_OPTION = "--"
_LONGEST = 1e9

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
    ignore: list[str] = []
    fail_on: FailOn = "error"
    min_steps: Count = 1
    polite: bool = True
    output_format: list[str] = field(default_factory=lambda: ["full"])
    color: ColorMode = "auto"
    rules: dict[str, Any] = {}
    model: ModelSection | None = None
    gradcheck: dict[str, Any] = {}


class Loaded(NamedTuple):
    """The settings in force, where each that was set comes from, and the file if one was read."""

    settings: Settings
    origins: dict[str, str]
    file: Path | None

    def where(self, key: str) -> str:
        """How messages name the place where a setting was made."""
        labels = {"command line": _OPTION, "environment": ENVIRONMENT_PREFIX}
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
        return f"{self.label}: {path}" if path else self.label


def load(
    options: Mapping[str, Any],
    *,
    folder: Path,
    environment: Mapping[str, str],
    file: Path | None = None,
    isolated: bool = False,
) -> Loaded:
    """The settings in force for a script in `folder`; an option of None was not given. Raises `Mistake`."""
    found = file or (None if isolated else config_file.discover(folder))
    layers = [
        *([_file_layer(found)] if found else []),
        _environment_layer(environment),
        _Layer("command line", {key: value for key, value in options.items() if value is not None}, _OPTION, lax=True),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        checked = _checked(layer)
        values |= {key: getattr(checked, key) for key in layer.values}
        origins |= dict.fromkeys(layer.values, layer.origin)
    return Loaded(msgspec.structs.replace(Settings(), **values), origins, found)


def _file_layer(path: Path) -> _Layer:
    name = shown(path)
    values = config_file.read(path)
    formats = values.get("output_format")
    if isinstance(formats, list):
        values["output_format"] = [_beside(path, entry) if isinstance(entry, str) else entry for entry in formats]
    return _Layer(name, values, name)


def _beside(path: Path, entry: str) -> str:
    """`json:report.json` in a settings file means a report beside that file."""
    name, colon, report = entry.partition(":")
    return f"{name}:{path.parent / report}" if colon and report else entry


def _environment_layer(environment: Mapping[str, str]) -> _Layer:
    values: dict[str, Any] = {}
    settable = [key for key in Settings.__struct_fields__ if key not in ("rules", "model", "gradcheck")]
    for variable in sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX)):
        key = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if key not in settable:
            known = (ENVIRONMENT_PREFIX + name.upper() for name in settable)
            raise Mistake(f"{variable}: no such setting in the environment{nearest(variable, known)}")
        text = environment[variable]
        values[key] = [part.strip() for part in text.split(",")] if _is_list(key) else text
    return _Layer("environment", values, ENVIRONMENT_PREFIX, lax=True)


def _is_list(key: str) -> bool:
    return isinstance(getattr(Settings(), key), list)


# -------------------------------------------------------------------------------- saying what is wrong with a value


def _checked(layer: _Layer) -> Settings:
    try:
        return msgspec.convert(layer.values, Settings, strict=not layer.lax)
    except msgspec.ValidationError as error:
        raise Mistake(_explain(layer, str(error))) from None


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


def _explain(layer: _Layer, complaint: str) -> str:
    """One of msgspec's complaints in the words of the person's own file."""
    parts = _AT.match(complaint)
    what, path = (parts["what"], parts["path"] or "") if parts else (complaint, "")
    if unknown := _UNKNOWN.search(what):
        known = [known.encode_name for known in msgspec.structs.fields(_struct_in(_type_at(path)) or Settings)]
        name = f"{path}.{unknown['name']}".lstrip(".")
        return f"{layer.name(name)}: no such key{nearest(unknown['name'], known)}"
    if missing := _MISSING.search(what):
        return f"{layer.name(path)}: expected the key `{missing['name']}`, and it is not there"
    found = _value_at(layer.values, path)
    choices = [choice for choice in get_args(_type_at(path)) if isinstance(choice, str)]
    if choices:
        close = nearest(found, choices) if isinstance(found, str) else ""
        return f"{layer.name(path)}: expected {' or '.join(f'`{c}`' for c in choices)}, found {describe(found)}{close}"
    kind = "the text " if isinstance(found, str) and not layer.lax else ""
    return f"{layer.name(path)}: {_plain(what)}, found {kind}{describe(found)}"


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


def _value_at(values: Any, path: str) -> Any:
    for step in _steps(path):
        values = values[step]
    return values


def _type_at(path: str) -> Any:
    """The type that the settings give to a key path."""
    hint: Any = Settings
    for step in _steps(path):
        struct = _struct_in(hint)
        if isinstance(step, str) and struct:
            hint = next(known.type for known in msgspec.structs.fields(struct) if known.encode_name == step)
    return hint


def _struct_in(hint: Any) -> type[Struct] | None:
    """The one structure that a type names, be it in a union, a list or an annotation."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    return next((struct for struct in map(_struct_in, get_args(hint)) if struct), None)


# --------------------------------------------------------------------------------------------------- showing them


def in_force(loaded: Loaded) -> str:
    """Every setting as a line of YAML, with where it comes from as a comment."""
    values = msgspec.to_builtins(loaded.settings)
    width = max(len(_line(key, value)) for key, value in values.items() if key != "model")
    rows = (f"{_line(key, value):{width}}  # {loaded.origins.get(key, 'default')}" for key, value in values.items())
    return "\n".join(rows)


def _line(key: str, value: Any) -> str:
    return f"{key}: {msgspec.json.encode(value).decode()}"
