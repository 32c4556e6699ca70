"""The fixers: one file each, found by walking this folder.

A file defines `candidates(case)`, which yields changes for findings of some rules, best first, and binds it to `FIXER`.
The bad examples of these rules are its tests: the change is made, the example runs again, and the finding is gone.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer

MOST = 3
"""Changes for one finding: more cannot be compared by a person."""


@cache
def all_fixers() -> tuple[Fixer, ...]:
    """Every fixer of this folder, in the order of their files."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").FIXER for name in names)


def candidates(case: Case) -> list[Candidate]:
    """The changes that may help with a finding, best first, each of which makes a difference of its own."""
    found: list[Candidate] = []
    for candidate in _all(case):
        known = [case.sources.changed, *(each.sources.changed for each in found)]
        if candidate.sources.changed not in known:
            found.append(candidate)
        if len(found) == MOST:
            break
    return found


def _all(case: Case) -> Iterator[Candidate]:
    for fixer in all_fixers():
        if case.finding.code in fixer.codes and not (fixer.of_operation and case.is_in_a_library):
            for candidate in fixer.candidates(case):
                yield replace(candidate, same_loss=fixer.same_loss)
