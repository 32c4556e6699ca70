"""AD229: take the weight of a term for a number."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import operand


def candidates(case: Case) -> Iterator[Candidate]:
    here = case.here()
    quotient = here.at(case.finding.location, cst.BinaryOperation) if here is not None else None
    if here is None or quotient is None or not isinstance(quotient.operator, cst.Divide):
        return
    code = here.code(quotient)
    yield case.candidate(f"detach the weight `{code}`", Editing(here).replace(quotient, f"{operand(code)}.detach()"))


FIXER = Fixer(codes=("AD229",), candidates=candidates)
