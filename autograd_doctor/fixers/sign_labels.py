"""AD637: turn labels of 0 and 1 into those of -1 and 1 that the loss takes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import operand
from autograd_doctor.operations import SIGNED


def candidates(case: Case) -> Iterator[Candidate]:
    """Twice the label, less one."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    at = SIGNED.get(case.finding.subject)
    labels = here.argument(call, at, "target") if here is not None and call and at is not None else None
    if here is not None and labels is not None:
        code = f"2 * {operand(here.code(labels.value))} - 1"
        yield case.candidate(f"give the loss `{code}`", Editing(here).replace(labels.value, code))


FIXER = Fixer(codes=("AD637",), candidates=candidates, of_operation=True)
