"""A change on the page: its diff line by line, whether it is proven, and the losses without and with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograd_doctor.findings import Fix, Losses
from autograd_doctor.renderers.changes import called, diff_lines, later, others, verdict
from autograd_doctor.report import Report, ReportedFinding

WIDTH, HEIGHT = 260, 84
_EDGE = 4
_DECADES = 100
"""Losses that span more than this have a logarithmic scale."""
_MOST = 3
_KINDS = {"---": "file", "+++": "file", "@@": "hunk", "-": "gone", "+": "new"}


@dataclass(frozen=True)
class Curve:
    """A loss in one of two runs, as a path in a box of `WIDTH` by `HEIGHT`; both have the same scales."""

    title: str
    path: str
    first: float | str
    last: float | str


@dataclass(frozen=True)
class Change:
    """All that the page shows of a change."""

    description: str
    state: str
    lines: list[tuple[str, str]]
    said: list[str]
    curves: list[tuple[str, list[Curve]]]
    others: list[tuple[str, str]]


def change_of(finding: ReportedFinding, report: Report) -> Change | None:
    """What to show of the change for a finding, None where there is none."""
    return None if finding.fix is None else _change(finding.fix, list(others(finding, report)))


def came_to_light(report: Report) -> list[tuple[str, Change]]:
    """What showed only with the changes before, and the change for it."""
    return [(called(each), _change(each.fix, [])) for each in later(report)]


def _change(fix: Fix, besides: list[tuple[str, str]]) -> Change:
    return Change(
        description=fix.description,
        state=verdict(fix)[0] or "not tried",
        lines=[(_kind(line), line) for line in diff_lines(fix)],
        said=list(fix.proof.said) if fix.proof else [],
        curves=list(_pairs(fix)),
        others=besides,
    )


def _kind(line: str) -> str:
    return next((kind for start, kind in _KINDS.items() if line.startswith(start)), "same")


def _pairs(fix: Fix) -> Iterator[tuple[str, list[Curve]]]:
    """Each loss that both runs have."""
    if fix.proof is None:
        return
    after = {each.name: each for each in fix.proof.after}
    for before in [each for each in fix.proof.before if each.name in after][:_MOST]:
        yield before.name, _drawn(before, after[before.name])


def _drawn(before: Losses, after: Losses) -> list[Curve]:
    finite = [value for each in (before, after) for value in each.values if not isinstance(value, str)]
    if not finite:
        return []
    as_drawn = math.log if min(finite) > 0 and max(finite) / min(finite) > _DECADES else float
    low, high = as_drawn(min(finite)), as_drawn(max(finite))
    last = max([*before.steps, *after.steps, 2])

    def path(losses: Losses) -> str:
        points, pen = [], "M"
        for step, value in zip(losses.steps, losses.values, strict=True):
            if isinstance(value, str):
                pen = "M"
                continue
            x = _EDGE + (WIDTH - 2 * _EDGE) * (step - 1) / (last - 1)
            y = HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * ((as_drawn(value) - low) / (high - low) if high > low else 0.5)
            points.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        return "".join(points)

    return [
        Curve(title, path(losses), *_ends(losses.values)) for title, losses in (("before", before), ("after", after))
    ]


def _ends(values: Sequence[float | str]) -> tuple[float | str, float | str]:
    return values[0], values[-1]
