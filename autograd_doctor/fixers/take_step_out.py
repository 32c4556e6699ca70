"""AD103: step once for each backward."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.trace import Trace


def candidates(case: Case) -> Iterator[Candidate]:
    """A step goes that only repeats what another line does, which steps on the gradients of the same backwards."""
    here, optimizer = case.here(), case.optimizer()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    above = here.parent(call) if here is not None and call is not None else None
    if here is None or call is None or not isinstance(above, cst.Expr) or optimizer is None:
        return
    if _learns_elsewhere(case, case.trace, optimizer):
        editing = Editing(here).remove(here.whole(here.unit(above)))
        yield case.candidate(f"take `{here.code(call)}` out", editing, fewer=True)


def _learns_elsewhere(case: Case, trace: Trace, optimizer: int) -> bool:
    """Whether this very optimizer has steps on new gradients at another line, and none at this one."""
    steps = [step for step in trace.steps if step.optimizer == optimizer]
    used, new, here = set[int](), 0, 0
    for step in steps:
        fresh = any(not used.issuperset(use.backwards) for use in step.uses)
        used.update(backward for use in step.uses for backward in use.backwards)
        is_here = case.is_at(step.location, case.finding.location)
        new, here = new + (fresh and not is_here), here + (fresh and is_here)
    return new > 0 and here == 0


FIXER = Fixer(codes=("AD103",), candidates=candidates)
