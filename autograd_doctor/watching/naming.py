"""Who is who: numbers for parameters, modules and optimizers, and the names that the user gave them.

A name is what the user would type at the place where the object came into view: `model.fc1.weight`, `self.critic`,
`weights[0]`. It is looked up in the variables of the user's frames, innermost first.
"""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import torch
from torch import nn

from autograd_doctor.events import OptimizerBuilt, ParameterGroup, ParametersAdded, ParameterSeen
from autograd_doctor.findings import Location
from autograd_doctor.watching.frame_locals import variables
from autograd_doctor.watching.places import own_frames

if TYPE_CHECKING:
    from autograd_doctor.watching.watch import Watch

_CONTAINER_LIMIT = 64
_ATTEMPTS = 4
_TOLERANCES = ("tolerance_grad", "tolerance_change")  # of `torch.optim.LBFGS`, and of those written after it


def variable_name(wanted: object, frame: FrameType | None = None) -> str:
    """The user's name for an object, "" if no frame of the user's names it; other objects are looked into one level."""
    for own in own_frames(frame):
        inside = ""
        for name, value in variables(own):
            if value is wanted:
                return name
            inside = inside or _inside(name, value, wanted) or _attribute(name, value, wanted)
        if inside:
            return inside
    return ""


def _inside(name: str, container: Any, wanted: object) -> str:
    if isinstance(container, list | tuple) and len(container) <= _CONTAINER_LIMIT:
        return next((f"{name}[{index}]" for index, value in enumerate(container) if value is wanted), "")
    if isinstance(container, dict) and len(container) <= _CONTAINER_LIMIT:
        return next(
            (f"{name}[{key!r}]" for key, value in container.items() if value is wanted and isinstance(key, str | int)),
            "",
        )
    return ""


def _attribute(name: str, holder: object, wanted: object) -> str:
    """The attribute under which an instance holds an object, read past `__getattr__`: proxies would wake up."""
    if isinstance(holder, type | ModuleType | FunctionType):
        return ""
    try:
        attributes = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return ""
    if len(attributes) > _CONTAINER_LIMIT:
        return ""
    return next((f"{name}.{key}" for key, value in list(attributes.items()) if value is wanted), "")


def series_name(wanted: object, frame: FrameType | None = None) -> str:
    """The user's name for a member of a series whose other members have no variables of their own, "" elsewhere.

    A variable that holds it then is a loop's: it names each member in turn, and the last one ever after.
    """
    for own in own_frames(frame):
        held = dict(variables(own))
        named = {id(value) for value in held.values()}
        for name, container in held.items():
            inside = _inside(name, container, wanted)
            members = container.values() if isinstance(container, dict) else container if inside else ()
            if inside and any(type(member) is type(wanted) and id(member) not in named for member in members):
                return inside
    return ""


class Numbers:
    """Small numbers for objects that are compared by identity; forgets an object when it dies."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._count = 0

    def get(self, wanted: object) -> int | None:
        entry = self._by_id.get(id(wanted))
        return entry[1] if entry is not None and entry[0]() is wanted else None

    def add(self, new: object) -> int:
        number = self._count
        self._count += 1
        self._by_id[id(new)] = (weakref.ref(new), number)
        return number

    def carry_on(self, number: int, new: object) -> None:
        """Give the number of an object to another one that has taken its place."""
        self._by_id = {key: entry for key, entry in self._by_id.items() if entry[1] != number}
        self._by_id[id(new)] = (weakref.ref(new), number)

    def living(self) -> Iterator[tuple[int, Any]]:
        """Numbers and objects that are still alive, in the order in which they came into view."""
        for reference, number in list(self._by_id.values()):
            value = reference()
            if value is not None:
                yield number, value


_CONTAINERS = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)


def _series(module: nn.Module, prefix: str, path: str) -> str:
    """The path of a parameter with a star for its member of each container on the way, "" if there is none."""
    part: nn.Module | None = module
    words: list[str] = []
    for word in path.split("."):
        words.append("*" if isinstance(part, _CONTAINERS) else word)
        part = dict(part.named_children()).get(word) if part is not None else None
    return ".".join([prefix, *words]) if "*" in words else ""


class Parameters:
    """The leaves that can learn."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._numbers = Numbers()
        self._names: dict[int, str] = {}
        self._unnamed: set[int] = set()

    def get(self, tensor: torch.Tensor) -> int | None:
        return self._numbers.get(tensor)

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a leaf. It is introduced, with its name, when `introduce` is next called."""
        number = self._numbers.get(tensor)
        if number is None:
            number = self._numbers.add(tensor)
            self._unnamed.add(number)
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
                if isinstance(value, nn.Module):
                    self.name_module(value, name)
        for number, tensor in self._numbers.living():
            if number in self._unnamed:
                attribute = self._watch.modules.attribute(tensor)
                name = variable_name(tensor) or (attribute[2] if attribute is not None else "")
                self._introduce(number, tensor, name or f"tensor of shape {tuple(tensor.shape)}", attribute)

    def living(self) -> Iterator[tuple[int, torch.Tensor]]:
        return self._numbers.living()

    def name(self, number: int) -> str:
        return self._names.get(number, f"parameter {number}")

    def known_name(self, number: int) -> str:
        """The name under which a parameter was introduced, "" if it was not."""
        return self._names.get(number, "")

    def name_module(self, module: nn.Module, prefix: str) -> list[int]:
        """Introduce every parameter of a module as `prefix.path`, and return their numbers."""
        numbers = []
        for path, parameter in module.named_parameters():
            number = self.number(parameter)
            if number in self._unnamed or self._names[number].startswith("tensor of shape"):
                series = _series(module, prefix, path)
                self._introduce(number, parameter, f"{prefix}.{path}" if prefix else path, series=series)
            numbers.append(number)
        return numbers

    def _introduce(
        self,
        number: int,
        tensor: torch.Tensor,
        name: str,
        attribute: tuple[int, str, str] | None = None,
        series: str = "",
    ) -> None:
        self._names[number] = name
        self._unnamed.discard(number)
        self._watch.emit(
            ParameterSeen(
                step=self._watch.step,
                parameter=number,
                name=name,
                shape=list(tensor.shape),
                dtype=str(tensor.dtype).removeprefix("torch."),
                requires_grad=tensor.requires_grad,
                kind="parameter" if isinstance(tensor, nn.Parameter) else "tensor",
                module=attribute[0] if attribute is not None else None,
                module_kind=attribute[1] if attribute is not None else "",
                series=series,
            )
        )


class Modules:
    """The modules that ran. The events that introduce them come from the probe that watches them run."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._numbers = Numbers()
        self._names: dict[int, str] = {}

    def get(self, module: nn.Module) -> int | None:
        return self._numbers.get(module)

    def add(self, module: nn.Module, name: str) -> int:
        number = self._numbers.add(module)
        self._names[number] = name
        return number

    def name(self, number: int) -> str:
        return self._names[number]

    def living(self) -> Iterator[tuple[int, nn.Module]]:
        return self._numbers.living()

    def attribute(self, tensor: torch.Tensor) -> tuple[int, str, str] | None:
        """The module, the class of that part of it, and the name under which a tensor is a plain attribute there."""
        for number, root in self.living():
            for path, part in root.named_modules(prefix=self._names[number]):
                key = next((key for key, value in list(vars(part).items()) if value is tensor), None)
                if key is not None:
                    return number, type(part).__name__, f"{path}.{key}" if path else key
        return None


