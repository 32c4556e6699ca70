"""AD101: clear the gradients in every round."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing


def candidates(case: Case) -> Iterator[Candidate]:
    """Before the backward that the step belongs to, where the optimizer is at hand there; or after the step."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None or not isinstance(call.func, cst.Attribute):
        return
    optimizer, step = here.code(call.func.value), here.statement_of(call)
    if step is None:
        return
    clear = f"{optimizer}.zero_grad()"
    added = case.related("added to what was left", "left its gradients behind")
    backward = here.statement(added) if added is not None and case.source(added) is here else None
    in_same_loop = backward is not None and here.loop(backward) is here.loop(step)
    if backward is not None and in_same_loop and here.function(backward) is here.function(step):
        yield case.candidate(f"call `{clear}` before `backward()`", Editing(here).before(backward, clear))
    yield case.candidate(f"call `{clear}` after the step", Editing(here).after(step, clear))


FIXER = Fixer(codes=("AD101",), candidates=candidates)
