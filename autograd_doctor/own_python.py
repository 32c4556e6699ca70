"""The command of a Python process of our own: it runs this very package, whatever lies in the working folder.

As a program, with the name of a module as its first argument, this file calls `main` of that module. No folder is added
to what Python searches, so that nothing but this package comes along, in whichever environment it runs.
"""

from __future__ import annotations

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.basename(FOLDER)
LOADS_PACKAGE = f"""
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location({PACKAGE!r}, {os.path.join(FOLDER, "__init__.py")!r})
sys.modules[spec.name] = module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
"""
"""Whatever an environment has of that name: this is the package from now on, and what is inside it is found by it."""
_LENDING = "--lend"


def own_python(module: str, *arguments: str, interpreter: str = "") -> list[str]:
    """How to call `main` of a module, with the options that this interpreter was started with (`-X`, `-W`, `-O` …).

    Another interpreter is started without any, and is lent the pure Python of others that the module needs.
    """
    import subprocess

    from autograd_doctor.lent import lending

    if interpreter and interpreter != sys.executable:
        lent = (part for name, folder in lending() for part in (_LENDING, name, folder))
        return [interpreter, __file__, *lent, module, *arguments]
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, *own_program(module, *arguments)]


def own_program(module: str, *arguments: str) -> list[str]:
    """The same without the interpreter and its options, for a process of this environment."""
    from autograd_doctor.lent import lent_here

    lent = (part for name, folder in lent_here() for part in (_LENDING, name, folder))
    return [os.path.join(FOLDER, "own_python.py"), *lent, module, *arguments]


def _main() -> None:
    # Python has put the folder of this file in front: its modules are not to be found by their bare names.
    sys.path[: not sys.flags.safe_path] = []
    exec(LOADS_PACKAGE, {})
    from importlib import import_module

    while sys.argv[1:2] == [_LENDING]:
        _, name, folder = sys.argv[1:4]
        import_module(f"{PACKAGE}.lent").lend(name, folder)
        del sys.argv[1:4]
    sys.exit(import_module(sys.argv.pop(1)).main())


if __name__ == "__main__":
    _main()
