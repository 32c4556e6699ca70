"""The rules on the step life cycle, put to traces made by hand: what fires, and what looks alike and must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from autograd_doctor.events.connectivity import LossDropped
from autograd_doctor.events.cycle import (
    AverageWeighed,
    EvaluatedWeightsKept,
    EvaluationChangedModel,
    FactorRenewed,
    GradientsClipped,
    GradientsRead,
    ParametersCompared,
    ScalerUsed,
    SchedulerStepped,
    WeightsDrawnAnew,
)
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import MeanCounted
from autograd_doctor.events.numerics import UpdatesMeasured, UpdatesRounded
from autograd_doctor.events.run import DetailTurned, LightStepsCounted, ProgramRaised, RunEnded
from autograd_doctor.events.steps import (
    Accumulation,
    BackwardRan,
    BatchDrawn,
    ForwardRan,
    GradientsCleared,
    GradientUse,
    OptimizerStepped,
    ParametersMovedLater,
    PassesCounted,
)
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterGroup, ParameterSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule
from autograd_doctor.rules.cycle import (
    accumulation_not_averaged,
    average_weights_off,
    clip_before_unscale,
    clip_without_effect,
    clipped_while_accumulated,
    evaluation_changes_model,
    gradients_cleared_before_step,
    learning_rate_zero,
    loss_backpropagated_twice,
    micro_batches_weighed_alike,
    missing_optimizer_step,
    missing_zero_grad,
    nothing_learned,
    optimizer_recreated,
    parameter_optimized_twice,
    parameters_unchanged,
    scaler_misuse,
    scheduler_out_of_order,
    scheduler_stepped_too_often,
    step_without_new_gradients,
)
from autograd_doctor.trace import Trace
from tests.traces import in_order

W, B = 0, 1  # the parameters of most traces
STEP, BACKWARD, OTHER_BACKWARD, CLEAR, CLIP, BUILD, SCHEDULE, SCALE = range(10, 18)  # the lines of the program


def line(number: int) -> Location:
    return Location(path="train.py", line=number)


def judge(rule: Rule, events: Sequence[Event], **tunables: float) -> list[Finding]:
    return list(rule.examine(Trace(tuple(events)), {**rule.defaults, **tunables}))


def built(optimizer: int = 0, *, at: int = BUILD, lr: float = 0.1, **fields: object) -> OptimizerBuilt:
    given = {"parameters": [W, B], "kind": "SGD", "momentum": 0.0, "name": "optimizer", **fields}
    group = ParameterGroup(parameters=given.pop("parameters"), lr=lr, momentum=given.pop("momentum"))
    return OptimizerBuilt(optimizer=optimizer, location=line(at), groups=[group], **given)


def seen(*names: str, dtype: str = "float32") -> list[Event]:
    return [
        ParameterSeen(parameter=number, name=name, shape=[4], dtype=dtype, requires_grad=True)
        for number, name in enumerate(names)
    ]


def ran(
    backward: int, *, at: int = BACKWARD, step: int = 0, made_at: int | None = None, **fields: object
) -> BackwardRan:
    value = fields.pop("value", 1.0 + backward)
    root = TensorFacts(
        shape=[],
        dtype="float32",
        name="loss",
        numel=1,
        low=value,
        high=value,
        made_at=line(made_at) if made_at else None,
    )
    given = {"wrote": [W, B], "nodes": 5, **fields}
    return BackwardRan(step=step, backward=backward, location=line(at), kind="backward", root=root, loss=value, **given)


def use(*backwards: int, parameters: Sequence[int] = (W, B), norm: float = 1.0, **fields: object) -> GradientUse:
    return GradientUse(parameters=list(parameters), backwards=list(backwards), norms=[norm] * len(parameters), **fields)


def stepped(
    step: int, *uses: GradientUse, optimizer: int | None = 0, at: int = STEP, **fields: object
) -> OptimizerStepped:
    given = {"learning_rates": [0.1], **fields}
    return OptimizerStepped(step=step, optimizer=optimizer, location=line(at), uses=list(uses), **given)


def cleared(step: int, *, unused: Sequence[int] = (), at: int = CLEAR, optimizer: int | None = 0) -> GradientsCleared:
    return GradientsCleared(
        step=step,
        parameters=[W, B],
        unused=list(unused),
        how="optimizer.zero_grad",
        location=line(at),
        optimizer=optimizer,
    )


def repeat(times: int, iteration: Callable[[int], Sequence[Event]], *before: Event) -> list[Event]:
    return [*before, *(event for number in range(times) for event in iteration(number))]


# ------------------------------------------------------------------------------------------------------------- AD101


@pytest.mark.parametrize(("clears", "is_shown"), [([B], True), ([], False), ([7], False)])
def test_where_only_other_gradients_are_cleared_is_shown(clears: list[int], is_shown: bool) -> None:
    def iteration(i: int) -> list[Event]:
        stale = use(*range(i + 1), parameters=[W], consumed=list(range(i)))
        return [ran(i), stepped(i, stale, use(i, parameters=[B])), replace(cleared(i), parameters=clears)]

    (finding,) = judge(missing_zero_grad.RULE, repeat(4, iteration, *seen("w", "b"), built()))
    assert (line(CLEAR) in [each.location for each in finding.related]) == is_shown


def test_leftovers_of_used_gradients_are_one_finding_with_names_and_error() -> None:
    def iteration(i: int) -> list[Event]:
        leftover = Accumulation(parameters=[W, B], relative_error=0.75 if i == 1 else None) if i else None
        return [ran(i, step=i, accumulated=leftover), stepped(i, use(*range(i + 1), consumed=list(range(i))))]

    (finding,) = judge(missing_zero_grad.RULE, repeat(6, iteration, *seen("w", "b"), built()))
    assert finding.location == line(STEP)
    assert "`optimizer`" in finding.message
    assert "5 of 6 steps, first in step 2: `w`, `b`" in finding.message
    assert finding.evidence["relative_error"] == 0.75
    assert [place.location for place in finding.related] == [line(BACKWARD)]
    assert (finding.step_first, finding.step_count, finding.parameters) == (2, 5, (W, B))


def test_leftovers_in_a_single_step_are_no_proof() -> None:
    events = [built(), ran(0), stepped(0, use(0)), ran(1, step=1), stepped(1, use(0, 1, consumed=[0]))]
    assert not judge(missing_zero_grad.RULE, events)
    assert judge(missing_zero_grad.RULE, events, minimum_repeats=1)


@pytest.mark.parametrize(
    "history",
    [
        lambda i: use(3 * i, 3 * i + 1, 3 * i + 2),
        lambda i: use(i),
        lambda i: use(0, i, consumed=[0], altered=True),
        lambda i: use(i, consumed=[i]),
    ],
    ids=["accumulation", "cleared every time", "decayed on purpose", "stepped twice"],
)
def test_histories_that_are_not_forgotten_clearing(history: Callable[[int], GradientUse]) -> None:
    events = repeat(6, lambda i: [stepped(i, history(i))], built(), *(ran(i) for i in range(18)))
    assert not judge(missing_zero_grad.RULE, events)


def adversarial(i: int, *, own: int, other_line: int = OTHER_BACKWARD, **own_fields: object) -> list[Event]:
    """The generator goes backward and steps; the critic adds its own backward to what that left, and steps."""
    left, mine = 2 * i, 2 * i + 1
    return [
        ran(left, at=other_line, step=2 * i),
        stepped(2 * i, use(left, parameters=[5]), optimizer=1, at=99),
        ran(mine, at=own, step=2 * i + 1, **own_fields),
        stepped(2 * i + 1, use(left, mine, foreign=[left], foreign_step_at=line(99))),
    ]


CRITIC = (built(name="opt_d"), built(1, name="opt_g", parameters=[5]))


def test_leftovers_of_another_objective_name_both_backwards() -> None:
    (finding,) = judge(missing_zero_grad.RULE, repeat(4, lambda i: adversarial(i, own=BACKWARD), *CRITIC))
    assert "another objective" in finding.message
    assert "opt_d.zero_grad()" in finding.help
    assert [place.location for place in finding.related] == [line(OTHER_BACKWARD), line(99), line(BACKWARD)]


def test_one_objective_accumulated_for_a_slower_optimizer_is_fine() -> None:
    assert not judge(missing_zero_grad.RULE, repeat(4, lambda i: adversarial(i, own=OTHER_BACKWARD), *CRITIC))


def test_two_losses_through_one_helper_are_told_apart_by_the_lines_that_made_them() -> None:
    def iteration(i: int) -> list[Event]:
        _, *rest = adversarial(i, own=BACKWARD, other_line=BACKWARD, made_at=31)
        return [ran(2 * i, at=BACKWARD, step=2 * i, made_at=30), *rest]

    assert judge(missing_zero_grad.RULE, repeat(4, iteration, *CRITIC))


def test_losses_on_one_graph_are_summed_on_purpose() -> None:
    events = repeat(4, lambda i: adversarial(i, own=BACKWARD, reused=[2 * i]), *CRITIC)
    assert not judge(missing_zero_grad.RULE, events)


def test_two_backwards_before_any_step_are_summed_on_purpose() -> None:
    def iteration(i: int) -> list[Event]:
        left, step, mine, other = adversarial(i, own=BACKWARD)
        return [left, mine, step, other]

    assert not judge(missing_zero_grad.RULE, repeat(4, iteration, *CRITIC))


# ------------------------------------------------------------------------------------------------------------- AD102


def test_gradients_cleared_between_backward_and_step() -> None:
    def iteration(i: int) -> list[Event]:
        return [ran(i, step=i), cleared(i, unused=[W, B]), stepped(i, missing=[W, B])]

    (finding,) = judge(gradients_cleared_before_step.RULE, repeat(5, iteration, *seen("w", "b"), built()))
    assert finding.location == line(CLEAR)
    assert "all 5 steps" in finding.message
    assert [place.location for place in finding.related] == [line(BACKWARD), line(STEP)]


def test_gradients_set_to_zero_are_lost_as_well() -> None:
    def iteration(i: int) -> list[Event]:
        return [ran(i, step=i), cleared(i, unused=[W, B]), stepped(i, use(norm=0.0))]

    assert judge(gradients_cleared_before_step.RULE, repeat(5, iteration, built()))


def test_the_same_circle_entered_at_the_step_is_a_step_too_early() -> None:
    def iteration(i: int) -> list[Event]:
        return [cleared(i, unused=[W, B] if i else []), stepped(i, missing=[W, B]), ran(i, step=i + 1)]

    events = repeat(5, iteration, built())
    assert not judge(gradients_cleared_before_step.RULE, events)
    (finding,) = judge(step_without_new_gradients.RULE, events)
    assert finding.location == line(STEP)
    assert "before the backward" in finding.message


@pytest.mark.parametrize("others_learn", [True, False])
def test_a_part_that_rests_while_others_learn_from_the_same_backward(*, others_learn: bool) -> None:
    def iteration(i: int) -> list[Event]:
        others = [use(i, parameters=[B])] if others_learn or i else []
        return [ran(i, step=i), cleared(i, unused=[W], optimizer=None), stepped(i, *others, missing=[W])]

    assert bool(judge(gradients_cleared_before_step.RULE, repeat(5, iteration, built()))) is not others_learn


def test_discarded_leftovers_leave_the_step_its_own_gradients() -> None:
    def iteration(i: int) -> list[Event]:
        left, mine = ran(2 * i, at=OTHER_BACKWARD), ran(2 * i + 1)
        return [left, cleared(i, unused=[W, B]), mine, stepped(i, use(2 * i + 1))]

    assert not judge(gradients_cleared_before_step.RULE, repeat(5, iteration, built()))


def test_accumulation_that_keeps_the_last_micro_batch_is_a_warning() -> None:
    def iteration(i: int) -> list[Event]:
        first, last = ran(2 * i, step=i), ran(2 * i + 1, step=i)
        return [first, cleared(i, unused=[W, B]), last, stepped(i, use(2 * i + 1))]

    (finding,) = judge(gradients_cleared_before_step.RULE, repeat(5, iteration, built()))
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "medium", line(CLEAR))


def windows(steps: int, given_up: Sequence[int], *, left: int = 1, at: int = BACKWARD) -> list[Event]:
    """Steps on two backwards each, before some of which others were cleared."""
    events: list[Event] = [built()]
    number = 0
    for step in range(steps):
        lost = left if step in given_up else 0
        events += [ran(number + each, step=step, at=at) for each in range(lost)]
        events += [cleared(step, unused=[W, B])] if lost else []
        number += lost
        events += [ran(number, step=step), ran(number + 1, step=step), stepped(step, use(number, number + 1))]
        number += 2
    return events


def drawn_short() -> BatchDrawn:
    return BatchDrawn(loader=0, name="loader", location=line(1), pass_number=0, batches=7, length=40, cut=True)


def test_windows_that_each_pass_leaves_incomplete_are_worth_knowing() -> None:
    (finding,) = judge(gradients_cleared_before_step.RULE, windows(9, [3, 6]))
    assert (finding.severity, finding.location) == ("info", line(CLEAR))
    assert "after every 3 steps" in finding.message
    assert "1 of 7 backwards" in finding.message


@pytest.mark.parametrize(
    "events",
    [
        windows(9, [3]),
        windows(9, [3, 5]),
        windows(10, [3, 6]),
        windows(9, [3, 6], left=2),
        windows(9, [3, 6], at=OTHER_BACKWARD),
        [*windows(9, [3, 6]), drawn_short()],
    ],
    ids=["once", "irregular", "not-always", "whole-windows", "another-loss", "passes-cut-by-the-doctor"],
)
def test_windows_that_are_given_up_for_a_reason(events: list[Event]) -> None:
    assert not judge(gradients_cleared_before_step.RULE, events)


def test_gradients_that_rest_while_another_optimizer_has_its_turn() -> None:
    def iteration(i: int) -> list[Event]:
        theirs, mine = ran(2 * i, step=2 * i, wrote=[W, B, 2]), ran(2 * i + 1, step=2 * i + 1, wrote=[W, B, 2])
        turn = stepped(2 * i, use(2 * i, parameters=[2]), optimizer=1)
        return [theirs, turn, cleared(2 * i, unused=[W, B]), mine, stepped(2 * i + 1, use(2 * i + 1))]

    events = repeat(5, iteration, built(), built(1, parameters=[2]))
    assert not judge(gradients_cleared_before_step.RULE, events)


def test_probing_through_the_training_function_writes_an_input() -> None:
    def iteration(i: int) -> list[Event]:
        probe, mine = ran(2 * i, step=i, wrote=[W, B, 77]), ran(2 * i + 1, step=i)
        return [probe, cleared(i, unused=[W, B]), mine, stepped(i, use(2 * i + 1))]

    assert not judge(gradients_cleared_before_step.RULE, repeat(5, iteration, built()))


# ------------------------------------------------------------------------------------------------------------- AD103


def test_no_backward_at_all() -> None:
    (finding,) = judge(step_without_new_gradients.RULE, repeat(4, lambda i: [stepped(i, missing=[W, B])], built()))
    assert "`backward()` was never called" in finding.message


def test_second_step_on_the_same_gradients() -> None:
    def iteration(i: int) -> list[Event]:
        return [ran(i), stepped(2 * i, use(i)), stepped(2 * i + 1, use(i, consumed=[i]), at=30)]

    (finding,) = judge(step_without_new_gradients.RULE, repeat(4, iteration, built()))
    assert finding.location == line(30)
    assert finding.step_first == 2


@pytest.mark.parametrize(
    ("again", "between", "is_silent"),
    [
        ({"learning_rates": [0.05]}, [], True),
        ({"undone": [W, B]}, [], True),
        (
            {"learning_rates": [0.05]},
            [SchedulerStepped(scheduler=0, name="", kind="StepLR", optimizer=0, location=None)],
            False,
        ),
    ],
    ids=["at another rate", "from the old values", "at the rate of a schedule"],
)
def test_a_step_that_tries_how_far_to_go(again: dict[str, object], between: list[Event], *, is_silent: bool) -> None:
    def iteration(i: int) -> list[Event]:
        second = stepped(2 * i + 1, use(i, consumed=[i]), at=30, **again)
        return [ran(i), stepped(2 * i, use(i)), *between, second]

    events = [replace(event, sequence=at) for at, event in enumerate(repeat(4, iteration, built()))]
    assert bool(judge(step_without_new_gradients.RULE, events)) is not is_silent


def test_backwards_that_miss_the_parameters_have_other_causes() -> None:
    events = repeat(4, lambda i: [ran(i, wrote=[7]), stepped(i, missing=[W, B])], built())
    assert not judge(step_without_new_gradients.RULE, events)


def dropped(*parameters: int) -> LossDropped:
    return LossDropped(location=line(40), operation="mean", name="critic_loss", parameters=list(parameters))


def test_step_whose_loss_was_computed_and_never_went_backward() -> None:
    events = repeat(4, lambda i: [ran(i, wrote=[7]), stepped(i, missing=[W, B])], built(), dropped(W, B))
    (finding,) = judge(step_without_new_gradients.RULE, events)
    assert "`backward()` never runs on `critic_loss`" in finding.help
    assert [note.location for note in finding.related] == [line(40)]
    cut = repeat(4, lambda i: [ran(i, wrote=[7], values=[W, 7]), stepped(i, missing=[W, B])], built(), dropped(W, B))
    assert not judge(step_without_new_gradients.RULE, cut)


@pytest.mark.parametrize("served", [True, False])
def test_leftovers_of_another_loss_that_were_cleared(served: bool) -> None:
    """Only where the backward was another optimizer's is the loss that was dropped the one that is missed."""

    def iteration(i: int) -> list[Event]:
        theirs = stepped(2 * i, use(i, parameters=[2]), optimizer=1)
        mine = stepped(2 * i + 1, missing=[W, B])
        return [ran(i, step=2 * i, wrote=[W, B, 2]), *([theirs] if served else []), cleared(2 * i, unused=[W, B]), mine]

    events = repeat(4, iteration, built(), built(1, parameters=[2]), dropped(W, B))
    (finding,) = judge(gradients_cleared_before_step.RULE, events)
    assert ("`backward()` never runs on" in finding.help) is served


