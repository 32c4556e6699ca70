"""Rules on what changes in the course of a run, on traces made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from traces import at, built, examined, forward, in_order, module, seen, stepped

from autograd_doctor.events.connectivity import RatioOfItself, ReferenceCompared
from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import HooksCounted
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import ParameterGroup, ParametersAdded
from autograd_doctor.findings import Finding
from autograd_doctor.rules.connectivity import target_replaced, unused_parameter
from autograd_doctor.rules.lifetime import hooks_pile_up

MODEL, COPY = 0, 1
WHO = (*(seen(number, f"p{number}") for number in range(4)), module(MODEL, 0, 1), module(COPY, 2, 3, name="target"))
AIM = 30


def learned(called: int, *, trained: int | None = MODEL, step: int = 0) -> list[Event]:
    """A step in which a line calls a module without gradients, and one is trained."""
    aim = forward(step, number=called, line=AIM, grad_enabled=False, builds_graph=False)
    return [aim, *([forward(step, number=trained)] if trained is not None else [])]


def replaced(*happened: Sequence[Event], held: Sequence[int] = (0, 1)) -> list[Finding]:
    return examined(target_replaced.RULE, in_order(*WHO, built(*held), *happened))


BEFORE, AFTER = [learned(COPY)] * 3, [learned(MODEL)] * 3


def test_a_target_that_the_model_took_the_place_of() -> None:
    (finding,) = replaced(*BEFORE, *AFTER)
    assert finding.location == at(AIM)


@pytest.mark.parametrize(
    "findings",
    [
        replaced(*BEFORE, *AFTER[:2]),
        replaced(*BEFORE, *AFTER, learned(COPY)),
        replaced(*BEFORE, *AFTER, [forward(number=COPY, line=40, grad_enabled=False)]),
        replaced(*[learned(COPY, trained=None)] * 3, *AFTER),
        replaced(*BEFORE, *[learned(MODEL, trained=None)] * 3),
        replaced(*BEFORE, *AFTER, held=(0, 1, 2, 3)),
    ],
    ids=["not for long", "by turns", "called elsewhere", "one after the other", "trained no more", "trained as well"],
)
def test_lines_that_call_another_module_for_good_reason(findings: list[Finding]) -> None:
    assert not findings


SPREAD = range(0, 30, 5)
OPENED = ParametersAdded(optimizer=0, group=ParameterGroup(parameters=[2, 3], lr=0.1), location=at(50))


def opened(*, late: Sequence[int] = SPREAD, missing: Sequence[int] = (2, 3), series: str = "") -> list[Finding]:
    """Steps in which two parameters learn, then two more are added, of which some have no gradient."""
    names = [seen(0, "p0"), seen(1, "p1"), seen(2, "p2", series=series), seen(3, "p3", series=series)]
    norms = {number: 1.0 for number in range(4) if number not in missing}
    early = [stepped(step, {0: 1.0, 1: 1.0}) for step in range(3)]
    then = [stepped(3 + step, norms, missing=list(missing)) for step in late]
    return examined(unused_parameter.RULE, in_order(*names, built(0, 1), early, OPENED, then))


def test_parameters_that_are_added_and_never_learn() -> None:
    (finding,) = opened()
    assert (finding.location, finding.parameters) == (at(50), (2, 3))


@pytest.mark.parametrize(
    "findings",
    [
        opened(late=(0, 20)),
        opened(late=range(3)),
        opened(missing=[]),
        opened(missing=[3], series="experts"),
        opened(missing=[0, 1, 2, 3]),
    ],
    ids=["few steps", "for a short time", "all learn", "experts that were not chosen", "nothing learns"],
)
def test_parameters_that_are_added_and_may_learn_yet(findings: list[Finding]) -> None:
    assert not findings


def counted(*lines: int) -> list[Finding]:
    """Hooks of one module, one more each time, added by these lines."""
    counts = [
        HooksCounted(step=20 * place, subject="model", hooks=place, location=at(line))
        for place, line in enumerate(lines, 1)
    ]
    return examined(hooks_pile_up.RULE, counts)


def test_hooks_that_one_line_adds_again_and_again() -> None:
    (finding,) = counted(7, 7, 7)
    assert finding.location == at(7)
    assert not counted(7, 8, 9), "each of its own"
    assert not counted(7, 7)


# --------------------------------------------------------------------------------------- AD224: the model as reference


def compared(step: int, *, equal: bool = True, line: int = 12) -> ReferenceCompared:
    return ReferenceCompared(step=step, location=at(line), reference_at=at(9), parameters=[0, 1], equal=equal)


def test_what_is_never_other_than_its_reference_is_told_once_for_all_lines() -> None:
    (finding,) = examined(target_replaced.RULE, [compared(i, line=line) for i in range(3) for line in (12, 14)])
    assert finding.location == at(12)
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "events",
    [[compared(0), compared(1)], [compared(0), compared(1), compared(2, equal=False)]],
    ids=["seen twice", "another later"],
)
def test_what_may_still_differ_from_its_reference_is_not_told(events: list[Event]) -> None:
    assert not examined(target_replaced.RULE, events)


def test_a_comparison_with_itself_is_told_as_such() -> None:
    (finding,) = examined(target_replaced.RULE, [replace(compared(i), itself=True) for i in range(3)])
    assert "with one that is equal to it" in finding.message
    assert "so is its gradient" in finding.message


def ratios(*own: bool, moved: list[int]) -> list[Event]:
    """An optimizer steps, and then ratios were of the policy to itself, or not."""
    told = [
        RatioOfItself(step=step + 1, location=at(12), reference_at=at(9), parameters=[0, 1], own=each)
        for step, each in enumerate(own)
    ]
    return [OptimizerStepped(step=0, optimizer=0, location=at(20), moved=moved), *told]


def test_a_ratio_of_a_policy_to_itself_is_told_once_it_has_moved() -> None:
    (finding,) = examined(target_replaced.RULE, ratios(True, True, True, moved=[1]))
    assert finding.location == at(12)
    assert [each.location for each in finding.related] == [at(9)]
    assert not examined(target_replaced.RULE, ratios(True, True, moved=[1])), "in two steps"
    assert not examined(target_replaced.RULE, ratios(True, True, True, moved=[7])), "others moved"
    assert not examined(target_replaced.RULE, ratios(True, True, True, False, moved=[1])), "another ratio later"
