"""Which model of a file is meant: the one that no other has as a part, as far as it can be built without arguments."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from torch import nn

from autograd_doctor.runner.assuming.apart import Apart
from autograd_doctor.runner.assuming.configs import configs, required

_UNWRITTEN = nn.Module.forward


@dataclass
class Choice:
    """The model, what builds it, and why it was this one; or none that can be built.

    arguments: objects of the file's own that it is built with, as the settings say it. several: it is but one of these.
    needs: classes that cannot be built without arguments, which may be what is meant. failed: building it raised.
    """

    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    is_factory: bool = False
    model: nn.Module | None = None
    why: str = ""
    several: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    failed: bool = False


def choose(file: ModuleType, apart: Apart) -> Choice:
    """The model of a file. The program's own code is called to find out, on nothing that lives on."""
    classes = list(_classes(file))
    built, failed, needs = _built(classes, apart)
    built = _whole(built, [each for each in classes if each.__name__ in needs])
    if not built and needs:
        configured = _configured(file, [each for each in classes if each.__name__ in needs], apart)
        if configured is not None:
            return configured
    if not built:
        found = _of_factories(file, classes, apart)
        if found.model is not None or not failed:
            return found if found.model is not None else Choice(needs=_outermost(needs, classes))
        return Choice(name=failed[0], failed=True)
    tops = _tops(built)
    if len(tops) == 1:
        (name,) = tops
        return Choice(name=name, model=built[name], why=_why(name, built, needs))
    return Choice(name=tops[0], model=built[tops[0]], several=tops)


def _classes(file: ModuleType) -> Iterator[type[nn.Module]]:
    """The modules that a file defines, each with a forward."""
    for value in list(vars(file).values()):
        if not (isinstance(value, type) and issubclass(value, nn.Module) and value.__module__ == file.__name__):
            continue
        if value.forward is not _UNWRITTEN and not inspect.isabstract(value):
            yield value


def _built(classes: list[type[nn.Module]], apart: Apart) -> tuple[dict[str, nn.Module], list[str], list[str]]:
    """What can be built without arguments, what fails although it takes none, and what needs some."""
    built: dict[str, nn.Module] = {}
    failed, needs = [], []
    for each in classes:
        if required(each):
            needs.append(each.__name__)
            continue
        made = apart.call(each)
        if isinstance(made, nn.Module):
            built[each.__name__] = made
        else:
            failed.append(each.__name__)
    return built, failed, needs


def _configured(file: ModuleType, classes: list[type[nn.Module]], apart: Apart) -> Choice | None:
    """The outermost of those that need nothing but objects of the file's own classes."""
    built: dict[str, nn.Module] = {}
    given: dict[str, dict[str, str]] = {}
    for each in classes:
        wanted = configs(file, each)
        made = apart.call(partial(_constructed, file, each, wanted)) if wanted else None
        if isinstance(made, nn.Module):
            built[each.__name__], given[each.__name__] = made, wanted or {}
    tops = _tops(_whole(built, []))
    if not tops:
        return None
    arguments = {name: {"class": config} for name, config in given[tops[0]].items()}
    why = "the outermost model of the file" if len(classes) > 1 else "the only model of the file"
    several = tops if len(tops) > 1 else []
    return Choice(name=tops[0], arguments=arguments, model=built[tops[0]], why=why, several=several)


def _constructed(file: ModuleType, construct: Callable[..., Any], given: dict[str, str]) -> Any:
    return construct(**{name: getattr(file, config)() for name, config in given.items()})


def _whole(built: dict[str, nn.Module], others: list[type[nn.Module]]) -> dict[str, nn.Module]:
    """Those that have something to learn, and that the code of no class that needs arguments names as a part."""
    inner = {name for other in others for name in _names(other)}
    learning = {name: model for name, model in built.items() if any(True for _ in model.parameters())}
    return {name: model for name, model in learning.items() if name not in inner}


def _tops(built: dict[str, nn.Module]) -> list[str]:
    """Those that are no part of another, and no base of another."""
    parts = {type(part) for model in built.values() for part in model.modules() if part is not model}
    tops = {name: model for name, model in built.items() if type(model) not in parts}
    bases = {base for model in tops.values() for base in type(model).__mro__[1:]}
    return [name for name, model in tops.items() if type(model) not in bases] or list(tops)


def _why(name: str, built: dict[str, nn.Module], needs: list[str]) -> str:
    inside = {type(part).__name__ for part in built[name].modules()} - {name}
    apart = [other for other in needs if other not in inside]
    if apart:
        return "the only model that can be built without arguments"
    return "the outermost model of the file" if len(built) + len(needs) > 1 else "the only model of the file"


def _outermost(needs: list[str], classes: list[type[nn.Module]]) -> list[str]:
    """Of classes that need arguments, those that the code of no other one names."""
    named = {each.__name__: _names(each) for each in classes}
    inner = {name for other, names in named.items() for name in names if name != other}
    return [name for name in needs if name not in inner] or needs


def _names(kind: type) -> set[str]:
    functions = [value for value in vars(kind).values() if isinstance(value, FunctionType)]
    return {name for function in functions for name in _all_names(function.__code__)}


def _all_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_names(constant)


# -------------------------------------------------------------------------------------------------------- factories


def _of_factories(file: ModuleType, classes: list[type[nn.Module]], apart: Apart) -> Choice:
    """The first function that builds a model, if all that do build the same kind."""
    made: dict[str, nn.Module] = {}
    for name, function in _functions(file):
        if not required(function) and _may_build(function, classes):
            result = apart.call(function)
            if isinstance(result, nn.Module):
                made[name] = result
    kinds = {type(model) for model in made.values()}
    if len(kinds) > 1:
        name, model = next(iter(made.items()))
        return Choice(name=name, is_factory=True, model=model, several=list(made))
    for name, model in made.items():
        others = f", the first of {len(made)} that build a `{type(model).__name__}`" if len(made) > 1 else ""
        return Choice(name=name, is_factory=True, model=model, why=f"built by a function{others}")
    return Choice()


def _functions(file: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    for name, value in list(vars(file).items()):
        if isinstance(value, FunctionType) and value.__module__ == file.__name__:
            yield name, value


def _may_build(function: FunctionType, classes: list[type[nn.Module]]) -> bool:
    """Whether it says that it returns a model, or says nothing and refers to a class of the file or a module."""
    try:
        returned = typing.get_type_hints(function).get("return", inspect.Parameter.empty)
    except Exception:
        returned = inspect.Parameter.empty
    if returned is not inspect.Parameter.empty:
        return isinstance(returned, type) and issubclass(returned, nn.Module)
    referred = (function.__globals__.get(name) for name in _all_names(function.__code__))
    return any(isinstance(each, type) and (each in classes or issubclass(each, nn.Module)) for each in referred)
