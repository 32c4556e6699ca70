"""Objects of the file's own classes that a model is built with, as a `config` is that holds its sizes."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from torch import nn

from autograd_doctor import calling
from autograd_doctor.reading.function_signature import signature


def configs(file: ModuleType, construct: Callable[..., Any]) -> dict[str, str] | None:
    """For each parameter that has to be given, the class whose object can be given; None where one has none.

    An annotation says which; without one it is the only class of the file that is no model and needs no arguments.
    """
    own = {each.__name__: each for each in _plain_classes(file) if not required(each)}
    hints = _hints(construct)
    found: dict[str, str] = {}
    for parameter in required(construct):
        said = hints.get(parameter.name, parameter.annotation)
        if said is parameter.empty and len(own) == 1:
            found[parameter.name] = next(iter(own))
        elif isinstance(said, type) and own.get(said.__name__) is said:
            found[parameter.name] = said.__name__
        else:
            return None
    return found


def _plain_classes(file: ModuleType) -> Iterator[type]:
    for value in list(vars(file).values()):
        if isinstance(value, type) and value.__module__ == file.__name__ and not issubclass(value, nn.Module):
            yield value


def required(construct: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that have to be given, as far as that can be told."""
    try:
        return calling.required(signature(construct))
    except (TypeError, ValueError):
        return []


def _hints(construct: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(vars(construct).get("__init__", construct))
    except Exception:  # annotations of the program's may name anything
        return {}
