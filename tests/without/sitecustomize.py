"""Imported by each Python whose path begins with this folder: hides from us what other systems lack.

WITHOUT holds names: modules, attributes of `os` and `signal` and `faulthandler`, "proc", "prctl", and "pass_fds". Only
while `autograd_doctor.system` is loaded are they gone: Python itself and torch know what system they are on.
"""

import builtins
import faulthandler
import importlib
import os
import pathlib
import signal
import sys

_HIDDEN = set(os.environ.get("WITHOUT", "").split())
_SYSTEM = "autograd_doctor.system"
_import = builtins.__import__
_import_module = importlib.import_module


def _load_system() -> None:
    kept = {name: sys.modules.get(name) for name in _HIDDEN & set(sys.stdlib_module_names)}
    taken = [(owner, name) for owner in (os, signal, faulthandler) for name in _HIDDEN if hasattr(owner, name)]
    values = [getattr(owner, name) for owner, name in taken]
    sys.modules.update(dict.fromkeys(kept))
    for owner, name in taken:
        delattr(owner, name)
    try:
        system = _import_module(_SYSTEM)
    finally:
        for (owner, name), value in zip(taken, values, strict=True):
            setattr(owner, name, value)
        for name, module in kept.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    if "proc" in _HIDDEN:
        system.PROCESSES = pathlib.Path("/nowhere")
    if "prctl" in _HIDDEN:
        system._prctl = None
    if "pass_fds" in _HIDDEN:
        system.CAN_PASS_ON = False
    found = system.module
    system.module = lambda name: None if name in _HIDDEN else found(name)


def _importing(name, namespace=None, *rest, **options):
    if _SYSTEM not in sys.modules and name.startswith("autograd_doctor"):
        wanted = {f"{name}.{each}" for each in (rest[1] if len(rest) > 1 and rest[1] else ())} | {name}
        if _SYSTEM in wanted:
            _load_system()
    return _import(name, namespace, *rest, **options)


if _HIDDEN:
    builtins.__import__ = _importing
