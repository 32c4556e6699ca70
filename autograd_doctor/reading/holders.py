"""Who keeps an object alive, under the name that the user gave it."""

from __future__ import annotations

import gc
import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from torch import nn

from autograd_doctor.findings import Location
from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.places import is_own, own_frames

_DEPTH = 5
_MOST_REFERRERS = 24


class Holder(NamedTuple):
    """The user's name for what keeps an object, what kind of thing that is, and whether its length is bounded.

    `in_module`: the object hangs on an attribute of an `nn.Module`.
    """

    name: str
    kind: str
    bounded: bool = False
    in_module: bool = False


class Holders:
    """One search: the variables of the user's frames and modules are the names that an answer may begin with."""

    def __init__(self) -> None:
        self._named: dict[int, str] = {}
        self._of_modules: set[int] = set()
        for frame in own_frames():
            for name, value in variables(frame):
                self._named.setdefault(id(value), name)
                if name == "self" and isinstance(value, nn.Module):
                    self._of_modules.update(map(id, vars(value).values()))
        for module in own_modules():
            for name, value in list(vars(module).items()):
                if not name.startswith("__"):
                    self._named.setdefault(id(value), name)

    def of(self, wanted: Sequence[object]) -> list[Holder | None]:
        """Per object, the nearest holder that has a name; None if only torch or the doctor itself holds it.

        What no variable in sight leads to, such as a model that a framework runs, goes by the name of its class.
        A longer list goes before a nearer one: a batch drawn from a memory holds for a while what the memory keeps.
        Finding what refers to something visits every object of the process: all searches go up together.
        """
        answers = [self._variable(thing) for thing in wanted]
        outgrown: dict[int, Holder] = {}
        anonymous: dict[int, Holder] = {}
        level = [_Held(thing, search=number) for number, thing in enumerate(wanted) if answers[number] is None]
        seen = {id(wanted), *(id(held.thing) for held in level)}
        for _ in range(_DEPTH):
            level = [held for held in level if answers[held.search] is None]
            if not level:
                break
            named: dict[int, tuple[Holder, int]] = {}
            following: dict[int, list[_Held]] = {}
            for referrer, step in _referrers(level, seen):
                name = "" if isinstance(referrer, FunctionType) else self._named.get(id(referrer))
                if name is None:
                    following.setdefault(step.search, []).append(step)
                    if _is_users_object(referrer):
                        anonymous.setdefault(step.search, step.named(type(referrer).__qualname__))
                elif step.search not in named:
                    step.in_module |= isinstance(referrer, nn.Module) or id(referrer) in self._of_modules
                    named[step.search] = step.named(name), step.length
            for number, (holder, length) in named.items():
                following[number] = [step for step in following.get(number, ()) if step.length > length]
                (outgrown if following[number] else answers)[number] = holder
            level = [held for steps in following.values() for held in steps[:_MOST_REFERRERS]]
        return [answer or outgrown.get(i) or anonymous.get(i) for i, answer in enumerate(answers)]

    def _variable(self, thing: object) -> Holder | None:
        name = self._named.get(id(thing))
        return None if name is None else Holder(name, "variable")


def _referrers(level: Sequence[_Held], seen: set[int]) -> Iterator[tuple[Any, _Held]]:
    """What refers to the things of a level and was not seen yet, each with the way to it."""
    things = tuple(held.thing for held in level)
    seen.add(id(things))
    for referrer in gc.get_referrers(*things):
        if id(referrer) in seen or isinstance(referrer, FrameType | ModuleType | MethodType | _Held):
            continue
        seen.add(id(referrer))
        for step in filter(None, (held.through(referrer) for held in level)):
            yield referrer, step


