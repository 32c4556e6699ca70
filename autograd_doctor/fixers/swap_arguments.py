"""AD612: give a loss its prediction first, and its target second."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.called_layers import called
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source


def candidates(case: Case) -> Iterator[Candidate]:
    """Exchange the two arguments, whichever way they are given; where the second one was a softmax, what takes the
    first one may want its logarithm."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None:
        return
    first, second = here.argument(call, 0, "input"), here.argument(call, 1, "target")
    if first is None or second is None:
        return
    target = here.code(first.value)
    for prediction in (here.code(second.value), _logarithm(here, second.value)):
        if prediction:
            editing = Editing(here).replace(first.value, prediction).replace(second.value, target)
            yield case.candidate(f"give the loss `{prediction}` as the prediction, `{target}` as the target", editing)


def _logarithm(here: Source, value: cst.BaseExpression) -> str:
    """A call of softmax as one of log_softmax, "" if it is something else."""
    if not isinstance(value, cst.Call) or called(value) != "softmax":
        return ""
    function = here.code(value.func)
    return function.removesuffix("softmax") + "log_softmax" + here.code(value).removeprefix(function)


FIXER = Fixer(codes=("AD612",), candidates=candidates, of_operation=True)
