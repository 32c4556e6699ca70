"""A step of an optimizer on copies of its parameters, gradients and state: as it is, and by torch's faster ways."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf, isnan
from typing import Any, NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.paired_runs import Rounds, seconds_in_turn
from autograd_doctor.reading.subclasses import bytes_of, is_plain
from autograd_doctor.reading.tensor_facts import read_together
from autograd_doctor.reading.trials import Undecided, alone

WAYS = ("fused", "foreach")
_ROUNDS = Rounds(8, 40)
_MOST_BYTES = 2**31
"""Of all copies together."""
_HOOKS = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


class Way(NamedTuple):
    """How long a step took in each round, and how far weights were then from those after a step as it is, relative to
    the largest change. option: of the constructor; "" as it is.
    """

    option: str
    seconds: list[float]
    differs: float


def obstacle(optimizer: Optimizer) -> str:
    """Why no other way can be tried; "" where nothing stands in the way."""
    kind = type(optimizer)
    on_instance = vars(optimizer).get("step")  # schedulers put one there that counts
    if getattr(torch.optim, kind.__name__, None) is not kind or not (
        on_instance is None or hasattr(on_instance, "_wrapped_by_lr_sched")
    ):
        return "its step is the program's own"
    if any(getattr(optimizer, name, None) for name in _HOOKS):
        return "the program has hooks on it"
    if not _options(optimizer):
        return "torch has no other way for it"
    if any(group.get("differentiable") for group in optimizer.param_groups):
        return "its step is differentiable"
    learning = [parameter for parameter in _parameters(optimizer) if parameter.grad is not None]
    if not learning:
        return "there are no gradients"
    if any(not is_plain(each) or type(each.grad) is not torch.Tensor or each.is_meta for each in learning):
        return "its parameters are not plain tensors"
    if any(each.grad is None or each.grad.layout is not torch.strided or each.is_complex() for each in learning):
        return "its gradients are sparse, or complex"
    if (2 + len(WAYS)) * _size(optimizer) > _MOST_BYTES:
        return "it is too large to be copied"
    return ""


def tried(optimizer: Optimizer, seconds: float) -> list[Way]:
    """The step as it is, then each other way that torch takes for it. seconds: what all that may take.

    Raises `Undecided` where torch takes none.
    """
    with alone():
        before = [parameter.detach().clone() for parameter in _parameters(optimizer)]
        began = CLOCK.perf_counter()
        plain = _copy(optimizer, "")
        _step(plain)
        one = CLOCK.perf_counter() - began
        copies, differs = [plain], [0.0]
        for option in _options(optimizer):
            try:
                copied = _copy(optimizer, option)
                _step(copied)
            except (RuntimeError, ValueError):  # by which torch says that it has no such step for these parameters
                continue
            copies.append(copied)
            differs.append(_apart(before, plain, copied))
        if len(copies) == 1:
            raise Undecided("torch has no other way for these parameters")
        runs = [partial(_step, copied) for copied in copies]
        taken = seconds_in_turn(runs, _ROUNDS, one=len(copies) * one, budget=seconds)
    options = ["", *(_option_of(each) for each in copies[1:])]
    return [Way(option, each, far) for option, each, far in zip(options, taken, differs, strict=True)]


def _options(optimizer: Optimizer) -> list[str]:
    """Those that its constructor knows and that it was not given: of one that is fused already there are none."""
    known = inspect.signature(type(optimizer).__init__).parameters
    groups = optimizer.param_groups
    if any(group.get("fused") for group in groups):
        return []
    return [option for option in WAYS if option in known and not any(group.get(option) for group in groups)]


def _option_of(copied: Optimizer) -> str:
    return next(option for option in WAYS if copied.param_groups[0].get(option))


def _parameters(optimizer: Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _size(optimizer: Optimizer) -> int:
    """Bytes of parameters, gradients and state."""
    state = sum(
        bytes_of(value)
        for parameter in _parameters(optimizer)
        for value in optimizer.state.get(parameter, {}).values()
        if isinstance(value, torch.Tensor)
    )
    return state + sum(bytes_of(each) * (1 if each.grad is None else 2) for each in _parameters(optimizer))


def _copy(optimizer: Optimizer, option: str) -> Optimizer:
    """With the same groups and state. torch refuses some options in the constructor, which is told of them, therefore.

    Raises what torch raises.
    """
    chosen: dict[str, Any] = {option: True} if option else {}
    ways = dict.fromkeys(WAYS, False) | chosen if option else {}
    groups: list[dict[str, Any]] = []
    states: dict[torch.Tensor, Mapping[str, Any]] = {}
    for group in optimizer.param_groups:
        copied = {parameter: _learning_copy(parameter) for parameter in group["params"]}
        options = {name: _kept(value) for name, value in group.items() if name != "params"}
        groups.append({**options, **ways, "params": [*copied.values()]})
        states |= {copied[parameter]: optimizer.state.get(parameter, {}) for parameter in copied}
    constructor: Any = type(optimizer)
    made: Optimizer = constructor(groups, **chosen)
    for parameter, state in states.items():
        if state:
            made.state[parameter] = {name: _kept(value) for name, value in state.items()}
            if option == "fused" and isinstance(state.get("step"), torch.Tensor):
                made.state[parameter]["step"] = state["step"].to(parameter.device, torch.float32, copy=True)
    return made


def _learning_copy(parameter: torch.Tensor) -> torch.Tensor:
    copied = parameter.detach().clone().requires_grad_(parameter.requires_grad)
    if parameter.grad is not None:
        copied.grad = parameter.grad.detach().clone()
    return copied


def _kept(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _step(copied: Optimizer) -> None:
    """Without the hooks around it, which are those of the program, too."""
    step: Any = type(copied).step
    (step.__wrapped__ if getattr(step, "hooked", False) else step)(copied)


def _apart(before: list[torch.Tensor], plain: Optimizer, other: Optimizer) -> float:
    """The largest difference between two sets of weights, relative to the largest change of the first."""
    numbers: list[torch.Tensor] = []
    with torch.no_grad():
        for start, one, two in zip(before, _parameters(plain), _parameters(other), strict=True):
            if start.numel():
                numbers += [(one - start).abs().max().double(), (one - two).abs().max().double()]
    read = read_together(numbers)
    changes, differences = read[::2], read[1::2]
    if any(map(isnan, differences)):
        return inf
    largest = max(changes, default=0.0)
    return max(differences) / largest if largest > 0 else 0.0
