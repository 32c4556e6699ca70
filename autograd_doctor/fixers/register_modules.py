"""AD207, AD211: keep modules where their parent registers them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """A list, or a dictionary, that the parent's class assigns, as an `nn.ModuleList` or an `nn.ModuleDict`."""
    place = case.related("kept here") or case.finding.location
    here = case.source(place)
    value = _value(here, place) if here is not None else None
    if here is None or value is None:
        return
    kind = _kind(case.finding.subject, value)
    if kind:
        editing = Editing(here)
        container = f"{editing.nn()}.{kind}"
        changed = editing.replace(value, f"{container}({_argument(here, value)})")
        yield case.candidate(f"keep the modules in `{container}`", changed)


def _value(source: Source, place: Place | None) -> cst.BaseExpression | None:
    """What is assigned to the attribute at a place."""
    target = source.at(place, cst.Attribute)
    if target is None:
        return None
    assigned = source.around(target, cst.Assign)
    if assigned is not None:
        return assigned.value if [each.target for each in assigned.targets] == [target] else None
    annotated = source.around(target, cst.AnnAssign)
    return annotated.value if annotated is not None and annotated.target is target else None


def _argument(source: Source, value: cst.BaseExpression) -> str:
    code = source.code(value)
    return f"({code})" if isinstance(value, cst.Tuple) and not value.lpar else code


def _kind(holder: str, value: cst.BaseExpression) -> str:
    """Which container takes the place of one that was seen to hold a module under an index, or under a key."""
    if isinstance(value, cst.List | cst.ListComp | cst.Tuple):
        return "ModuleList"
    if isinstance(value, cst.Dict | cst.DictComp):
        return "ModuleDict"
    if not isinstance(value, cst.Name | cst.Call | cst.BinaryOperation) or not holder.endswith("]"):
        return ""
    index = holder[holder.rindex("[") + 1 : -1]
    return "ModuleList" if index.isdigit() else "ModuleDict" if index[:1] in "'\"" else ""


FIXER = Fixer(codes=("AD207", "AD211"), candidates=candidates)
