"""AD101: clear the gradients in every round."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.report import Place
from autograd_doctor.views.step_cycle import new_to_it


def candidates(case: Case) -> Iterator[Candidate]:
    """Before the backward that the step belongs to, where the optimizer is at hand there; or after the step, as where
    several backwards of one line come together in a step.

    What is changed by hand loses its gradient where it is changed.
    """
    here = case.here()
    update = here.at(case.finding.location, cst.AugAssign) if here is not None else None
    if here is not None and update is not None:
        yield from _by_hand(case, here, update)
        return
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None or not isinstance(call.func, cst.Attribute) or call.func.attr.value != "step":
        return
    optimizer, step = here.code(call.func.value), here.statement_of(call)
    if step is None:
        return
    clear = f"{optimizer}.zero_grad()"
    added = case.related("added to what was left", "left its gradients behind")
    backward = here.statement(added) if added is not None and case.source(added) is here else None
    in_same_loop = backward is not None and here.loop(backward) is here.loop(step)
    is_at_hand = backward is not None and in_same_loop and here.function(backward) is here.function(step)
    if backward is not None and is_at_hand and not _accumulates(case, added):
        yield case.candidate(f"call `{clear}` before `backward()`", Editing(here).before(backward, clear))
    yield case.candidate(f"call `{clear}` after the step", Editing(here).after(step, clear))


def _accumulates(case: Case, backward: Place | None) -> bool:
    """Whether a step uses several gradients of one line that are new to it."""
    uses = (use for step in case.trace.of(OptimizerStepped) for use in step.uses)
    new = map(new_to_it, uses)
    ran = ([case.trace.backwards[each].location for each in some if each in case.trace.backwards] for some in new)
    return any(sum(case.is_at(location, backward) for location in some) > 1 for some in ran)


def _by_hand(case: Case, here: Source, update: cst.AugAssign) -> Iterator[Candidate]:
    """`p -= rate * p.grad`, also of `p.data`."""
    target, statement = here.code(update.target).removesuffix(".data"), here.statement_of(update)
    if statement is not None and f"{target}.grad" in map(here.code, here.all(cst.Attribute, inside=update.value)):
        clear = f"{target}.grad = None"
        yield case.candidate(f"set `{clear}` after the update", Editing(here).after(statement, clear))


FIXER = Fixer(codes=("AD101",), candidates=candidates)
