"""AD105, AD125: clip what the step uses, when it is there, and when all of it is."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """Between backward and step; with parameters that can be read more than once; those that the optimizer holds."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    above = here.parent(call) if here is not None and call is not None else None
    if here is None or call is None:
        return
    clips = [e for e in case.trace.of(GradientsClipped) if case.is_at(e.location, case.finding.location)]
    if not all(clip.parameters for clip in clips):
        yield from _as_list(case, here, call)
    elif any(case.trace.optimized.isdisjoint(clip.parameters) for clip in clips):
        yield from _of_the_optimizer(case, here, call)
    elif isinstance(above, cst.Expr | cst.Assign):
        yield from _moved(case, here, here.whole(here.unit(above)), f"`{here.code(call)}`")


def _moved(case: Case, here: Source, unit: Statement, what: str) -> Iterator[Candidate]:
    """Behind the backward, or in front of the step, whichever is in the block."""
    computed, used = case.related("the gradients are computed here"), case.related("and used by this step")
    backward = here.statement(computed) if case.source(computed) is here else None
    step = here.statement(used) if case.source(used) is here else None
    behind = here.beside(backward, unit) if backward is not None else None
    if behind is not None and here.span(behind) > here.span(unit) and here.is_movable(unit, behind):
        yield case.candidate(f"move {what} after the backward", Editing(here).move(unit, after=behind))
    target = here.whole(step, cst.For) if step is not None else None
    if target is not None and here.is_movable(unit, target):
        yield case.candidate(f"move {what} before the step", Editing(here).move(unit, before=target))


def _as_list(case: Case, here: Source, call: cst.Call) -> Iterator[Candidate]:
    """What was read up before the call is a list from the beginning, where it has one beginning."""
    given = _first(call)
    if not isinstance(given, cst.Name | cst.Attribute):
        return
    made = [
        assign
        for assign in here.all(cst.Assign)
        if any(here.code(each.target) == here.code(given) for each in assign.targets) and here.is_known(given, assign)
    ]
    if len(made) == 1 and isinstance(made[0].value, cst.Call | cst.GeneratorExp):
        value = made[0].value
        code = here.code(value)
        listed = f"list{code}" if isinstance(value, cst.GeneratorExp) else f"list({code})"
        said = f"make `{here.code(given)}` a list: what `{code}` gives can be read only once"
        yield case.candidate(said, Editing(here).replace(value, listed))


def _of_the_optimizer(case: Case, here: Source, call: cst.Call) -> Iterator[Candidate]:
    """What the only optimizer was given."""
    built = list(case.trace.optimizers.values())
    made = here.seen(built[0].location, cst.Call) if len(built) == 1 else None
    given, held = _first(call), _first(made) if made is not None else None
    if (
        given is None
        or not isinstance(held, cst.Call | cst.List)
        or len(built[0].groups) != 1
        or not here.is_known(held, call)
    ):
        return
    said = f"clip `{here.code(held)}`, which the optimizer holds, instead of `{here.code(given)}`"
    yield case.candidate(said, Editing(here).replace(given, here.code(held)))


def _first(call: cst.Call) -> cst.BaseExpression | None:
    """The first argument, or the one called `parameters`, as torch does."""
    named = [
        arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in ("parameters", "params")
    ]
    plain = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    return next(iter([*named, *plain]), None)


FIXER = Fixer(codes=("AD105", "AD125"), candidates=candidates)
