"""Who keeps an object alive, under the name that the user gave it."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from torch import nn

from autograd_doctor.findings import Location
from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.places import is_of_user, lines_of, own_frames, own_modules
from autograd_doctor.reading.store_watch import Store, length
from autograd_doctor.reading.without_running import attribute, attributes, is_a

_DEPTH = 5
"""How many steps up a name may be away: a tensor in a tuple in a list in an attribute of an object in a variable."""
_MOST_REFERRERS = 24
"""Per step up and object; what is held in more places than that is no leak of one container."""
_SHOWN_KEYS = (str, int, float, bool, type(None))
"""Keys that are shown as they are written; others may take the program's own code to show."""
_NO_KEY = object()


class Holder(NamedTuple):
    """The user's name for what keeps an object, and what kind of thing that is.

    `limit`: how many a window of fixed length on the way takes before it lets go of the oldest, 0 for no limit.
    `in_module`: the object hangs on an attribute of an `nn.Module`. `at`: what makes the function keep it, of a cache.
    """

    name: str
    kind: str
    limit: int = 0
    in_module: bool = False
    at: Location | None = None


class Found(NamedTuple):
    """A holder, and the containers on the way to it: what is put into it is put into one of these."""

    holder: Holder
    stores: tuple[Store, ...] = ()


class Holders:
    """One search: the variables of the user's frames and modules are the names that an answer may begin with."""

    def __init__(self) -> None:
        self._named: dict[int, str] = {}
        self._of_modules: set[int] = set()
        for frame in own_frames():
            for name, value in variables(frame):
                self._named.setdefault(id(value), name)
                if name == "self" and is_a(value, nn.Module):
                    self._of_modules.update(map(id, attributes(value).values()))
        for module in own_modules():
            for name, value in list(attributes(module).items()):
                if not name.startswith("__"):
                    self._named.setdefault(id(value), name)

    def of(self, wanted: Sequence[object]) -> list[Holder | None]:
        """Per object, the nearest holder that has a name; None if only torch or the doctor itself holds it."""
        return [None if found is None else found.holder for found in self.search(wanted)]

    def search(self, wanted: Sequence[object]) -> list[Found | None]:
        """The same with the containers on the way, which are held as long as the answer is.

        What no variable in sight leads to, such as a model that a framework runs, goes by the name of its class.
        A longer list goes before a nearer one: a batch drawn from a memory holds for a while what the memory keeps.
        Finding what refers to something visits every object of the process: all searches go up together.
        """
        answers = [self._variable(thing) for thing in wanted]
        outgrown: dict[int, Found] = {}
        anonymous: dict[int, Found] = {}
        level = [_Held(thing, search=number) for number, thing in enumerate(wanted) if answers[number] is None]
        seen = {id(wanted), *(id(held.thing) for held in level)}
        for _ in range(_DEPTH):
            level = [held for held in level if answers[held.search] is None]
            if not level:
                break
            named: dict[int, tuple[Found, int]] = {}
            following: dict[int, list[_Held]] = {}
            for referrer, step in _referrers(level, seen):
                name = "" if is_a(referrer, (FunctionType, _lru_cache_wrapper)) else self._named.get(id(referrer))
                if name is None:
                    following.setdefault(step.search, []).append(step)
                    if _is_users_object(referrer):
                        anonymous.setdefault(step.search, step.named(type(referrer).__qualname__))
                elif step.search not in named:
                    step.in_module |= is_a(referrer, nn.Module) or id(referrer) in self._of_modules
                    named[step.search] = step.named(name), step.length
            for number, (found, size) in named.items():
                following[number] = [step for step in following.get(number, ()) if step.length > size]
                (outgrown if following[number] else answers)[number] = found
            level = [held for steps in following.values() for held in steps[:_MOST_REFERRERS]]
        return [answer or outgrown.get(i) or anonymous.get(i) for i, answer in enumerate(answers)]

    def _variable(self, thing: object) -> Found | None:
        name = self._named.get(id(thing))
        return None if name is None else Found(Holder(name, "variable"))


def _referrers(level: Sequence[_Held], seen: set[int]) -> Iterator[tuple[Any, _Held]]:
    """What refers to the things of a level and was not seen yet, each with the way to it."""
    things = tuple(held.thing for held in level)
    seen.add(id(things))
    for referrer in gc.get_referrers(*things):
        if id(referrer) in seen or is_a(referrer, (FrameType, ModuleType, MethodType, _Held)):
            continue
        if type(referrer) is tuple and _is_being_filled(referrer):
            continue
        seen.add(id(referrer))
        for step in filter(None, (held.through(referrer) for held in level)):
            yield referrer, step


def _is_being_filled(items: tuple[object, ...]) -> bool:
    """Whether a tuple has places that hold nothing yet, as while `f(*(make(x) for x in xs))` runs `make`.

    The interpreter ends where such a place is read; the collector knows them (the documentation of
    `gc.get_referrers` warns of what is under construction).
    """
    return len(gc.get_referents(items)) < len(items)


