"""A profile for a person at a terminal: four tables, the dearest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from autograd_doctor.profiling import Beside, CodeLine, Measured, Memory, ModuleCost, Part, Profile
from autograd_doctor.renderers.canvas import FAINT, Canvas
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.wording import listed
from autograd_doctor.wording import in_bytes, plural

_ROWS = 10
"""Of a table; the JSON has them all."""
_NEGLIGIBLE = 0.005
"""A share of the time below which a row says nothing."""
_BAR = 20
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)|(?<=\[)\d+(?=\])")
"""Of a member of a container: `model.blocks.3.up`."""
_NAMES = 4
_NARROWEST = 16
"""Characters of a name in a terminal that has no room for it."""


def profile_lines(canvas: Canvas, profile: Profile) -> Iterator[Text]:
    """How long an iteration takes, where its time goes, by module and by line, and what it holds in memory."""
    yield from canvas.beside(Text("  "), canvas.prose(_pace(profile), "bold"))
    yield Text("")
    yield from _table(canvas, "time", [_part(canvas, part) for part in profile.parts if part.share >= _NEGLIGIBLE])
    for beside in profile.beside:
        yield from canvas.beside(Text("    "), canvas.prose(_beside(beside), FAINT))
    whole = profile.seconds.median
    kinds = [each for each in _alike(profile.modules) if each.cost >= _NEGLIGIBLE * whole]
    yield from _cut(canvas, "module", [_MODULE_HEAD, *map(_module, kinds)])
    lines = [each for each in profile.lines if each.forward + each.backward >= _NEGLIGIBLE * whole]
    yield from _cut(canvas, "line", [_LINE_HEAD, *map(_line, lines)])
    if profile.memory is not None:
        yield Text("")
        yield from _table(canvas, "memory when a backward begins", _memory(profile.memory))


def _pace(profile: Profile) -> str:
    said = f"an iteration takes {_interval(profile.seconds)}"
    pace = [f"{profile.samples:,.0f} samples"] * bool(profile.samples)
    pace += [f"{profile.tokens:,.0f} tokens"] * bool(profile.tokens)
    per_second = f", {' or '.join(pace)} a second" if pace else ""
    return f"{said}{per_second} (median of {plural(profile.iterations, 'iteration')})"


def _interval(measured: Measured) -> str:
    low, high = _time(measured.low), _time(measured.high)
    return _time(measured.median) + (f" ({low} to {high})" if low != high else "")


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _part(canvas: Canvas, part: Part) -> list[str]:
    bar = canvas.glyphs.block * max(1, round(part.share * _BAR))
    return [part.activity, _time(part.seconds.median), f"{part.share:.0%}", f"{bar:<{_BAR}}  {', '.join(part.lines)}"]


def _beside(beside: Beside) -> str:
    where = f" ({', '.join(beside.lines)})" if beside.lines else ""
    return f"and {beside.activity}: {_time(beside.seconds)} in {plural(beside.iterations, 'iteration')}{where}"


_MODULE_HEAD = ["", "calls", "forward", "of its own", "backward", "saved"]
_LINE_HEAD = ["", "forward", "backward", "saved", ""]


class _Alike(NamedTuple):
    """Modules of a class at the same place in the members of a container, as one."""

    name: str
    kind: str
    modules: list[ModuleCost]

    def sum(self, of: Callable[[ModuleCost], float]) -> float:
        return sum(map(of, self.modules))

    @property
    def cost(self) -> float:
        return self.sum(lambda module: module.own.median + module.backward)


def _alike(modules: Sequence[ModuleCost]) -> list[_Alike]:
    found: dict[tuple[str, str], list[ModuleCost]] = {}
    for module in modules:
        found.setdefault((_NUMBER.sub("*", module.name), module.kind), []).append(module)
    alike = [_Alike(name if len(same) > 1 else same[0].name, kind, same) for (name, kind), same in found.items()]
    return sorted(alike, key=lambda each: -each.cost)


def _module(alike: _Alike) -> list[str]:
    backward, saved = alike.sum(lambda module: module.backward), alike.sum(lambda module: module.saved)
    return [
        f"{alike.name} ({alike.kind})",
        f"{alike.sum(lambda module: module.calls):g}",
        _time(alike.sum(lambda module: module.seconds.median)),
        _time(alike.sum(lambda module: module.own.median)),
        _time(backward) if backward else "",
        in_bytes(saved) if saved else "",
    ]


def _line(line: CodeLine) -> list[str]:
    return [
        line.line,
        _time(line.forward),
        _time(line.backward) if line.backward else "",
        in_bytes(line.saved) if line.saved else "",
        listed(line.operations, _NAMES),
    ]


def _memory(memory: Memory) -> list[list[str]]:
    held = {
        "parameters": memory.parameters,
        "buffers": memory.buffers,
        "gradients": memory.gradients,
        "optimizer state": memory.optimizer,
        "saved for backward": memory.activations,
        "together": memory.together,
    }
    rows = [[name, in_bytes(size)] for name, size in held.items() if size]
    return rows if memory.highest is None else [*rows, ["most in use on the accelerator", in_bytes(memory.highest)]]


def _cut(canvas: Canvas, what: str, rows: Sequence[list[str]]) -> Iterator[Text]:
    """A table with a head, of its first rows, and how many more there are."""
    if len(rows) > 1:
        yield Text("")
        yield from _table(canvas, f"by {what}", rows[: _ROWS + 1])
        if len(rows) > _ROWS + 1:
            more = f"and {plural(len(rows) - _ROWS - 1, what)} more: `--output-format json` has all"
            yield from canvas.beside(Text("    "), canvas.prose(more, FAINT))


def _table(canvas: Canvas, title: str, rows: Sequence[list[str]]) -> Iterator[Text]:
    """Columns as wide as what they hold, numbers to the right; long names are cut, and what is left of the last column.

    In tables of four or five columns the last one is prose.
    """
    yield Text(f"  {title}", style="bold")
    plain = [[printable(one_line(cell), unicode=canvas.options.unicode) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    has_prose = len(widths) in (4, 5)
    numbers = sum(width + 2 for width in (widths[1:-1] if has_prose else widths[1:]))
    widths[0] = min(widths[0], max(_NARROWEST, canvas.width - 4 - numbers))
    for row in plain:
        name, *cells = row
        shown = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        if has_prose:
            shown[-1] = cells[-1]
        text = Text(f"    {'  '.join([_cut_in_the_middle(canvas, name, widths[0]), *shown])}".rstrip())
        text.truncate(canvas.width, overflow="ellipsis" if canvas.options.unicode else "crop")
        if not name:
            text.stylize(FAINT)
        yield text


def _cut_in_the_middle(canvas: Canvas, name: str, width: int) -> str:
    """The ends of a path tell most."""
    if len(name) <= width:
        return name.ljust(width)
    kept = width - len(canvas.glyphs.cut)
    return f"{name[: kept // 2]}{canvas.glyphs.cut}{name[len(name) - (kept - kept // 2) :]}"
