"""AD211: hand the mode on to functions that drop, or normalise, as in training."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing, named_argument
from autograd_doctor.fixing.source_tree import Source, operand

_ATTENTION = "scaled_dot_product_attention"
_RATE = 4
"""Which argument of the attention is its rate, where none has a name."""


def candidates(case: Case) -> Iterator[Candidate]:
    """In a method of the module, whose own mode is at hand."""
    here, function = case.here(), case.finding.evidence.get("function")
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    instance = _instance(here, call) if here is not None and call is not None else ""
    if here is None or call is None or not function or not instance or any(arg.star for arg in call.args):
        return
    if function != _ATTENTION:
        mode = f"{instance}.training"
        yield case.candidate(f"give it `training={mode}`", Editing(here).give(call, "training", mode))
        return
    rate = named_argument(call, "dropout_p") or (call.args[_RATE] if len(call.args) > _RATE else None)
    if rate is not None:
        code = f"{operand(here.code(rate.value))} if {instance}.training else 0.0"
        yield case.candidate(f"give it `dropout_p={code}`", Editing(here).replace(rate.value, code))


def _instance(source: Source, call: cst.Call) -> str:
    """What a method calls its instance."""
    method = source.function(call)
    block = source.parent(method) if method is not None else None
    if method is None or block is None or not isinstance(source.parent(block), cst.ClassDef) or method.decorators:
        return ""
    first = (*method.params.posonly_params, *method.params.params)[:1]
    return first[0].name.value if first else ""


FIXER = Fixer(codes=("AD211",), candidates=candidates)
