"""The command of a Python process of our own: it runs this very package, whatever lies in the working folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = str(Path(__file__).parent.parent)
_START = (
    "import sys; sys.path[: not sys.flags.safe_path] = [{root!r}]; import autograd_doctor; del sys.path[0]; "
    "from {module} import main; sys.exit(main())"
)
"""Python has put the working folder in front, where a file or folder of the user's would shadow what is imported."""


def own_python(module: str, *arguments: str) -> list[str]:
    """How to call `main` of a module, with the options that this interpreter was started with (`-X`, `-W`, `-O` …)."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-c", _START.format(root=_ROOT, module=module), *arguments]
