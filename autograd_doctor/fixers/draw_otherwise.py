"""AD607, AD702: shuffle the training data, and leave out a last batch of one sample."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing, named_argument
from autograd_doctor.fixing.source_tree import Source

_SHUFFLE, _DROP_LAST = 2, 8
"""Where they stand among the arguments of a `DataLoader`."""
_CHOSEN = ("sampler", "batch_sampler")


def candidates(case: Case) -> Iterator[Candidate]:
    """By arguments of the loader, where that is built without a sampler of its own."""
    shuffles = case.finding.code == "AD702"
    place = case.finding.location if shuffles else case.related("the batches were drawn here")
    here = case.source(place)
    if here is None or (shuffles and "does not shuffle" not in case.finding.message):
        return
    if shuffles:
        call = here.at(place, cst.Call)
    else:
        loop = here.at(place, cst.For)
        call = _built(here, loop.iter) if loop is not None else None
    if call is None or any(named_argument(call, each) is not None for each in _CHOSEN):
        return
    name, position = ("shuffle", _SHUFFLE) if shuffles else ("drop_last", _DROP_LAST)
    given = _given(call, name, position)
    if given is not None and here.code(given) != "False":
        return
    said = "shuffle the samples" if shuffles else "leave the last batch out, which is a short one"
    changed = Editing(here).give(call, name, "True") if given is None else Editing(here).replace(given, "True")
    yield case.candidate(f"{said}: `{name}=True`", changed)


def _given(call: cst.Call, name: str, position: int) -> cst.BaseExpression | None:
    """What the loader is given for a parameter."""
    named = named_argument(call, name)
    plain = [arg.value for arg in call.args if arg.keyword is None]
    return named.value if named is not None else plain[position] if len(plain) > position else None


def _built(here: Source, drawn: cst.BaseExpression) -> cst.Call | None:
    """The call that builds what a loop goes over: it stands there, or its variable is given it once; `enumerate` and
    the like may be around it."""
    inner = drawn.args[0].value if isinstance(drawn, cst.Call) and len(drawn.args) == 1 else None
    if isinstance(inner, cst.Name | cst.Attribute) or (isinstance(inner, cst.Call) and isinstance(drawn, cst.Call)):
        drawn = inner
    if isinstance(drawn, cst.Call):
        return drawn
    given = [
        assign.value
        for assign in here.all(cst.Assign)
        if here.code(drawn) in [here.code(each.target) for each in assign.targets] and here.is_known(drawn, assign)
    ]
    only = given[0] if len(given) == 1 else None
    return only if isinstance(only, cst.Call) else None


FIXER = Fixer(codes=("AD607", "AD702"), candidates=candidates)
