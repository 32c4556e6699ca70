"""Functions of torch that take the mode as an argument (`dropout(x, p, training)`), and modules that hand them theirs.

Which functions these are is read from torch's own signatures and tags. A module of the program depends on its mode if
such a function, called while it is the innermost one that runs, was active in train mode and is not in eval mode.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.overrides import get_testing_overrides

from autograd_doctor.watching.care import contained
from autograd_doctor.watching.frame_locals import local_variables
from autograd_doctor.watching.watch import Watch

_FLAGS = ("training", "train", "use_input_stats")
"""How torch calls the argument that says whether a function is to do what it does in training."""
_RATES = ("p", "dropout", "dropout_p")
"""How torch calls the rate at which elements are dropped."""


# ---------------------------------------------------------------------------------------------------- single functions


def was_active(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | None:
    """Whether a mode-dependent function ran as in training; None for any other, and where the mode changes nothing."""
    parameters = _mode_parameters(func)
    if parameters is None:
        return None
    given = {**parameters, **dict(zip(parameters, args, strict=False)), **kwargs}
    rate = next((given[name] for name in _RATES if name in given), None)
    flag = next((given[name] for name in _FLAGS if name in given), None)
    if flag is None:  # attention takes the rate alone, 0 in evaluation
        return True if _is_positive(rate) else None
    unused = "running_mean" in given and given["running_mean"] is None
    fixed = "lower" in given and given["lower"] == given["upper"]
    if unused or fixed or (rate is not None and not _is_positive(rate)):
        return None
    return bool(flag)


@cache
def _mode_parameters(func: Callable[..., Any]) -> dict[str, Any] | None:
    """Names and defaults of the parameters of a function that takes the mode, or a rate that stands for it."""
    described = func if isinstance(func, FunctionType) else _overrides().get(func)
    if not isinstance(described, FunctionType):
        return None
    found = {each.name: each.default for each in inspect.signature(described).parameters.values()}
    if func is not torch.nn.functional.scaled_dot_product_attention and found.keys().isdisjoint(_FLAGS):
        return None
    if "num_layers" in found:  # recurrent networks have several orders of arguments; their modules say what they do
        return None
    return {name: None if default is inspect.Parameter.empty else default for name, default in found.items()}


@cache
def _overrides() -> dict[Any, Any]:
    return dict(get_testing_overrides())


def _is_positive(rate: object) -> bool:
    return isinstance(rate, int | float) and rate > 0


@cache
def draws_numbers(func: Callable[..., Any]) -> bool:
    """Whether an operation takes numbers from the random generator, as torch tags it."""
    packet = getattr(torch.ops.aten, getattr(func, "__name__", ""), None)
    overloads = packet.overloads() if isinstance(packet, torch._ops.OpOverloadPacket) else ()
    return any(torch.Tag.nondeterministic_seeded in getattr(packet, overload).tags for overload in overloads)


# ------------------------------------------------------------------------------------------------------------- modules


@dataclass
class _Use:
    """What a module's forward was seen to do in each mode. `active`: functions that take the mode were so or not;
    `drew`, `quiet`: modes in which it drew random numbers, and in which it ran through without."""

    module: weakref.ref[nn.Module]
    active: dict[bool, set[bool]] = field(default_factory=dict)
    drew: set[bool] = field(default_factory=set)
    quiet: set[bool] = field(default_factory=set)

    @property
    def depends(self) -> bool:
        """By its functions; by its random numbers only where it was seen with them in training, and without in eval."""
        in_train, in_eval = self.active.get(True, set()), self.active.get(False, set())
        active_in_training = not in_train or True in in_train
        inactive_in_evaluation = not in_eval or False in in_eval
        by_function = bool(self.active) and active_in_training and inactive_in_evaluation
        return by_function or (self.drew == {True} and False in self.quiet)


class ModeUses:
    """Keeps what was seen, by module; nothing is kept alive."""

    def __init__(self) -> None:
        self._uses: dict[int, _Use] = {}

    def depends(self, module: nn.Module) -> bool:
        use = self._known(module)
        return use is not None and use.depends

    def uses_mode(self, module: nn.Module) -> bool:
        """Whether the module is worth following: a function that takes the mode, or random numbers, were seen in it."""
        return self._known(module) is not None

    def _known(self, module: nn.Module) -> _Use | None:
        use = self._uses.get(id(module))
        return use if use is not None and use.module() is module else None

    def of(self, module: nn.Module) -> _Use:
        use = self._known(module)
        if use is None:
            use = self._uses[id(module)] = _Use(weakref.ref(module))
        return use

    def ran_without_drawing(self, module: nn.Module) -> None:
        use = self._known(module)
        if use is not None:
            use.quiet.add(module.training)


class FunctionalModes:
    """Listens to the operations of one root call. `calling` is the code of what calls modules, whose `module` runs."""

    def __init__(self, watch: Watch, uses: ModeUses, calling: CodeType, met: Callable[[nn.Module], None]) -> None:
        self._watch = watch
        self._uses = uses
        self._calling = calling
        self._met = met
        self.drew: set[int] = set()

    @contained
    def operation(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        active = was_active(func, args, kwargs)
        if active is None and not draws_numbers(func):
            return
        module = running_module(inspect.currentframe(), self._calling)
        if module is None:
            return
        use = self._uses.of(module)
        if active is None:
            use.drew.add(module.training)
            self.drew.add(id(module))
        else:
            use.active.setdefault(module.training, set()).add(active)
        self._met(module)


def running_module(frame: FrameType | None, calling: CodeType) -> nn.Module | None:
    """The innermost module that runs: the one in the frame that called it."""
    while frame is not None:
        if frame.f_code is calling:
            return local_variables(frame).get("module")
        frame = frame.f_back
    return None
