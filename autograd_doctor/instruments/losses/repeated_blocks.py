"""Modules that a list of modules holds at several of its places: `nn.Sequential(*[Block()] * 4)`."""

from __future__ import annotations

from typing import ClassVar

from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import BlockRepeated
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootPassed
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import children_of, modules_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.registration import Registered

_LISTS = (nn.ModuleList, nn.Sequential)


class RepeatedBlocks(Instrument):
    """Tells of each such list once, when the root that holds it has run."""

    emits: ClassVar[tuple[type[Event], ...]] = (BlockRepeated,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        module_calls: ModuleCalls,
        module_register: ModuleRegister,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._module_calls = module_calls
        self._register = module_register
        self._lists: IdentityTable[Place | None] = IdentityTable()
        """Those that were given a module once more, and where they were."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.registration.submodule, self._registered)
        self.listen(self._module_calls.root_passed, self._root_passed)

    def _registered(self, registered: Registered) -> None:
        module, given = registered.module, registered.given
        if isinstance(module, _LISTS) and any(inner is given for inner in children_of(module).values()):
            self._lists.put(module, place())

    def _root_passed(self, passed: RootPassed) -> None:
        if not self._lists:
            return
        root = passed.call.module
        for _, inner in modules_in(root):
            if inner in self._lists:
                self._tell(root, inner, self._lists.get(inner))
                self._lists.discard(inner)

    def _tell(self, root: nn.Module, repeating: nn.Module, where: Place | None) -> None:
        (name,) = self._register.names(root, [repeating])
        places: dict[int, list[str]] = {}
        children = children_of(repeating)
        for key, inner in children.items():
            places.setdefault(id(inner), []).append(key)
        for keys in places.values():
            block = children[keys[0]]
            numbers = [self._parameters.get(parameter) for _, parameter in parameters_in(block)]
            known = sorted(number for number in numbers if number is not None)
            if len(keys) > 1 and known:
                names = [f"{name}.{key}" for key in keys]
                kind = type(block).__name__
                self.emit(
                    BlockRepeated(
                        step=self._course.steps, names=names, kind=kind, parameters=known, location=locate(where)
                    )
                )
