"""Who is who among the leaves that can learn: their numbers, and the names that the user gave them.

A name is what the user would type at the place where the leaf came into view: `model.fc1.weight`, `weights[0]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.registrations import Registrations
from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.module_tree import children_of, parameters_in
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.places import own_frames
from autograd_doctor.reading.subclasses import dispatches, plain_parts
from autograd_doctor.reading.tensor_facts import dtype_name
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a

_REPARAMETRIZED = re.compile(r"(?:parametrizations\.(\w+)\.original\d*|(\w+)_[gv])$")
"""What `torch.nn.utils.parametrize`, and the older `weight_norm`, call parameters that take the place of one."""
_CONTAINERS = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)


def _series(module: nn.Module, prefix: str, path: str) -> str:
    """The path of a parameter with a star for its member of each container on the way, "" if there is none."""
    part: nn.Module | None = module
    words: list[str] = []
    for word in path.split("."):
        words.append("*" if is_a(part, _CONTAINERS) else word)
        part = children_of(part).get(word) if part is not None else None
    return ".".join([prefix, *words]) if "*" in words else ""


class _Lines(NamedTuple):
    """Where a leaf was made part of a module, and the call that did it, if a function of the program's; and whether a
    library did."""

    registered_at: Location | None
    called_from: Location | None
    of_library: bool


class _Memory(NamedTuple):
    """Numbers, names and lines of leaves, where in which root module each was seen last, and which took the place of
    which."""

    numbers: Numbers
    names: dict[int, str]
    lines: dict[int, _Lines]
    roots: Numbers
    places: dict[tuple[int, str], int]
    replaced: dict[int, int]


class Parameters(Instrument):
    """The leaves that can learn. They are introduced by name when whoever needs their numbers asks for that.

    Those that have no name of the user's, or no shape yet, are introduced again when they get one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ParameterSeen,)

    def __init__(self, site: Site, course: Course, modules: Modules, registrations: Registrations) -> None:
        super().__init__(site)
        self._course = course
        self._registrations = registrations
        self._modules = modules
        self._numbers = Numbers()
        self.of_modules = 0
        """A bit for each number of an `nn.Parameter`, which is there to be trained; other leaves may be anything."""
        self.get: Callable[[torch.Tensor], int | None] = self._numbers.get
        self._names: dict[int, str] = {}
        self._earlier: dict[int, str] = {}
        """Names from before anybody watched this part of the run."""
        self._unnamed: set[int] = set()
        self._provisional: set[int] = set()
        self._roots = Numbers()
        self._places: dict[tuple[int, str], int] = {}
        self._replaced: dict[int, int] = {}
        self._lines: dict[int, _Lines] = {}

    def memory(self) -> _Memory:
        living, roots = self._numbers.in_use(), self._roots.in_use()
        names = {number: name for number, name in (self._earlier | self._names).items() if number in living}
        lines = {number: lines for number, lines in self._lines.items() if number in living}
        places = {place: number for place, number in self._places.items() if place[0] in roots and number in living}
        replaced = {number: before for number, before in self._replaced.items() if {number, before} <= living}
        return _Memory(self._numbers, names, lines, self._roots, places, replaced)

    def remember(self, memory: _Memory) -> None:
        self._numbers.follow(memory.numbers)
        self._roots.follow(memory.roots)
        self._earlier, self._lines = memory.names, memory.lines
        self._places, self._replaced = memory.places, memory.replaced

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a leaf. It is introduced, with its name, when `introduce` is next called."""
        number = self._numbers.get(tensor)
        if number is None:
            number = self._numbers.add(tensor)
            self._unnamed.add(number)
            self.of_modules |= isinstance(tensor, nn.Parameter) << number
        return number

    def carry_on(self, number: int, leaf: torch.Tensor) -> None:
        """A new leaf has taken the place of one that is known."""
        self._numbers.carry_on(number, leaf)

    def introduce(self) -> None:
        """Introduce the leaves that came into view, named after what the user's frames hold now."""
        if not self._unnamed:
            return
        for frame in own_frames():
            for name, value in variables(frame):
                if is_a(value, nn.Module):
                    self.name_module(value, name)
        for number, tensor in self._numbers.living():
            if number in self._unnamed:
                attribute = self._modules.attribute(tensor)
                name = variable_name(tensor) or (attribute[2] if attribute is not None else "")
                self._introduce(number, tensor, name, attribute)

    @property
    def state(self) -> tuple[int, int]:
        """What is another one once a leaf has come or gone."""
        return self._numbers.state

    def living(self) -> Iterator[tuple[int, torch.Tensor]]:
        return self._numbers.living()

    def name_of(self, number: int) -> str:
        return self._names.get(number, f"parameter {number}")

    def known_name(self, number: int) -> str:
        """The name under which a parameter was introduced, "" if it was not."""
        return self._names.get(number, "")

    def name_module(self, module: nn.Module, prefix: str) -> list[int]:
        """Introduce every parameter of a module as `prefix.path`, and return their numbers.

        A module that is called by its class has no name yet, as a parametrization that is tried when it is registered.
        """
        numbers = []
        for path, parameter in parameters_in(module):
            number = self.number(parameter)
            if number in self._unnamed or (number in self._provisional and not is_lazy(parameter)):
                series = _series(module, prefix, path)
                name = f"{prefix}.{path}" if prefix else path
                self._introduce(number, parameter, name, series=series, replaces=self._placed(number, module, path))
                if prefix == type(module).__name__:
                    self._provisional.add(number)
            numbers.append(number)
        return numbers

    def _placed(self, number: int, root: nn.Module, path: str) -> int | None:
        """Remember where a parameter was seen; the one that was seen there before, if it is another, or from which it
        was computed at first."""
        number_of_root = self._roots.number(root)
        before = self._places.get((number_of_root, path))
        self._places[number_of_root, path] = number
        if before is None and (found := _REPARAMETRIZED.search(path)):
            before = self._places.get((number_of_root, path[: found.start()] + (found[1] or found[2])))
        if before is not None and before != number:
            self._replaced[number] = before
        return self._replaced.get(number)

    def _introduce(
        self,
        number: int,
        tensor: torch.Tensor,
        name: str,
        attribute: tuple[int, str, str] | None = None,
        series: str = "",
        replaces: int | None = None,
    ) -> None:
        shape = [] if is_lazy(tensor) else list(tensor.shape)
        self._unnamed.discard(number)
        (self._provisional.discard if name and not is_lazy(tensor) else self._provisional.add)(number)
        lines = self._lines_of(number, tensor)
        self._names[number] = name = name or self._earlier.get(number) or f"tensor of shape {tuple(shape)}"
        self.emit(
            ParameterSeen(
                step=self._course.steps,
                parameter=number,
                name=name,
                shape=shape,
                dtype=dtype_name(tensor),
                requires_grad=tensor.requires_grad,
                kind="parameter" if isinstance(tensor, nn.Parameter) else "tensor",
                module=attribute[0] if attribute is not None else None,
                module_kind=attribute[1] if attribute is not None else "",
                series=series,
                replaces=replaces,
                registered_at=lines.registered_at,
                called_from=lines.called_from,
                of_library=lines.of_library,
                elsewhere=_is_elsewhere(tensor),
            )
        )

    def _lines_of(self, number: int, tensor: torch.Tensor) -> _Lines:
        known = self._registrations
        seen = _Lines(known.line_of(tensor), known.caller_of(tensor), known.is_of_library(tensor))
        if any(seen):
            self._lines[number] = seen
        return self._lines.get(number, seen)


def _is_elsewhere(tensor: torch.Tensor) -> bool:
    """Whether its shards are empty here: a row of weights on two ranks is one rank's alone."""
    parts = list(plain_parts(tensor)) if dispatches(tensor) and tensor.numel() else []
    return bool(parts) and not any(part.numel() for part in parts)
