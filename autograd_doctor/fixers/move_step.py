"""AD103: step after the backward that feeds the step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """The step goes behind the backward of its batch, or this one in front of the step."""
    here = case.here()
    later = case.related("the backward of the batch comes later", "the backward that reaches these parameters")
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    ran = here.at(later, cst.Call) if here is not None and case.source(later) is here else None
    if here is None or call is None or ran is None:
        return
    step, backward = _unit(here, call), _unit(here, ran)
    if step is None or backward is None or here.home(step) is not here.home(backward):
        return
    if here.span(step) > here.span(backward):
        return
    step_code, backward_code = here.code(call), here.code(ran)
    if here.is_movable(step, backward):
        yield case.candidate(f"move `{step_code}` after `{backward_code}`", Editing(here).move(step, after=backward))
    if here.is_movable(backward, step):
        yield case.candidate(f"move `{backward_code}` before `{step_code}`", Editing(here).move(backward, before=step))


def _unit(here: Source, call: cst.Call) -> Statement | None:
    """The statement that is this call and nothing else, with what is around it alone."""
    above = here.parent(call)
    return here.whole(here.unit(above)) if isinstance(above, cst.Expr) else None


FIXER = Fixer(codes=("AD103",), candidates=candidates)
