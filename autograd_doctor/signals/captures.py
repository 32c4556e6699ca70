"""Graphs of accelerators: what the program captures in one is not carried out, and must not be looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


class Captures(Seam):
    """`began`, with the graph, before a capture begins.

    Until it ends, no signal of its thread is heard: to wait for the device, or to ask it for memory, would break it.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[object] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for graph in _graphs():
            patches.replace(graph, "capture_begin", self._beginning(graph.capture_begin))
            patches.replace(graph, "capture_end", self._ending(graph.capture_end))

    def _beginning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            self.began.send(graph)
            result = original(graph, *args, **kwargs)
            self.guard.thread.depth += 1
            return result

        return capture_begin

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            self.guard.thread.depth -= 1
            return original(graph, *args, **kwargs)

        return capture_end


def _graphs() -> list[Any]:
    """The classes of such graphs that this torch has."""
    found = [getattr(torch.cuda, "CUDAGraph", None), getattr(getattr(torch, "accelerator", None), "Graph", None)]
    return [graph for graph in found if hasattr(graph, "capture_begin") and hasattr(graph, "capture_end")]
