"""What a bug report should say about the machine: versions, read without importing anything."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from autograd_doctor import __version__, interpreter

_OF_PROGRAMS = ("torch", "numpy", "torchvision", "lightning", "pytorch-lightning", "transformers", "accelerate", "timm")
_OF_OURS = ("typer", "rich", "msgspec", "pyyaml", "executing")


def lines(named: str | None = None) -> Iterator[str]:
    """`named` is the Python of programs, where it is another."""
    command = interpreter.located(named, "--python")
    said = interpreter.asked(command, "--python", (*_OF_PROGRAMS, "msgspec")) if command != sys.executable else None
    yield f"autograd_doctor {__version__}"
    yield f"python {platform.python_version()} ({sys.executable})"
    yield f"platform {platform.platform()}"
    yield f"supported {_supported()}"
    for package in (*(() if said else _OF_PROGRAMS), *_OF_OURS):
        yield f"{package} {_version(package)}"
    if said:
        yield f"programs run with python {'.'.join(map(str, said['version']))} ({command})"
        for package, versions in said["packages"].items():
            yield f"  {package} {'not installed' if versions is None else (versions or ['of an unknown version'])[0]}"


def _supported() -> str:
    oldest = {"python": interpreter.OLDEST_PYTHON, "torch": interpreter.NEEDED["torch"]}
    return ", ".join(f"{name}>={'.'.join(map(str, release))}" for name, release in oldest.items())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
