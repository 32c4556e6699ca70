"""AD601, AD602, AD615: give a loss the scores that it takes, or take the loss that takes what there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from autograd_doctor.fixing.called_layers import called
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.fixing.squashed_outputs import Squashing, squashing
from autograd_doctor.fixing.value_paths import Lost


class _Other(NamedTuple):
    """A loss that takes what another one makes of its argument first. without: what it has no argument for. wrapped:
    what it takes, made of what there is."""

    of: str
    built_by: str
    function: str
    class_: str
    without: str
    wrapped: str = ""


_OTHERS = {
    ("AD602", "sigmoid"): _Other(
        "binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "binary_cross_entropy", "BCELoss", "pos_weight"
    ),
    ("AD601", "log_softmax"): _Other("cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss", "label_smoothing"),
    ("AD601", "softmax"): _Other(
        "cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss", "label_smoothing", ".log({} + 1e-8)"
    ),
}
"""By the rule and the operation. The small number keeps the logarithm finite where a softmax comes to 0."""


def candidates(case: Case) -> Iterator[Candidate]:
    """Take the first of the two operations out, where only losses see its result; else change the loss."""
    found = squashing(case, case.finding.location)
    if found is None:
        return
    yield from _as_probabilities(case, found)
    if found.goes_into_losses() and (editing := found.without()) is not None:
        code = found.source.code(found.layer or found.call.func)
        yield case.candidate(f"take `{code}` out, so that the loss gets the scores", editing)
    other = _OTHERS.get((case.finding.code, found.operation))
    if other is not None:
        yield from _other_loss(case, found, other)


def _as_probabilities(case: Case, found: Squashing) -> Iterator[Candidate]:
    """Probabilities that a distribution was given as its logits."""
    try:
        uses = found.uses()
    except Lost:
        return
    arguments = [above for use in uses if isinstance(above := found.source.parent(use), cst.Arg)]
    given = [each for each in arguments if each.keyword is not None and each.keyword.value == "logits"]
    if found.operation == "softmax" and len(given) == 1:
        code = f"probs={found.source.code(given[0].value)}"
        yield case.candidate(f"give the distribution `{code}`", Editing(found.source).name_argument(given[0], "probs"))


def _other_loss(case: Case, found: Squashing, other: _Other) -> Iterator[Candidate]:
    """The loss that takes what there is, so that all others who take it go on as they did."""
    lines = {(each.location.path, each.location.line, each.location.column) for each in found.events if each.location}
    there = case.sources.get(next(iter(lines))[0]) if len({path for path, *_ in lines}) == 1 else None
    if there is None or {each.operation for each in found.events} != {other.of}:
        return
    calls = [
        each
        for each in there.all(cst.Call)
        if (there.path, *there.span(each)[0]) in lines and _is_loss(there, each, other)
    ]
    editing = Editing(there)
    if len(calls) < len(lines) or not all(_change(there, editing, each, other, calls) for each in calls):
        return
    yield case.candidate(f"compute the loss with `{other.function}`, which takes what there is", editing)


def _is_loss(there: Source, call: cst.Call, other: _Other) -> bool:
    return called(call) == other.of or _criterion(there, call, other) is not None


def _criterion(there: Source, call: cst.Call, other: _Other) -> cst.Call | None:
    """Where the loss that is called was built."""
    made = there.value_of(call.func)
    is_one = isinstance(made, cst.Call) and called(made) == other.built_by and there.is_imported(made.func)
    return made if is_one and isinstance(made, cst.Call) else None


def _change(there: Source, editing: Editing, call: cst.Call, other: _Other, calls: list[cst.Call]) -> bool:
    """Write one call of the loss otherwise; False where that cannot be done."""
    criterion = _criterion(there, call, other)
    named = criterion or call
    if any(each.star or (each.keyword and each.keyword.value == other.without) for each in named.args):
        return False
    alike = [each for each in there.all(cst.Call) if there.code(each.func) == there.code(call.func)]
    given = there.argument(call, 0, "input")
    if not isinstance(named.func, cst.Attribute) or given is None or len(named.args) > (2 if named is call else 0) + 3:
        return False
    if criterion is not None and other.wrapped and any(each not in calls for each in alike):
        return False
    name = other.class_ if criterion is not None else other.function
    editing.replace(named.func, there.code(named.func.value) + "." + name)
    if other.wrapped:
        editing.replace(given.value, editing.torch() + other.wrapped.format(operand(there.code(given.value))))
    return True


FIXER = Fixer(codes=("AD601", "AD602", "AD615"), candidates=candidates, of_operation=True)
