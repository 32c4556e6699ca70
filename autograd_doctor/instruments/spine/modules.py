"""Who is who among the modules that ran: their numbers, and the names that the user gave them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.without_running import attributes


class Modules(Instrument):
    """The modules that ran, kept here for all who name things; the calls of modules introduce them."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._numbers = Numbers()
        self._names: dict[int, str] = {}

    def memory(self) -> Numbers:
        return self._numbers

    def remember(self, memory: Numbers) -> None:
        self._numbers.follow(memory)

    def get(self, module: nn.Module) -> int | None:
        return self._numbers.get(module)

    def add(self, module: nn.Module, name: str) -> int:
        number = self._numbers.add(module)
        self._names[number] = name
        return number

    def name_of(self, number: int) -> str:
        return self._names[number]

    def living(self) -> Iterator[tuple[int, nn.Module]]:
        return self._numbers.living()

    def attribute(self, tensor: torch.Tensor) -> tuple[int, str, str] | None:
        """The module, the class of that part of it, and the name under which a tensor is a plain attribute there."""
        for number, root in self.living():
            for path, part in modules_in(root, self._names[number]):
                key = next((key for key, value in list(attributes(part).items()) if value is tensor), None)
                if key is not None:
                    return number, type(part).__name__, f"{path}.{key}" if path else key
        return None
