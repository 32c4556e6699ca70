"""Introduces modules when they are first called, under the names that the user gave them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import ClassVar

from torch import nn
from torch.nn.parameter import is_lazy

from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import ModulePart, ModuleSeen
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.registrations import Registrations
from autograd_doctor.reading.assignments import assigned_in, methods_of
from autograd_doctor.reading.mode_dependence import mode_dependent
from autograd_doctor.reading.module_names import held_name, holding_attribute, plain_holder, root_name
from autograd_doctor.reading.module_tree import children_of, has_parameters, modules_in, parameters_in, parameters_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, here, place
from autograd_doctor.reading.subclasses import is_parameter

_MOST_PARTS = 1000
_MOST_STRAYS = 100
"""Of one kind, called at one line in the first step that does so: in later ones they may have been built anew."""
_MOST_TREES = 100
"""Of the modules that a program builds all the time, the first ones are enough to show what they are made of."""


class ModuleRegister(Instrument):
    """Numbers go to roots, to modules met inside that their root does not hold, and to the parents of those."""

    emits: ClassVar[tuple[type[Event], ...]] = (ModuleSeen,)

    def __init__(
        self, site: Site, course: Course, parameters: Parameters, modules: Modules, registrations: Registrations
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._modules = modules
        self._registrations = registrations
        self._unnamed: IdentityTable[None] = IdentityTable()
        self._passing: dict[tuple[type[nn.Module], Place | None], int] = {}
        self._strays: dict[tuple[type[nn.Module], Place | None], list[int]] = {}
        self._trees = 0

    def root(self, module: nn.Module) -> int:
        """The number of a root. Modules without parameters that a line makes anew for each call share one."""
        number = self._modules.get(module)
        if number is not None:
            return number
        passing = (type(module), place())
        if not has_parameters(module) and passing in self._passing:
            return self._passing[passing]
        number = self._introduce_root(module)
        self._passing[passing] = number
        return number

    def _introduce_root(self, module: nn.Module) -> int:
        """Methods of a module that frameworks call (`training_step`) hold strays as its forward does."""
        holder = plain_holder(module) if has_parameters(module) else None
        if holder is None:
            return self._introduce(module, root_name(module), here())
        parent = self._modules.get(holder)
        parent = self._introduce(holder, root_name(holder), None) if parent is None else parent
        return self._introduce(module, held_name(module), here(), parent=parent, keeper=holder)

    def complete(self, module: nn.Module) -> None:
        """Name parameters that came to life during the first forward."""
        number = self._modules.get(module)
        if number is not None and module in self._unnamed and _has_its_own(module):
            self._unnamed.discard(module)
            self._parameters.name_module(module, self._modules.name_of(number))

    def met_inside(self, root: nn.Module, module: nn.Module, parent: nn.Module | None) -> None:
        """A module with parameters was called inside; the root may have been given it since, or not hold it at all.

        What torch made of a compiled or exported module, and runs in its place, is nothing that the program could hold.
        """
        if parent is not None and _compiled(parent) is not parent:
            return
        number = self._modules.get(root)
        name = self._modules.name_of(number) if number is not None else root_name(root)
        if any(inner is module for _, inner in modules_in(root)):
            self._parameters.name_module(root, name)
            return
        stray = (type(module), place())
        steps = self._strays.setdefault(stray, [])
        in_step = len(steps) < _MOST_STRAYS and all(step == self._course.steps for step in steps)
        if self._modules.get(module) is None and in_step:
            steps.append(self._course.steps)
            caller = number if parent is None or parent is root else self._parent(root, name, parent, number)
            self._introduce(module, held_name(module), here(), parent=caller, keeper=root if parent is None else parent)

    def names(self, root: nn.Module, modules: Iterable[nn.Module]) -> list[str]:
        """Full names of modules that ran inside a root."""
        wanted = {id(module): module for module in modules}
        if not wanted:
            return []
        number = self._modules.get(root)
        prefix = self._modules.name_of(number) if number is not None else type(root).__name__
        paths = {id(inner): self._name(inner, prefix, path) for path, inner in modules_in(root) if id(inner) in wanted}
        return [paths.get(key, type(module).__name__) for key, module in wanted.items()]

    def _name(self, module: nn.Module, prefix: str, path: str) -> str:
        """A module is called like its parameters, which may have been named after a smaller module before."""
        for attribute, parameter in parameters_of(module).items():
            number = self._parameters.get(parameter)
            known = self._parameters.name_of(number) if number is not None else ""
            if known.endswith(f".{attribute}"):
                return known.removesuffix(f".{attribute}")
        return _joined(prefix, path)

    def _parent(self, root: nn.Module, name: str, parent: nn.Module, root_number: int | None) -> int:
        number = self._modules.get(parent)
        if number is not None:
            return number
        path = next((path for path, inner in modules_in(root) if inner is parent), None)
        known = _joined(name, path) if path is not None else held_name(parent)
        return self._introduce(parent, known, None, parent=root_number)

    def _introduce(
        self,
        module: nn.Module,
        name: str,
        location: Location | None,
        parent: int | None = None,
        keeper: nn.Module | None = None,
    ) -> int:
        """keeper: the module that calls this one and does not register it."""
        number = self._modules.add(module, name)
        parameters: list[int] = []
        if _has_its_own(module):
            parameters = self._parameters.name_module(_compiled(module), name)
        else:
            self._unnamed.put(module, None)
        self.emit(
            ModuleSeen(
                step=self._course.steps,
                module=number,
                name=name,
                kind=type(module).__name__,
                parameters=parameters,
                location=location,
                parent=parent,
                registered=keeper is None,
                holder=name if keeper is not None else "",
                built_at=self._registrations.built_at(module) if keeper is not None else None,
                kept_at=_kept_at(keeper, module) if keeper is not None else None,
                mode_dependent=[self._name(inner, name, path) for path, inner in mode_dependent(module)],
                parts=self._parts(_compiled(module), name),
            )
        )
        return number

    def _parts(self, module: nn.Module, name: str) -> list[ModulePart]:
        self._trees += 1
        inner = islice(modules_in(module, name), _MOST_PARTS if self._trees <= _MOST_TREES else 0)
        return [ModulePart(path or type(part).__name__, type(part).__name__, self._own(part)) for path, part in inner]

    def _own(self, part: nn.Module) -> list[int]:
        numbers = (self._parameters.get(parameter) for parameter in parameters_of(part).values())
        return [number for number in numbers if number is not None]


def _has_its_own(module: nn.Module) -> bool:
    """Whether the parameters are there: not still lazy, nor replaced for the time of a `functional_call`."""
    return all(is_parameter(parameter) and not is_lazy(parameter) for _, parameter in parameters_in(module))


def _kept_at(keeper: nn.Module, module: nn.Module) -> Location | None:
    """The line of the keeper's class that assigns the attribute in which it holds this one."""
    attribute = holding_attribute(keeper, module)
    return assigned_in(methods_of(type(keeper)), attribute) if attribute else None


def _compiled(module: nn.Module) -> nn.Module:
    """The user's module inside what `torch.compile` made of it."""
    return children_of(module).get("_orig_mod", module)


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}.{path}" if path else prefix
