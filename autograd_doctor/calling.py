"""Calling a function with values that were given as text: which it takes, which it lacks, and of which type they are.

The same check is made twice: before the child is started, with what the source tells, and in the child.
"""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from inspect import BoundArguments, Parameter, Signature
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import Written

_STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", dict: "a mapping such as `{a: 1}`"}


def required(signature: Signature) -> list[Parameter]:
    """The parameters that have to be given."""
    every = signature.parameters.values()
    return [each for each in every if each.default is Parameter.empty and each.kind not in _STARRED]


def bound(signature: Signature, given: Mapping[str, Written], name: str) -> BoundArguments:
    """The call of a function with what was given. Raises `Mistake` if it does not take that, or needs more."""
    known = {each.name: each for each in signature.parameters.values() if each.kind not in _STARRED}
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in signature.parameters.values())
    for each in given:
        if each not in known and not takes_any:
            raise Mistake(f"`{name}` has no parameter `{each}`{nearest(each, known) or _there_are(known)}")
    missing = [each.name for each in required(signature) if each.name not in given]
    if "self" in missing:
        raise Mistake(f"`{name}` is called on an object: name a function, or a static or class method")
    if missing:
        needed = ", ".join(f"`{each}`" for each in missing)
        raise Mistake(f"`{name}` needs {needed}: pass {' '.join(f'--set {each}=…' for each in missing)}")
    values = {each: converted(written, _annotation(known, each), each) for each, written in given.items()}
    others = {each: values.pop(each) for each in list(values) if each not in known}
    arguments = {each: values[each] for each in known if each in values}
    keywords = next((each.name for each in signature.parameters.values() if each.kind is Parameter.VAR_KEYWORD), "")
    return BoundArguments(signature, types.MappingProxyType(arguments | ({keywords: others} if others else {})))  # type: ignore[arg-type]


def converted(written: Written, annotation: Any, name: str) -> Any:
    """The value as its annotation wants it, where that is plain; as YAML reads it anywhere else. Raises `Mistake`."""
    try:
        return _converted(_Given(written.text, json.loads(written.json)), annotation)
    except _Unlike as unlike:
        raise Mistake(f"--set {name}: expected {unlike}, found `{written.text}`") from None
    except OverflowError as error:
        raise Mistake(f"--set {name}: {error}") from None


class _Given(NamedTuple):
    """A value as it was written, and as YAML reads it."""

    text: str
    value: Any


class _Unlike(Exception):
    """A value that is not of the type that is wanted; says what is."""


def _annotation(known: Mapping[str, Parameter], name: str) -> Any:
    return known[name].annotation if name in known else Parameter.empty


def _there_are(known: Mapping[str, Parameter]) -> str:
    return f" (it takes {', '.join(f'`{each}`' for each in known)})" if known else " (it takes none)"


def _converted(given: _Given, annotation: Any) -> Any:
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return _one_of(given, get_args(annotation))
    if origin is Literal:
        return _literal(given, get_args(annotation))
    if origin is typing.Annotated:
        return _converted(given, get_args(annotation)[0])
    if (origin or annotation) in _LISTS:
        return _list(given, origin or annotation, get_args(annotation))
    if not isinstance(annotation, type):
        return given.value
    if issubclass(annotation, Enum):
        return _member(given, annotation)
    return _plain(given, annotation)


def _plain(given: _Given, kind: type) -> Any:
    value = given.value
    if kind is str:
        return value if isinstance(value, str) else given.text
    if issubclass(kind, Path):
        return kind(given.text)
    if kind is bool and isinstance(value, bool):
        return value
    if kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool):
        if kind is float or isinstance(value, int) or value.is_integer():
            return kind(value)
    elif kind is dict and isinstance(value, dict):
        return value
    if kind in _EXPECTED:
        raise _Unlike(f"{_EXPECTED[kind]} (`{kind.__name__}`)")
    return value


def _one_of(given: _Given, kinds: Sequence[Any]) -> Any:
    """Text fits everywhere, so it is tried last."""
    if type(None) in kinds and given.value is None:
        return None
    expected = []
    for kind in sorted((kind for kind in kinds if kind is not type(None)), key=lambda kind: kind is str):
        try:
            return _converted(given, kind)
        except _Unlike as unlike:
            expected.append(str(unlike))
    raise _Unlike(" or ".join(expected))


def _literal(given: _Given, choices: Sequence[Any]) -> Any:
    for choice in choices:
        if choice == given.text or (choice == given.value and type(choice) is type(given.value)):
            return choice
    raise _Unlike(f"one of {', '.join(f'`{choice}`' for choice in choices)}")


def _member(given: _Given, kind: type[Enum]) -> Any:
    for member in kind:
        if given.text == member.name or given.value == member.value:
            return member
    raise _Unlike(f"one of {', '.join(f'`{member.name}`' for member in kind)}")


def _list(given: _Given, kind: Any, elements: Sequence[Any]) -> Any:
    if not isinstance(given.value, list):
        raise _Unlike("a list such as `[1, 2]`")
    if kind is tuple and elements and elements[-1] is not Ellipsis:
        if len(elements) != len(given.value):
            raise _Unlike(f"a list of {len(elements)}")
        each = list(elements)
    else:
        each = [elements[0] if elements else Any] * len(given.value)
    values = [_converted(_Given(str(value), value), wanted) for value, wanted in zip(given.value, each, strict=True)]
    return kind(values) if kind in (tuple, set, frozenset) else values
