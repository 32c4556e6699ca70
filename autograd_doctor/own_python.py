"""The command of a Python process of our own: it runs this very package, whatever lies in the working folder.

As a program, with the name of a module as its first argument, this file calls `main` of that module.
"""

from __future__ import annotations

import sys

_ROOT = __file__.rpartition("/")[0].rpartition("/")[0]


def own_python(module: str, *arguments: str) -> list[str]:
    """How to call `main` of a module, with the options that this interpreter was started with (`-X`, `-W`, `-O` …)."""
    import subprocess

    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, f"{_ROOT}/autograd_doctor/own_python.py", module, *arguments]


def _main() -> None:
    # Python has put the folder of this file in front: its modules are not to be found by their bare names.
    sys.path[: not sys.flags.safe_path] = [_ROOT]
    from importlib import import_module

    import_module("autograd_doctor")
    del sys.path[0]
    sys.exit(import_module(sys.argv.pop(1)).main())


if __name__ == "__main__":
    _main()