def setting(group: dict[str, Any], name: str) -> float:
    """A number of a parameter group: 0 where it has none, NaN where the optimizer works it out by itself (`None`)."""
    value = group.get(name, 0.0)
    return math.nan if value is None else float(value)


class Optimizers:
    """The optimizers, introduced when they are built, or when they first step if they came out of a pickle."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._numbers = Numbers()
        self._parameters: dict[int, set[int]] = {}
        self._built: dict[int, OptimizerBuilt] = {}
        self._attempts: Counter[int] = Counter()

    def get(self, optimizer: torch.optim.Optimizer) -> int | None:
        return self._numbers.get(optimizer)

    def living(self) -> Iterator[tuple[int, torch.optim.Optimizer]]:
        return self._numbers.living()

    def holds(self, parameter: int) -> bool:
        """Whether any optimizer was given this parameter."""
        return any(parameter in held for held in self._parameters.values())

    def number(self, optimizer: torch.optim.Optimizer, built_at: Location | None = None) -> int:
        number = self._numbers.get(optimizer)
        if number is None:
            number = self._numbers.add(optimizer)
            groups = [self._group(group) for group in optimizer.param_groups]
            self._watch.parameters.introduce()
            flat = [parameter for group in groups for parameter in group.parameters]
            self._parameters[number] = set(flat)
            self._built[number] = OptimizerBuilt(
                step=self._watch.step,
                optimizer=number,
                name="",
                kind=type(optimizer).__name__,
                location=built_at,
                groups=groups,
                rebuilds=self._rebuilds(number),
                duplicates=sorted(parameter for parameter, count in Counter(flat).items() if count > 1),
                has_tolerance=any(name in group for group in optimizer.param_groups for name in _TOLERANCES),
            )
            self._watch.emit(self._built[number])
        return number

    def name(self, number: int, optimizer: torch.optim.Optimizer) -> None:
        """Introduce an optimizer once more when the variable that holds it is known: at its construction it is not."""
        built = self._built.get(number)
        if built is None:
            return
        name = series_name(optimizer) or variable_name(optimizer)
        self._attempts[number] += 1
        if name:
            self._watch.emit(msgspec.structs.replace(built, name=name))
        if name or self._attempts[number] >= _ATTEMPTS:
            del self._built[number]

    def introduce(self) -> None:
        """Name the optimizers that are still without: one that never steps has a name, too."""
        if self._built:
            for number, optimizer in self.living():
                self.name(number, optimizer)

    def add_group(self, optimizer: torch.optim.Optimizer, group: dict[str, Any], location: Location | None) -> None:
        """Take note of `add_param_group` on an optimizer that is already known."""
        number = self._numbers.get(optimizer)
        if number is not None:
            added = self._group(group)
            self._parameters[number].update(added.parameters)
            self._watch.emit(ParametersAdded(step=self._watch.step, optimizer=number, group=added, location=location))

    def _group(self, group: dict[str, Any]) -> ParameterGroup:
        betas: Iterable[Any] = group.get("betas", (0.0,))
        return ParameterGroup(
            parameters=[self._watch.parameters.number(parameter) for parameter in group["params"]],
            lr=setting(group, "lr"),
            momentum=setting(group, "momentum") if "momentum" in group else float(next(iter(betas)) or 0.0),
            weight_decay=setting(group, "weight_decay"),
        )

    def _rebuilds(self, number: int) -> int | None:
        mine = self._parameters[number]
        return next((earlier for earlier, held in self._parameters.items() if earlier != number and held & mine), None)
