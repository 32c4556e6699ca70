"""AD504: go backward through each graph once, or keep it for the second time, or make it anew."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement, operand


def candidates(case: Case) -> Iterator[Candidate]:
    """For two backwards of a step, and for a graph that lives longer than a step."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    failed = next((ran for ran in reversed(case.trace.of(BackwardRan)) if ran.reused), None)
    first = case.trace.backwards.get(failed.reused[-1]) if failed is not None else None
    if here is None or call is None or failed is None or first is None:
        return
    if first.step == failed.step:
        yield from _of_one_step(case, here, call)
    elif first.location == failed.location:
        yield from _of_a_longer_life(case, here, call, set(first.reached) - case.trace.optimized)


def _of_one_step(case: Case, here: Source, second: cst.Call) -> Iterator[Candidate]:
    place = case.related("freed the graph")
    first = here.at(place, cst.Call) if case.source(place) is here else None
    if first is None:
        return
    losses = [_loss(here, each) for each in (first, second)]
    if losses[0] is not None and losses[1] is not None and _are_neighbours(here, first, second, losses[0]):
        both = f"({here.code(losses[0])} + {here.code(losses[1])})"
        statement = here.statement_of(first)
        assert statement is not None
        editing = Editing(here).remove(statement).replace(losses[1], both)
        yield case.candidate(f"go backward once, from `{both[1:-1]}`", editing)
    if not any(each.keyword is not None and each.keyword.value == "retain_graph" for each in first.args):
        code = here.code(first)
        yield case.candidate(f"keep the graph in `{code}`", Editing(here).give(first, "retain_graph", "True"))


def _loss(here: Source, call: cst.Call) -> cst.BaseExpression | None:
    """What goes backward in a statement that does nothing else."""
    is_plain = isinstance(call.func, cst.Attribute) and not call.args and isinstance(here.parent(call), cst.Expr)
    return call.func.value if is_plain and isinstance(call.func, cst.Attribute) else None


def _are_neighbours(here: Source, first: cst.Call, second: cst.Call, loss: cst.BaseExpression) -> bool:
    """Whether one backward follows another in the same block, with nothing between them but assignments, which change
    neither loss."""
    one, other = here.statement_of(first), here.statement_of(second)
    block = here.block(one) if one is not None else []
    if one is None or other is None or one not in block or other not in block or block.index(one) > block.index(other):
        return False
    between = block[block.index(one) + 1 : block.index(other)]
    are_assignments = all(
        isinstance(each, cst.SimpleStatementLine) and isinstance(part, cst.Assign)
        for each in between
        for part in getattr(each, "body", ())
    ) and all(isinstance(each, cst.SimpleStatementLine) for each in between)
    return are_assignments and not here.depends(loss, here.bound(*between))


def _of_a_longer_life(case: Case, here: Source, call: cst.Call, unlearned: set[int]) -> Iterator[Candidate]:
    """What was made once, before the loop, and used in each of its rounds."""
    loop, name = here.loop(call), case.finding.subject
    uses = [each for each in here.all(cst.Name, inside=loop) if each.value == name] if loop is not None else []
    body = loop.body if loop is not None else None
    if not uses or loop is None or not isinstance(body, cst.IndentedBlock) or name in here.bound(loop):
        return
    made = here.value_of(uses[0])
    statement = here.statement_of(made) if made is not None else None
    if made is None or statement is None:
        return
    code = f"{operand(here.code(made))}.detach()"
    detached = case.candidate(f"set `{name}` to `{code}`", Editing(here).replace(made, code))
    if unlearned:
        yield detached
    if _can_move(here, statement, loop, uses):
        editing = Editing(here).move(statement, before=body.body[0])
        yield case.candidate(f"compute `{name}` in each round of the loop", editing)


def _can_move(here: Source, statement: Statement, loop: cst.For | cst.While, uses: list[cst.Name]) -> bool:
    """Whether a statement in front of a loop would make the same in each of its rounds, and nothing before the loop
    asks for what it makes."""
    block = here.block(statement)
    if loop not in block or statement not in block or here.depends(statement, here.bound(loop)):
        return False
    between = block[block.index(statement) + 1 : block.index(loop)]
    return not here.depends(statement, here.bound(*between)) and not any(
        here.depends(each, here.bound(statement)) for each in between
    )


FIXER = Fixer(codes=("AD504",), candidates=candidates)
