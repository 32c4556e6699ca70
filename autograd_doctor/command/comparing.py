"""`doctor compare`: two saved profiles side by side, and a gate on what became slower or larger."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from autograd_doctor.command import saved
from autograd_doctor.command.outputs import say
from autograd_doctor.config_file import describe
from autograd_doctor.findings import ExitCode
from autograd_doctor.mistakes import Mistake
from autograd_doctor.profile_changes import MEMORY, WHOLE, Change, changes
from autograd_doctor.profiling import Profile
from autograd_doctor.report import Report
from autograd_doctor.reports import Reports
from autograd_doctor.wording import in_bytes, plural

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%?")
_SHOWN = 12
"""Rows of each list; the JSON has them all."""


def compare(before: Path, after: Path, *, slower: str | None, larger: str | None, as_json: bool) -> int:
    """Print what changed; 1 where time or memory grew by more than is allowed. Raises `Mistake`."""
    limits = {
        WHOLE: _share("--fail-on-slower", slower),
        MEMORY: _share("--fail-on-larger", larger),
    }
    reports = [_profiled(path) for path in (before, after)]
    old, new = (profile for _, profile in reports)
    found = list(changes(old, new))
    failing = [each for each in found if _is_beyond(each, limits.get(each.what))]
    if as_json:
        say(_as_json(found, failing))
    else:
        say("\n".join(_lines((str(before), str(after)), reports, found, failing)) + "\n")
    return ExitCode.FINDINGS if failing else ExitCode.OK


def _share(option: str, given: str | None) -> float | None:
    """ "10%" and "10" are a tenth."""
    if given is None:
        return None
    match = _PERCENT.fullmatch(given.strip())
    if match is None:
        raise Mistake(f"{option}: expected a percentage such as `10%`, found {describe(given)}")
    return float(match[1]) / 100


def _profiled(path: Path) -> tuple[Report, Profile]:
    report = saved.read_report(path)
    if isinstance(report, Reports):
        raise Mistake(f"{path}: a report on several targets; compare those of one program")
    if report.profile is None or not report.profile.iterations:
        how = f"`doctor profile --output-format json:{path} …` writes one"
        raise Mistake(f"{path}: holds no profile ({how})")
    return report, report.profile


def _is_beyond(change: Change, limit: float | None) -> bool:
    grown = change.ratio
    return limit is not None and change.beyond_noise and grown is not None and grown - 1 > limit


def _lines(
    names: tuple[str, str],
    reports: Sequence[tuple[Report, Profile]],
    found: Sequence[Change],
    failing: Sequence[Change],
) -> Iterator[str]:
    width = max(map(len, names))
    for label, name, (report, profile) in zip(("before", "after"), names, reports, strict=True):
        where = f"torch {report.environment.torch} on {report.environment.device or 'cpu'}"
        yield f"{label:<6}  {name:<{width}}  {plural(profile.iterations, 'iteration')}, {where}"
    certain = [each for each in found if each.beyond_noise]
    for title, rows in (
        ("slower", [each for each in certain if each.kind == "time" and each.grew]),
        ("faster", [each for each in certain if each.kind == "time" and not each.grew]),
        ("larger", [each for each in certain if each.kind == "memory" and each.grew]),
        ("smaller", [each for each in certain if each.kind == "memory" and not each.grew]),
    ):
        if rows:
            yield from ("", title, *_rows(sorted(rows, key=_size, reverse=True)))
    same = [each.what for each in found if not each.beyond_noise]
    if same:
        shown = ", ".join(same[:_SHOWN]) + (f" and {len(same) - _SHOWN} more" if len(same) > _SHOWN else "")
        yield from ("", f"within the noise: {shown}")
    for each in failing:
        yield from ("", f"fails: {each.what} grew by {(each.ratio or 1) - 1:.0%}")


def _size(change: Change) -> float:
    return abs((change.after or 0.0) - (change.before or 0.0))


def _rows(rows: Sequence[Change]) -> Iterator[str]:
    shown = rows[:_SHOWN]
    width = max(len(each.what) for each in shown)
    for each in shown:
        ratio = f"  {each.ratio - 1:+.0%}" if each.ratio is not None else ""
        yield f"  {each.what:<{width}}  {_told(each, each.before):>9}  →  {_told(each, each.after):>9}{ratio}"
    if len(rows) > _SHOWN:
        yield f"  and {len(rows) - _SHOWN} more: `--output-format json` has all"


def _told(change: Change, value: float | None) -> str:
    if value is None:
        return "–"
    return in_bytes(value) if change.kind == "memory" else f"{1e3 * value:.3g} ms"


def _as_json(found: Sequence[Change], failing: Sequence[Change]) -> str:
    told = [{**msgspec.to_builtins(each), "ratio": each.ratio, "fails": each in failing} for each in found]
    return msgspec.json.format(msgspec.json.encode({"changes": told}), indent=2).decode() + "\n"
