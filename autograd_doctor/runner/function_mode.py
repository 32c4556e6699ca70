"""Function mode: a small program of our own that calls one custom `autograd.Function`, which the instruments judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter
from types import ModuleType
from typing import Any

import torch
from torch.autograd import Function

from autograd_doctor.instruments.errors.functions import Functions
from autograd_doctor.mistakes import nearest
from autograd_doctor.plan import FunctionPlan, Target
from autograd_doctor.reading.function_signature import parameters
from autograd_doctor.runner import synthetic
from autograd_doctor.runner.importing import count_as_own, import_where
from autograd_doctor.runner.model_mode import ConfigMistake, reached_own_code


class FunctionProgram:
    """Imports the function, makes up its inputs, and goes through it forward and backward once."""

    def __init__(self, target: Target, plan: FunctionPlan, functions: Functions | None) -> None:
        self._target = target
        self._plan = plan
        self._functions = functions

    def execute(self) -> None:
        function = self._find()
        inputs = self._inputs()
        arguments = self._arguments(parameters(function), inputs)
        if self._functions is not None:
            self._functions.asked_about = function
        torch.manual_seed(0)
        # Clones, because a function may write to its inputs and must not do so to leaves.
        with torch._C.DisableTorchFunction():
            given = [value.clone() if isinstance(value, torch.Tensor) else value for value in arguments]
        self._differentiate(function.apply(*given), [leaf for leaf in inputs if leaf.requires_grad])

    def _differentiate(self, result: Any, leaves: list[torch.Tensor]) -> None:
        found = result if isinstance(result, tuple | list) else (result,)
        outputs = [out for out in found if isinstance(out, torch.Tensor) and out.requires_grad]
        if not outputs:
            return
        try:
            ones = [torch.ones_like(out) for out in outputs]
            torch.autograd.grad(outputs, leaves, ones, create_graph=self._plan.double, allow_unused=True)
        except RuntimeError as error:
            # What autograd itself refuses, the instrument meets once more, and tells.
            if reached_own_code(error):
                raise

    # ----------------------------------------------------------------------------------------------------- finding

    def _find(self) -> Any:
        where, _, name = self._target.name.rpartition(":")
        module = import_where(where)
        found: Any = module
        for part in name.split("."):
            if not hasattr(found, part):
                raise self._mistake(f"there is no `{part}` in {where}{_hint(part, _functions(module), dir(found))}")
            found = getattr(found, part)
        # `cube = Cube.apply` is a usual name for it, too.
        function = getattr(found, "__self__", found) if getattr(found, "__name__", "") == "apply" else found
        if not (isinstance(function, type) and issubclass(function, Function)):
            problem = f"`{name}` is not a subclass of `torch.autograd.Function`"
            raise self._mistake(problem + _hint(name, _functions(module), ()))
        count_as_own(function.__module__)
        return function

    # ----------------------------------------------------------------------------------------------------- calling

    def _inputs(self) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        made = [synthetic.made_up(each, each.shape, generator) for each in self._plan.inputs]
        for tensor, each in zip(made, self._plan.inputs, strict=True):
            tensor.requires_grad_(each.requires_grad and tensor.is_floating_point())
        return made

    def _arguments(self, known: Sequence[Parameter], inputs: Sequence[torch.Tensor]) -> list[Any]:
        """The inputs in their order, around the plain values; defaults are passed only where something follows."""
        self._check_values(known)
        waiting = list(inputs)
        arguments: list[Any] = []
        given = 0
        for each in known:
            if each.kind is Parameter.VAR_POSITIONAL:
                arguments += waiting
                waiting.clear()
            elif each.name in self._plan.values:
                arguments.append(_as_passed(self._plan.values[each.name]))
            elif waiting:
                arguments.append(waiting.pop(0))
            elif each.default is not Parameter.empty:
                arguments.append(each.default)
                continue
            else:
                raise self._missing(known, each.name)
            given = len(arguments)
        if waiting:
            raise self._mistake(f"{len(inputs)} inputs are given, but `forward` takes {_listed(known)}")
        if not any(tensor.requires_grad for tensor in inputs):
            raise self._mistake("no input can have a gradient: none has a floating-point dtype, or all are `no_grad`")
        return arguments[:given]

    def _check_values(self, known: Sequence[Parameter]) -> None:
        names = [each.name for each in known if each.kind is not Parameter.VAR_POSITIONAL]
        for name in self._plan.values:
            if name not in names:
                raise self._mistake(f"`forward` has no parameter `{name}`{nearest(name, names)}")

    def _missing(self, known: Sequence[Parameter], name: str) -> ConfigMistake:
        return self._mistake(
            f"no value for `{name}` (`forward` takes {_listed(known)}): `--input 3,4` gives a tensor of shape (3, 4), "
            f"`--input {name}=0.5` a value"
        )

    def _mistake(self, problem: str) -> ConfigMistake:
        return ConfigMistake(f"{self._target.name}: {problem}")


def _functions(module: ModuleType) -> list[str]:
    classes = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    return [name for name, value in classes.items() if issubclass(value, Function) and value is not Function]


def _hint(name: str, functions: Sequence[str], others: Iterable[str]) -> str:
    """The nearest name, or those of all the functions that there are."""
    close = nearest(name, functions) or nearest(name, others)
    return close or (f" (there is {', '.join(f'`{each}`' for each in functions[:8])})" if functions else "")


def _listed(known: Sequence[Parameter]) -> str:
    return ", ".join(f"`{each}`" for each in _names(known)) or "nothing"


def _names(known: Sequence[Parameter]) -> Iterator[str]:
    for each in known:
        yield f"*{each.name}" if each.kind is Parameter.VAR_POSITIONAL else each.name


def _as_passed(value: Any) -> Any:
    """A value as Python would write it: JSON knows no tuples."""
    return tuple(map(_as_passed, value)) if isinstance(value, list) else value
