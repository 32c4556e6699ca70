"""The first event of a trace: what is about to run, and on what."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata

import torch

from autograd_doctor.events.run import RunStarted
from autograd_doctor.plan import Target
from autograd_doctor.reading.torch_versions import accelerator

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
        packages=dict(versions()),
    )


def _device() -> str:
    """The best device there is, found without initialising it: a program that forks must do that itself."""
    kind = accelerator()
    if kind is None or not getattr(torch, kind).device_count():
        return "cpu"
    return kind


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Frameworks that are installed, whether or not the program imports them: asking must not import them either."""
    found = []
    for package in _PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)
