"""Where in the user's source something happens: cheap raw places first, exact lines and columns on demand."""

from __future__ import annotations

import linecache
import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, ModuleType

from autograd_doctor.findings import Location
from autograd_doctor.reading.without_running import attributes, is_a

Place = tuple[CodeType, int]
"""A code object and the offset of the instruction in it: all that is kept while the program runs."""

_PACKAGE = str(Path(__file__).parent.parent) + os.sep
_LIBRARIES = tuple(
    {
        str(Path(path)) + os.sep
        for path in (
            *site.getsitepackages(),
            site.getusersitepackages(),
            sysconfig.get_path("stdlib"),
            sysconfig.get_path("purelib"),
            sysconfig.get_path("platlib"),
        )
    }
)
_INSTALLED = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))
_target_folders: tuple[str, ...] = ()
_own_files: set[str] = set()
_libraries: set[str] = set()
"""Names of loaded modules that are not the user's: each of thousands is looked at once."""
_passed_over: set[str] = set()
"""Those of ours and of torch whose frames were met: most of a stack, and what code a frame has tells audit hooks."""
_MOST_FRAMES = ("autograd_doctor.", "torch.")
_MOST_PLACES = 1000
"""At which libraries are called, to remember: a program has a few, and so many only where code is made anew."""
_before_libraries: set[Place] = set()


def set_target_folder(folder: str | None) -> None:
    """Count files under `folder` as the user's own even inside site-packages: a framework can be the target."""
    global _target_folders
    _target_folders = (folder.rstrip(os.sep) + os.sep,) if folder else ()
    is_own.cache_clear()
    _libraries.clear()
    _passed_over.clear()


def is_ours(path: str) -> bool:
    """Whether a file belongs to this package."""
    return path.startswith(_PACKAGE)


@cache
def is_own(path: str) -> bool:
    """Whether a file belongs to the user's program: neither ours nor torch, a framework or the standard library."""
    own = _lies_outside(path)
    if own:
        _own_files.add(path)
    return own


def own_files() -> frozenset[str]:
    """Those files of the user's program that were asked about so far in this process."""
    return frozenset(_own_files)


def _lies_outside(path: str) -> bool:
    if is_ours(path) or path.startswith("<frozen"):
        return False
    if path.startswith(_target_folders or ("\0",)):
        return True
    if _is_installed(path) or path.startswith(_LIBRARIES):
        return False
    return not path.startswith("<") or path.startswith(("<ipython", "<string", "<timed exec"))


@cache
def _is_installed(path: str) -> bool:
    return any(folder in path for folder in _INSTALLED)


def is_of_user(variables: Mapping[str, object]) -> bool:
    """Whether a module with these variables is the user's. A `__main__` without a file is a notebook's."""
    path = variables.get("__file__")
    return is_own(path) if type(path) is str else path is None and variables.get("__name__") == "__main__"


def own_modules() -> Iterator[ModuleType]:
    """The modules of the user's program, among thousands of others."""
    for name in [each for each in list(sys.modules) if each not in _libraries]:
        module = sys.modules.get(name)
        if module is not None and is_a(module, ModuleType) and is_of_user(attributes(module)):
            yield module
        elif name != "__main__":
            _libraries.add(name)


def innermost(frame: FrameType | None) -> FrameType | None:
    """The first frame of the user's program, from a frame outwards; None when nothing of the user's is on the stack."""
    is_in_library = False
    while frame is not None:
        name = frame.f_globals.get("__name__")
        module = name if type(name) is str else ""
        if module not in _passed_over:
            if is_own(frame.f_code.co_filename):
                if is_in_library and len(_before_libraries) < _MOST_PLACES:
                    _before_libraries.add((frame.f_code, frame.f_lasti))
                return frame
            if module.startswith(_MOST_FRAMES):
                _passed_over.add(module)
            elif module != "torch":
                is_in_library |= _is_installed(frame.f_code.co_filename)
        frame = frame.f_back
    return None


def before_libraries() -> Iterator[Location]:
    """The places met so far at which the program calls an installed library other than torch, which went on."""
    yield from filter(None, map(locate, _before_libraries))


def own_frames(frame: FrameType | None = None) -> Iterator[FrameType]:
    """Frames of the user's program, innermost first."""
    current = innermost(frame or sys._getframe(1))
    while current is not None:
        yield current
        current = innermost(current.f_back)


def own_frame() -> FrameType | None:
    """The innermost frame of the user's program, None when nothing of the user's is on the stack."""
    return innermost(sys._getframe(1))


def place() -> Place | None:
    """The place of the innermost frame of the user's program."""
    frame = innermost(sys._getframe(1))
    return None if frame is None else (frame.f_code, frame.f_lasti)


def stack() -> tuple[Place, ...]:
    """The places of all frames of the user's program, outermost first."""
    return tuple((frame.f_code, frame.f_lasti) for frame in own_frames(sys._getframe(1)))[::-1]


def here() -> Location | None:
    """The location of the innermost frame of the user's program."""
    return locate(place())


def locate(where: Place | None) -> Location | None:
    """File, line and columns of a place; columns come from `co_positions` and count characters from 1."""
    return None if where is None else _located(where[0].co_filename, *where)


@cache
def _located(path: str, code: CodeType, offset: int) -> Location:
    """The path is asked for, because equal code of two files, such as copies of one, compares equal."""
    line, end_line, column, end_column = next(
        islice(code.co_positions(), offset // 2, None), (code.co_firstlineno, None, None, None)
    )
    start = line or code.co_firstlineno
    end = end_line or start
    return Location(
        path=path,
        line=start,
        column=_character(path, start, column),
        end_line=end,
        end_column=_character(path, end, end_column),
        function="" if code.co_name == "<module>" else code.co_qualname,
    )


def lines_of(code: CodeType, line: int) -> Location:
    """What a code object has on one line, from the first instruction there to the last."""
    spans = [(start, end) for first, last, start, end in code.co_positions() if first == last == line]
    starts = [start for start, _ in spans if start is not None]
    ends = [end for _, end in spans if end is not None]
    return Location(
        path=code.co_filename,
        line=line,
        column=_character(code.co_filename, line, min(starts, default=None)),
        end_line=line,
        end_column=_character(code.co_filename, line, max(ends, default=None)),
        function="" if code.co_name == "<module>" else code.co_qualname,
    )


def _character(path: str, line: int, column: int | None) -> int:
    """A byte offset of a line as a column counted in characters from 1; 0 when unknown."""
    if column is None:
        return 0
    text = linecache.getline(path, line).encode()
    return len(text[:column].decode(errors="ignore")) + 1 if text else column + 1
