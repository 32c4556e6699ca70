"""AD116 on traces made by hand, and what its probe states about programs that learn, or only seem to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import pytest
import torch
from torch import nn

from autograd_doctor.events import all_events
from autograd_doctor.events.cycle import ParametersCompared, ScalerUsed, SchedulerStepped
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import InstrumentAttached, RunEnded
from autograd_doctor.events.steps import GradientsFoundBefore, OptimizerStepped, UpdatesDiscarded
from autograd_doctor.findings import ExitCode
from autograd_doctor.instruments.cycle.learning import Learning
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from autograd_doctor.rules.cycle.learning_rate_zero import RULE as RATE_ZERO
from autograd_doctor.rules.cycle.nothing_learned import RULE
from tests.reports import judged
from tests.traces import at, backward, built, examined, seen, stepped, steps
from tests.watching import watching

W, B = 0, 1
NAMES = [seen(W, "w"), seen(B, "b"), built(W, B)]


def compared(*changed: int, parameters: tuple[int, ...] = (W, B), step: int = 5) -> ParametersCompared:
    return ParametersCompared(step=step, parameters=list(parameters), changed=list(changed))


def scheduled(step: int, rate: float, *, first: bool = False) -> SchedulerStepped:
    return SchedulerStepped(
        step=step, scheduler=0, name="scheduler", kind="LambdaLR", optimizer=0, location=at(7),
        learning_rates=[rate], first=first,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------- the rule


def test_a_first_class_alone_may_have_others_after_it() -> None:
    """As long as the program goes on, and nothing but the share of one is in the way."""
    ran = {"wrote": [W, B], "of_one": [W, B]}
    still = [*steps(4, {W: 0.0, B: 0.0}, backward=ran), compared()]
    assert examined(RULE, NAMES, still, RunEnded(reason="steps")) == []
    assert examined(RULE, NAMES, still, RunEnded(reason="finished"))
    assert examined(RULE, NAMES, still, backward(9, wrote=[W]), RunEnded(reason="steps"))


def test_steps_that_changed_nothing_are_said_with_what_they_had() -> None:
    (finding,) = examined(RULE, NAMES, steps(5, {W: 0.5, B: 0.25}, learning_rates=[0.1]), compared())
    assert (finding.severity, finding.location, finding.step_count) == ("error", at(21), 5)
    assert "`w`, `b`" in finding.message
    assert "norm up to 0.5 and rates up to 0.1" in finding.message
    assert finding.parameters == (W, B)


def test_steps_without_gradients_are_told_at_the_backward_that_gave_none() -> None:
    events = [event for step in range(4) for event in (backward(step), stepped(step, missing=[W, B]))]
    (finding,) = examined(RULE, NAMES, events, compared())
    assert finding.location == at(20)
    assert at(21) in [place.location for place in finding.related]
    assert finding.evidence["backwards"] == 4


@pytest.mark.parametrize(
    "changes",
    [
        [compared(W)],
        [compared(W, step=2), compared(step=5)],
        [compared(parameters=(W,))],  # `b` was never looked at
        [],
    ],
)
def test_what_changed_or_was_not_looked_at_is_no_fault(changes: list[Event]) -> None:
    assert not examined(RULE, NAMES, steps(5, {W: 0.5, B: 0.25}), changes)


def test_a_step_that_moved_something_is_learning() -> None:
    assert not examined(RULE, NAMES, steps(5, {W: 0.5, B: 0.25}, moved=[B]), compared())


def test_two_steps_prove_nothing() -> None:
    assert not examined(RULE, NAMES, steps(2, {W: 0.5}), compared())


def test_weights_that_were_spoiled_before_stay_as_they_are() -> None:
    assert not examined(RULE, NAMES, steps(5, {W: math.nan, B: 0.25}, learning_rates=[0.1]), compared())


def test_weights_that_had_gradients_earlier_in_the_run_have_learned() -> None:
    rest = [*NAMES, *steps(5, {W: 0.0, B: 0.0}, learning_rates=[0.1]), compared()]
    assert examined(RULE, GradientsFoundBefore(parameters=[W]), rest) == []
    assert examined(RULE, GradientsFoundBefore(parameters=[7]), rest)


def test_discarded_updates_need_no_step() -> None:
    lost = [UpdatesDiscarded(step=0, parameters=[W, B], location=at(30)) for _ in range(3)]
    (finding,) = examined(RULE, NAMES, [backward(step) for step in range(4)], lost, compared())
    assert (finding.location, finding.parameters) == (at(30), (W, B))
    assert not examined(RULE, NAMES, [backward(step) for step in range(4)], lost[:2], compared())


# ------------------------------------------------------------------------------------ what is not judged, never green


def at_rate_zero(*calls: SchedulerStepped, reason: str = "steps") -> list[Event]:
    return [
        *NAMES,
        *calls,
        *steps(5, {W: 0.5, B: 0.25}, learning_rates=[0.0]),
        compared(),
        RunEnded(reason=reason),  # type: ignore[arg-type]
    ]


def watched_throughout(happened: Iterable[Event]) -> list[Event]:
    """With an instrument that states every event and never failed."""
    return [InstrumentAttached(instrument="all", emits=[kind.__name__ for kind in all_events()]), *happened]


def test_a_run_stopped_before_its_warm_up_could_rise_is_not_judged() -> None:
    for calls in ([scheduled(0, 0.0, first=True)], [scheduled(0, 0.0, first=True), scheduled(5, 0.01)]):
        report = judged(watched_throughout(at_rate_zero(*calls)), RULE, RATE_ZERO)
        assert (report.verdict, report.exit_code) == ("not-judged", ExitCode.NOT_JUDGED)
        assert "the schedule kept the learning rate at 0 in all 5 steps" in report.exit_reason


def test_a_program_that_ended_had_its_chance() -> None:
    report = judged(watched_throughout(at_rate_zero(scheduled(0, 0.0, first=True), reason="finished")), RULE, RATE_ZERO)
    assert [finding.code for finding in report.findings] == ["AD110"]
    assert any("AD116" in note for note in report.findings[0].notes)


def test_steps_that_a_scaler_skipped_are_said() -> None:
    skips = [
        ScalerUsed(scaler=0, call="step", scale=2.0**16, location=at(21), optimizer=0, found_inf=True) for _ in range(4)
    ]
    report = judged(
        watched_throughout([*NAMES, *(backward(step) for step in range(4)), *skips, RunEnded(reason="steps")]), RULE
    )
    assert report.verdict == "not-judged"
    assert "the gradient scaler skipped 4 steps" in report.exit_reason


# --------------------------------------------------------------------------------------------------------- the probe


def watched(program: Callable[[], object]) -> Iterator[Event]:
    """What the instruments that AD116 needs state about a program."""
    with watching(BackwardRuns, Learning, OptimizerSteps) as events:
        program()
    return iter(events)


def last_comparison(program: Callable[[], object]) -> ParametersCompared:
    return [event for event in watched(program) if isinstance(event, ParametersCompared)][-1]


def regression(update: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    inputs = torch.randn(8, 3)
    for _ in range(5):
        (inputs @ weight + bias - 1).square().mean().backward()
        weight, bias = update(weight, bias)


def carried_on(weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weight, bias = ((p - 0.1 * p.grad).detach().requires_grad_() for p in (weight, bias))
    return weight, bias


def carried_on_by_data(weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weight, bias = ((p.data - 0.1 * p.grad.data).requires_grad_() for p in (weight, bias))
    return weight, bias


def thrown_away(weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        for p in (weight, bias):
            p = p - 0.1 * p.grad
    return weight, bias


def probed(weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    print(sum((p * p.grad).abs().sum().item() for p in (weight, bias)))
    return weight, bias


@pytest.mark.parametrize("update", [carried_on, carried_on_by_data])
def test_a_name_bound_to_new_values_is_a_step_on_the_same_parameter(
    update: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
) -> None:
    events = list(watched(lambda: regression(update)))
    taken = [event for event in events if isinstance(event, OptimizerStepped)]
    assert len(taken) == 4  # the fifth update was not used any more
    assert all(sorted(p for use in step.uses for p in use.parameters) == [0, 1] for step in taken)
    assert all(use.backwards == [number] for number, step in enumerate(taken) for use in step.uses)
    assert [event for event in events if isinstance(event, ParametersCompared)][-1].changed == [0, 1]
    assert not [event for event in events if isinstance(event, UpdatesDiscarded)]


def test_new_values_that_nothing_reads_are_discarded() -> None:
    events = list(watched(lambda: regression(thrown_away)))
    lost = [event for event in events if isinstance(event, UpdatesDiscarded)]
    assert [event.parameters for event in lost] == [[0, 1]] * 4
    assert all(event.location is not None and event.location.function == "thrown_away" for event in lost)
    assert not [event for event in events if isinstance(event, OptimizerStepped)]


def test_probing_gradients_is_no_update() -> None:
    events = list(watched(lambda: regression(probed)))
    assert not [event for event in events if isinstance(event, UpdatesDiscarded | OptimizerStepped)]


def trained(rate: float, *, frozen: bool = False) -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 1).requires_grad_(not frozen)
    if frozen:
        model.bias.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(4):
        model(torch.randn(8, 3)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_values_are_compared_with_the_first_ones() -> None:
    assert last_comparison(lambda: trained(0.1)).changed == [0, 1]
    at_rest = last_comparison(lambda: trained(0.0))
    assert (at_rest.parameters, at_rest.changed, at_rest.since, at_rest.step) == ([0, 1], [], 0, 4)
    assert last_comparison(lambda: trained(0.1, frozen=True)).changed == [1]


def test_initial_values_written_before_the_first_backward_are_no_learning() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        nn.init.ones_(model.weight)
        for _ in range(4):
            model(torch.randn(8, 3)).square().mean().backward()
            optimizer.step()

    assert last_comparison(program).changed == []
