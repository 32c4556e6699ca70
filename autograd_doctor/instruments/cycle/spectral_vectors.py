"""Vectors of spectral norms that are no unit vectors where a module is evaluated: the norm is then estimated too low.

Training renews them by a power iteration; an evaluation takes them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn.utils.parametrizations import _SpectralNorm
from torch.nn.utils.spectral_norm import SpectralNorm

from autograd_doctor.events.cycle import SpectralVectorsOff
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.cycle.averages import Averages
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.tensor_facts import norms
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_WORTH_TELLING = 0.95
"""Of what a norm really is: weights a few hundredths too large do no harm, and rounding moves less."""


class SpectralVectors(Instrument):
    """Looks at the modules that are evaluated, in full steps, until one is told of."""

    emits: ClassVar[tuple[type[Event], ...]] = (SpectralVectorsOff,)

    def __init__(
        self, site: Site, course: Course, module_calls: ModuleCalls, tensors: Tensors, averages: Averages
    ) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._tensors = tensors
        self._averages = averages
        self._told: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)

    def _root_began(self, began: RootBegan) -> None:
        module = began.call.module
        if module.training or not self._course.steps or began.module in self._told:
            return
        found = list(_vectors_of(module))
        sizes = norms([vector for _, left, right in found for vector in (left, right)])
        shares = [left * right for left, right in zip(sizes[::2], sizes[1::2], strict=True)]
        off = [(share, each) for share, each in zip(shares, found, strict=True) if 0 < share < _WORTH_TELLING]
        if not off:
            return
        self._told.add(began.module)
        share, (_, left, _) = min(off, key=lambda each: each[0])
        written = self._tensors.get(left)
        written_at = locate(written.place) if written is not None else None
        self.emit(
            SpectralVectorsOff(
                step=self._course.steps,
                module=began.module,
                layers=[path for _, (path, _, _) in off],
                share=share,
                location=self._averages.averaged_at(tuple(left.shape)) or written_at,
                evaluated_at=locate(began.where),
            )
        )


def _vectors_of(root: nn.Module) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Those that estimate a norm without a power iteration, by the layer."""
    for path, module in modules_in(root):
        if module.training:
            continue
        held: Any = attributes(module).get("_buffers", {})
        if is_a(module, _SpectralNorm):
            names = [("_u", "_v")]
        else:
            hooks: list[Any] = [hook for hook in module._forward_pre_hooks.values() if is_a(hook, SpectralNorm)]
            names = [(f"{hook.name}_u", f"{hook.name}_v") for hook in hooks]
        for left, right in names:
            if left in held and right in held:
                yield path.partition(".parametrizations.")[0], held[left], held[right]
