"""The program must not notice us: weights after every step and random numbers at the end, bit for bit."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograd_doctor.events import all_events
from autograd_doctor.plan import Plan, Target
from tests.harness import PATIENCE, ROOT, forked, programs

STEPLESS = {"ad104_accumulated_out_of_step.py", "model_only.py", "ad404_scaler_skips_for_ever.py"}
"""Programs that by themselves never take a step, so that there would be nothing to compare."""
EVERY = int(os.environ.get("BITWISE_EVERY", "72"))
"""Of the programs of the tests, one in so many: all of them, with 1, take about an hour."""
MONITORED_EVERY = 4
MOST_STEPS = 200
"""After which a program ends: what is looked at closely, recorded and light by then was looked at in each way."""
PROGRAMS = [
    *sorted(path for path in (ROOT / "sample_models").glob("*.py") if path.name not in STEPLESS),
    *[path for path in programs() if path.name not in STEPLESS and "torch.optim" in path.read_text("utf-8")][::EVERY],
]
FOREVER = 10**6


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_weights_and_random_numbers_are_the_same(program: Path, tmp_path: Path) -> None:
    plain = _measured(_run_plainly, program, tmp_path / "plain")
    watched = _measured(_run_watched, program, tmp_path / "watched")
    assert plain["steps"] > 0 or plain["code"] != 0
    assert watched == plain


@pytest.mark.parametrize("program", PROGRAMS[::MONITORED_EVERY], ids=lambda path: path.stem)
def test_so_they_are_under_a_monitor(program: Path, tmp_path: Path) -> None:
    plain = _measured(_run_plainly, program, tmp_path / "plain")
    monitored = _measured(_run_monitored, program, tmp_path / "monitored")
    assert monitored == plain
    assert len(list((tmp_path / "monitored" / "run.trace" / "rank-0").glob("*.trace"))) >= 1


def _measured(run: Callable[[Path, Path], int], program: Path, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    process = forked(_measure, run, program, folder, near=program)
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        pytest.fail(f"{program.name} did not end within {PATIENCE:g} seconds")
    measured: dict[str, Any] = json.loads((folder / "measured.json").read_text())
    return measured


# ------------------------------------------------------------------------------------------------- in the forked child


def _measure(run: Callable[[Path, Path], int], program: Path, folder: Path) -> None:
    """Run a program, and write down what became of its weights, its random numbers and torch's hook tables."""
    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    _seed()  # a fork reseeds Python's generator
    weights = _Weights()
    before = _seams()
    code = run(program, folder)
    after = _seams()
    changed = sorted(name for name in before if before[name] != after[name])
    measured = {"code": code, "changed": changed, **weights.summary(), **_random_numbers()}
    (folder / "measured.json").write_text(json.dumps(measured))


def _run_plainly(program: Path, folder: Path) -> int:
    from autograd_doctor.runner.program import become_main, load

    plain = load(Target("script", str(program)))
    become_main(plain)
    try:
        plain.execute()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _run_watched(program: Path, folder: Path) -> int:
    from autograd_doctor.runner.run import run

    (folder / "scratch").mkdir()
    target = Target("notebook" if program.suffix == ".ipynb" else "script", str(program))
    paths = {"trace": str(folder / "trace"), "scratch": str(folder / "scratch")}
    limits = {"steps": FOREVER, "max_seconds": float(FOREVER), "batches_per_epoch": 0}
    return run(Plan(target=target, needs=[kind.__name__ for kind in all_events()], **paths, **limits))


def _run_monitored(program: Path, folder: Path) -> int:
    """With chapters one after the other, as short as they may be."""
    import autograd_doctor
    from autograd_doctor.runner import monitored

    monitored.LEAST_STEPS, monitored.LATER, monitored.DOUBLED_FROM, monitored.REST = 3, 1, 6, 0.0
    with autograd_doctor.monitor(folder / "run.trace", budget=1.0):
        return _run_plainly(program, folder)


class _Weights:
    """A digest of every parameter after every optimizer step, through the optimizers' public hook."""

    def __init__(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._digest = hashlib.sha256()
        self._steps = 0
        register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        import torch

        self._steps += 1
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                values = parameter.detach().contiguous().flatten().view(torch.uint8)
                self._digest.update(values.cpu().numpy().tobytes())
        if self._steps == MOST_STEPS:
            sys.exit()

    def summary(self) -> dict[str, Any]:
        return {"steps": self._steps, "weights": self._digest.hexdigest()}


def _seed() -> None:
    import numpy
    import torch

    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


def _random_numbers() -> dict[str, str]:
    import numpy
    import torch

    states = {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "python": repr(random.getstate()).encode(),
        "numpy": repr(
            [part.tolist() if hasattr(part, "tolist") else part for part in numpy.random.get_state()]
        ).encode(),
    }
    return {name: hashlib.sha256(state).hexdigest() for name, state in states.items()}


def _seams() -> dict[str, Any]:
    """The tables of global hooks, and the attributes of the classes and modules of torch that probes may patch."""
    import torch
    from torch.nn.modules import module as modules
    from torch.optim import lr_scheduler, optimizer
    from torch.utils import checkpoint, data

    tables = {
        f"{owner.__name__}.{name}": len(getattr(owner, name))
        for owner in (modules, optimizer)
        for name in vars(owner)
        if name.startswith("_global") and hasattr(getattr(owner, name), "__len__")
    }
    owners: list[Any] = [
        *(torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.amp.GradScaler, data.DataLoader),
        *(lr_scheduler.LRScheduler, torch.autograd.Function, torch.autograd, torch.autograd.graph, checkpoint),
        *(torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled, torch.nn.utils),
    ]
    attributes = {
        f"{owner.__name__}.{name}": id(value)
        for owner in owners
        for name, value in vars(owner).items()
        if callable(value) or isinstance(value, property | staticmethod | classmethod)
    }
    modes = {"function modes": torch._C._len_torch_function_stack(), "gradients": torch.is_grad_enabled()}
    return {**tables, **attributes, **modes}
