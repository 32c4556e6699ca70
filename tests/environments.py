"""Environments of Python besides that of the tests: whatever is installed there, without what is left out."""

from __future__ import annotations

import re
import sysconfig
import venv
from collections.abc import Collection
from pathlib import Path

_OWN = re.compile(r"autograd_doctor|__editable__|.*\.pth$|__pycache__")
_PACKAGE = Path(__file__).parent.parent / "autograd_doctor"


def environment(folder: Path, *, without: Collection[str], with_doctor: bool = False) -> Path:
    """The interpreter of a new environment: it has links to what the tests have, but for these packages."""
    venv.EnvBuilder(symlinks=True).create(folder)
    packages = site_packages(folder)
    for installed in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(installed).iterdir():
            if not _OWN.match(entry.name) and not _is_of(entry.name, without):
                (packages / entry.name).symlink_to(entry)
    if with_doctor:
        (packages / _PACKAGE.name).symlink_to(_PACKAGE)
    return folder / "bin" / "python"


def site_packages(folder: Path) -> Path:
    """Where an environment has its packages."""
    (packages,) = folder.glob("lib/python3*/site-packages")
    return packages


def _is_of(entry: str, packages: Collection[str]) -> bool:
    """ "typer", "typer-0.29.1.dist-info" and "typer.py" are of "typer"."""
    return re.split(r"[-.]", entry.lower())[0] in packages
