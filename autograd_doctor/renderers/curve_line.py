"""A curve in one line of a terminal."""

from __future__ import annotations

from math import log10
from statistics import median

from rich.text import Text

from autograd_doctor.renderers.canvas import Canvas
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.run_course import Series

_LONGEST = 32
"""Characters of a curve."""
_SPIKE = 10.0
"""Times the median: a point that is told by itself."""
_TINY = 1e-30


def curve_line(canvas: Canvas, series: Series, width: int) -> Text:
    """Drawn by the logarithm, with its ends, and its highest point between them where that stands out."""
    name = printable(one_line(series.name), unicode=canvas.options.unicode)
    known = [
        (step, value) for step, value in zip(series.steps, series.values, strict=True) if not isinstance(value, str)
    ]
    if not known:
        return Text(f"    {name:<{width}}  not finite in any step")
    drawn = "".join(_level(canvas, value, known) for _, value in _thinned(known))
    (first, begins), (last, ends) = known[0], known[-1]
    at, highest = max(known, key=lambda each: each[1])
    stands_out = first < at < last and highest > _SPIKE * median(value for _, value in known)
    spike = f", {highest:.3g} in step {at}" * stands_out
    text = Text(f"    {name:<{width}}  {drawn}  {begins:.3g} in step {first}, {ends:.3g} in step {last}{spike}")
    text.truncate(canvas.width, overflow="ellipsis" if canvas.options.unicode else "crop")
    return text


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The highest of each stretch, so that no spike is lost."""
    stretch = max(1, -(-len(points) // _LONGEST))
    return [max(points[at : at + stretch], key=lambda each: each[1]) for at in range(0, len(points), stretch)]


def _level(canvas: Canvas, value: float, points: list[tuple[int, float]]) -> str:
    levels = canvas.glyphs.levels
    logs = [log10(max(each, _TINY)) for _, each in points]
    low, high = min(logs), max(logs)
    share = (log10(max(value, _TINY)) - low) / (high - low) if high > low else 0.5
    return levels[min(len(levels) - 1, int(share * len(levels)))]
