"""Functions of torch that take the mode as an argument (`dropout(x, p, training)`), told by its signatures and tags."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import torch
from torch.overrides import get_testing_overrides

from autograd_doctor.reading.call_site import given_arguments
from autograd_doctor.reading.function_signature import signature

_FLAGS = ("training", "train", "use_input_stats")
"""How torch calls the argument that says whether a function is to do what it does in training."""
_RATES = ("p", "dropout", "dropout_p")
"""How torch calls the rate at which elements are dropped."""


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


def is_told(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the call of a mode-dependent function that runs gives it the mode, rather than leave it to its default.

    True also where the program does not call it itself.
    """
    if isinstance(func, FunctionType):
        given = given_arguments(func)
        return given is None or not given.isdisjoint(_FLAGS)
    return not {*list(_mode_parameters(func) or ())[: len(args)], *kwargs}.isdisjoint(_FLAGS)


@cache
def _mode_parameters(func: Callable[..., Any]) -> dict[str, Any] | None:
    """Names and defaults of the parameters of a function that takes the mode, or a rate that stands for it."""
    described = func if isinstance(func, FunctionType) else _overrides().get(func)
    if not isinstance(described, FunctionType):
        return None
    try:
        found = {each.name: each.default for each in signature(described).parameters.values()}
    except ValueError:  # `Tensor.__pow__` wraps a function of C that has none
        return None
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
def draws_numbers(name: str) -> bool:
    """Whether an operation takes numbers from the random generator, as torch tags it."""
    packet = getattr(torch.ops.aten, name, None)
    overloads = packet.overloads() if isinstance(packet, torch._ops.OpOverloadPacket) else ()
    return any(torch.Tag.nondeterministic_seeded in getattr(packet, overload).tags for overload in overloads)