@pytest.mark.parametrize(
    "step",
    [
        lambda i: stepped(i, use(i) if i % 3 == 0 else use(norm=0.0)),
        lambda i: stepped(i, use(i, consumed=[i]), in_closure=True),
        lambda i: stepped(i, use(norm=2.0)),
        lambda i: stepped(i, missing=[W, B], skipped=True),
        lambda i: stepped(i, frozen=[W, B]),
    ],
    ids=["expert routed to now and then", "closure", "gradients made by hand", "skipped by the scaler", "all frozen"],
)
def test_steps_that_may_lack_new_gradients(step: Callable[[int], OptimizerStepped]) -> None:
    assert not judge(step_without_new_gradients.RULE, repeat(6, lambda i: [ran(i), step(i)], built()))


def one_batch_late(i: int) -> list[Event]:
    forward = ForwardRan(step=i, module=0, location=line(5), training=True, grad_enabled=True, builds_graph=True)
    return [forward, stepped(i, use(i - 1)) if i else stepped(0, missing=[W, B]), cleared(i), ran(i, step=i + 1)]


def test_steps_that_come_one_batch_late() -> None:
    model = ModuleSeen(module=0, name="model", kind="Linear", parameters=[W, B], location=line(5))
    (finding,) = judge(step_without_new_gradients.RULE, repeat(5, one_batch_late, model, built()))
    assert finding.confidence == "medium"
    assert finding.location == line(STEP)


