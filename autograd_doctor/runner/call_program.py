"""A function of the user's as a program: imported, called, and nothing else."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from types import CodeType, ModuleType
from typing import Any

from autograd_doctor.calling import bound
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import CallPlan, Target
from autograd_doctor.reading.function_signature import signature
from autograd_doctor.runner.importing import count_as_own, import_where
from autograd_doctor.runner.model_mode import ConfigMistake
from autograd_doctor.runner.program import new_main


class CallProgram:
    """Calls what `MODULE:FUNCTION` names. `look_at` is shown the code of the module before."""

    def __init__(self, target: Target, plan: CallPlan, look_at: Callable[[Iterable[CodeType]], None]) -> None:
        self._target = target
        self._plan = plan
        self._look_at = look_at

    def execute(self) -> None:
        new_main({}, [self._plan.where])
        module = import_where(self._plan.where)
        count_as_own(module.__name__)
        self._look_at(_code(module))
        function = self._find(module)
        try:
            call = bound(_signature(function), self._plan.given, self._plan.function)
        except Mistake as mistake:
            raise ConfigMistake(str(mistake)) from None
        result = function(*call.args, **call.kwargs)
        if inspect.iscoroutine(result):
            asyncio.run(result)

    def _find(self, module: ModuleType) -> Callable[..., Any]:
        found: Any = module
        for part in self._plan.function.split("."):
            if not hasattr(found, part):
                raise ConfigMistake(f"{self._plan.where}: there is no `{part}`{nearest(part, _callables(found))}")
            found = getattr(found, part)
        if not callable(found):
            kind = type(found).__name__
            raise ConfigMistake(f"{self._target.name}: expected a function, found a value of type `{kind}`")
        return found  # type: ignore[no-any-return]


def _callables(owner: Any) -> list[str]:
    return [name for name, value in vars(owner).items() if callable(value)]


def _code(module: ModuleType) -> list[CodeType]:
    get_code = getattr(getattr(module.__spec__, "loader", None), "get_code", None)
    code = get_code(module.__name__) if get_code else None
    return [code] if isinstance(code, CodeType) else []


def _signature(function: Callable[..., Any]) -> Signature:
    """The parameters with their types. A wrapper takes what it says itself, and what the function behind it says."""
    try:
        whole, own = signature(function), signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # written in C: it takes what it takes
        return Signature([Parameter("given", Parameter.VAR_KEYWORD)])
    types = _types(function)
    if list(own.parameters) != list(whole.parameters) and not _takes_any(own):
        whole, types = own, {}
    known = [each.replace(annotation=types.get(name, each.annotation)) for name, each in whole.parameters.items()]
    return whole.replace(parameters=known)


def _takes_any(signature: Signature) -> bool:
    return any(each.kind is Parameter.VAR_KEYWORD for each in signature.parameters.values())


def _types(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations as objects, also where they were written as text; none if a name in them is not known."""
    owner = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]
    try:
        return typing.get_type_hints(owner)
    except Exception:
        return {}
