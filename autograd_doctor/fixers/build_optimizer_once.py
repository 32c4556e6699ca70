"""AD109: build the optimizer once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Loop, Source, renamed


def candidates(case: Case) -> Iterator[Candidate]:
    """In front of the loop, with all that it is built from; or not again, behind one that was given its state."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    assign = here.parent(call) if here is not None and call is not None else None
    if here is None or not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return
    if case.related("its state was loaded here") is not None:
        yield from _not_again(case, here, assign)
    elif not _is_scheduled(case):
        yield from _before_loops(case, here, assign)
        yield from _by_the_caller(case, here, assign)


def _not_again(case: Case, here: Source, assign: cst.Assign) -> Iterator[Candidate]:
    """Where the same variable holds the one whose state was loaded."""
    into = case.related("into the one built here")
    first = here.at(into, cst.Call) if case.source(into) is here else None
    other = here.parent(first) if first is not None else None
    if not isinstance(other, cst.Assign) or len(other.targets) != 1 or other is assign:
        return
    name = here.code(assign.targets[0].target)
    is_same = here.code(other.targets[0].target) == name and here.is_known(assign.targets[0].target, other)
    if is_same and here.home(here.unit(assign)) is here.home(here.unit(other)):
        said = f"leave `{name}` as it is, with the state that was loaded: do not build it again"
        yield case.candidate(said, Editing(here).remove(here.unit(assign)))


def _before_loops(case: Case, here: Source, assign: cst.Assign) -> Iterator[Candidate]:
    """Out of all loops in which it is built from the same; else out of fewer of them."""
    unit, loop = here.unit(assign), here.loop(assign)
    if loop is None or here.home(unit) is not loop.body:
        return
    loops: list[Loop] = []
    while loop is not None and here.is_movable(unit, loop):
        loops.append(loop)
        loop = here.loop(loop)
    name = here.code(assign.targets[0].target)
    for each in _widest_first(case, loops):
        yield case.candidate(f"build `{name}` once, before the loop", Editing(here).move(unit, before=each))


def _widest_first(case: Case, loops: list[Loop]) -> list[Loop]:
    """The loops from the outermost to the innermost; this one alone where weights were written to behind one of the
    optimizers and before the next took its first step, as for a trial that begins anew."""
    builds = [each for each in case.trace.optimizers.values() if case.is_at(each.location, case.finding.location)]
    steps = (next((step for step in case.trace.steps if step.optimizer == each.optimizer), None) for each in builds[1:])
    return loops[:1] if any(step is not None and step.rewritten for step in steps) else loops[::-1]


def _by_the_caller(case: Case, here: Source, assign: cst.Assign) -> Iterator[Candidate]:
    """In front of the loops that call the function which builds it, and is given it instead."""
    function, target = here.function(assign), assign.targets[0].target
    unit = here.unit(assign)
    call = _only_call(here, function) if function is not None else None
    if function is None or call is None or here.home(unit) is not function.body or not isinstance(target, cst.Name):
        return
    given = _arguments(function, call)
    names = {name: given[name.value] for name in here.variables(assign.value) if name.value in given}
    others = [name for name in here.variables(assign.value) if name not in names]
    if not all(here.is_known(each, call) for each in others) or here.is_taken(target.value, call):
        return
    code = f"{target.value} = {renamed(assign.value, {name: here.code(value) for name, value in names.items()})}"
    loops: list[Loop] = []
    loop = here.loop(call)
    while loop is not None and not any(here.depends(each, here.bound(loop)) for each in [*names.values(), *others]):
        loops.append(loop)
        loop = here.loop(loop)
    for each in _widest_first(case, loops):
        editing = Editing(here).remove(unit).take(function, target.value).give(call, target.value, target.value)
        said = f"build `{target.value}` once, before the loop, and give it to `{function.name.value}`"
        yield case.candidate(said, editing.before(each, code))


def _only_call(here: Source, function: cst.FunctionDef) -> cst.Call | None:
    """The call of a function, where it is named nowhere else."""
    named = [name for name in here.all(cst.Name) if name.value == function.name.value and name is not function.name]
    above = here.parent(named[0]) if len(named) == 1 else None
    is_call = isinstance(above, cst.Call) and above.func is named[0]
    return cst.ensure_type(above, cst.Call) if is_call and above is not None else None


def _arguments(function: cst.FunctionDef, call: cst.Call) -> dict[str, cst.BaseExpression]:
    """What each parameter of a function is given in a call, or by default; nothing where that is not plain, or leaves
    no place for one more."""
    taken = function.params
    plain = not (
        taken.posonly_params or taken.kwonly_params or taken.star_kwarg or isinstance(taken.star_arg, cst.Param)
    )
    positions = [arg.value for arg in call.args if arg.keyword is None]
    needed = [param for param in taken.params if param.default is None]
    if not plain or any(arg.star for arg in call.args) or len(positions) > len(needed):
        return {}
    given = {param.name.value: param.default for param in taken.params if param.default is not None}
    given |= {param.name.value: value for param, value in zip(taken.params, positions, strict=False)}
    return given | {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}


def _is_scheduled(case: Case) -> bool:
    """Whether schedules were made over the optimizers of this line: they would have to be made once, too."""
    builds = {
        each.optimizer for each in case.trace.optimizers.values() if case.is_at(each.location, case.finding.location)
    }
    return any(event.optimizer in builds for event in case.trace.of(SchedulerStepped))


FIXER = Fixer(codes=("AD109",), candidates=candidates, same_loss=True)