@dataclass(slots=True)
class _Held:
    """A thing on the way from the wanted object up to a name, with the path from here down to the object.

    `key` is set for a dict: whether it is shown as `.key` or `[key]` depends on whether the dict belongs to an object.
    `cell` is the closure cell that the path goes through, `inner` what a sequence holds of it, `search` the number of
    the search, `length` that of the list that the path came through last.
    """

    thing: Any
    path: str = ""
    kind: str = ""
    bounded: bool = False
    key: Any = None
    cell: CellType | None = None
    inner: Any = None
    search: int = 0
    in_module: bool = False
    length: int = 0

    def through(self, referrer: Any) -> _Held | None:
        """One step up to `referrer`, None if it does not hold this thing in a way that a person would name."""
        step = self._through(referrer)
        if step is not None:
            step.search = self.search
            step.length = len(referrer) if isinstance(referrer, list | set | deque) else self.length
            step.in_module = self.in_module or isinstance(referrer, nn.Module)
        return step

    def _through(self, referrer: Any) -> _Held | None:
        held, below = self.thing, self._shown()
        if isinstance(referrer, deque) and any(item is held for item in referrer):
            return _Held(referrer, below, self.kind or "deque", self.bounded or referrer.maxlen is not None)
        if isinstance(referrer, list | set | tuple):
            inside = any(item is held for item in referrer)
            kind = self.kind or type(referrer).__name__
            return _Held(referrer, below, kind, self.bounded, cell=self.cell, inner=held) if inside else None
        if isinstance(referrer, CellType) and referrer.cell_contents is held:
            return _Held(referrer, below, self.kind or "closure", self.bounded, cell=referrer)
        if isinstance(referrer, FunctionType):
            return self._through_function(referrer)
        if isinstance(held, dict) and getattr(referrer, "__dict__", None) is held:
            return _Held(referrer, f".{self.key}{self.path}", self.kind or "attribute", self.bounded)
        if isinstance(referrer, dict):
            key = next((key for key, value in list(referrer.items()) if value is held), None)
            return None if key is None else _Held(referrer, below, self.kind, self.bounded, key)
        attributes = getattr(referrer, "__dict__", {})
        name = next((name for name, value in list(attributes.items()) if value is held), None)
        return None if name is None else _Held(referrer, f".{name}{below}", self.kind or "attribute", self.bounded)

    def _through_function(self, function: FunctionType) -> _Held | None:
        if function.__defaults__ is self.thing or function.__kwdefaults__ is self.thing:
            kind = self.kind if self.kind not in ("", "tuple") else "default argument"
            name = f"{self._parameter(function)}{self.path} in the defaults of {function.__qualname__}()"
            return _Held(function, name, kind, self.bounded)
        cells = [cell for cell in function.__closure__ or () if cell is self.cell]
        if self.thing is not function.__closure__ or not cells:
            return None
        variable = function.__code__.co_freevars[(function.__closure__ or ()).index(cells[0])]
        name = f"{variable}{self.path} in the closure of {function.__qualname__}()"
        return _Held(function, name, self.kind, self.bounded)

    def _parameter(self, function: FunctionType) -> str:
        """The name of the parameter whose default value the path goes through."""
        if isinstance(self.thing, dict):
            return str(self.key)
        code, defaults = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        return next((name for name, value in zip(names, defaults, strict=False) if value is self.inner), "")

    def _shown(self) -> str:
        return f"[{self.key!r}]{self.path}" if isinstance(self.thing, dict) and self.key is not None else self.path

    def named(self, name: str) -> Holder:
        return Holder(name + self._shown(), self.kind or "dict", self.bounded, self.in_module)


def _is_users_object(thing: object) -> bool:
    """Whether this is an instance of a class of the user's program."""
    module = sys.modules.get(type(thing).__module__)
    path = getattr(module, "__file__", None)
    return isinstance(path, str) and is_own(path)


def own_modules() -> Iterator[ModuleType]:
    """The modules of the user's program."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(module, ModuleType) and isinstance(path, str) and is_own(path):
            yield module


def stored_at(holder: str, near: Location | None) -> Location | None:
    """The line of the user's source that puts things into a holder, looked for in the file of `near` first.

    Nothing observes an `append`; the line is found by its text, with the holder's subscripts if they are written out.
    """
    name = holder.removesuffix("()").split(" in the ")[0]
    base = re.split(r"\.", name.split("[")[0])[-1]
    subscripts = re.findall(r"\[([^\]]*)\]", name)
    paths = dict.fromkeys([*([near.path] if near is not None else []), *(str(m.__file__) for m in own_modules())])
    for keys in [subscripts, []] if subscripts else [[]]:
        for path in paths:
            found = _matches(path, _storing(base, keys))
            if found:
                return _nearest(found, near)
    return None


def _storing(base: str, keys: list[str]) -> re.Pattern[str]:
    """Matches lines that put something into `base[key]…`; without keys, into any part of `base`."""
    written = "".join(rf"\s*\[\s*['\"]?{re.escape(key.strip(chr(39)))}['\"]?\s*\]" for key in keys)
    inside = written or r"(\[[^\]]*\])*"
    assigned = r"|=[^=]" if written else ""
    return re.compile(
        rf"\b{re.escape(base)}{inside}\s*"
        rf"(\.(append|appendleft|extend|insert|add|update|setdefault|put)\(|\+=|\[[^\]]+\]\s*=[^=]{assigned})"
    )


def _matches(path: str, pattern: re.Pattern[str]) -> list[Location]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    found = []
    for number, text in enumerate(lines, 1):
        match = pattern.search(text.split("#")[0])
        if match:
            column = len(text) - len(text.lstrip()) + 1
            end = len(text.split("#")[0].rstrip()) + 1
            found.append(Location(path=path, line=number, column=column, end_line=number, end_column=end))
    return found


def _nearest(found: list[Location], near: Location | None) -> Location:
    """Among several candidate lines, the first one at or below the line that made the tensor."""
    below = [location for location in found if near is not None and location.path == near.path
             and location.line >= near.line]  # fmt: skip
    return below[0] if below else found[0]
