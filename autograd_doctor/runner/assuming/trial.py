"""Trying inputs on a copy of a model: which modules they reached, with which shapes, and where it failed."""

from __future__ import annotations

import copy
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from autograd_doctor.reading.places import is_own
from autograd_doctor.runner.assuming.guess import BATCH, Guesses

WATCHED = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer, nn.Transformer)
"""Modules that have others inside, and say themselves what they take in."""


@dataclass
class Call:
    """A module that was called. origins: the inputs that went into each of the tensors that it got."""

    module: nn.Module
    name: str
    shapes: list[tuple[int, ...]]
    integral: list[bool]
    origins: list[frozenset[str]]
    finished: bool = False


@dataclass
class Result:
    """How a trial ended: what the model returned, or the error, its line, and the modules that were called.

    operations: how many functions of torch came to their end. refused: the inputs behind what the last one was given.
    """

    output: Any = None
    error: Exception | None = None
    line: str = ""
    calls: list[Call] = field(default_factory=list)
    operations: int = 0
    refused: frozenset[str] = frozenset()

    @property
    def progress(self) -> tuple[int, int]:
        """How far it came: what is greater came further."""
        return sum(call.finished for call in self.calls), self.operations

    @property
    def failed_in(self) -> Call | None:
        """The innermost module that did not come to its end, if it is one that was watched."""
        return next((call for call in reversed(self.calls) if not call.finished), None)


class Lineage(TorchFunctionMode):
    """Knows for each tensor from which inputs it was computed."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0
        self.refused: frozenset[str] = frozenset()
        self._origins = WeakTensorKeyDictionary()

    def begin(self, value: torch.Tensor, name: str) -> None:
        self._origins[value] = frozenset([name])

    def of(self, value: torch.Tensor) -> frozenset[str]:
        found: frozenset[str] = self._origins.get(value, frozenset())
        return found

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        origins = frozenset[str]().union(*(self.of(value) for value in given))
        try:
            result = function(*args, **(kwargs or {}))
        except Exception:
            self.refused = origins
            raise
        self.operations += 1
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._origins[leaf] = origins | self.of(leaf)
        return result


Forward = Callable[[nn.Module, list[torch.Tensor], dict[str, torch.Tensor]], Any]


def _forward(model: nn.Module, positional: list[torch.Tensor], named: dict[str, torch.Tensor]) -> Any:
    return model(*positional, **named)


def in_a_step(model: nn.Module, positional: list[torch.Tensor], named: dict[str, torch.Tensor]) -> Any:
    """What Lightning does with a batch."""
    loss = model.training_step(tuple(positional), 0)  # type: ignore[operator]
    return loss["loss"] if isinstance(loss, Mapping) else loss


class Bench:
    """Copies of a model, on the meta device as long as that will do, then on the processor."""

    def __init__(self, model: nn.Module, forward: Forward = _forward) -> None:
        self._model = model
        self._forward = forward
        self._parts = dict(model.named_modules())
        self._kept: nn.Module | None = None
        self._is_lazy = any(is_lazy(value) for value in (*model.parameters(), *model.buffers()))
        self.device = "cpu" if self._is_lazy else "meta"

    def tried(self, guesses: Guesses, batch: int = BATCH) -> Result:
        """What the model does with these inputs. Where the meta device cannot tell, the processor does."""
        if self.device == "meta":
            result = self._run(guesses, batch)
            if result.error is None or not _is_about_meta(result.error):
                return result
            self.device = "cpu"
        return self._run(guesses, batch)

    def _run(self, guesses: Guesses, batch: int) -> Result:
        try:
            model = self._copy()
        except Exception as error:
            return Result(error=error)
        result, lineage = Result(), Lineage()
        values = [(name, guess, guess.made(batch, self.device)) for name, guess in guesses]
        with ExitStack() as stack:
            for handle in self._watch(model, result, lineage):
                stack.callback(handle.remove)
            stack.enter_context(torch.device(self.device))
            stack.enter_context(lineage)
            for name, _, value in values:
                lineage.begin(value, name)
            try:
                positional = [value for _, guess, value in values if not guess.name]
                named = {guess.name: value for _, guess, value in values if guess.name}
                result.output = self._forward(model, positional, named)
            except Exception as error:
                result.line, result.error = _own_line(error), error.with_traceback(None)
        result.operations, result.refused = lineage.operations, lineage.refused
        return result

    def _copy(self) -> nn.Module:
        """On the meta device nothing is ever written, so that one copy serves for all trials."""
        if self.device == "cpu":
            return copy.deepcopy(self._model)
        if self._kept is None:
            # Weights that are shared stay shared, and none is copied on the way.
            memo: dict[int, Any] = {}
            for value in (*self._model.parameters(), *self._model.buffers()):
                on_meta = torch.empty_like(value, device="meta").requires_grad_(value.requires_grad)
                memo[id(value)] = nn.Parameter(on_meta, value.requires_grad) if _is_parameter(value) else on_meta
            self._kept = copy.deepcopy(self._model, memo)
        return self._kept

    def _watch(self, model: nn.Module, result: Result, lineage: Lineage) -> Iterator[Any]:
        for name, part in model.named_modules():
            if isinstance(part, WATCHED) or not list(part.children()):
                yield part.register_forward_pre_hook(self._entering(name, result, lineage), with_kwargs=True)
                yield part.register_forward_hook(_leaving(name, result))

    def _entering(self, name: str, result: Result, lineage: Lineage) -> Any:
        """The modules of the model itself are named, not those of a copy."""

        def entering(part: nn.Module, args: Any, kwargs: Any) -> None:
            given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            call = Call(
                module=self._parts.get(name, part),
                name=name,
                shapes=[tuple(value.shape) for value in given],
                integral=[not (value.dtype.is_floating_point or value.dtype.is_complex) for value in given],
                origins=[lineage.of(value) for value in given],
            )
            result.calls.append(call)

        return entering


def _leaving(name: str, result: Result) -> Any:
    def leaving(part: nn.Module, args: Any, output: Any) -> None:
        call = next((call for call in reversed(result.calls) if call.name == name and not call.finished), None)
        if call is not None:
            call.finished = True

    return leaving


def _own_line(error: Exception) -> str:
    """The innermost line of the program's own that an exception passed."""
    entries = [entry for entry in traceback.extract_tb(error.__traceback__) if is_own(entry.filename)]
    return f"{os.path.basename(entries[-1].filename)}:{entries[-1].lineno}" if entries else ""


def _is_parameter(value: torch.Tensor) -> bool:
    return isinstance(value, nn.Parameter)


def _is_about_meta(error: Exception) -> bool:
    """Whether it failed because there are no numbers on the meta device, or because not all of the model is there."""
    return isinstance(error, NotImplementedError) or "meta" in str(error).lower()
