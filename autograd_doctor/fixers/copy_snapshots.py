"""AD310: copy the weights that are to stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """A copy of each tensor where they are taken one by one; else of all that is taken."""
    if "loads" in case.finding.evidence:
        return  # of the module itself: a copy would change nothing, either
    here, place = case.here(), case.finding.location
    taken = _taken(here, place) if here is not None else None
    if here is None or taken is None:
        return
    code = here.code(taken)
    each = _each(here, taken)
    if each is not None:
        copied = f"{here.code(each)}.clone()"
        yield case.candidate(f"keep `{copied}`", Editing(here).replace(each, copied))
        return
    editing = Editing(here)
    if isinstance(taken, cst.Call) and _is_flat(here, taken) and len(taken.args) == 1:
        code = here.code(taken.args[0].value)
    elif (shallow := _copied_flat(here, taken)) is not None:
        taken = shallow
    copied = f"{editing.known('copy', 'deepcopy')}({code})"
    yield case.candidate(f"keep `{copied}`", editing.replace(taken, copied))


def _taken(source: Source, place: Place | None) -> cst.Call | cst.Attribute | None:
    return source.at(place, cst.Call) or source.at(place, cst.Attribute)


def _each(source: Source, taken: cst.BaseExpression) -> cst.BaseExpression | None:
    """The tensor that is taken, where it is one: by a view of it, or as the element of a comprehension over a state."""
    held = taken.func if isinstance(taken, cst.Call) else taken
    if isinstance(held, cst.Attribute) and held.attr.value in ("data", "detach"):
        return taken
    comprehension = source.around(taken, cst.DictComp, cst.ListComp, cst.SetComp, cst.GeneratorExp)
    if isinstance(comprehension, cst.DictComp) and source.is_within(taken, comprehension.for_in):
        return comprehension.value
    return None


def _copied_flat(source: Source, taken: cst.BaseExpression) -> cst.Call | None:
    """The call that copies a container, and not what is in it."""
    argument = source.parent(taken)
    call = source.parent(argument) if isinstance(argument, cst.Arg) else None
    return call if isinstance(call, cst.Call) and _is_flat(source, call) else None


def _is_flat(source: Source, call: cst.Call) -> bool:
    return source.code(call.func) in source.names_of("copy", "copy")


FIXER = Fixer(codes=("AD310",), candidates=candidates)
