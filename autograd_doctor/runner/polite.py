"""A check leaves things as they are: saved files go to a scratch folder, trackers are off, nothing is compiled.

What was really kept from happening is noted, once for each kind.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from autograd_doctor.runner.arriving import on_import
from autograd_doctor.runner.scratch import Scratch

_TRACKERS = {
    "wandb": ("Weights & Biases", {"WANDB_MODE": "disabled", "WANDB_SILENT": "true"}),
    "comet_ml": ("Comet", {"COMET_MODE": "disabled"}),
    "clearml": ("ClearML", {"CLEARML_OFFLINE_MODE": "1"}),
    "neptune": ("Neptune", {"NEPTUNE_MODE": "debug"}),
}


class Polite:
    """Everything here is done for the rest of the process: exit functions and threads of the program may save, too.

    `note` is told what was kept from happening.
    """

    def __init__(self, note: Callable[[str], None], scratch: Path) -> None:
        self._note = note
        self._folder = scratch
        self._scratch = Scratch(scratch, self._saved_elsewhere)
        self._said: set[str] = set()

    def install(self) -> None:
        torch.save = self._scratch.saving(torch.save, "torch.save", 1, "f")
        torch.load = self._scratch.loading(torch.load, 0, "f")
        torch.jit.save = self._scratch.saving(torch.jit.save, "torch.jit.save", 1, "f")
        torch.jit.load = self._scratch.loading(torch.jit.load, 0, "f")
        torch.compile = self._eagerly(torch.compile)
        self._switch_trackers_off()
        on_import(
            {
                "safetensors": self._safetensors,
                "safetensors.torch": self._safetensors_for_torch,
                "fsspec.implementations.local": self._fsspec,
                "matplotlib.figure": self._matplotlib,
                "matplotlib.pyplot": self._pyplot,
                "torch.utils.tensorboard.writer": self._tensorboard,
                "tensorboardX.writer": self._tensorboard,
                **dict.fromkeys(_TRACKERS, self._tracker),
                "mlflow": self._mlflow,
                "lightning.pytorch.trainer.trainer": self._lightning,
                "pytorch_lightning.trainer.trainer": self._lightning,
                "transformers.trainer": self._transformers,
            }
        )

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._note(text)

    def _saved_elsewhere(self, kind: str, path: str) -> None:
        self._say(f"what `{kind}` saved went to a scratch folder: `{path}` was not written")

    # --------------------------------------------------------------------------------------------------- compiling

    def _eagerly(self, compile: Callable[..., Any]) -> Callable[..., Any]:
        """The stance is taken at the first use: taking it imports the compiler, which costs a second."""

        @functools.wraps(compile)
        def eager(*args: Any, **kwargs: Any) -> Any:
            self._say("`torch.compile` was called, and the model was run eagerly")
            torch.compiler.set_stance("force_eager")
            return compile(*args, **kwargs)

        return eager

    # --------------------------------------------------------------------------------------------------- trackers

    def _switch_trackers_off(self) -> None:
        for _, settings in _TRACKERS.values():
            os.environ.update(settings)
        os.environ["MLFLOW_TRACKING_URI"] = (self._folder / "mlruns").absolute().as_uri()

    def _tracker(self, module: ModuleType) -> None:
        self._say(f"{_TRACKERS[module.__name__][0]} was switched off")

    def _mlflow(self, module: ModuleType) -> None:
        self._say("MLflow was given a scratch folder to log to")

    def _tensorboard(self, module: ModuleType) -> None:
        initialise = module.SummaryWriter.__init__

        @functools.wraps(initialise)
        def __init__(writer: Any, logdir: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            self._say("TensorBoard was given a scratch folder to log to")
            kwargs.pop("log_dir", None)
            initialise(writer, str(self._folder / "tensorboard"), *args, **kwargs)

        module.SummaryWriter.__init__ = __init__

    # ------------------------------------------------------------------------------------------------ other writers

    def _safetensors(self, module: Any) -> None:
        module.safe_open = self._scratch.loading(module.safe_open, 0, "filename")

    def _safetensors_for_torch(self, module: Any) -> None:
        module.save_file = self._scratch.saving(module.save_file, "save_file", 1, "filename")
        module.load_file = self._scratch.loading(module.load_file, 0, "filename")
        module.safe_open = self._scratch.loading(module.safe_open, 0, "filename")

    def _lightning(self, module: Any) -> None:
        initialise = module.Trainer.__init__

        @functools.wraps(initialise)
        def __init__(trainer: Any, **kwargs: Any) -> None:  # noqa: N807
            self._say("Lightning was given a scratch folder for logs and checkpoints")
            initialise(trainer, **{**kwargs, "default_root_dir": str(self._folder / "lightning")})

        module.Trainer.__init__ = __init__

    def _transformers(self, module: Any) -> None:
        """Whole folders of checkpoints move, because the trainer also removes the oldest of those that it finds."""

        def _get_output_dir(trainer: Any, trial: Any = None) -> str:
            self._say(f"checkpoints went to a scratch folder instead of `{trainer.args.output_dir}`")
            return str(self._folder / "transformers")

        module.Trainer._get_output_dir = _get_output_dir

    def _fsspec(self, module: ModuleType) -> None:
        """Lightning writes its checkpoints through fsspec. Only what ends in `.ckpt` is redirected."""
        initialise = module.LocalFileOpener.__init__

        @functools.wraps(initialise)
        def __init__(opener: Any, path: Any, mode: str, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if "w" in mode and str(path).endswith(".ckpt"):
                path = self._scratch.redirect(path, "Lightning")
            initialise(opener, path, mode, *args, **kwargs)

        module.LocalFileOpener.__init__ = __init__

    def _matplotlib(self, module: ModuleType) -> None:
        module.Figure.savefig = self._scratch.saving(module.Figure.savefig, "savefig", 1, "fname")

    def _pyplot(self, module: Any) -> None:
        def show(*args: Any, **kwargs: Any) -> None:
            self._say("`matplotlib.pyplot.show` was skipped")

        module.show = show
