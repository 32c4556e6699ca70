"""Where a finding is, in the words of formats that name a file and a line for each."""

from __future__ import annotations

from msgspec import UNSET

from autograd_doctor.renderers.printable import one_line
from autograd_doctor.renderers.wording import line_of
from autograd_doctor.report import Place, Report, ReportedFinding, TargetFacts


def spot(report: Report, finding: ReportedFinding) -> str:
    """ "train.py:12:5", "train.ipynb:cell 3:5:9"; the target for a finding that has no place."""
    return spot_of(finding.location) if finding.location else one_line(report.target.name)


def spot_of(place: Place) -> str:
    return f"{one_line(line_of(place))}:{place.column or 1}"


def file_of(report: Report, place: Place | None) -> str:
    """The file of a place; that of the target where there is none, since most readers of reports demand one."""
    return place.path if place and place.path else home(report.target)


def home(target: TargetFacts) -> str:
    """The file of the target: of a module or a function, the one that its name would come from."""
    if target.block is not UNSET:
        return target.block.rpartition(":")[0] or target.block
    if UNSET is target.module is target.call is target.function:
        return target.name
    name = target.name.partition(":")[0]
    return name if name.endswith(".py") else f"{name.replace('.', '/')}.py"


def is_line_of_file(place: Place | None) -> bool:
    """Whether the line is known, and one of the file: those of a notebook are counted in its cells."""
    return place is not None and place.line > 0 and not place.cell
