"""AD110: keep the remainder of the division that makes a rate."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source


def candidates(case: Case) -> Iterator[Candidate]:
    """The only division in what the optimizer or the schedule is given, or in what the variables are made of that it is
    given, does not round down."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None:
        return
    rounded = list(_divisions(here, call))
    for name in {here.code(name): name for arg in call.args for name in here.all(cst.Name, inside=arg.value)}.values():
        for assign in here.all(cst.Assign):
            if here.code(name) in [here.code(each.target) for each in assign.targets] and here.is_known(name, assign):
                rounded += _divisions(here, assign.value)
    if len(rounded) == 1:
        code = f"{here.code(rounded[0].left)} / {here.code(rounded[0].right)}"
        said = f"divide without rounding down: `{code}` instead of `{here.code(rounded[0])}`"
        yield case.candidate(said, Editing(here).replace(rounded[0], code))


def _divisions(here: Source, inside: cst.CSTNode) -> Iterator[cst.BinaryOperation]:
    for each in here.all(cst.BinaryOperation, inside=inside):
        if isinstance(each.operator, cst.FloorDivide):
            yield each


FIXER = Fixer(codes=("AD110",), candidates=candidates, same_loss=True)
