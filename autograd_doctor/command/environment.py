"""What a bug report should say about the machine: versions, read without importing anything."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from autograd_doctor import __version__

_PACKAGES = (
    *("torch", "numpy", "torchvision", "lightning", "pytorch-lightning", "transformers", "accelerate", "timm"),
    *("typer", "rich", "msgspec", "pyyaml", "objgraph"),
)


def lines() -> Iterator[str]:
    yield f"autograd_doctor {__version__}"
    yield f"python {platform.python_version()} ({sys.executable})"
    yield f"platform {platform.platform()}"
    for package in _PACKAGES:
        yield f"{package} {_version(package)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
