"""Normalisations that were given the weights of others, and are used with statistics that nothing has ever moved."""

from __future__ import annotations

import weakref
from typing import ClassVar, NamedTuple

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.parameter import is_lazy

from autograd_doctor.events.data import StatisticsLeft
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import FOLLOWS
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import address
from autograd_doctor.reading.tensor_facts import fingerprints, is_remote, readable
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.registration import Registered
from autograd_doctor.signals.states import StateLoad
from autograd_doctor.tape import numbers_in

_WRITES = frozenset({"copy_", "data.__set__", "__setitem__"})
_MOST_LOOKS = 4
"""At each module that runs in evaluation mode."""
_MOST_NORMS = 1000
_MOST_NAMED = 4


class _Copied(NamedTuple):
    """Where a weight got the values of a normalisation whose statistics had moved.

    values: their fingerprint, None for a weight that follows those values in ever smaller steps, as an average.
    """

    place: Place | None
    source: weakref.ref[nn.Module]
    values: int | None


class _Left(NamedTuple):
    """A normalisation in use, where its weight came from, and whose it was, as far as these are known.

    guessed: it is only known to be the place of the same normalisation in another such model.
    """

    norm: nn.Module
    place: Place | None
    source: nn.Module | None
    averaged: bool = False
    guessed: bool = False


