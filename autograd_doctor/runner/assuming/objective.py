"""Losses and targets for what a model returned: read off its shape, its values and the last operation of its graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from autograd_doctor.plan import OWN_OUTPUT
from autograd_doctor.reading.tensor_facts import dtype_name
from autograd_doctor.runner.assuming.guess import BATCH, Guess, Guesses
from autograd_doctor.runner.model_outputs import tensors

_SHAPING = ("View", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Permute", "Select", "Slice", "T", "Clone", "Alias")
_TOLERANCE = 1e-4
"""Of sums of probabilities in float32."""


@dataclass
class Objective:
    """Losses, and the targets for those that take one; both as they are written in the settings. said: in words."""

    losses: list[dict[str, Any]] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    in_unit_range: bool = False


def objective(output: Any, guesses: Guesses, batch: int = BATCH) -> Objective | None:
    """How to train on an output: a loss for the part that reaches most parameters, and for what alone reaches others.

    A loss that the model computes itself, and that reaches as many as anything, is the whole of it.
    """
    chosen, reached = Objective(), set[int]()
    for path, value, parameters in _in_order(output):
        if not chosen.losses or not parameters <= reached:
            reached |= parameters
            _add(chosen, path, value, guesses, batch)
    return chosen if chosen.losses else None


def own_loss(output: Any) -> Objective | None:
    """The loss that the model computes itself, if it does."""
    for path, value in tensors(output):
        if _is_loss(value):
            chosen = Objective()
            _add(chosen, path, value, (), BATCH)
            return chosen
    return None


def _is_loss(value: torch.Tensor) -> bool:
    return value.dim() == 0 and value.dtype.is_floating_point and value.grad_fn is not None


def _in_order(output: Any) -> list[tuple[str, torch.Tensor, set[int]]]:
    """What has a graph and reaches most parameters first; among equals a loss, then what is returned first."""
    floating = [(path, value) for path, value in tensors(output) if value.dtype.is_floating_point and value.numel()]
    parts = [(path, value, _parameters_behind(value)) for path, value in floating]
    return sorted(parts, key=lambda part: (-len(part[2]), part[1].grad_fn is None, not _is_loss(part[1])))


def _parameters_behind(value: torch.Tensor) -> set[int]:
    """The leaves that a graph reaches."""
    waiting, seen, found = [value.grad_fn], set[Any](), set[int]()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if (leaf := getattr(node, "variable", None)) is not None:
            found.add(id(leaf))
        waiting += [following for following, _ in node.next_functions]
    return found


# ------------------------------------------------------------------------------------------------------ one output


def _add(chosen: Objective, path: str, value: torch.Tensor, guesses: Guesses, batch: int) -> None:
    """The loss for one part of the output."""
    name, target, said, axis = _for_tensor(value, guesses, batch, first=not chosen.losses)
    loss: dict[str, Any] = {"name": name}
    loss |= {"output": path} if path else {}
    loss |= {"classes_axis": axis} if axis is not None else {}
    chosen.losses.append(loss)
    chosen.targets += [target] if target is not None else []
    chosen.said.append(f"{said} on `{path}` of the output" if path else said)
    chosen.in_unit_range |= target is not None and "input" in target and _last(value) == "sigmoid"


Choice = tuple[str, dict[str, Any] | None, str, int | None]


def _for_tensor(value: torch.Tensor, guesses: Guesses, batch: int, *, first: bool) -> Choice:
    shape = tuple(value.shape)
    if not shape:
        return OWN_OUTPUT, None, "the loss that the model computes", None
    same = _same_input(value, guesses, batch)
    if same is not None and first:
        return "MSELoss", {"input": same}, "MSELoss against the input itself", None
    axis = _batch_axis(shape, guesses, batch)
    last, sample = _last(value), _without(shape, axis)
    by_place = _is_tokens(sample, guesses) or (last == "log_softmax" and _is_over_last(value))
    if by_place and last not in ("sigmoid", "softmax"):
        kind = "NLLLoss" if last == "log_softmax" else "CrossEntropyLoss"
        target = _placed({"shape": list(sample[:-1]), "classes": sample[-1]}, axis)
        return kind, target, f"{kind} for one of {sample[-1]} classes at each of {sample[0]} positions", -1
    if last in ("sigmoid", "softmax"):
        target = _placed({"shape": list(sample), "classes": 2, "dtype": dtype_name(value)}, axis)
        return "BCELoss", target, "BCELoss, since the outputs are probabilities", None
    if axis == 0 and last != "tanh" and _is_classes(sample, guesses):
        kind = "NLLLoss" if last == "log_softmax" else "CrossEntropyLoss"
        target = ({"shape": list(sample[1:])} if sample[1:] else {}) | {"classes": sample[0]}
        return kind, target, f"{kind} for one of {sample[0]} classes{' at each position' if sample[1:] else ''}", None
    target = _placed({"shape": list(sample)} | _bounds(last), axis)
    if value.dtype not in (torch.float32,):
        target["dtype"] = dtype_name(value)
    return "MSELoss", target, "MSELoss", None


def _same_input(value: torch.Tensor, guesses: Guesses, batch: int) -> int | None:
    for number, (_, guess) in enumerate(guesses):
        plan = guess.plan
        axis = plan.batch_axis
        whole = plan.shape if axis is None else [*plan.shape[:axis], batch, *plan.shape[axis:]]
        if not guess.classes and list(value.shape) == whole and value.dim() > 1 and value.dtype == torch.float32:
            return number
    return None


def _batch_axis(shape: tuple[int, ...], guesses: Guesses, batch: int) -> int | None:
    """Which axis of an output is that of the batch: the first, or the second if inputs have it there."""
    turned = any(guess.batch_axis == 1 for _, guess in guesses)
    if turned and len(shape) > 1 and shape[0] != batch == shape[1]:
        return 1
    return 0 if shape[0] == batch else None


def _without(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    return shape if axis is None else (*shape[:axis], *shape[axis + 1 :])


def _placed(target: dict[str, Any], axis: int | None) -> dict[str, Any]:
    return target if axis == 0 else target | {"batch_axis": axis}


def _is_tokens(sample: tuple[int, ...], guesses: Guesses) -> bool:
    """Scores for each place of a sequence of whole numbers."""
    sequences = {guess.shape for _, guess in guesses if guess.classes and len(guess.shape) == 1}
    return len(sample) == 2 and sample[-1] > 1 and sample[:1] in sequences


def _is_over_last(value: torch.Tensor) -> bool:
    """Whether log-probabilities at each place of a sequence lie on the last axis."""
    return value.dim() == 3 and float((value.detach().exp().sum(-1) - 1).abs().max()) < _TOLERANCE


def _is_classes(sample: tuple[int, ...], guesses: Guesses) -> bool:
    """Scores for each sample, or for each place of an image as large as the input."""
    if len(sample) == 1:
        return sample[0] > 1
    images = {guess.shape[1:] for _, guess in guesses if len(guess.shape) >= 3}
    return len(sample) >= 3 and sample[0] > 1 and sample[1:] in images


def _bounds(last: str) -> dict[str, Any]:
    return {"tanh": {"range": [-1, 1]}, "relu": {"range": [0, 1]}, "sigmoid": {"range": [0, 1]}}.get(last, {})


# ------------------------------------------------------------------------------------------- the last operation


_LAST = {
    "LogSoftmaxBackward0": "log_softmax",
    "SoftmaxBackward0": "softmax",
    "SigmoidBackward0": "sigmoid",
    "TanhBackward0": "tanh",
    "ReluBackward0": "relu",
}


def _last(value: torch.Tensor) -> str:
    """What gave an output its values: the last operation that does not merely shape, or what the values show."""
    node: Any = value.grad_fn
    while node is not None and node.name().rstrip("0123456789").removesuffix("Backward") in _SHAPING:
        node = node.next_functions[0][0]
    named = _LAST.get(node.name(), "") if node is not None else ""
    return named or _as_values_show(value.detach())


def _as_values_show(values: torch.Tensor) -> str:
    if not bool(values.isfinite().all()) or values.dim() < 2 or values.shape[1] < 2:
        return ""
    sums = values.sum(1)
    if float(values.min()) >= 0 and float((sums - 1).abs().max()) < _TOLERANCE:
        return "softmax"
    logs = values.exp().sum(1)
    return "log_softmax" if float(values.max()) <= 0 and float((logs - 1).abs().max()) < _TOLERANCE else ""


def as_guess(target: dict[str, Any], name: str) -> Guess | None:
    """A target as a further input of that name, for models that take their targets."""
    if "classes" not in target:
        return None
    return Guess(tuple(target.get("shape", ())), target["classes"], target.get("batch_axis", 0), name)
