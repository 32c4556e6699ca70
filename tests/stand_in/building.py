"""The extension of the stand-in: compiled once for each source and version of torch, into the temporary folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import torch

NAME = "stand_in_native"
_SOURCE = Path(__file__).with_name("stand_in.cpp")
_OPTIONS = ["-std=c++20", "-O1", "-fPIC", "-shared", "-w", f"-DTORCH_EXTENSION_NAME={NAME}"]
_LIBRARIES = ["-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_python"]


def lacking() -> str | None:
    """What this machine lacks to compile it."""
    if _compiler() is None:
        return "no C++ compiler"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "no headers of Python"
    return None


def built() -> Path:
    """The compiled extension. The first time takes half a minute: of several processes one compiles, others wait."""
    if missing := lacking():
        raise RuntimeError(f"the stand-in for an accelerator cannot be compiled: {missing}")
    folder = Path(tempfile.gettempdir()) / f"autograd_doctor_stand_in-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    extension = folder / f"{_key()}.so"
    if extension.exists():
        return extension
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not extension.exists():
            _compile(extension)
    return extension


def _compile(extension: Path) -> None:
    """Under another name first, so that what was cut off is never taken for the whole."""
    from torch.utils.cpp_extension import include_paths, library_paths

    headers = [f"-I{path}" for path in [*include_paths(), sysconfig.get_path("include")]]
    found = [option for path in library_paths() for option in (f"-L{path}", f"-Wl,-rpath,{path}")]
    unfinished = extension.with_suffix(".unfinished")
    command = [_compiler(), *_OPTIONS, *headers, str(_SOURCE), "-o", str(unfinished), *found, *_LIBRARIES]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{_SOURCE.name} does not compile:\n{done.stderr}")
    unfinished.replace(extension)


def _compiler() -> str | None:
    return shutil.which(os.environ.get("CXX", "c++"))


def _key() -> str:
    made_of = [_SOURCE.read_text(encoding="utf-8"), torch.__version__, sys.version, *_OPTIONS]
    return hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16]


if __name__ == "__main__":
    print(built())
