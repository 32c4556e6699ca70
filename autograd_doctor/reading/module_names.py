"""What the user would type for a module: `model`, `self.encoder`, `self.layers[0]`, `model.fc`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from autograd_doctor.reading.frame_locals import local_variables, variables
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.places import own_frame, own_frames
from autograd_doctor.reading.without_running import attributes, is_a

_CONTAINER_LIMIT = 64
"""Entries of a container that may be modules kept by hand; longer ones hold data."""


def root_name(module: nn.Module) -> str:
    """The name of a module that is called by itself: a variable before a path, `self` only if there is no other."""
    names = [name for name in _direct(module) if name != "self"]
    return next(iter(names), "") or path_name(module) or _contained(module) or type(module).__name__


def path_name(module: nn.Module) -> str:
    """The path to a module from a larger one that a variable holds, "" if there is none."""
    for frame in own_frames():
        for name, value in variables(frame):
            if is_a(value, nn.Module) and value is not module:
                path = next((path for path, inner in modules_in(value) if inner is module), None)
                if path is not None:
                    return f"{name}.{path}"
    return ""


def held_name(module: nn.Module) -> str:
    """Where the `self` of an enclosing method keeps a module that it does not register: `self.layers[0]`."""
    for frame in own_frames():
        place = _place_in(local_variables(frame).get("self"), module)
        if place:
            return f"self{place}"
    return _contained(module) or type(module).__name__


def plain_holder(module: nn.Module) -> nn.Module | None:
    """The module whose method is running and that keeps this one where `modules()` does not find it."""
    frame = own_frame()
    owner: Any = local_variables(frame).get("self") if frame is not None else None
    if not is_a(owner, nn.Module) or not _place_in(owner, module):
        return None
    return None if any(inner is module for _, inner in modules_in(owner)) else owner


def holding_attribute(owner: object, module: nn.Module) -> str:
    """The plain attribute in which an object keeps a module, "" if there is none."""
    return _held_by(owner, module)[0]


def _place_in(owner: object, module: nn.Module) -> str:
    name, inside = _held_by(owner, module)
    return f".{name}{inside}" if name else ""


def _held_by(owner: object, module: nn.Module) -> tuple[str, str]:
    """The attribute that holds it, and where in it."""
    for name, value in dict(attributes(owner)).items():
        inside = next((suffix for suffix, held in _contents(value) if held is module), None)
        if inside is not None and name != "_modules":
            return name, inside
    return "", ""


def _direct(module: nn.Module) -> Iterator[str]:
    for frame in own_frames():
        yield from (name for name, value in variables(frame) if value is module)


def _contained(module: nn.Module) -> str:
    """A variable, or its entry, that is the module."""
    for frame in own_frames():
        for name, value in variables(frame):
            for suffix, held in _contents(value):
                if held is module:
                    return f"{name}{suffix}"
    return ""


def _contents(value: Any) -> Iterator[tuple[str, object]]:
    yield "", value
    if is_a(value, (list, tuple)):
        kind: Any = list if is_a(value, list) else tuple
        if kind.__len__(value) <= _CONTAINER_LIMIT:
            yield from ((f"[{index}]", entry) for index, entry in enumerate(kind.__iter__(value)))
    elif is_a(value, dict) and dict.__len__(value) <= _CONTAINER_LIMIT:
        yield from ((f"[{_shown(key)}]", entry) for key, entry in list(dict.items(value)))


def _shown(key: object) -> str:
    """A key as it is written, where showing it runs nothing of the program."""
    return repr(key) if type(key) in (str, int, float, bool) else "…"
