"""AD112: give every parameter to one optimizer, once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """What both are given is left out of one of them; what one is given twice is taken once."""
    here, other = case.here(), case.related("the other optimizer over them is built here")
    second = _given(here, case.finding.location) if here is not None else None
    if here is None or second is None:
        return
    if other is None:
        code = here.code(second)
        said = f"give each parameter of `{code}` to the optimizer once"
        yield case.candidate(said, Editing(here).replace(second, f"list(dict.fromkeys({code}))"))
        return
    first = _given(here, other) if case.source(other) is here else None
    if case.related("the second update happens here") is None or first is second:
        return
    for given, beside in ((second, first), (first, second)):
        if isinstance(given, cst.List) and isinstance(beside, cst.List):
            yield from _left_out(case, here, given, beside)


def _left_out(case: Case, here: Source, given: cst.List, beside: cst.List) -> Iterator[Candidate]:
    shared = {here.code(each.value) for each in beside.elements}
    kept = [each for each in given.elements if here.code(each.value) not in shared]
    gone = [each for each in given.elements if here.code(each.value) in shared]
    if kept and gone:
        code = ", ".join(("*" if isinstance(each, cst.StarredElement) else "") + here.code(each.value) for each in kept)
        what = ", ".join(f"`{here.code(each.value)}`" for each in gone)
        yield case.candidate(f"leave {what} out of `[{code}]`", Editing(here).replace(given, f"[{code}]"))


def _given(here: Source, place: Place | None) -> cst.BaseExpression | None:
    """The list that an optimizer is given where it is built."""
    call = here.at(place, cst.Call)
    given = call.args[0].value if call is not None and call.args and call.args[0].keyword is None else None
    return given if isinstance(given, cst.List | cst.BinaryOperation) else None


FIXER = Fixer(codes=("AD112",), candidates=candidates)