# ------------------------------------------------------------------------------------------------------------- AD104


def forgotten(i: int) -> list[Event]:
    return [cleared(0, unused=[W, B] if i else []), ran(i)]


@pytest.mark.parametrize(
    ("reason", "events", "severity", "confidence"),
    [
        ("finished", repeat(4, forgotten), "error", "high"),
        ("time", repeat(4, forgotten), "error", "high"),
        ("finished", repeat(4, lambda i: [ran(i)]), "error", "high"),
        ("time", repeat(4, lambda i: [ran(i)]), "warning", "low"),
    ],
    ids=["finished", "stopped, cleared", "finished, never cleared", "stopped: may accumulate"],
)
def test_an_optimizer_that_never_stepped(reason: str, events: list[Event], severity: str, confidence: str) -> None:
    (finding,) = judge(missing_optimizer_step.RULE, [built(), *events, RunEnded(reason=reason)])
    assert (finding.severity, finding.confidence) == (severity, confidence)
    assert finding.location == line(BACKWARD)
    assert "4 backwards" in finding.message


@pytest.mark.parametrize(
    ("read", "optimizer", "reason", "severity"),
    [
        (4, None, "finished", None),
        (4, None, "time", None),
        (2, None, "finished", "error"),
        (4, 0, "finished", "error"),
        (4, 0, "time", "warning"),
    ],
    ids=["collected", "collected, stopped", "some are read", "logged", "logged, stopped"],
)
def test_gradients_that_are_read(read: int, optimizer: int | None, reason: str, severity: str | None) -> None:
    def iteration(i: int) -> list[Event]:
        return [cleared(0, unused=[W, B] if i else [], optimizer=optimizer), ran(i)]

    reads = GradientsRead(read=read, backwards=4)
    found = judge(missing_optimizer_step.RULE, [built(), *repeat(4, iteration), reads, RunEnded(reason=reason)])
    assert [finding.severity for finding in found] == ([severity] if severity else [])


@pytest.mark.parametrize(("exchanged", "count"), [(4, 0), (1, 1)])
def test_weights_that_another_rank_steps(exchanged: int, count: int) -> None:
    told = GradientsRead(read=4, backwards=4, exchanged=exchanged)
    iterations = repeat(4, lambda i: [cleared(0, unused=[W, B] if i else [], optimizer=0), ran(i)])
    assert len(judge(missing_optimizer_step.RULE, [built(), *iterations, told, RunEnded(reason="finished")])) == count


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ([stepped(0, use(0, 1, 2, 3))], "finished"),
        ([stepped(0, use(0, 1, 2, 3), optimizer=None)], "finished"),
        ([ScalerUsed(scaler=0, call="step", scale=1.0, location=None, optimizer=0, found_inf=True)], "finished"),
        ([], "raised"),
    ],
    ids=["accumulated", "updated by hand", "skipped by the scaler", "crashed on the way"],
)
def test_optimizers_that_did_or_might_have_stepped(last: list[Event], reason: str) -> None:
    events = [built(), *repeat(4, lambda i: [ran(i)]), *last, RunEnded(reason=reason)]  # type: ignore[arg-type]
    assert not judge(missing_optimizer_step.RULE, events)


def test_a_line_search_may_be_under_way() -> None:
    inside = [ran(i, wrote=[W, B], inside_step=0) for i in range(9)]
    events = [built(), *inside, RunEnded(reason="time")]
    assert not judge(missing_optimizer_step.RULE, events)


def joint(i: int, *, clear: bool) -> list[Event]:
    """One loss for two networks, of which only the second one's optimizer steps."""
    clearing = [cleared(i, unused=[W, B] if i else [], optimizer=0)] if clear else []
    return [*clearing, ran(i, step=i, wrote=[W, B, 5]), stepped(i, use(i, parameters=[5]), optimizer=1)]


def test_the_other_of_two_optimizers_may_begin_later() -> None:
    events = [built(), built(1, parameters=[5]), RunEnded(reason="steps")]
    (finding,) = judge(missing_optimizer_step.RULE, repeat(5, lambda i: joint(i, clear=True), *events))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def test_one_of_two_optimizers_is_missed_where_the_program_clears_for_it() -> None:
    events = [built(), built(1, parameters=[5]), RunEnded(reason="finished")]
    assert judge(missing_optimizer_step.RULE, repeat(5, lambda i: joint(i, clear=True), *events))
    assert not judge(missing_optimizer_step.RULE, repeat(5, lambda i: joint(i, clear=False), *events))


# ------------------------------------------------------------------------------------------------------- AD105, AD106


def clip(i: int, *, fresh: Sequence[int] = (), **fields: object) -> GradientsClipped:
    given = {"parameters": [W, B], "missing": [], "limit": 1.0, "norm": 2.0, **fields}
    return GradientsClipped(step=i, fresh=list(fresh), location=line(CLIP), **given)


def clip_early(i: int) -> list[Event]:
    return [clip(i, missing=[W, B]), ran(i, step=i), stepped(i, use(i))]


def clip_late(i: int) -> list[Event]:
    return [ran(i, step=i), stepped(i, use(i)), clip(i + 1)]


@pytest.mark.parametrize(
    ("iteration", "words"),
    [
        (clip_early, "before the backward"),
        (clip_late, "after the step"),
        (lambda i: [ran(i), clip(i, parameters=[]), stepped(i, use(i))], "empty list"),
        (lambda i: [ran(i), clip(i, parameters=[8], missing=[8]), stepped(i, use(i))], "ever had a gradient"),
        (
            lambda i: [ran(i, wrote=[W, 8], reached=[W, 8]), clip(i, parameters=[8], fresh=[8]), stepped(i, use(i))],
            "no optimizer steps",
        ),
    ],
    ids=["before the backward", "after the step", "empty", "of another model", "of parameters not stepped"],
)
def test_clipping_without_effect(iteration: Callable[[int], list[Event]], words: str) -> None:
    (finding,) = judge(clip_without_effect.RULE, repeat(4, iteration, built()))
    assert words in finding.message
    assert finding.location == line(CLIP)


@pytest.mark.parametrize(
    "iteration",
    [
        lambda i: [ran(i), clip(i, parameters=[W], fresh=[W]), stepped(i, use(i))],
        lambda i: [ran(i), stepped(i, use(i)), clip(i, limit=float("inf"))],
        lambda i: [clip(i), stepped(i, use(norm=1.0))],
        lambda i: [ran(i), clip(i, fresh=[W] if i % 2 else []), stepped(i, use(i))],
    ],
    ids=["one network of two", "only measured", "gradients made by hand", "routed to now and then"],
)
def test_clipping_that_is_fine(iteration: Callable[[int], list[Event]]) -> None:
    assert not judge(clip_without_effect.RULE, repeat(4, iteration, built()))


def test_clipping_scaled_gradients_states_what_is_left() -> None:
    scale = ScalerUsed(scaler=0, call="scale", scale=1024.0, location=line(SCALE))
    events = repeat(4, lambda i: [scale, clip(i, fresh=[W, B], loss_scale=1024.0, norm=2048.0)], built())
    (finding,) = judge(clip_before_unscale.RULE, events)
    assert finding.evidence == {"limit": 1.0, "loss_scale": 1024.0, "effective_limit": 1 / 1024, "norm": 2.0}
    assert "scaler.unscale_(optimizer)" in finding.help


@pytest.mark.parametrize("limit", [float("inf"), 1024.0], ids=["only measured", "limit scaled as well"])
def test_clipping_scaled_gradients_knowingly(limit: float) -> None:
    events = repeat(4, lambda i: [clip(i, fresh=[W, B], loss_scale=1024.0, limit=limit)], built())
    assert not judge(clip_before_unscale.RULE, events)


# ------------------------------------------------------------------------------------------------------------- AD107


def scaler(call: str, i: int, *, optimizer: int | None = None, at: int = SCALE) -> ScalerUsed:
    return ScalerUsed(step=i, scaler=0, call=call, scale=256.0, location=line(at), optimizer=optimizer)  # type: ignore[arg-type]


def died(message: str) -> list[Event]:
    return [ProgramRaised(kind="RuntimeError", message=message, frames=[]), RunEnded(reason="raised")]


def test_scaled_gradients_stepped_directly() -> None:
    events = repeat(4, lambda i: [scaler("scale", i), ran(i), stepped(i, use(i), scaled_by=256.0)], built())
    (finding,) = judge(scaler_misuse.RULE, events)
    assert finding.location == line(STEP)
    assert "256" in finding.message


def test_a_scaler_that_is_never_updated_explains_the_crash() -> None:
    once = [built(), scaler("scale", 0), ran(0), scaler("step", 0, optimizer=0, at=40), stepped(0, use(0))]
    (finding,) = judge(scaler_misuse.RULE, [*once, *died("step() has already been called since the last update().")])
    assert finding.location == line(40)
    assert not judge(scaler_misuse.RULE, [*once, RunEnded(reason="steps")])


def test_a_loss_that_was_never_scaled_explains_the_crash() -> None:
    (finding,) = judge(scaler_misuse.RULE, [built(), ran(0), *died("Attempted step but _scale is None.  This may …")])
    assert finding.location == line(BACKWARD)


