"""AD607: predict for single samples in eval mode."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source

_OFF = ("no_grad", "inference_mode")


def candidates(case: Case) -> Iterator[Candidate]:
    """Around a call without gradients of a model that trains elsewhere: it is switched there and back."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    statement = here.statement_of(call) if here is not None and call is not None else None
    if here is None or call is None or statement is None or case.related("the batches were drawn here") is not None:
        return
    trained = {case.trace.module_name(ran.module) for ran in case.trace.of(ForwardRan) if ran.training}
    calls = [each for each in here.all(cst.Call, inside=call) if here.code(each.func) in trained]
    is_simple = isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Expr | cst.Assign)
    if len(calls) == 1 and is_simple and _is_without_gradients(here, call):
        model = here.code(calls[0].func)
        editing = Editing(here).before(statement, f"{model}.eval()").after(statement, f"{model}.train()")
        yield case.candidate(f"call `{model}.eval()` before the prediction, and `{model}.train()` after it", editing)


def _is_without_gradients(here: Source, call: cst.Call) -> bool:
    """Whether a block or the function around it switches gradients off: what is trained on needs another remedy."""
    function, block = here.function(call), here.around(call, cst.With, within=cst.FunctionDef)
    headers = [each.decorator for each in function.decorators] if function is not None else []
    while block is not None:
        headers += [item.item for item in block.items]
        block = here.around(block, cst.With, within=cst.FunctionDef)
    names = (each.func if isinstance(each, cst.Call) else each for each in headers)
    return any(here.code(name).rpartition(".")[2] in _OFF for name in names)


FIXER = Fixer(codes=("AD607",), candidates=candidates)
