"""The first event of a trace: what is about to run, and on what."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import torch

from autograd_doctor.events import RunStarted
from autograd_doctor.plan import Target

_PACKAGES = (
    "torch",
    "numpy",
    "torchvision",
    "lightning",
    "pytorch-lightning",
    "transformers",
    "accelerate",
    "timm",
    "safetensors",
)


def started(target: Target) -> RunStarted:
    return RunStarted(
        target=target.name,
        arguments=target.arguments,
        cwd=os.getcwd(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        device=_device(),
        packages=dict(_versions()),
    )


def _device() -> str:
    """The best device there is, found without initialising it: a program that forks must do that itself."""
    if torch.backends.mps.is_available():
        return "mps"
    return "cuda" if torch.cuda.device_count() else "cpu"


def _versions() -> list[tuple[str, str]]:
    """Frameworks that are installed, whether or not the program imports them: asking must not import them either."""
    found = []
    for package in _PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found
