"""AD505: let the loss that goes backward be one number."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand

_READS = frozenset({"backward", "item", "mean", "detach"})
"""What is asked of a loss that means the same, or fails, for one number as for many."""


def candidates(case: Case) -> Iterator[Candidate]:
    """Let the loss function reduce it, where nothing else takes its single values; or take the mean for backward."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    root = _root(here, call) if here is not None and call is not None else None
    if here is None or root is None:
        return
    made = here.value_of(root)
    unreduced = _unreduced(here, made) if isinstance(root, cst.Name) and isinstance(made, cst.Call) else None
    if (
        isinstance(root, cst.Name)
        and unreduced is not None
        and all(_is_read(here, each) for each in here.references(root))
    ):
        text = here.code(unreduced[1].with_changes(comma=cst.MaybeSentinel.DEFAULT))
        yield case.candidate(f"leave `{text}` out", Editing(here).withhold(*unreduced))
    code = f"{operand(here.code(root))}.mean()"
    yield case.candidate(f"call backward on `{code}`", Editing(here).replace(root, code))


def _root(here: Source, call: cst.Call) -> cst.BaseExpression | None:
    """What goes backward: of `loss.backward()`, or of `torch.autograd.backward(loss)` and wrappers of that."""
    given = here.argument(call, 0, "tensors")
    if given is not None:
        return given.value
    is_method = isinstance(call.func, cst.Attribute) and not here.is_imported(call.func)
    return call.func.value if is_method and isinstance(call.func, cst.Attribute) and not call.args else None


def _unreduced(here: Source, loss: cst.Call) -> tuple[cst.Call, cst.Arg] | None:
    """The argument by which a loss function, or where it was built, gives one value for each sample."""
    criterion = here.value_of(loss.func)
    calls = [here.code(each.func) for each in here.all(cst.Call)]
    for call in (loss, criterion):
        if not isinstance(call, cst.Call) or (call is criterion and calls.count(here.code(loss.func)) > 1):
            continue
        for each in call.args:
            says = each.keyword is not None and each.keyword.value == "reduction"
            if says and isinstance(each.value, cst.SimpleString) and each.value.evaluated_value == "none":
                return call, each
    return None


def _is_read(here: Source, name: cst.Name) -> bool:
    above = here.parent(name)
    if isinstance(above, cst.Attribute) and above.value is name:
        return above.attr.value in _READS
    call = here.parent(above) if isinstance(above, cst.Arg) else None
    return isinstance(call, cst.Call) and _root(here, call) is name and here.code(call.func).endswith("backward")


FIXER = Fixer(codes=("AD505",), candidates=candidates, of_operation=True)