def two_losses(i: int, *, scales: int, made_at: int | None = None) -> list[Event]:
    first, second = ran(2 * i), ran(2 * i + 1, at=OTHER_BACKWARD, made_at=made_at)
    uses = stepped(i, use(2 * i, 2 * i + 1))
    calls = [scaler("scale", i)] * scales
    return [*calls, first, second, uses, scaler("step", i, optimizer=0), scaler("update", i + 1)]


def test_the_second_of_two_losses_was_not_scaled() -> None:
    (finding,) = judge(scaler_misuse.RULE, repeat(4, lambda i: two_losses(i, scales=1), built()))
    assert finding.location == line(OTHER_BACKWARD)


def test_losses_scaled_ahead_of_their_backwards() -> None:
    assert not judge(scaler_misuse.RULE, repeat(4, lambda i: two_losses(i, scales=2), built()))
    assert not judge(scaler_misuse.RULE, repeat(4, lambda i: two_losses(i, scales=1, made_at=SCALE), built()))


# ------------------------------------------------------------------------------------------------------- AD108, AD115


def schedule(i: int, rate: float = 0.1, *, first: bool = False, **fields: object) -> SchedulerStepped:
    given = {"kind": "StepLR", "optimizer": 0, "scheduler": 0, "at": SCHEDULE, "count": i + (not first), **fields}
    at = given.pop("at")
    return SchedulerStepped(step=i, name="scheduler", location=line(at), learning_rates=[rate], first=first, **given)


def test_a_scheduler_ahead_of_its_optimizer() -> None:
    events = repeat(3, lambda i: [schedule(i), stepped(i, use(i))], built(), schedule(0, first=True, at=9))
    (finding,) = judge(scheduler_out_of_order.RULE, events)
    assert "once before" in finding.message
    assert finding.location == line(SCHEDULE)


@pytest.mark.parametrize(
    "events",
    [
        repeat(3, lambda i: [stepped(i, use(i)), schedule(i + 1)]),
        [schedule(0, at=8), schedule(0, at=8), *repeat(3, lambda i: [stepped(i, use(i)), schedule(i + 1)])],
        repeat(3, lambda i: [scaler("step", i, optimizer=0), *([stepped(i, use(i))] if i else []), schedule(i)]),
        [schedule(0)],
        repeat(3, lambda i: [schedule(i, count=i), stepped(i, use(i))], built(), schedule(0, first=True, at=9)),
        repeat(3, lambda i: [schedule(i, follows_metric=True), stepped(i, use(i))]),
    ],
    ids=[
        "in order",
        "wound forward to resume",
        "first step skipped by the scaler",
        "seen once",
        "told where it is",
        "told what the untrained model reaches",
    ],
)
def test_schedulers_in_order(events: list[Event]) -> None:
    assert not judge(scheduler_out_of_order.RULE, [built(), *events])


def test_a_scheduler_that_drives_the_optimizer_before() -> None:
    def iteration(i: int) -> list[Event]:
        return [stepped(i, use(i), optimizer=1, learning_rates=[0.3]), schedule(i + 1, 0.1 * 0.9**i)]

    (finding,) = judge(scheduler_out_of_order.RULE, repeat(4, iteration, built(), built(1, name="newer", at=30)))
    assert "`newer`" in finding.message
    assert [place.location for place in finding.related] == [line(BUILD), line(30)]


def test_rates_copied_from_a_scheduled_stand_in() -> None:
    def iteration(i: int) -> list[Event]:
        return [schedule(i, 0.5**i), stepped(i, use(i), optimizer=1, learning_rates=[0.5**i])]

    assert not judge(scheduler_out_of_order.RULE, repeat(4, iteration, built(), built(1)))


def scheduled(rates: Sequence[float], **fields: object) -> list[Event]:
    """A schedule stepped after every optimizer step."""
    start = schedule(0, rates[0], first=True, at=9, **fields)
    return repeat(
        len(rates) - 1, lambda i: [stepped(i, use(i)), schedule(i + 1, rates[i + 1], **fields)], built(), start
    )


