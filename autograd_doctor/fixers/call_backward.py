"""AD102, AD103: run the backward that was forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.connectivity import LossDropped, TermIdle
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Location
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """On the loss that was computed in vain, in front of the step that was to use its gradients."""
    here = case.here()
    step_at = case.related("this step found none of them") if case.finding.code == "AD102" else case.finding.location
    call = here.at(step_at, cst.Call) if here is not None and case.source(step_at) is here else None
    step = here.statement_of(call) if here is not None and call is not None else None
    if here is None or call is None or step is None or not isinstance(call.func, cst.Attribute):
        return
    for location in _losses(case):
        loss = _variable(here, location, step)
        if loss:
            backward = f"{loss}.backward()"
            yield case.candidate(f"call `{backward}` before the step", Editing(here).before(step, backward))
            clear = f"{here.code(call.func.value)}.zero_grad()"
            both = Editing(here).before(step, f"{clear}\n{backward}")
            yield case.candidate(f"call `{clear}` and `{backward}` before the step", both)
            return


def _losses(case: Case) -> Iterator[Location | None]:
    """Where losses are made that teach this optimizer, and that no backward ran on: those that the finding names, or
    all of a program without any backward."""
    optimizer = case.optimizer()
    held = case.trace.optimizer_parameters.get(optimizer, frozenset()) if optimizer is not None else frozenset()
    made: list[TermIdle | LossDropped] = [*case.trace.of(TermIdle), *case.trace.of(LossDropped)]
    named = case.related("never runs on it")
    for event in reversed(made):
        is_meant = case.is_at(event.location, named) if named is not None else not case.trace.of(BackwardRan)
        if is_meant and not held.isdisjoint(event.parameters):
            yield event.location


def _variable(here: Source, location: Location | None, step: Statement) -> str:
    """The variable that is given this loss in front of a step, in its block or one around it; "" if there is none."""
    for assign in here.all(cst.Assign):
        statement, target = here.unit(assign), assign.targets[0].target
        follows = here.beside(step, statement)
        is_one = len(assign.targets) == 1 and isinstance(target, cst.Name | cst.Attribute)
        if (
            is_one
            and here.seen(location, cst.Call, cst.BinaryOperation, cst.UnaryOperation) is assign.value
            and follows is not None
        ):
            return here.code(target) if here.span(statement) < here.span(follows) else ""
    return ""


FIXER = Fixer(codes=("AD102", "AD103"), candidates=candidates)
