"""A check leaves things as they are: files are kept as they were, trackers are off, nothing is compiled.

What was really kept from happening is noted, once for each kind. What files were put back is said after the run.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from autograd_doctor.reading.arriving import on_import
from autograd_doctor.reading.torch_versions import uncompiled
from autograd_doctor.runner.keeper import Keeper
from autograd_doctor.runner.native_writers import announce_native_writers
from autograd_doctor.runner.spawned import watch_spawned
from autograd_doctor.runner.witness import Witness

_TRACKERS = {
    "wandb": ("Weights & Biases", {"WANDB_MODE": "disabled", "WANDB_SILENT": "true"}),
    "comet_ml": ("Comet", {"COMET_MODE": "disabled"}),
    "clearml": ("ClearML", {"CLEARML_OFFLINE_MODE": "1"}),
    "neptune": ("Neptune", {"NEPTUNE_MODE": "debug"}),
}


class Polite:
    """Everything here is done for the rest of the process: exit functions and threads of the program may save, too.

    `note` is told what was kept from happening. `own` are files and folders of ours.
    """

    def __init__(self, note: Callable[[str], None], scratch: Path, *own: Path) -> None:
        self._note = note
        self._folder = scratch
        self._own = own
        self._said: set[str] = set()

    def install(self) -> None:
        """Switch off what acts elsewhere, and keep files."""
        self.switch_off()
        self._witness = Witness(Keeper(self._folder, own=self._own), self._refused)
        announce_native_writers(self._witness, self._say)
        watch_spawned(self._folder, *self._own)
        self._witness.listen()

    def training_began(self) -> None:
        """What is new and finished by now may be kept for the next run of the program."""
        self._witness.training_began()

    def settle(self) -> None:
        """Note how files were left."""
        self._witness.settle()

    def switch_off(self) -> None:
        """Compilers and trackers, alone where files are kept already."""
        torch.compile = self._eagerly(torch.compile)
        self._switch_trackers_off()
        on_import(
            {
                "matplotlib.pyplot": self._pyplot,
                "torch.utils.tensorboard.writer": self._tensorboard,
                "tensorboardX.writer": self._tensorboard,
                **dict.fromkeys(_TRACKERS, self._tracker),
                "mlflow": self._mlflow,
            }
        )

    def _refused(self, path: str) -> None:
        self._say(
            f"the program was not allowed to change `{path}`, which could not be backed up; `--no-polite` allows it"
        )

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._note(text)

    # --------------------------------------------------------------------------------------------------- compiling

    def _eagerly(self, compile: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compile)
        def eager(*args: Any, **kwargs: Any) -> Any:
            self._say("`torch.compile` was called, and the model was run eagerly")
            return uncompiled(compile, *args, **kwargs)

        return eager

    # --------------------------------------------------------------------------------------------------- trackers

    def _switch_trackers_off(self) -> None:
        for _, settings in _TRACKERS.values():
            os.environ.update(settings)
        os.environ["MLFLOW_TRACKING_URI"] = (self._folder / "mlruns").absolute().as_uri()

    def _tracker(self, module: ModuleType) -> None:
        self._say(f"{_TRACKERS[module.__name__][0]} was switched off")

    def _mlflow(self, module: ModuleType) -> None:
        self._say("MLflow logged to a scratch folder")

    def _tensorboard(self, module: ModuleType) -> None:
        initialise = module.SummaryWriter.__init__

        @functools.wraps(initialise)
        def __init__(writer: Any, logdir: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            self._say("TensorBoard logged to a scratch folder")
            kwargs.pop("log_dir", None)
            initialise(writer, str(self._folder / "tensorboard"), *args, **kwargs)

        module.SummaryWriter.__init__ = __init__

    def _pyplot(self, module: Any) -> None:
        def show(*args: Any, **kwargs: Any) -> None:
            self._say("`matplotlib.pyplot.show` was skipped")

        module.show = show