class LeftStatistics(Instrument):
    """Looks at modules in evaluation mode, in full steps, until something was found in them.

    Statistics of their own, which a module gathers in training mode, are none that were left behind.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (StatisticsLeft,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        module_calls: ModuleCalls,
        module_register: ModuleRegister,
    ) -> None:
        super().__init__(site)
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._register = module_register
        self._norms: IdentityTable[weakref.ref[nn.Module]] = IdentityTable()
        self._roots: IdentityTable[None] = IdentityTable()
        self._looks: dict[int, int] = {}
        self._copied: dict[int, _Copied] = {}
        self._loaded: IdentityTable[Place | None] = IdentityTable()
        self._weights: dict[int, nn.Module] = {}
        self._weights_of = -1
        self._values: IdentityTable[int | None] = IdentityTable()
        """Of weights that are no copies, at the newest look."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._operation_ended, names=_WRITES, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._averaged, names=FOLLOWS, attention=Attention.FULL)
        self.listen(signals.registration.submodule, self._registered)
        self.listen(signals.states.loaded, self._state_loaded)

    def _registered(self, registered: Registered) -> None:
        """A module that is built after others have learned may be given what they know: that is to be seen."""
        if self._course.steps and is_a(registered.given, _NormBase):
            self._detail.met("normalisation built")

    # ------------------------------------------------------------------------------------------------------- copies

    def _operation_ended(self, operation: Operation) -> None:
        if not self._norms or len(operation.args) < 2:
            return
        target = operation.args[0]
        if not isinstance(target, torch.Tensor) or target.dim() != 1 or not _is_read(target):
            return
        source = self._source(target)
        if source is not None:
            values = fingerprints([target])[0]
            self._copied[address(target)] = _Copied(operation.place, weakref.ref(source), values)

    def _averaged(self, operation: Operation) -> None:
        """Weights move towards those of a normalisation whose statistics have moved."""
        if not self._norms or not self._course.steps or len(operation.args) < 2:
            return
        target, other = operation.args[:2]
        if not isinstance(target, torch.Tensor) or not isinstance(other, torch.Tensor):
            return
        if target.dim() == 1 and target.shape == other.shape and _is_read(target):
            source = self._followed(other)
            if source is not None and _weight(source) is not target:
                self._copied.setdefault(address(target), _Copied(operation.place, weakref.ref(source), None))

    def _followed(self, other: torch.Tensor) -> nn.Module | None:
        """The normalisation whose weight this is, or flows into this by value."""
        if self._weights_of != self._course.steps:
            self._weights_of = self._course.steps
            weights = ((_weight(norm), norm) for norm, _ in self._norms.items())
            self._weights = {address(weight): norm for weight, norm in weights if weight is not None}
        source = self._weights.get(address(other))
        made = self._tensors.get(other) if source is None else None
        if made is not None and made.values:
            flowing = ((_weight(norm), norm) for norm in self._weights.values())
            numbers = {self._parameters.get(weight): norm for weight, norm in flowing if weight is not None}
            source = next((numbers[number] for number in numbers_in(made.values) if number in numbers), None)
        return source if source is not None and not _is_untouched(source) else None

    def _source(self, weight: torch.Tensor) -> nn.Module | None:
        """The normalisation that a weight is a copy of, if its statistics have moved; all new weights are alike."""
        if is_lazy(weight) or _is_even(weight):
            return None
        norm: nn.Module
        for norm, _ in self._norms.items():
            own = _weight(norm)
            if own is None or address(own) == address(weight) or own.shape != weight.shape:
                continue
            if torch.equal(own, weight) and not _is_untouched(norm):
                return norm
        return None

    def _state_loaded(self, load: StateLoad) -> None:
        missing = set(load.missing or ())
        for path, norm in modules_in(load.module) if missing else ():
            below = f"{path}." if path else ""
            if f"{below}running_mean" in missing and f"{below}weight" not in missing and is_a(norm, _NormBase):
                self._loaded.put(norm, place())

    # ---------------------------------------------------------------------------------------------------------- use

    def _root_began(self, began: RootBegan) -> None:
        root = began.call.module
        if root not in self._roots:
            self._roots.put(root, None)
            self._meet(root)
        if not self._norms:
            return
        looks = self._looks.get(began.module, 0)
        if looks >= _MOST_LOOKS:
            return
        in_use = [(path, norm) for path, norm in modules_in(root) if _uses_statistics(norm)]
        if in_use:
            self._looks[began.module] = looks + 1
            left = [found for path, norm in in_use if (found := self._left(root, path, norm)) is not None]
            if left:
                self._looks[began.module] = _MOST_LOOKS
                self._tell(began, left)

    def _meet(self, root: nn.Module) -> None:
        for _, norm in modules_in(root):
            if is_a(norm, _NormBase) and len(self._norms) < _MOST_NORMS:
                self._norms.put(norm, weakref.ref(root))

    def _left(self, root: nn.Module, path: str, norm: nn.Module) -> _Left | None:
        weight = attributes(norm)["_parameters"].get("weight")
        if weight is None or not readable(weight) or not _is_untouched(norm):
            return None
        if is_remote(weight):
            return self._left_elsewhere(norm)
        copied = self._copied.get(address(weight))
        if copied is not None and (copied.values is None or copied.values == fingerprints([weight])[0]):
            return _Left(norm, copied.place, copied.source(), averaged=copied.values is None)
        source = self._source(weight) if self._course.steps else None
        if norm in self._loaded:
            return _Left(norm, self._loaded.get(norm), source)
        if source is None and self._was_learned_elsewhere(norm):
            alike = self._alike(root, path, norm)
            return None if alike is None else _Left(norm, None, alike, guessed=True)
        return None if source is None else _Left(norm, None, source)

    def _was_learned_elsewhere(self, norm: nn.Module) -> bool:
        """Whether its weight is none that one is built with, was another at an earlier look, and nobody trains it here.

        One that stays as it is may be that of a teacher that was drawn at random.
        """
        weight = _weight(norm)
        if weight is None or is_lazy(weight) or _is_even(weight) or weight.grad is not None:
            return False
        number, before, now = self._parameters.get(weight), self._values.get(weight), fingerprints([weight])[0]
        self._values.put(weight, now)
        return before is not None and before != now and not (number is not None and self._optimizers.holds(number))

    def _alike(self, root: nn.Module, path: str, norm: nn.Module) -> nn.Module | None:
        """The same normalisation of another model of this kind, whose statistics have moved."""
        for other, _ in self._roots.items():
            if other is not root and type(other) is type(root):
                there = dict(modules_in(other)).get(path, norm)
                if is_a(there, _NormBase) and _size(there) == _size(norm) and not _is_untouched(there):
                    return there
        return None

    def _left_elsewhere(self, norm: nn.Module) -> _Left | None:
        """Of weights that cannot be compared at each step, only loading tells where they came from."""
        if norm in self._loaded:
            return _Left(norm, self._loaded.get(norm), None)
        if self._course.steps:
            self.limited("copies of weights on an accelerator are not followed")
        return None

    def _tell(self, began: RootBegan, left: list[_Left]) -> None:
        root, (first, where, source, averaged, guessed) = began.call.module, left[0]
        names = self._register.names(root, [found.norm for found in left[:_MOST_NAMED]])
        held = self._norms.get(source) if source is not None else None
        whole = held() if held is not None else None
        mean, var = (None, None) if source is None else _statistics(source)
        self.emit(
            StatisticsLeft(
                step=self._course.steps,
                module=began.module,
                location=locate(where),
                used_at=locate(began.where),
                norms=names,
                count=len(left),
                loaded=first in self._loaded,
                averaged=averaged,
                guessed=guessed,
                source=self._register.names(whole, [source])[0] if whole is not None and source is not None else "",
                mean=None if mean is None else float(mean.abs().max()),
                lowest=None if var is None else float(var.min()),
                highest=None if var is None else float(var.max()),
            )
        )


def _statistics(norm: nn.Module) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    kept = attributes(norm)["_buffers"]
    return kept.get("running_mean"), kept.get("running_var")


def _uses_statistics(module: nn.Module) -> bool:
    return is_a(module, _NormBase) and not module.training and _statistics(module)[0] is not None


def _is_untouched(norm: nn.Module) -> bool:
    """Whether its statistics are as they are at first: those of no data."""
    mean, var = _statistics(norm)
    if mean is None or var is None or not (readable(mean) and readable(var)):
        return True
    return not bool(mean.any()) and bool((var == 1).all())


def _size(norm: nn.Module) -> torch.Size | None:
    mean, _ = _statistics(norm)
    return None if mean is None else mean.shape


def _weight(norm: nn.Module) -> torch.Tensor | None:
    weight = attributes(norm)["_parameters"].get("weight")
    return weight if weight is not None and _is_read(weight) else None


def _is_read(tensor: torch.Tensor) -> bool:
    return not is_remote(tensor) and readable(tensor)


def _is_even(weight: torch.Tensor) -> bool:
    return bool((weight == weight[0]).all()) if weight.numel() else True
