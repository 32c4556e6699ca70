"""What a bug report should say about the machine: versions, read without importing anything."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, version

from autograd_doctor import __version__

_PACKAGES = (
    *("torch", "numpy", "torchvision", "lightning", "pytorch-lightning", "transformers", "accelerate", "timm"),
    *("typer", "rich", "msgspec", "pyyaml", "objgraph"),
)


def lines() -> Iterator[str]:
    yield f"autograd_doctor {__version__}"
    yield f"python {platform.python_version()} ({sys.executable})"
    yield f"platform {platform.platform()}"
    yield f"supported {_supported()}"
    for package in _PACKAGES:
        yield f"{package} {_version(package)}"


def _supported() -> str:
    """Of Python and torch, as this package was installed to require them."""
    try:
        declared = metadata("autograd-doctor")
    except PackageNotFoundError:
        return "not known: this package runs without being installed"
    torch = [each for each in declared.get_all("Requires-Dist", []) if each.startswith("torch")]
    return ", ".join([f"python{declared['Requires-Python']}", *torch])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
