"""What other tools that watch a training program cost per step, on the workloads of `overhead.py`.

    pip install torchlens torch-audit
    python benchmarks/others.py [--steps 10] [--only "tiny mlp"]

"torch-audit" audits every step (`autopatch(..., every_n_steps=1)`). "torchlens" traces each call of the model. Each
tool runs in a process of its own, after plain steps there, because torchlens leaves the functions of torch wrapped.
What is printed is the ratio of the median step to the median plain step, and why a tool could not be measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import torch
from overhead import WORKLOADS, Step, Workload
from torch import nn

_SETTLING = 3


class Meeting:
    """What is met while a workload is made and runs: the model that is called first, and its optimizer."""

    def __init__(self) -> None:
        self.optimizer: torch.optim.Optimizer | None = None
        self.model: nn.Module | None = None
        self._handle = nn.modules.module.register_module_forward_pre_hook(self._called)
        self._build = torch.optim.Optimizer.__init__

    def __enter__(self) -> Meeting:
        def build(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._build(optimizer, *args, **kwargs)
            self.optimizer = optimizer

        torch.optim.Optimizer.__init__ = build  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        self._handle.remove()
        torch.optim.Optimizer.__init__ = self._build  # type: ignore[method-assign]

    def _called(self, module: nn.Module, args: object) -> None:
        self.model = self.model or module


def audit(met: Meeting) -> None:
    from torch_audit import autopatch  # type: ignore[import-not-found]

    autopatch(met.model, optimizer=met.optimizer, every_n_steps=1, reporters=[], suppress_internal_errors=True)


def trace(met: Meeting) -> None:
    import torchlens  # type: ignore[import-not-found]

    inside = False

    def traced(module: nn.Module, args: tuple[Any, ...]) -> None:
        nonlocal inside
        if not inside:
            inside = True
            try:
                torchlens.trace(module, args)
            finally:
                inside = False

    assert met.model is not None
    met.model.register_forward_pre_hook(traced)


TOOLS: dict[str, Callable[[Meeting], None]] = {"torch-audit": audit, "torchlens": trace}


def median_seconds(step: Step, steps: int) -> float:
    for _ in range(_SETTLING):
        step()
    taken = []
    for _ in range(steps):
        began = time.perf_counter()
        step()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def ratio(workload: Workload, tool: Callable[[Meeting], None], steps: int) -> float:
    """How much longer a step takes under a tool."""
    timed = max(3, round(steps * workload.share))
    with Meeting() as met:
        step = workload.make()
        step()
    plain = median_seconds(step, timed)
    tool(met)
    return median_seconds(step, timed) / plain


def measure(tool: str, workload: str, steps: int) -> None:
    """In a process of its own: print one ratio."""
    torch.manual_seed(0)
    make = next(make for make in WORKLOADS if make.__name__ == workload)
    with redirect_stdout(io.StringIO()):
        found = ratio(make(), TOOLS[tool], steps)
    print(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--only", default="", help="a part of the name of a workload")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        tool, workload = options.measure
        measure(tool, workload, options.steps)
        return
    tools = [tool for tool in TOOLS if importlib.util.find_spec(tool.replace("-", "_")) is not None]
    print(f"{'':12}" + "".join(f"{tool:>14}" for tool in tools or ["none of the tools is installed"]))
    for make in WORKLOADS:
        if options.only not in make.__name__.replace("_", " "):
            continue
        print(f"{make.__name__.replace('_', ' '):12}", end="", flush=True)
        failed = []
        for tool in tools:
            command = [sys.executable, __file__, "--measure", tool, make.__name__, "--steps", str(options.steps)]
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode:
                failed.append(f"{tool}: {run.stderr.strip().splitlines()[-1]}")
            print("             -" if run.returncode else f"{float(run.stdout):13.2f}x", end="", flush=True)
        print("".join(f"   {reason}" for reason in failed))


if __name__ == "__main__":
    main()