@dataclass(slots=True)
class _Held:
    """A thing on the way from the wanted object up to a name, with the path from here down to the object.

    `key` is set for a dict: whether it is shown as `.key` or `[key]` depends on whether the dict belongs to an object.
    `cell` is the closure cell that the path goes through, `inner` what a sequence holds of it, `search` the number of
    the search, `length` that of the list that the path came through last, `at` the line of a cache, `stores` the
    containers on the path.
    """

    thing: Any
    path: str = ""
    kind: str = ""
    limit: int = 0
    key: Any = _NO_KEY
    cell: CellType | None = None
    inner: Any = None
    search: int = 0
    in_module: bool = False
    length: int = 0
    at: Location | None = None
    stores: tuple[Store, ...] = ()

    def through(self, referrer: Any) -> _Held | None:
        """One step up to `referrer`, None if it does not hold this thing in a way that a person would name."""
        step = self._through(referrer)
        if step is not None:
            step.search = self.search
            step.length = length(referrer) if is_a(referrer, (list, set, deque)) else self.length
            step.in_module = self.in_module or is_a(referrer, nn.Module)
            step.stores = step.stores or self.stores
        return step

    def _through(self, referrer: Any) -> _Held | None:
        held, below = self.thing, self._shown()
        if is_a(referrer, (list, set, tuple, deque)):
            return self._through_sequence(referrer)
        if is_a(referrer, CellType) and referrer.cell_contents is held:
            return _Held(referrer, below, self.kind or "closure", self.limit, cell=referrer)
        if is_a(referrer, FunctionType):
            return self._through_function(referrer)
        if is_a(referrer, _lru_cache_wrapper):
            return self._through_cache(referrer)
        if is_a(referrer, dict):
            key = next((key for key, value in list(dict.items(referrer)) if value is held), _NO_KEY)
            stores = (*self.stores, Store(referrer, key))
            return None if key is _NO_KEY else _Held(referrer, below, self.kind, self.limit, key, stores=stores)
        kept = attributes(referrer)
        if kept is held:
            # What else the object keeps comes and goes: only what this attribute stands for tells of a store.
            stores = (*self.stores[:-1], Store(held, self.key, attribute=True))
            return _Held(referrer, f".{self.key}{self.path}", self.kind or "attribute", self.limit, stores=stores)
        name = next((name for name, value in list(kept.items()) if value is held), None)
        stores = (*self.stores, Store(kept, name, attribute=True))
        shown = f".{name}{below}"
        return None if name is None else _Held(referrer, shown, self.kind or "attribute", self.limit, stores=stores)

    def _through_sequence(self, referrer: Any) -> _Held | None:
        kind = _kind(referrer)
        index = next((index for index, item in enumerate(kind.__iter__(referrer)) if item is self.thing), None)
        if index is None:
            return None
        limit = self.limit or (deque.maxlen.__get__(referrer) or 0 if kind is deque else 0)
        stores = self.stores if kind is tuple else (*self.stores, Store(referrer, index))
        inner = None if kind is deque else self.thing
        shown = self.kind or type(referrer).__name__ if kind is not deque else self.kind or "deque"
        return _Held(referrer, self._shown(), shown, limit, cell=self.cell, inner=inner, stores=stores)

    def _through_cache(self, cached: Any) -> _Held | None:
        """What `functools.cache` keeps of a function: one that has a limit shows nothing of it."""
        code = getattr(attribute(cached, "__wrapped__"), "__code__", None)
        if code is None or not any(self.thing is each for each in gc.get_referents(cached)):
            return None
        return _Held(cached, f"the cache of {code.co_qualname}()", "cache", at=lines_of(code, code.co_firstlineno))

    def _through_function(self, function: FunctionType) -> _Held | None:
        if function.__defaults__ is self.thing or function.__kwdefaults__ is self.thing:
            kind = self.kind if self.kind not in ("", "tuple") else "default argument"
            name = f"{self._parameter(function)}{self.path} in the defaults of {function.__qualname__}()"
            return _Held(function, name, kind, self.limit)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        variable = next((name for name, cell in cells if cell is self.cell), None)
        if self.thing is not function.__closure__ or variable is None:
            return None
        name = f"{variable}{self.path} in the closure of {function.__qualname__}()"
        return _Held(function, name, self.kind, self.limit)

    def _parameter(self, function: FunctionType) -> str:
        """The name of the parameter whose default value the path goes through."""
        if is_a(self.thing, dict):
            return str(self.key)
        code, defaults = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        return next((name for name, value in zip(names, defaults, strict=False) if value is self.inner), "")

    def _shown(self) -> str:
        if not is_a(self.thing, dict) or self.key is _NO_KEY:
            return self.path
        return f"[{self.key!r}]{self.path}" if type(self.key) in _SHOWN_KEYS else f"[…]{self.path}"

    def named(self, name: str) -> Found:
        holder = Holder(name + self._shown(), self.kind or "dict", self.limit, self.in_module, self.at)
        return Found(holder, self.stores)


def _kind(sequence: Any) -> Any:
    return next(kind for kind in (list, set, tuple, deque) if is_a(sequence, kind))


def _is_users_object(thing: object) -> bool:
    """Whether this is an instance of a class of the user's program."""
    return is_of_user(attributes(sys.modules.get(attribute(type(thing), "__module__", ""))))