def test_a_rate_that_is_spent_early() -> None:
    (finding,) = judge(scheduler_stepped_too_often.RULE, scheduled([0.1 * 0.1 ** (i // 2) for i in range(20)]))
    assert finding.location == line(SCHEDULE)
    assert "within 4 steps, and 15 more steps" in finding.message


@pytest.mark.parametrize(
    ("micro_batches", "epochs", "length", "advice"),
    [
        (2, 8, 64, "after every optimizer step"),
        (2, 8, 8, "once per epoch"),
        (1, 8, 8, "once per epoch"),
        (1, 8, 32, "as often as its length says"),
        (1, None, 8, "once per epoch"),
        (2, None, 64, "after every optimizer step"),
    ],
    ids=[
        "steps",
        "epochs, in micro-batches",
        "epochs",
        "neither",
        "no passes known",
        "no passes, as long as the steps",
    ],
)
def test_the_unit_is_that_of_which_the_run_has_as_many(
    micro_batches: int, epochs: int | None, length: int, advice: str
) -> None:
    def iteration(i: int) -> list[Event]:
        counts = range(i * micro_batches + 1, (i + 1) * micro_batches + 1)
        calls = [schedule(i + 1, max(0.0, 1 - n / length), count=n, length=length) for n in counts]
        return [stepped(i, use(i)), *calls]

    start = schedule(0, 1.0, first=True, at=9, length=length)
    passes = [PassesCounted(loader=0, passes=epochs, batches=64 * micro_batches)] if epochs else []
    (finding,) = judge(scheduler_stepped_too_often.RULE, [*repeat(64, iteration, built(), start), *passes])
    assert advice in finding.help


@pytest.mark.parametrize(("micro_batches", "is_told"), [(2, True), (1, False)])
def test_a_rate_that_is_spent_in_the_middle_between_two_calls_that_were_seen(micro_batches: int, is_told: bool) -> None:
    def iteration(i: int) -> list[Event]:
        count = (i + 1) * micro_batches
        rate = max(0.0, 1 - count / (32 * micro_batches))
        if i >= 8 and i % 9:
            return [LightStepsCounted(step=i, first=i, steps=1, by_optimizer={0: 1})]
        return [stepped(i, use(i)), schedule(i + 1, rate, count=count, kind="LambdaLR")]

    found = judge(scheduler_stepped_too_often.RULE, repeat(64, iteration, built(), schedule(0, 1.0, first=True, at=9)))
    assert [("after every optimizer step" in finding.help) for finding in found] == [True] * is_told


@pytest.mark.parametrize(("left_out", "words"), [(["scheduler"], "`scheduler`"), (["optimizer", "scheduler"], "and")])
def test_what_an_accelerator_was_not_given_is_to_be_prepared(left_out: list[str], words: str) -> None:
    (often,) = judge(
        scheduler_stepped_too_often.RULE, scheduled([0.1 * 0.1 ** (i // 2) for i in range(20)], unprepared=left_out)
    )
    ahead = repeat(3, lambda i: [schedule(i, unprepared=left_out), stepped(i, use(i))], built())
    (early,) = judge(scheduler_out_of_order.RULE, ahead)
    for finding in (often, early):
        assert "accelerator.prepare" in finding.help
        assert words in finding.help


def test_a_schedule_shorter_than_the_first_epoch() -> None:
    epoch = BatchDrawn(loader=0, name="loader", location=None, pass_number=1, batches=1, length=400)
    decay = scheduled([0.9**i for i in range(20)])
    (finding,) = judge(scheduler_stepped_too_often.RULE, [epoch, *decay])
    assert "44 of the 400 batches" in finding.message
    (finding,) = judge(scheduler_stepped_too_often.RULE, [epoch, *scheduled([0.1, 0.09, 0.08, 0.05], length=10)])
    assert "10 steps long" in finding.message
    assert not judge(scheduler_stepped_too_often.RULE, decay)


@pytest.mark.parametrize(
    ("rates", "kind"),
    [
        ([0.1 * (1 - i / 20) for i in range(21)], "LinearLR"),
        ([0.1 * abs(1 - (i % 10) / 5) for i in range(30)], "CyclicLR"),
        ([min(1.0, i / 5) for i in range(20)], "LambdaLR"),
        ([0.0] * 20, "LambdaLR"),
        ([5 / (i + 1) for i in range(220)], "LambdaLR"),
        ([5 / (i + 2) for i in range(420)], "LambdaLR"),
    ],
    ids=["as long as the run", "oscillates by design", "warm-up", "zero all along", "1 / t", "1 / (1 + t)"],
)
def test_schedules_as_planned(rates: list[float], kind: str) -> None:
    assert not judge(scheduler_stepped_too_often.RULE, scheduled(rates, kind=kind))


def test_a_schedule_that_another_one_takes_over_ends_there() -> None:
    spent = scheduled([0.1 * 0.1 ** (i // 2) for i in range(8)])
    after = [stepped(i, use(i)) for i in range(7, 14)]
    taken_over = schedule(7, 0.05, first=True, at=30, scheduler=1)
    assert judge(scheduler_stepped_too_often.RULE, in_order(spent, after))
    assert not judge(scheduler_stepped_too_often.RULE, in_order(spent, taken_over, after))
    *seen, told_later = spent
    assert not judge(scheduler_stepped_too_often.RULE, in_order(seen, taken_over, [told_later], after))


def test_a_schedule_beside_an_older_one_ends_with_the_run() -> None:
    older = [schedule(0, 0.1, first=True, at=30, scheduler=1)]
    spent = scheduled([0.1 * 0.1 ** (i // 2) for i in range(20)])
    assert len(judge(scheduler_stepped_too_often.RULE, in_order(older, spent))) == 1


def per_epoch(epochs: int, batches: int, length: int, *, ended: bool) -> list[Event]:
    """Epochs of so many steps, after each of which a schedule is stepped."""
    events: list[Event] = [built(), schedule(0, 0.004, length=length, first=True)]
    for epoch in range(1, epochs + 1):
        events += [stepped(step, use(step)) for step in range(batches * (epoch - 1), batches * epoch)]
        events.append(schedule(batches * epoch, 0.004, length=length, count=epoch))
    return [*events, RunEnded(step=epochs * batches, reason="finished")] if ended else events


@pytest.mark.parametrize(
    ("epochs", "batches", "length", "ended", "severity"),
    [(5, 10, 50, True, "warning"), (3, 10, 50, True, "info"), (3, 40, 400, False, "info")],
    ids=["to its end", "stopped early", "going on"],
)
def test_a_schedule_of_batches_stepped_per_epoch(
    epochs: int, batches: int, length: int, ended: bool, severity: str
) -> None:
    (finding,) = judge(scheduler_stepped_too_often.RULE, per_epoch(epochs, batches, length, ended=ended))
    assert f"{length // batches} epochs of {batches} steps" in finding.message
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("epochs", "batches", "length", "ended"),
    [(8, 4, 8, True), (3, 10, 50, False), (5, 40, 160, False), (5, 10, 55, True), (5, 3, 15, True)],
    ids=["epochs", "may be epochs", "epochs, too", "no multiple", "anything is a multiple"],
)
def test_a_schedule_of_epochs(epochs: int, batches: int, length: int, ended: bool) -> None:
    assert not judge(scheduler_stepped_too_often.RULE, per_epoch(epochs, batches, length, ended=ended))


# ------------------------------------------------------------------------------------------------------------- AD109


def rebuilt(lives: Sequence[int], base: int = 0, *, keeps_state: bool = True, **fields: object) -> list[Event]:
    events: list[Event] = []
    for number, life in enumerate(lives, start=base):
        taken = (stepped(0, use(0), optimizer=number, keeps_state=keeps_state) for _ in range(life))
        events += [built(number, **fields), *taken]
    return events


def test_an_optimizer_built_in_the_loop() -> None:
    (finding,) = judge(optimizer_recreated.RULE, rebuilt([1, 1, 1, 1]))
    assert finding.location == line(BUILD)
    assert "4 times over the same 2 parameters, every step" in finding.message


def test_optimizers_built_in_the_loop_of_several_models() -> None:
    events = [event for model in range(2) for event in rebuilt([1, 1, 1], parameters=[model], base=3 * model)]
    assert len(judge(optimizer_recreated.RULE, events)) == 1


def test_optimizers_that_may_be_built_again() -> None:
    assert not judge(optimizer_recreated.RULE, rebuilt([1, 1]))
    assert not judge(optimizer_recreated.RULE, rebuilt([1, 1, 1], keeps_state=False))
    assert not judge(optimizer_recreated.RULE, rebuilt([100, 100, 100]))
    per_fold = [event for fold in range(4) for event in (built(fold, parameters=[fold]), stepped(0, optimizer=fold))]
    assert not judge(optimizer_recreated.RULE, per_fold)


def solved(losses: Sequence[Sequence[float]]) -> list[Event]:
    """Optimizers that take a step each, in which their closure is called once for each of these losses."""
    events: list[Event] = []
    for number, values in enumerate(losses):
        called = (ran(0, inside_step=number, value=value) for value in values)
        events += [built(number), *called, stepped(0, use(0), optimizer=number, keeps_state=True)]
    return events


def test_an_optimizer_that_goes_down_within_a_step_of_another_problem() -> None:
    assert not judge(optimizer_recreated.RULE, solved([[3.0, 1.0], [2.0, 0.5], [0.5, 0.4], [1.0, 0.1]]))
    assert judge(optimizer_recreated.RULE, solved([[3.0, 1.0], [1.0, 0.5], [0.5, 0.4], [0.4, 0.1]]))
    assert judge(optimizer_recreated.RULE, solved([[3.0], [4.0], [5.0], [6.0]]))


def test_an_optimizer_for_each_number_in_the_loss_is_a_hint() -> None:
    def renewed(*optimizers: int) -> list[Event]:
        return [
            FactorRenewed(step=0, optimizer=each, location=line(BACKWARD), before=1.0, after=2.0) for each in optimizers
        ]

    (hint,) = judge(optimizer_recreated.RULE, [*rebuilt([9] * 6), *renewed(2, 4)])
    assert (hint.severity, hint.confidence) == ("info", "low")
    assert "from 1 to 2" in hint.notes[0]
    (finding,) = judge(optimizer_recreated.RULE, [*rebuilt([9] * 6), *renewed(2)])
    assert finding.severity == "warning"


def test_one_optimizer_per_pass_over_the_same_loader() -> None:
    events: list[Event] = []
    for epoch in range(4):
        drawn = BatchDrawn(loader=0, name="loader", location=None, pass_number=epoch, batches=1)
        life = rebuilt([20])[1:]
        events += [
            built(epoch),
            drawn,
            *(stepped(0, use(0), optimizer=epoch, keeps_state=True) for _ in life),
        ]
    assert judge(optimizer_recreated.RULE, events)


def drawn_anew(*lives: int, of: int = 2, **more: object) -> list[Event]:
    facts = {"optimizer": 0, "parameters": [W, B], "location": line(9), "keeps_state": True, "of": of, **more}
    ends = [sum(lives[: number + 1]) for number in range(len(lives))]
    redrawn = [WeightsDrawnAnew(step=end, steps=life, **facts) for end, life in zip(ends, lives, strict=True)]
    return [*seen("net.weight", "net.bias"), built(0), *redrawn]


def test_weights_that_are_initialised_again_and_again() -> None:
    (finding,) = judge(optimizer_recreated.RULE, drawn_anew(12, 10))
    assert (finding.severity, finding.location) == ("warning", line(9))
    assert "2 times, after 10 to 12 steps" in finding.message
    (finding,) = judge(optimizer_recreated.RULE, drawn_anew(*[50] * 6, of=3))
    assert (finding.severity, finding.confidence) == ("info", "low"), "a part may have another task each time"
    (finding,) = judge(optimizer_recreated.RULE, drawn_anew(*[640] * 6))
    assert finding.severity == "warning", "averages of other weights are kept each time, however long it lasts"


@pytest.mark.parametrize(
    "events",
    [
        drawn_anew(12),
        drawn_anew(13, 12),
        drawn_anew(*[51] * 6, of=3, keeps_state=False),
        drawn_anew(*[51] * 5),
        drawn_anew(5, 5, 5, keeps_state=False),
        [*drawn_anew(5, 5, 5), stepped(6, use(2), optimizer=1)],
    ],
    ids=[
        "once",
        "seldom",
        "in many epochs, with the state",
        "in few epochs",
        "with the state",
        "inside of another training",
    ],
)
def test_weights_that_begin_anew_on_purpose(events: list[Event]) -> None:
    assert not judge(optimizer_recreated.RULE, events)


# ------------------------------------------------------------------------------------------------------------- AD121


def left_in(*averaged: int, times: int = 2, own: float = 0.99) -> list[Event]:
    weights = {"location": line(9), "parameters": [W], "own": own, "new": 1.0 - own}
    averages = [AverageWeighed(step=step, **weights) for step in averaged]
    facts = {"module": 0, "location": line(20), "evaluations": 5, "parameters": [W, B]}
    return [*averages, EvaluatedWeightsKept(step=90, times=times, **facts)]


def test_an_average_that_stays_in_the_model_is_a_hint() -> None:
    (finding,) = judge(average_weights_off.RULE, left_in(2, 3, 25))
    assert (finding.severity, finding.confidence, finding.location) == ("info", "low", line(20))
    for silent in (left_in(0, 25, 50), left_in(), left_in(2, 3, times=1), left_in(2, 3, own=0.5)):
        assert not judge(average_weights_off.RULE, silent)


# ------------------------------------------------------------------------------------------------------------- AD126


def left_other(*, alike: bool = True, again: bool = True, trained: bool = False) -> list[Event]:
    told = {"alike": alike, "again": again, "trained": trained, "change": 0.2, "parameters": [W]}
    counted = {"module": 0, "tensors": ["base.weight"], "times": 3, "returns": 4, "since": 7}
    return [EvaluationChangedModel(**told, **counted, written_at=line(5), back_at=line(7), evaluated_at=line(30))]


def test_what_evaluations_merge_each_time_was_to_be_taken_out() -> None:
    (finding,) = judge(evaluation_changes_model.RULE, left_other())
    assert (finding.severity, finding.confidence, finding.location) == ("error", "high", line(7))
    assert [each.location for each in finding.related] == [line(5), line(30)]
    assert "3 of 4" in finding.message
    assert finding.step_first == 7


def test_what_evaluations_change_may_be_meant() -> None:
    changed = left_other(alike=False, trained=True)
    for events, severity in ((left_other(again=False), "warning"), (changed, "info")):
        (finding,) = judge(evaluation_changes_model.RULE, events)
        assert finding.severity == severity
    assert not judge(evaluation_changes_model.RULE, left_other(alike=False)), "such as a temperature"
    asleep = stepped(0, use(0), frozen=[W])
    assert not judge(evaluation_changes_model.RULE, [asleep, *changed]), "held by an optimizer that never moves it"


# ------------------------------------------------------------------------------------------------------- AD110, AD111


def test_a_rate_of_zero_in_every_step() -> None:
    events = repeat(5, lambda i: [stepped(i, use(i), learning_rates=[0.0])], *seen("w", "b"), built(lr=0.0))
    (finding,) = judge(learning_rate_zero.RULE, events)
    assert (finding.severity, finding.location) == ("error", line(BUILD))
    assert "`w`, `b`" in finding.message


def test_a_rate_that_has_come_to_zero_is_a_warning_and_something_was_learned_before() -> None:
    rested = replace(built(lr=0.0), groups=[ParameterGroup(parameters=[W, B], lr=0.0, highest_lr=0.1)])
    still = [ParametersCompared(step=step, parameters=[W, B], changed=[]) for step in (0, 5)]
    events = repeat(5, lambda i: [stepped(i, use(i), learning_rates=[0.0])], *seen("w", "b"), rested)
    (finding,) = judge(learning_rate_zero.RULE, events)
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "after up to 0.1 earlier in the run" in finding.message
    assert judge(nothing_learned.RULE, [*events, *still]) == []
    assert judge(nothing_learned.RULE, [*still, *events[:-6], built(lr=0.0), *events[-5:]])


def test_a_group_held_at_zero_beside_others_is_a_warning() -> None:
    groups = [ParameterGroup(parameters=[W], lr=0.0), ParameterGroup(parameters=[B], lr=0.1)]
    optimizer = OptimizerBuilt(optimizer=0, name="optimizer", kind="SGD", location=line(BUILD), groups=groups)
    happened = repeat(5, lambda i: [stepped(i, use(i), learning_rates=[0.0, 0.1])], optimizer)
    for reason, severity in (("finished", "warning"), ("steps", "info")):
        (finding,) = judge(learning_rate_zero.RULE, [*happened, RunEnded(reason=reason)])  # type: ignore[arg-type]
        assert (finding.severity, finding.parameters) == (severity, (W,))


@pytest.mark.parametrize(
    ("in_loop", "reason", "severity"),
    [(True, "steps", "warning"), (True, "finished", "error"), (False, "steps", "error")],
)
def test_a_control_that_a_sweep_begins_with(in_loop: bool, reason: str, severity: str) -> None:
    optimizer = replace(built(lr=0.0), in_loop=in_loop)
    happened = repeat(5, lambda i: [stepped(i, use(i), learning_rates=[0.0])], optimizer)
    (finding,) = judge(learning_rate_zero.RULE, [*happened, RunEnded(reason=reason)])  # type: ignore[arg-type]
    assert finding.severity == severity


def test_no_schedule_holds_everything_at_zero() -> None:
    happened = repeat(5, lambda i: [stepped(i, use(i), learning_rates=[0.0])], built())
    (finding,) = judge(learning_rate_zero.RULE, [*happened, RunEnded(reason="steps")])
    assert (finding.severity, finding.notes) == ("error", ())


def test_warm_ups_from_zero() -> None:
    rising = repeat(5, lambda i: [stepped(i, use(i), learning_rates=[i / 10]), schedule(i + 1, (i + 1) / 10)], built())
    assert not judge(learning_rate_zero.RULE, rising)
    per_epoch = repeat(9, lambda i: [stepped(i, use(i), learning_rates=[0.0])], built(), schedule(0, 0.0, first=True))
    assert not judge(learning_rate_zero.RULE, per_epoch)
    stuck = repeat(9, lambda i: [stepped(i, use(i), learning_rates=[0.0]), schedule(i + 1, 0.0)], built())
    (finding,) = judge(learning_rate_zero.RULE, stuck)
    assert finding.confidence == "medium"


def late(steps: int, *before: Event, rise: int, calls: Sequence[int] = (0,), made: bool = True) -> list[Event]:
    """Steps at a rate of 0 before the one of number `rise`, and a scheduler that is called before those of `calls`."""

    def iteration(i: int) -> list[Event]:
        rate = 0.1 * (i >= rise)
        call = [schedule(i, rate, first=i == 0)] if i in calls and made else []
        return [*call, stepped(i, use(i), learning_rates=[rate])]

    return in_order(before, repeat(steps, iteration, built(lr=0.0)))


def test_a_rate_that_leaves_zero_late_is_a_warning() -> None:
    (finding,) = judge(learning_rate_zero.RULE, late(40, rise=25, calls=(0, 25)))
    assert (finding.severity, finding.location) == ("warning", line(SCHEDULE))
    assert finding.evidence == {"steps_at_rate_0": 25}


@pytest.mark.parametrize(
    "events",
    [
        late(40, rise=19, calls=(0, 19)),
        late(40, rise=25, made=False),
        late(40, *(stepped(i, optimizer=1, at=30) for i in range(3)), rise=25, calls=(0, 25)),
    ],
    ids=["soon", "by hand", "after another optimizer has learned"],
)
def test_rates_that_may_leave_zero_late(events: list[Event]) -> None:
    assert not judge(learning_rate_zero.RULE, events)


def test_steps_at_zero_that_were_not_recorded_are_known_by_the_call_that_ended_them() -> None:
    steps = [stepped(i, use(i), learning_rates=[0.0]) for i in range(6)]
    then = [schedule(50, 0.1), *(stepped(i, use(i), learning_rates=[0.1]) for i in range(50, 54))]
    (finding,) = judge(learning_rate_zero.RULE, in_order(built(lr=0.0), schedule(0, 0.0, first=True), steps, then))
    assert finding.evidence == {"steps_at_rate_0": 50}


def unchanged(i: int, *, moved: Sequence[int] = (), norms: Sequence[float] = (1.0, 1.0), **fields: object) -> Event:
    history = GradientUse(parameters=[W, B], backwards=[i], norms=list(norms))
    return stepped(i, history, moved=list(moved), **fields)


@pytest.mark.parametrize("own", [line(3), None])
def test_a_step_of_the_programs_own_that_moves_nothing_may_not_write(own: Location | None) -> None:
    events = repeat(5, lambda i: [unchanged(i)], *seen("w", "b"), built(own_step=own))
    (finding,) = judge(parameters_unchanged.RULE, events)
    assert "`p.add_(…)`" in finding.help if own else finding.help.startswith("raise the learning rate")
    assert (line(3) in [each.location for each in finding.related]) == (own is not None)


def test_parameters_that_no_step_moves() -> None:
    events = repeat(5, lambda i: [unchanged(i)], *seen("w", "b", dtype="bfloat16"), built())
    (finding,) = judge(parameters_unchanged.RULE, events)
    assert "bfloat16" in finding.message
    assert "float32" in finding.help
    assert finding.severity == "error"


@pytest.mark.parametrize(
    "step",
    [
        lambda i: unchanged(i, moved=[W], norms=[1.0, 1e-9]),
        lambda i: unchanged(i, learning_rates=[0.0]),
        lambda i: unchanged(i, moved=[W, B] if i == 3 else []),
        lambda i: unchanged(i, norms=[0.0, 0.0]),
        lambda i: stepped(i, use(i)),
    ],
    ids=["gradient of rounding noise", "rate of zero", "moved once", "no gradient", "not looked at"],
)
def test_parameters_that_may_rest(step: Callable[[int], Event]) -> None:
    assert not judge(parameters_unchanged.RULE, repeat(5, lambda i: [step(i)], *seen("w", "b"), built()))


def rounded(
    shares: Sequence[float],
    *,
    moved: Sequence[int] = (1, 2, 3),
    rate: float = 0.1,
    steps: int = 5,
    arrived: float | None = None,
    seen_as: str = "bfloat16",
) -> list[Event]:
    """Steps that leave these shares of the values of four parameters as they are; `arrived`: moved in the end."""
    four = list(range(4))

    def iteration(i: int) -> list[Event]:
        history = GradientUse(parameters=four, backwards=[i], norms=[1.0] * 4)
        sizes = UpdatesMeasured(
            step=i,
            optimizer=0,
            parameters=four,
            weights=[1.0] * 4,
            updates=[0.1] * 4,
            still=dict(enumerate(shares)),
            arrived={} if arrived is None else dict.fromkeys(four, arrived),
            dtypes=dict.fromkeys(four, "bfloat16"),
        )
        return [stepped(i, history, moved=list(moved), learning_rates=[rate]), sizes]

    return repeat(steps, iteration, *seen("w", "b", "c", "d", dtype=seen_as), built(parameters=four))


def test_updates_that_are_rounded_away_in_most_values() -> None:
    (finding,) = judge(parameters_unchanged.RULE, rounded([1.0, 0.95, 0.97, 0.99]))
    assert "leaves 98.0% of the values of `w`, `b`, `c` and 1 more" in finding.message
    assert finding.severity == "warning"
    assert [other.location for other in finding.related] == [line(STEP)]


def between(back: Sequence[float], *, steps: int = 6, arrived: float = 0.1) -> list[Event]:
    """Steps between which two parameters are rounded: these shares of what each has moved are back."""

    def iteration(i: int) -> list[Event]:
        shares, since = dict(enumerate(back)), dict.fromkeys((W, B), arrived)
        written = line(CLEAR) if i else None
        sizes = UpdatesRounded(step=i, optimizer=0, back=shares, arrived=since, dtype="bfloat16", location=written)
        return [sizes, unchanged(i, moved=[W, B])]

    return repeat(steps, iteration, *seen("w", "b", dtype="float32"), built())


def test_parameters_that_are_rounded_between_the_steps() -> None:
    (finding,) = judge(parameters_unchanged.RULE, between([0.7, 0.9]))
    assert (finding.severity, finding.location) == ("warning", line(CLEAR))
    assert "`w`, `b` (float32) are set to their own values rounded to bfloat16: 80% of the values" in finding.message
    assert [other.location for other in finding.related] == [line(STEP)]


@pytest.mark.parametrize(
    "events",
    [between([0.4, 0.5]), between([0.7, 0.9], steps=2), between([0.7, 0.9], arrived=0.7)],
    ids=["most stays", "twice", "what is lost arrives later"],
)
def test_parameters_that_may_be_rounded_between_the_steps(events: list[Event]) -> None:
    assert judge(parameters_unchanged.RULE, events) == []


def test_parameters_of_which_only_one_never_moves() -> None:
    (finding,) = judge(parameters_unchanged.RULE, rounded([1.0, 0.5, 0.4, 0.3]))
    assert finding.parameters == (0,)
    assert "`b`" not in finding.message


def test_a_model_that_was_cast_after_it_was_seen_is_told_with_all_that_it_loses() -> None:
    (finding,) = judge(parameters_unchanged.RULE, rounded([1.0, 0.8, 0.7, 0.75], seen_as="float32"))
    assert "`w` (bfloat16)" in finding.message
    assert "a step leaves 75% of the values of `b`, `c`, `d` as they are, too" in finding.message
    assert "float32" in finding.help
    assert "learning rate" not in finding.help


@pytest.mark.parametrize(
    "events",
    [
        rounded([0.6, 0.7, 0.4, 0.3], moved=range(4)),
        rounded([0.95, 0.3, 0.4, 0.3], moved=range(4)),
        rounded([1.0, 1.0, 1.0, 1.0], rate=0.0),
    ],
    ids=["usual shares", "one of several", "rate of zero"],
)
def test_values_of_16_bits_that_may_stay(events: list[Event]) -> None:
    assert not judge(parameters_unchanged.RULE, events)


@pytest.mark.parametrize(
    ("steps", "arrived", "is_lost"),
    [(5, 0.08, True), (5, 0.1, False), (25, 0.15, True), (25, 0.2, False), (400, 0.45, True), (400, 0.5, False)],
)
@pytest.mark.parametrize("moved", [(1, 2, 3), ()], ids=["some values move", "none moved in those that were compared"])
def test_what_steps_lose_may_arrive_later(steps: int, arrived: float, is_lost: bool, moved: Sequence[int]) -> None:
    events = rounded([0.97, 0.965, 0.97, 0.97], steps=steps, arrived=arrived, moved=moved)
    assert bool(judge(parameters_unchanged.RULE, events)) is is_lost


def test_what_never_moved_has_not_arrived() -> None:
    assert judge(parameters_unchanged.RULE, rounded([1.0] * 4, steps=40, arrived=0.01))
    assert not judge(parameters_unchanged.RULE, rounded([1.0] * 4, steps=40, arrived=0.02))


def test_steps_that_are_undone() -> None:
    def iteration(i: int) -> list[Event]:
        return [unchanged(i, moved=[W, B], undone=[W, B] if i else [])]

    (finding,) = judge(parameters_unchanged.RULE, repeat(6, iteration, *seen("w", "b"), built()))
    assert "load_state_dict" in finding.help

    def trial(i: int) -> list[Event]:
        return [unchanged(i, moved=[W, B], undone=[W, B] if i else [], tried=True)]

    assert not judge(parameters_unchanged.RULE, repeat(6, trial, *seen("w", "b"), built()))
    outer = stepped(6, use(9), optimizer=1)
    assert not judge(parameters_unchanged.RULE, [*repeat(6, iteration, *seen("w", "b"), built(), built(1)), outer])


def test_what_is_put_back_to_a_bound_may_be_projected() -> None:
    def iteration(i: int, *at_bound: int) -> list[Event]:
        put_back = {"undone": [W, B], "at_bound": list(at_bound)} if i else {}
        return [unchanged(i, moved=[W, B], **put_back)]

    assert not judge(parameters_unchanged.RULE, repeat(6, lambda i: iteration(i, W, B), *seen("w", "b"), built()))
    (finding,) = judge(parameters_unchanged.RULE, repeat(6, lambda i: iteration(i, B), *seen("w", "b"), built()))
    assert finding.parameters == (W, B)


@pytest.mark.parametrize(("reason", "severity"), [("steps", "warning"), ("finished", "error")])
def test_blocks_may_have_their_turn_later(reason: str, severity: str) -> None:
    events = repeat(6, lambda i: [unchanged(i, moved=[W])], *seen("w", "b"), built())
    end = RunEnded(reason=reason)  # type: ignore[arg-type]
    (finding,) = judge(parameters_unchanged.RULE, [*events, end])
    assert (finding.severity, finding.parameters) == (severity, (B,))
    assert not judge(parameters_unchanged.RULE, [*events, ParametersMovedLater(optimizer=0, parameters=[B]), end])


# ------------------------------------------------------------------------------------------------ AD112, AD113, AD114


TWO = (*seen("w", "b"), built(name="first"), built(1, name="second", at=30))


def test_two_optimizers_on_the_same_gradients() -> None:
    def iteration(i: int) -> list[Event]:
        return [ran(i), stepped(i, use(i)), stepped(i, use(i), optimizer=1)]

    (finding,) = judge(parameter_optimized_twice.RULE, repeat(4, iteration, *TWO))
    assert (finding.severity, finding.location) == ("warning", line(30))


@pytest.mark.parametrize(
    ("kinds", "function", "parameters", "severity"),
    [
        (("Adam", "SGD"), "update", [W, B], "info"),
        (("SGD", "SGD"), "update", [W, B], "warning"),
        (("Adam", "SGD"), "", [W, B], "warning"),
        (("Adam", "SGD"), "update", [W], "warning"),
    ],
    ids=["mixed", "one kind", "in the loop", "a part"],
)
def test_a_function_that_steps_two_kinds_over_the_same_parameters_may_mix_them(
    kinds: tuple[str, str], function: str, parameters: list[int], severity: str
) -> None:
    where = Location(path="train.py", line=STEP, function=function)

    def iteration(i: int) -> list[Event]:
        both = [stepped(i, use(i, parameters=parameters), optimizer=number) for number in (0, 1)]
        return [ran(i), *(msgspec.structs.replace(each, location=where) for each in both)]

    optimizers = built(kind=kinds[0]), built(1, kind=kinds[1], parameters=parameters)
    (finding,) = judge(parameter_optimized_twice.RULE, repeat(4, iteration, *seen("w", "b"), *optimizers))
    assert finding.severity == severity


def test_optimizers_that_take_turns_are_information() -> None:
    def iteration(i: int) -> list[Event]:
        return [stepped(2 * i, use(2 * i)), stepped(2 * i + 1, use(2 * i + 1), optimizer=1)]

    (finding,) = judge(parameter_optimized_twice.RULE, repeat(4, iteration, *TWO))
    assert finding.severity == "info"


@pytest.mark.parametrize(("moved", "inside", "expected"), [([], 0, 0), ([W], 0, 1), ([], None, 1)])
def test_an_optimizer_that_only_steps_another_takes_no_turns(
    moved: list[int], inside: int | None, expected: int
) -> None:
    def iteration(i: int) -> list[Event]:
        collects = [stepped(3 * i + j, use(3 * i + j), moved=moved) for j in (0, 1)]
        return [*collects, stepped(3 * i + 2, use(3 * i + 2), optimizer=1, inside=inside, moved=[W, B])]

    assert len(judge(parameter_optimized_twice.RULE, repeat(4, iteration, *TWO))) == expected


def test_an_optimizer_that_takes_over() -> None:
    events = [*TWO, *(stepped(i, use(i), optimizer=i // 4) for i in range(8))]
    assert not judge(parameter_optimized_twice.RULE, events)


def test_a_parameter_listed_twice() -> None:
    events = repeat(4, lambda i: [stepped(i, use(i))], *seen("w", "b"), built(duplicates=[W]))
    (finding,) = judge(parameter_optimized_twice.RULE, events)
    assert "`w` twice" in finding.message


def backward_twice(i: int, **second: object) -> list[Event]:
    first = ran(2 * i, retain_graph=True, value=3.0)
    given = {"reused": [2 * i], "value": 3.0, **second}
    return [first, ran(2 * i + 1, at=OTHER_BACKWARD, **given), stepped(i, use(2 * i, 2 * i + 1))]


def test_one_loss_backward_twice() -> None:
    (finding,) = judge(loss_backpropagated_twice.RULE, repeat(4, backward_twice, *seen("w", "b"), built()))
    assert finding.location == line(OTHER_BACKWARD)
    assert "`loss` went backward twice before one step, so that" in finding.message


def test_one_loss_once_more_within_a_sum() -> None:
    def iteration(i: int) -> list[Event]:
        return backward_twice(i, value=5.0, nodes=9, contains=[2 * i])

    (finding,) = judge(loss_backpropagated_twice.RULE, repeat(4, iteration, *seen("w", "b"), built()))
    assert "again as a part of `loss`" in finding.message
    assert finding.confidence == "high"


@pytest.mark.parametrize(
    "second",
    [
        {"value": 2.0},
        {"nodes": 9},
        {"wrote": [W]},
        {"inputs": 1},
        {"reused": []},
        {"create_graph": True},
    ],
    ids=["other value", "other nodes", "other parameters", "chosen inputs", "graph of its own", "create_graph"],
)
def test_losses_that_are_not_the_same(second: dict[str, object]) -> None:
    assert not judge(loss_backpropagated_twice.RULE, repeat(4, lambda i: backward_twice(i, **second), built()))


def test_a_backward_whose_gradients_were_cleared_does_not_count() -> None:
    events = repeat(4, lambda i: [*backward_twice(i)[:2], stepped(i, use(2 * i + 1))], built())
    assert not judge(loss_backpropagated_twice.RULE, events)


def accumulated(i: int, **fields: object) -> list[Event]:
    return [*(ran(4 * i + j, step=i, **fields) for j in range(4)), stepped(i, use(*range(4 * i, 4 * i + 4)))]


def test_means_that_are_summed() -> None:
    events = repeat(3, lambda i: accumulated(i, divisor=1.0), built(kind="Adam"))
    (finding,) = judge(accumulation_not_averaged.RULE, events)
    assert (finding.severity, finding.evidence["micro_batches"]) == ("info", 4)


def test_steps_of_which_light_ones_hid_a_part_do_not_count() -> None:
    whole = repeat(3, lambda i: accumulated(i, divisor=1.0), built())
    hidden = [DetailTurned(full=True, step=40), ran(99, step=40, divisor=1.0), stepped(41, use(99))]
    (finding,) = judge(accumulation_not_averaged.RULE, [*whole, *hidden])
    assert "in all 3 steps" in finding.message
    (finding,) = judge(accumulation_not_averaged.RULE, [*whole, *hidden[1:]])
    assert "in 3 of 4 steps" in finding.message


def test_means_that_are_divided_by_another_number() -> None:
    events = repeat(3, lambda i: accumulated(i, divisor=2.0), built())
    (finding,) = judge(accumulation_not_averaged.RULE, events)
    assert "divided by 2" in finding.message
    assert "2 times that of one batch" in finding.message
    drawn = BatchDrawn(loader=0, name="loader", location=None, pass_number=0, batches=2, length=2, ended=True)
    assert not judge(accumulation_not_averaged.RULE, [*events, drawn]), "a pass has so many"
    whole = [*(ran(100 + j, step=3, divisor=2.0) for j in range(2)), stepped(3, use(100, 101))]
    assert not judge(accumulation_not_averaged.RULE, [*events, *whole]), "these three are what is left over"


def test_sums_of_means_that_teach_different_parameters() -> None:
    def of_tasks(i: int) -> list[Event]:
        tasks = [ran(4 * i + j, step=i, divisor=1.0, wrote=[W, B + j]) for j in range(4)]
        return [*tasks, stepped(i, use(*range(4 * i, 4 * i + 4), parameters=[W]))]

    assert not judge(accumulation_not_averaged.RULE, repeat(3, of_tasks, built()))


def test_sums_of_means_that_the_program_divides_before_the_step() -> None:
    def divided_late(i: int) -> list[Event]:
        return [*accumulated(i, divisor=1.0)[:-1], stepped(i, use(*range(4 * i, 4 * i + 4), reworked=True))]

    assert not judge(accumulation_not_averaged.RULE, repeat(3, divided_late, built()))


@pytest.mark.parametrize("fields", [{"divisor": 4.0}, {}, {"divisor": 1.0, "reused": [0]}])
def test_sums_that_are_right_or_unknown(fields: dict[str, object]) -> None:
    assert not judge(accumulation_not_averaged.RULE, repeat(3, lambda i: accumulated(i, **fields), built()))


@pytest.mark.parametrize(
    ("length", "ended", "found"),
    [(96, True, True), (96, False, False), (90, True, False), (3, True, False)],
    ids=["as many as the run has", "going on", "another length", "epochs"],
)
def test_a_schedule_of_batches_stepped_after_passes_that_were_cut(length: int, ended: bool, found: bool) -> None:
    cut = BatchDrawn(loader=0, name="loader", location=None, pass_number=1, batches=11, length=32, ended=True, cut=True)
    findings = judge(scheduler_stepped_too_often.RULE, [cut, *per_epoch(3, 11, length, ended=ended)])
    assert [finding.message.endswith("the 3 epochs of the run have") for finding in findings] == [True] * found


# --------------------------------------------------------------------------------------------------------------- AD124


def means(*windows: Sequence[int], **fields: Any) -> list[Event]:
    """Steps, each with the gradients of micro-batches that count so many elements."""
    events: list[Event] = [built()]
    number = 0
    for step, counts in enumerate(windows):
        first = number
        for elements in counts:
            given = {"shape": [8, 200], "uneven": True, "factor": 0.5, "location": line(3), **fields}
            events.append(MeanCounted(step=step, backward=number, counted=elements, **given))
            events.append(ran(number, step=step))
            number += 1
        events.append(stepped(step, use(*range(first, number))))
    return events


def test_micro_batches_of_few_elements_and_of_many() -> None:
    (finding,) = judge(micro_batches_weighed_alike.RULE, means([80, 900], [900, 90], [500, 600]))
    assert finding.location == line(BACKWARD)
    assert finding.evidence["fewest"] == 80
    assert finding.evidence["steps"] == 2


@pytest.mark.parametrize(
    "windows",
    [
        pytest.param([[80, 900], [80, 900], [90, 900]], id="one of two tasks is always the smaller"),
        pytest.param([[80, 900], [900, 90], [500, 600], [500, 600]], id="in half of the steps"),
        pytest.param([[2, 9], [9, 2], [9, 3]], id="few, as by chance"),
        pytest.param([[500, 900], [900, 500]], id="less than twofold"),
        pytest.param([[80], [900], [80]], id="no accumulation"),
    ],
)
def test_micro_batches_that_may_count_the_same(windows: list[list[int]]) -> None:
    assert not judge(micro_batches_weighed_alike.RULE, means(*windows))


@pytest.mark.parametrize("fields", [{"uneven": False}, {"shape": [1, 200]}], ids=["each as many", "one sample"])
def test_micro_batches_in_which_samples_may_be_what_counts(fields: dict[str, Any]) -> None:
    assert not judge(micro_batches_weighed_alike.RULE, means([80, 900], [900, 90], **fields))


def test_micro_batches_with_weights_of_their_own() -> None:
    events = means([80, 900], [900, 90])
    weighed = [
        replace(event, factor=event.counted / 990) if isinstance(event, MeanCounted) else event for event in events
    ]
    assert not judge(micro_batches_weighed_alike.RULE, weighed)


# --------------------------------------------------------------------------------------------------------------- AD125


def clipped_sum(i: int, *, backwards: int = 3, **fields: Any) -> list[Event]:
    """A step on several backwards, each of which is clipped: `clips`, `used` and `ran` say what is otherwise."""
    numbers = range(i * backwards, (i + 1) * backwards)
    clipping = {"fresh": [W, B], "norm": 2.0, **fields.get("clips", {})}
    found = {"norm": 0.5**0.5, **fields.get("used", {})}  # of two parameters, 1 in all
    events: list[Event] = []
    for position, number in enumerate(numbers):
        given = {key: value(position) if callable(value) else value for key, value in clipping.items()}
        graph = {key: value(position) if callable(value) else value for key, value in fields.get("ran", {}).items()}
        events += [ran(number, step=i, **{"made_at": BACKWARD, **graph}), clip(i, **given)]
    return [*events, stepped(i, use(*numbers, **found))]


def test_a_sum_that_is_clipped_as_it_grows() -> None:
    (finding,) = judge(clipped_while_accumulated.RULE, repeat(4, clipped_sum, built()))
    assert finding.location == line(CLIP)
    assert finding.evidence == {"limit": 1.0, "backwards": 3, "first_to_last": 0.25, "steps": 4}
    assert (finding.step_first, finding.step_count) == (1, 4)


def test_a_sum_for_two_optimizers() -> None:
    def update(i: int) -> list[Event]:
        *before, _ = clipped_sum(i)
        numbers = (3 * i, 3 * i + 1, 3 * i + 2)
        uses = [use(*numbers, parameters=[parameter], norm=0.5**0.5) for parameter in (W, B)]
        return [*before, stepped(i, uses[0]), stepped(i + 1, uses[1], optimizer=1)]

    assert len(judge(clipped_while_accumulated.RULE, repeat(4, update, built(), built(1)))) == 1


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"backwards": 1}, id="no accumulation"),
        pytest.param({"clips": {"norm": 0.9}, "used": {"norm": 0.9 * 0.5**0.5}}, id="nothing scaled"),
        pytest.param({"clips": {"norm": 1.02}}, id="hardly scaled"),
        pytest.param({"clips": {"limit": 1e6, "norm": 2e6}, "used": {"norm": 1e6 * 0.5**0.5}}, id="only measured"),
        pytest.param({"clips": {"norm": None, "kind": "value"}}, id="by value"),
        pytest.param({"clips": {"limit": lambda position: 1.0 - position / 10}}, id="limits that change"),
        pytest.param({"clips": {"callers": lambda position: [line(position)]}}, id="a helper called at several lines"),
        pytest.param({"clips": {"fresh": lambda position: [W] if position < 2 else [B]}}, id="other parameters"),
        pytest.param({"used": {"norm": 0.3}}, id="something else is used"),
        pytest.param({"used": {"reworked": True}}, id="changed by the program"),
        pytest.param({"used": {"consumed": [0]}}, id="used before"),
        pytest.param({"ran": {"made_at": lambda position: 50 + position}}, id="several losses"),
        pytest.param({"ran": {"made_at": None}}, id="losses that nobody saw made"),
        pytest.param({"ran": {"nodes": lambda position: 5 + position}}, id="several graphs"),
        pytest.param({"ran": {"wrote": lambda position: [W, B, 8 + position]}}, id="several heads"),
        pytest.param({"ran": {"reused": [0, 3, 6, 9]}}, id="one graph"),
    ],
)
def test_clippings_that_do_not_shrink_micro_batches(fields: dict[str, Any]) -> None:
    events = repeat(4, lambda i: clipped_sum(i, **fields), built())
    assert not judge(clipped_while_accumulated.RULE, events)


@pytest.mark.parametrize("between", [stepped(0), stepped(0, use(7, parameters=[8]), optimizer=1)])
def test_clippings_between_which_something_stepped(between: OptimizerStepped) -> None:
    def update(i: int) -> list[Event]:
        *events, step = clipped_sum(i)
        return [*(each for event in events for each in (event, between)), step]

    assert not judge(clipped_while_accumulated.RULE, repeat(4, update, built()))


def test_a_sum_that_was_clipped_only_before_the_last_backward() -> None:
    def update(i: int) -> list[Event]:
        *events, _, step = clipped_sum(i)
        return [*events, step]

    assert not judge(clipped_while_accumulated.RULE, repeat(4, update, built()))
