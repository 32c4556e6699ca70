"""Rules on what a loss is the sum of, on traces made by hand."""

from __future__ import annotations

import pytest
from traces import at, backward, built, examined, seen, switch

from autograd_doctor.events.connectivity import ConstantTerm, LossExamined
from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import Cut
from autograd_doctor.rules.connectivity import constant_loss_term, graph_lost_in_a_copy

ENCODER, HEAD, TEACHER = 0, 1, 2
WHO = (
    seen(ENCODER, "encoder.weight"),
    seen(HEAD, "head.weight"),
    seen(TEACHER, "teacher.weight"),
    built(ENCODER, HEAD),
)
DETACHED = Cut(operation="detach", location=at(14), parameters=[ENCODER], reason="operation")
UNDER_NO_GRAD = Cut(operation="", location=None, parameters=[HEAD], reason="grad-mode", switch=switch(line=11))


def term(*parameters: int, line: int = 16, **more: object) -> ConstantTerm:
    facts = {"name": "penalty", "operation": "mul", "made_at": at(15), "cuts": [DETACHED], "value": 0.5, "sum": 2.0}
    return ConstantTerm(location=at(line), parameters=list(parameters), **{**facts, **more})


def losses(count: int, *terms: ConstantTerm, having: range | None = None) -> list[Event]:
    """So many backwards of one loss, those in `having` with these terms, and all looked at."""
    events: list[Event] = []
    for step in range(count):
        events.append(backward(step, reached=[ENCODER, HEAD]))
        found = list(terms) if having is None or step in having else []
        events.append(LossExamined(step=step + 1, backward=step, location=at(20), terms=found))
    return events


def test_a_term_without_a_gradient() -> None:
    (finding,) = examined(constant_loss_term.RULE, WHO, losses(4, term(ENCODER)))
    assert (finding.severity, finding.subject, finding.parameters) == ("error", "penalty", (ENCODER,))
    assert finding.location is not None
    assert finding.location.line == 16
    assert "`penalty` adds a number to the loss and no gradient" in finding.message
    assert "`encoder.weight`, and `detach` left the graph behind" in finding.message
    assert [note.location.line for note in finding.related] == [14, 15, 20]
    assert (finding.evidence["term"], finding.evidence["sum_with_it"]) == (0.5, 2.0)


def test_a_switch_is_named_with_its_place() -> None:
    (finding,) = examined(constant_loss_term.RULE, WHO, losses(4, term(HEAD, cuts=[UNDER_NO_GRAD])))
    assert "with gradients off, by the `no_grad` block" in finding.message
    assert [note.location.line for note in finding.related] == [11, 15, 20]
    assert "with gradients on" in finding.help


def test_the_cut_that_took_most_of_what_is_trained_is_named() -> None:
    cuts = [UNDER_NO_GRAD.__class__(**{**_fields(UNDER_NO_GRAD), "parameters": [TEACHER]}), DETACHED]
    (finding,) = examined(constant_loss_term.RULE, WHO, losses(4, term(ENCODER, TEACHER, cuts=cuts)))
    assert "`detach` left the graph behind" in finding.message


def _fields(cut: Cut) -> dict[str, object]:
    return {name: getattr(cut, name) for name in cut.__struct_fields__}


def test_a_term_of_unnamed_parts_is_called_by_what_made_it() -> None:
    (finding,) = examined(constant_loss_term.RULE, WHO, losses(4, term(ENCODER, name="", cuts=[])))
    assert "what `mul` made adds a number" in finding.message
    assert ", without a graph" in finding.message


@pytest.mark.parametrize(
    "events",
    [
        losses(1, term(ENCODER)),
        losses(4, term(TEACHER)),
        losses(4, term(ENCODER, value=0.0)),
        losses(9, term(ENCODER), having=range(4)),
        losses(9, term(ENCODER), having=range(6)),
    ],
    ids=["one loss only", "of a fixed part", "zero", "in few of the losses", "not any more"],
)
def test_what_is_right(events: list[Event]) -> None:
    assert examined(constant_loss_term.RULE, WHO, events) == []


def test_losses_that_were_not_looked_at_tell_nothing() -> None:
    later = [backward(step, reached=[ENCODER, HEAD]) for step in range(4, 20)]
    assert len(examined(constant_loss_term.RULE, WHO, [*losses(4, term(ENCODER)), *later])) == 1


def test_a_term_that_begins_late_and_stays() -> None:
    assert len(examined(constant_loss_term.RULE, WHO, losses(8, term(ENCODER), having=range(4, 8)))) == 1


@pytest.mark.parametrize(
    ("resting", "awake", "count"),
    [
        pytest.param([ENCODER], [ENCODER, HEAD], 0, id="the head takes turns"),
        pytest.param([ENCODER, HEAD], [ENCODER, HEAD], 1, id="all of it learns besides"),
        pytest.param([ENCODER], [ENCODER], 1, id="the head never learns"),
    ],
)
def test_parts_of_a_loss_that_take_turns(resting: list[int], awake: list[int], count: int) -> None:
    events: list[Event] = []
    for step in range(8):
        rests = step % 2 == 0
        events.append(backward(step, reached=resting if rests else awake))
        terms = [term(ENCODER, HEAD)] if rests else []
        events.append(LossExamined(step=step + 1, backward=step, location=at(20), terms=terms))
    assert len(examined(constant_loss_term.RULE, WHO, events)) == count


def test_a_term_that_was_drawn_is_a_warning() -> None:
    (finding,) = examined(constant_loss_term.RULE, WHO, losses(4, term(ENCODER, drawn=True)))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "depends on `encoder.weight` by samples or choices alone" in finding.message
    assert "log-probability" in finding.help


@pytest.mark.parametrize(("operation", "severity"), [("detach", "warning"), ("data", "error")])
def test_a_detached_term_of_weights_that_the_program_sets_is_a_warning(operation: str, severity: str) -> None:
    cut = Cut(operation=operation, location=at(14), parameters=[ENCODER], reason="operation")
    first, later = losses(4, term(ENCODER, cuts=[cut]))[:2], losses(4, term(ENCODER, cuts=[cut], rewritten=True))[2:]
    (finding,) = examined(constant_loss_term.RULE, WHO, [*first, *later])
    assert finding.severity == severity


def test_copies_have_a_rule_of_their_own() -> None:
    events = losses(4, term(ENCODER, copied=True))
    assert examined(constant_loss_term.RULE, WHO, events) == []
    (finding,) = examined(graph_lost_in_a_copy.RULE, WHO, events)
    assert (finding.severity, finding.confidence) == ("error", "high")
    assert "was rebuilt from values of `encoder.weight` that left the graph by `detach`" in finding.message
    assert examined(graph_lost_in_a_copy.RULE, WHO, losses(4, term(ENCODER))) == []


def test_a_copy_that_was_only_guessed_is_a_warning() -> None:
    (finding,) = examined(graph_lost_in_a_copy.RULE, WHO, losses(4, term(ENCODER, copied=True, guessed=True, cuts=[])))
    assert (finding.severity, finding.confidence) == ("warning", "low")
    assert "seems to be rebuilt from values of `encoder.weight` that left the graph, " in finding.message
