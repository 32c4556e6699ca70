"""AD511: give a loss a target of the dtype and the shape that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.shapes import extra_dimension
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.views.crash import died_of

_OF_CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
"""Losses whose target holds numbers of classes, in the shape of the prediction without their dimension."""


def candidates(case: Case) -> Iterator[Candidate]:
    """Convert the target; or take a dimension of size one away, from the one that has it, or give it to the other."""
    here, crash = case.here(), died_of(case.trace, "target_dtype", "target_shape")
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None or crash is None or crash.operation is None or len(crash.operation.operands) < 2:
        return
    given, wanted = here.argument(call, 0, "input"), here.argument(call, 1, "target")
    if given is None or wanted is None:
        return
    prediction, target = crash.operation.operands[:2]
    of_classes = crash.operation.operation in _OF_CLASSES
    if crash.kind == "target_dtype":
        yield from _converted(case, here, wanted, prediction, target, to_classes=of_classes)
    else:
        shape = prediction.shape[:1] + prediction.shape[2:] if of_classes else prediction.shape
        yield from _shaped(case, here, wanted, target.shape, shape)
        if not of_classes:
            yield from _shaped(case, here, given, prediction.shape, target.shape)


def _converted(
    case: Case, here: Source, wanted: cst.Arg, prediction: TensorFacts, target: TensorFacts, *, to_classes: bool
) -> Iterator[Candidate]:
    """Numbers of classes are whole: what is not loses something when it is converted."""
    bounds = [bound for bound in (target.low, target.high) if bound is not None]
    if to_classes and not (bounds and all(bound == int(bound) for bound in bounds)):
        return
    short = {"float32": "float()", "float64": "double()"}
    editing = Editing(here)
    call = "long()" if to_classes else short.get(prediction.dtype) or f"to({editing.torch()}.{prediction.dtype})"
    code = f"{operand(here.code(wanted.value))}.{call}"
    yield case.candidate(f"give the loss `{code}`", editing.replace(wanted.value, code))


def _shaped(
    case: Case, here: Source, argument: cst.Arg, own: Sequence[int], other: Sequence[int]
) -> Iterator[Candidate]:
    """A dimension of size one that one has and the other has not."""
    code = operand(here.code(argument.value))
    if (dim := extra_dimension(own, other)) is not None:
        code = f"{code}.squeeze({dim})"
    elif (dim := extra_dimension(other, own)) is not None:
        code = f"{code}.unsqueeze({dim})"
    else:
        return
    yield case.candidate(f"give the loss `{code}`", Editing(here).replace(argument.value, code))


FIXER = Fixer(codes=("AD511",), candidates=candidates, of_operation=True)
