"""Instruments on invented signals: no seam is patched, so that only what a test sends is heard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.session import Memories
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.optimizers import ClearCall, StepCall
from autograd_doctor.signals.signal import Signal
from tests.watching import Recorded


class Invented(Recorded):
    """The signals of a run, to be sent by a test, in words for those that most tests need."""

    def __init__(self, memories: Memories | None = None) -> None:
        super().__init__(memories)
        self.signals = self.session.signals
        self.nodes: list[Any] = []
        for seam in self.signals.seams:
            seam.patch = lambda patches: None  # type: ignore[method-assign]

    @property
    def steps(self) -> int:
        return self.find(Course).steps

    def number(self, tensor: torch.Tensor) -> int:
        return self.find(Parameters).number(tensor)

    def heard(self, signal: Signal[Any]) -> list[Any]:
        """What is sent by an instrument from now on."""
        found: list[Any] = []
        signal.connect(found.append, owner="test")
        return found

    def operated(self, name: str, result: Any, *args: Any, grad_enabled: bool = True, **kwargs: Any) -> Any:
        """An operation of torch has ended with this result, which is handed on."""
        self._keep([*args, result])
        operation = Operation(torch.add, Kind.OPERATION, name, args, kwargs, grad_enabled, result)
        self.signals.operations.ended.send(operation)
        return result

    def escaped(self, name: str, result: Any, tensor: torch.Tensor) -> Any:
        """Values of a tensor left torch."""
        self.signals.operations.ended.send(Operation(torch.add, Kind.ESCAPE, name, (tensor,), {}, True, result))
        return result

    def _keep(self, values: list[Any]) -> None:
        """A node's metadata last while Python refers to the node."""
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self.nodes += [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]

    @contextmanager
    def backward(
        self,
        *roots: torch.Tensor,
        retain_graph: bool = False,
        create_graph: bool = False,
        inputs: Sequence[torch.Tensor] = (),
        kind: Literal["backward", "grad"] = "backward",
    ) -> Iterator[BackwardCall]:
        """The engine runs; the block says what it does."""
        call = BackwardCall(list(roots), retain_graph, create_graph, inputs, kind)
        self.signals.backward.began.send(call)
        yield call
        self.signals.backward.ended.send(call)

    def ran_backward(self, root: torch.Tensor) -> None:
        """A backward that torch really carries out."""
        with self.backward(root):
            root.backward()

    @contextmanager
    def step(self, optimizer: Optimizer, *, closure: bool = False) -> Iterator[StepCall]:
        call = StepCall(optimizer, closure)
        self.signals.steps.began.send(call)
        yield call
        self.signals.steps.ended.send(StepCall(optimizer, closure))

    @contextmanager
    def closure(self, call: StepCall) -> Iterator[None]:
        self.signals.steps.closure_began.send(call)
        yield
        self.signals.steps.closure_ended.send(call)

    def train(self, optimizer: Optimizer) -> None:
        """A backward of which nothing is known, then a step."""
        with self.backward(torch.ones(())):
            pass
        with self.step(optimizer):
            pass

    @contextmanager
    def clearing(self, cleared: Optimizer | nn.Module) -> Iterator[None]:
        how: Literal["optimizer.zero_grad", "module.zero_grad"] = (
            "optimizer.zero_grad" if isinstance(cleared, Optimizer) else "module.zero_grad"
        )
        call = ClearCall(cleared, how)
        self.signals.clearing.began.send(call)
        yield
        self.signals.clearing.ended.send(call)

    @contextmanager
    def calling(self, module: nn.Module, *args: Any, output: Any = None, **flags: bool) -> Iterator[ModuleCall]:
        """A call of a module, by default with gradients on."""
        call = ModuleCall(module, args, {}, flags.get("grad_enabled", True), flags.get("inference", False))
        self.signals.modules.began.send(call)
        yield call
        call.output, call.raised = output, flags.get("raised", False)
        self.signals.modules.ended.send(call)


@contextmanager
def inventing(*kinds: type[Instrument], memories: Memories | None = None) -> Iterator[Invented]:
    """Attach instruments, and all that they read, to signals that only the test sends; no look may fail.

    memories: of an earlier session of the same run.
    """
    run = Invented(memories)
    run.session.attach(kinds)
    try:
        yield run
    finally:
        run.session.close()
    assert run.failures == []
