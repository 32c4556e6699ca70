"""Rules on data, on traces made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tapes import data, given, made, tape
from traces import at, examined, targets_seen

from autograd_doctor.events.data import (
    BatchKept,
    BatchRepeated,
    FieldsTurned,
    GivenRowsChanged,
    InputsAlike,
    InputScaleTurned,
    LabelsLost,
    MaskedOut,
    OutputRowsCompared,
    RowsCompared,
    RowsNeverDrawn,
    SamplerRepeats,
    SamplesMetAgain,
    SeedRepeated,
    SortedRowsMet,
    StateLoaded,
    StatisticsLeft,
    StoredDataChanged,
    TargetsReassigned,
)
from autograd_doctor.events.losses import LossSignSeen
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule
from autograd_doctor.rules.data import (
    all_targets_ignored,
    class_imbalance,
    constant_data,
    dataset_changes_under_reading,
    inputs_and_targets_misaligned,
    reseeded_every_step,
    same_batch_every_step,
    samples_never_drawn,
    state_dict_mismatch,
    unnormalised_input,
    unshuffled_training_data,
    validation_overlaps_training,
)
from autograd_doctor.tape import Value

FINISHED, STOPPED = RunEnded(reason="finished"), RunEnded(reason="steps")


def repeated(**more: Any) -> BatchRepeated:
    facts = {"how": "same slice", "location": at(9), "name": "model", "since": 0, "steps": 12, "samples": 16, "of": 160}
    return BatchRepeated(**{**facts, **more})


def test_a_batch_is_kept_where_it_stays_for_much_longer_than_others_did() -> None:
    facts = {"location": at(9), "name": "model", "changes": 40, "since": 700, "until": 900, "steps": 20, "longest": 10}
    facts |= {"samples": 16, "largest": 16, "same_optimizer": True}
    (finding,) = examined(same_batch_every_step.RULE, BatchKept(**facts))
    assert (finding.severity, finding.confidence, finding.step_first) == ("warning", "medium", 701)
    for other in (
        {"changes": 7},
        {"steps": 7},
        {"until": 763},
        {"longest": 51},
        {"samples": 17},
        {"same_optimizer": False},
    ):
        assert examined(same_batch_every_step.RULE, BatchKept(**facts | other)) == [], other


def test_a_slice_is_judged_when_the_program_has_ended() -> None:
    rule = same_batch_every_step.RULE
    (finding,) = examined(rule, repeated(), FINISHED)
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "medium", at(9))
    assert examined(rule, repeated(rest_used=True), FINISHED) == []
    assert examined(rule, repeated(samples=100), FINISHED) == []
    assert examined(rule, repeated(steps=7), FINISHED) == []


def test_a_small_part_is_hinted_at_before() -> None:
    rule = same_batch_every_step.RULE
    (finding,) = examined(rule, repeated(), STOPPED)
    assert (finding.severity, finding.confidence) == ("info", "medium")
    assert examined(rule, repeated(samples=40), STOPPED) == []
    assert len(examined(rule, repeated(samples=40), FINISHED)) == 1


@pytest.mark.parametrize(
    ("end", "severity", "confidence"), [(FINISHED, "error", "high"), (STOPPED, "warning", "medium")]
)
def test_a_pass_is_judged_at_once_and_an_error_when_the_program_has_ended(
    end: RunEnded, severity: str, confidence: str
) -> None:
    events = [repeated(how="new pass", name=""), repeated(how="new pass"), end]
    (finding,) = examined(same_batch_every_step.RULE, events)
    assert (finding.severity, finding.confidence, finding.subject) == (severity, confidence, "model")


def test_a_line_that_goes_on_with_another_loader_overfits_one_batch_first() -> None:
    drawn = BatchDrawn(loader=1, name="loader", location=at(9), pass_number=1, batches=8, length=8, ended=True)
    rule = same_batch_every_step.RULE
    assert examined(rule, repeated(how="new pass"), drawn, FINISHED) == []
    elsewhere = BatchDrawn(loader=1, name="loader", location=at(30), pass_number=1, batches=8, length=8, ended=True)
    assert len(examined(rule, repeated(how="new pass"), elsewhere, FINISHED)) == 1


def test_pictures_that_are_turned_without_their_targets() -> None:
    def turned(apart: int, targets: int) -> list[Finding]:
        seen = {"given": 0, "target": 1, "compared": 40, "samples": 24}
        event = FieldsTurned(step=9, location=at(5), name="loader", apart=apart, targets=targets, **seen)
        return examined(inputs_and_targets_misaligned.RULE, event)

    (finding,) = turned(20, 24)
    assert "20 of 40" in finding.message
    assert not turned(2, 24)
    assert not turned(20, 1)


@pytest.mark.parametrize(("others", "severity"), [(0, "warning"), (1, "warning"), (2, "info")])
def test_a_function_that_is_given_its_seed_may_draw_the_same_for_each_caller(others: int, severity: str) -> None:
    (finding,) = examined(reseeded_every_step.RULE, seeded(others=others))
    assert finding.severity == severity


def seeded(**more: Any) -> SeedRepeated:
    facts = {"location": at(5), "called_from": at(20), "shared": False, "generator": "torch", "seed": "0", "since": 2}
    return SeedRepeated(**{**facts, "steps": 12, "times": 12, "repeated": 10, **more})


def test_a_helper_that_sets_seeds_is_not_to_blame() -> None:
    rule = reseeded_every_step.RULE
    (alone,) = examined(rule, seeded())
    (shared,) = examined(rule, seeded(shared=True))
    (several,) = examined(rule, seeded(generator="NumPy", location=at(6)), seeded())
    assert [each.location for each in (alone, shared, several)] == [at(5), at(20), at(20)]
    assert [note.location for note in several.related] == [at(5)]
    assert several.evidence["generators"] == ["NumPy", "torch"]


def test_closures_that_are_called_several_times_in_a_step_may_repeat_what_they_draw() -> None:
    rule = reseeded_every_step.RULE
    assert not examined(rule, seeded(times=50, in_closures=50))
    assert examined(rule, seeded(times=12, in_closures=12))
    assert examined(rule, seeded(times=50, in_closures=12))


def test_few_repetitions_are_let_alone() -> None:
    rule = reseeded_every_step.RULE
    assert examined(rule, seeded(repeated=3)) == []
    assert examined(rule, seeded(steps=40, repeated=10)) == []


def loaded(**more: Any) -> StateLoaded:
    facts = {"module": 0, "name": "model", "location": at(7), "keys": 10, "elements": 100, "loaded_keys": 0}
    facts |= {"loaded_elements": 0, "given_keys": 10, "given_elements": 100, "missing_keys": 10, "unexpected_keys": 10}
    return StateLoaded(**{**facts, "missing": ["a"], "unexpected": ["b"], "alike": 10, **more})


def test_a_load_of_which_a_part_fits() -> None:
    rule = state_dict_mismatch.RULE
    (nothing,) = examined(rule, loaded())
    (little,) = examined(rule, loaded(loaded_keys=2, loaded_elements=20))
    (prefix,) = examined(rule, loaded(loaded_keys=2, loaded_elements=20, renamed="add", prefix="net.", fitting=8))
    assert [each.severity for each in (nothing, little, prefix)] == ["error", "warning", "error"]
    assert examined(rule, loaded(loaded_keys=2, loaded_elements=20, alike=4)) == [], "the rest is of another shape"
    (other,) = examined(rule, loaded(alike=0))
    assert other.severity == "error"
    assert "they lack `net.`" in prefix.message
    assert examined(rule, loaded(loaded_keys=6, loaded_elements=60)) == []
    assert examined(rule, loaded(loaded_elements=60, elements=1000)) == [], "most of the state was of use"
    assert examined(rule, loaded(), loaded(missing_keys=0, unexpected_keys=0, loaded_elements=100)) == []


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        ({}, "info"),
        ({"shifted": True}, "warning"),
        ({"renamed": "add", "prefix": "tasks.a.", "fitting": 4}, "info"),
        ({"renamed": "add", "prefix": "net.", "fitting": 8}, "info"),
        ({"renamed": "add", "prefix": "net.", "fitting": 8, "loaded_elements": 9}, "error"),
        ({"renamed": "add", "prefix": "net.", "fitting": 4, "loaded_elements": 9}, "info"),
        ({"renamed": "remove", "prefix": "net.", "fitting": 8, "shifted": True}, "error"),
        ({"parts": []}, "warning"),
    ],
)
def test_whole_parts_that_were_loaded_may_be_all_that_was_meant(facts: dict[str, Any], severity: str) -> None:
    kept = {"loaded_keys": 2, "loaded_elements": 20, "missing_keys": 8, "unexpected_keys": 8, "parts": ["trunk"]}
    (finding,) = examined(state_dict_mismatch.RULE, loaded(**kept | facts))
    assert finding.severity == severity
    assert bool(finding.notes) is (severity == "info")


def left(**more: Any) -> StatisticsLeft:
    return StatisticsLeft(
        **{"module": 0, "location": at(5), "used_at": at(9), "norms": ["net.norm"], "count": 2, **more}
    )


def test_statistics_that_were_left_behind() -> None:
    rule = state_dict_mismatch.RULE
    (known,) = examined(rule, left(source="old.norm", mean=2.0, lowest=0.5, highest=4.0))
    (unseen,) = examined(rule, left(source="old.norm", location=None))
    (loaded_without,) = examined(rule, left(loaded=True))
    assert [each.severity for each in (known, unseen, loaded_without)] == ["error", "error", "warning"]
    assert [each.confidence for each in (known, unseen, loaded_without)] == ["high", "medium", "medium"]
    assert "those of `old.norm`" in known.message
    assert "means go up to 2, and variances from 0.5 to 4" in known.message
    assert [each.location for each in (known, unseen)] == [at(5), at(9)]
    assert [len(each.related) for each in (known, unseen)] == [1, 0]


def test_targets_of_one_class() -> None:
    rule = constant_data.RULE
    (whole,) = examined(rule, targets_seen())
    (begun,) = examined(rule, targets_seen(in_order=True, rows=4000))
    assert [each.severity for each in (whole, begun)] == ["error", "warning"]
    assert "the first of 4,000 that are read in order" in begun.message
    assert examined(rule, targets_seen(source="")) == []
    assert examined(rule, targets_seen(elements=20, classes={0: 20})) == []
    assert examined(rule, targets_seen(classes={0: 20})) == [], "all others are ignored"
    assert examined(rule, targets_seen(all_ignored=9)) == [], "the one batch that has any"
    assert examined(rule, targets_seen(), targets_seen(location=at(13), classes={1: 400})) == []
    assert len(examined(rule, targets_seen(), targets_seen(location=at(13), classes={1: 400}, logits=9))) == 2


@pytest.mark.parametrize(
    ("root", "found"),
    [
        pytest.param(lambda loss: made("neg", loss), 0, id="minus"),
        pytest.param(lambda loss: made("sub", given(), loss), 0, id="subtracted"),
        pytest.param(lambda loss: made("mul", made("clamp", loss, 6.0), -0.5), 0, id="a negative weight"),
        pytest.param(lambda loss: made("sub", given(), made("neg", loss)), 1, id="twice"),
        pytest.param(lambda loss: made("sub", loss, given()), 1, id="subtracted from"),
        pytest.param(lambda loss: made("add", made("neg", given()), made("mean", loss)), 1, id="beside"),
    ],
)
def test_one_class_that_is_to_be_forgotten(root: Callable[[Value], Value], found: int) -> None:
    loss = made("cross_entropy", given(4, 3), data(4, kind="int"), at=at(12))
    assert len(examined(constant_data.RULE, tape(root(loss)).events, targets_seen())) == found


def test_one_class_whose_loss_an_optimizer_climbs() -> None:
    facts: dict[str, Any] = {"backward": 0, "location": at(14), "operation": "cross_entropy", "is_loss": True}
    sign = LossSignSeen(**facts, negated=True, bounded_at=at(12), maximises=0)
    assert examined(constant_data.RULE, sign, targets_seen()) == []


def test_numbers_of_one_value_are_no_error() -> None:
    rule, facts = constant_data.RULE, {"operation": "mse_loss", "classes": {}, "class_count": 0, "logits": 0}
    (finding,) = examined(rule, targets_seen(**facts))
    assert finding.severity == "warning"
    assert examined(rule, targets_seen(**facts, source="chosen")) == []


def test_samples_that_are_alike_need_targets_that_differ() -> None:
    rule = constant_data.RULE
    inputs = InputsAlike(module=0, location=at(8), name="x", shape=[4, 2], steps=9, samples=36, constant=0.0)
    (finding,) = examined(rule, inputs, targets_seen(low=0.0, high=2.0, classes={0: 300, 2: 100}, class_count=2))
    assert (finding.severity, finding.location) == ("error", at(8))
    assert examined(rule, inputs, targets_seen()) == []
    assert examined(rule, inputs) == []


def test_alike_samples_beside_others_that_differ_are_a_warning() -> None:
    rule, shown = constant_data.RULE, {"module": 0, "location": at(8), "name": "x", "shape": [4, 2], "steps": 9}
    inputs = InputsAlike(**shown, samples=36, constant=0.0, beside=True)
    (finding,) = examined(rule, inputs, targets_seen(low=0.0, high=2.0, classes={0: 300, 2: 100}, class_count=2))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def turned(**more: Any) -> InputsAlike:
    facts: dict[str, Any] = {"module": 0, "location": at(8), "name": "x", "shape": [16, 2], "steps": 5, "samples": 80}
    return InputsAlike(**{**facts, "constant": None, "since": 30, "varied": 6, "same_source": True, **more})


def test_samples_that_are_alike_from_some_step_on() -> None:
    rule, later = constant_data.RULE, targets_seen(varied=9, varied_at=90, class_count=2, classes={0: 50, 1: 40})
    (finding,) = examined(rule, turned(), later)
    assert (finding.severity, finding.confidence, finding.step_first) == ("error", "high", 31)
    (finding,) = examined(rule, turned(beside=True), later)
    assert finding.severity == "warning"
    for silent in (turned(same_source=False), turned(varied=2), turned(steps=3), turned(samples=31)):
        assert examined(rule, silent, later) == []


def test_copies_of_one_sample_with_one_target_may_be_meant() -> None:
    rule, before = constant_data.RULE, targets_seen(varied=6, varied_at=29, class_count=2, classes={0: 50, 1: 40})
    assert examined(rule, turned(), before) == []
    (finding,) = examined(rule, turned(constant=0.0), before)
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def test_targets_that_are_alike_from_some_step_on() -> None:
    rule, seen = constant_data.RULE, {"step": 200, "varied": 5, "class_count": 2, "classes": {0: 500, 1: 40}}
    alike: dict[str, Any] = {
        "alike": 0.0,
        "alike_source": True,
        "alike_since": 32,
        "alike_steps": 10,
        "alike_elements": 160,
    }
    again = SamplesMetAgain(module=0, location=at(12), kept=60, others=60)
    (finding,) = examined(rule, targets_seen(**seen, **alike), again)
    assert (finding.severity, finding.confidence, finding.step_first) == ("warning", "medium", 33)
    assert examined(rule, targets_seen(**seen, **alike)) == [], "samples of other classes"
    for more in ({"rows": 4000}, {"alike": None}, {"alike_steps": 3}, {"alike_elements": 20}, {"ignore_index": 0}):
        assert examined(rule, targets_seen(**{**seen, **alike, **more}), again) == []
    assert examined(rule, targets_seen(**{**seen, **alike, "varied": 2}), again) == []


def test_targets_that_belong_to_others_are_told_of_where_nobody_saw_how() -> None:
    rule, facts = inputs_and_targets_misaligned.RULE, {"again": 300, "agreeing": 1, "of_others": 290, "chance": 0.003}
    event = TargetsReassigned(module=0, location=at(12), target="y", read_at=at(9), stored_at=at(5), **facts)
    other = TargetsReassigned(module=0, location=at(13), target="y", read_at=at(9), stored_at=None, **facts)
    (finding,) = examined(rule, event, other)
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "medium", at(5))
    assert [each.location for each in finding.related] == [at(9), at(12)]
    seen = {"since": 30, "before": 400, "again": 300, "agreeing": 1, "chance": 0.003}
    (finding,) = examined(rule, LabelsLost(module=0, location=at(20), target="y", **seen), event)
    assert finding.location == at(20)


def test_a_used_up_iterator_is_an_error_at_once() -> None:
    (finding,) = examined(same_batch_every_step.RULE, repeated(how="used up"), STOPPED)
    assert (finding.severity, finding.location) == ("error", at(9))
    assert examined(same_batch_every_step.RULE, repeated(how="used up", steps=7), STOPPED) == []


def test_inputs_of_another_scale_from_some_step_on() -> None:
    def scale(spread: float, before: float) -> list[Finding]:
        facts: dict[str, Any] = {"location": at(9), "applied_at": at(4), "operation": "linear", "name": "x"}
        facts |= {"shape": [8, 2], "since": 50, "looks": 2, "before": 5, "mean": 0.0, "mean_before": 1.0}
        return examined(unnormalised_input.RULE, InputScaleTurned(spread=spread, spread_before=before, **facts))

    (less,), (more,) = scale(0.01, 1.0), scale(70.0, 0.3)
    assert "100 times less" in less.message
    assert "233 times more" in more.message
    assert (less.severity, less.confidence, less.step_first) == ("warning", "medium", 51)
    assert scale(0.05, 1.0) == scale(20.0, 1.0) == []


def test_alike_samples_out_of_arrays_need_labels_that_differ() -> None:
    rule, shown = constant_data.RULE, {"module": 0, "location": at(8), "name": "x", "shape": [4, 2], "steps": 9}
    inputs = InputsAlike(**shown, samples=36, constant=0.0, read=True)
    labels: dict[str, Any] = {"low": 0.0, "high": 2.0, "classes": {0: 300, 2: 100}, "class_count": 2}
    (finding,) = examined(rule, inputs, targets_seen(**labels))
    assert (finding.severity, finding.confidence) == ("error", "medium")
    assert examined(rule, inputs, targets_seen(**labels, weighted=True)) == []
    rewards: dict[str, Any] = {"operation": "mse_loss", "classes": {}, "class_count": 0, "logits": 0, "high": 1.0}
    assert examined(rule, inputs, targets_seen(**rewards)) == []


def test_maps_of_classes_with_next_to_nothing_of_one() -> None:
    rule, few = class_imbalance.RULE, {"classes": {0: 998, 1: 2}, "class_count": 2, "elements": 1000}
    dense: dict[str, Any] = {**few, "per_sample": False, "source": "", "logits": 2}
    (finding,) = examined(rule, targets_seen(**dense))
    assert "99.8%" in finding.message
    assert examined(rule, targets_seen(**{**dense, "classes": {0: 990, 1: 10}})) == []
    assert examined(rule, targets_seen(**dense, summed=True)) == []
    assert examined(rule, targets_seen(**{**dense, "logits": 0})) == []


@pytest.mark.parametrize(
    "reason",
    [
        {"weighted": True},
        {"source": ""},
        {"per_sample": False},
        {"steps": 3},
        {"elements": 199},
        {"classes": {0: 9, 1: 1}},
    ],
)
def test_one_class_of_many_is_told_of_plain_targets_only(reason) -> None:
    facts = {"classes": {0: 390, 1: 10}, "class_count": 2}
    (finding,) = examined(class_imbalance.RULE, targets_seen(**facts))
    assert finding.severity == "info"
    assert examined(class_imbalance.RULE, targets_seen(**{**facts, **reason})) == []


@pytest.mark.parametrize(
    "reason", [{"clustered": 0.8}, {"summed": False}, {"steps": 4}, {"logits": 9}, {"operation": "nll_loss"}]
)
def test_order_does_no_harm_beside_a_memory(reason: dict[str, Any]) -> None:
    rule, facts = (
        unshuffled_training_data.RULE,
        {"in_order": True, "deviations": 50.0, "class_count": 4, "summed": True},
    )
    stream = targets_seen(**facts, clustered=0.9)
    memory = {"location": at(13), "source": "", "clustered": 0.1, "class_count": 4, "summed": True}
    assert not examined(rule, stream, targets_seen(**memory))
    assert examined(rule, stream, targets_seen(**memory | reason))


@pytest.mark.parametrize(
    "reason",
    [
        {"in_order": False},
        {"stateful": True},
        {"per_sample": False},
        {"clustered": 0.4},
        {"deviations": 11.0},
        {"steps": 3},
    ],
)
def test_order_is_told_where_it_is_known_and_no_accident(reason) -> None:
    facts = {"in_order": True, "clustered": 0.9, "deviations": 50.0, "class_count": 4}
    (finding,) = examined(unshuffled_training_data.RULE, targets_seen(**facts))
    assert finding.location == at(3)
    assert examined(unshuffled_training_data.RULE, targets_seen(**{**facts, **reason})) == []


def test_batches_without_a_target_now_and_then() -> None:
    rule = all_targets_ignored.RULE
    assert len(examined(rule, targets_seen(all_ignored=10))) == 1
    assert examined(rule, targets_seen(all_ignored=8)) == []
    assert examined(rule, targets_seen(all_ignored=2, steps=2)) == []
    mask = MaskedOut(location=at(4), name="", shape=[8], empty=9, steps=10)
    (finding,) = examined(rule, mask)
    assert finding.severity == "error"
    (finding,) = examined(rule, MaskedOut(location=at(4), name="", shape=[8], empty=9, steps=10, weights=True))
    assert finding.severity == "warning"


def test_a_term_with_few_targets_beside_others_that_learn() -> None:
    rule = all_targets_ignored.RULE
    learned = {"location": at(20), "first": 0, "backwards": 10, "opening": 4.0, "last": 2.0, "high": 4.0}
    others, nothing = (LossesFollowed(**{**learned, "low": low}) for low in (2.0, 0.0))
    seldom = targets_seen(all_ignored=9, summed=True)
    assert [each.severity for each in examined(rule, seldom, others)] == ["info"]
    assert [each.severity for each in examined(rule, targets_seen(all_ignored=10, summed=True), others)] == ["warning"]
    assert [each.severity for each in examined(rule, seldom, nothing)] == ["error"]
    assert [each.severity for each in examined(rule, targets_seen(all_ignored=9), others)] == ["error"]
    mask = MaskedOut(location=at(4), name="", shape=[8], empty=9, steps=10)
    assert [each.severity for each in examined(rule, mask, others)] == ["info"]
    assert [each.severity for each in examined(rule, mask, nothing)] == ["error"]


def compared(**more: Any) -> RowsCompared:
    facts = {"module": 0, "location": at(30), "loader": "val", "own_loader": True, "evaluated": 40, "trained": 200}
    return RowsCompared(**{**facts, "shared": 20, "complete": True, "tells_apart": True, **more})


def test_what_is_shared_with_training() -> None:
    rule = validation_overlaps_training.RULE
    (part,) = examined(rule, compared())
    (all_of_it,) = examined(rule, compared(shared=40))
    assert [each.confidence for each in (part, all_of_it)] == ["high", "medium"]
    (without_targets,) = examined(rule, compared(unlabelled=20))
    assert (without_targets.severity, part.severity) == ("info", rule.severity)
    assert examined(rule, compared(complete=False)) == []
    assert examined(rule, compared(tells_apart=False)) == []
    assert examined(rule, compared(passed_on=True)) == []
    assert examined(rule, compared(shared=3)) == []
    assert examined(rule, compared(evaluated=300, shared=190)) == [], "it is evaluated on all that there is"
    assert examined(rule, compared(shared=40, own_loader=False)) == []
    assert examined(rule, compared(shared=40), compared(shared=0, location=at(31))) == []


def rows_compared(**more: Any) -> OutputRowsCompared:
    places = {"location": at(30), "split_at": at(5), "trained_at": at(20)}
    facts = {"module": 0, "rows": 200, "trained": 100, "evaluated": 50, "shared": 20, "covered": 50}
    return OutputRowsCompared(**{**places, **facts, **more})


def test_rows_of_one_output_in_two_sets() -> None:
    rule = validation_overlaps_training.RULE
    (finding,) = examined(rule, rows_compared(), rows_compared(shared=25))
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "high", at(5))
    assert len(examined(rule, rows_compared(held_out=40, unseen=40, all_too=True))) == 1
    (finding,) = examined(rule, rows_compared(split_at=None))
    assert finding.location == at(30)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"shared": 3}, "a few"),
        ({"shared": 0}, "held out"),
        ({"evaluated": 120, "shared": 95}, "nearly all that was trained on, and more"),
        ({"unseen_too": 20, "held_out": 60, "unseen": 60}, "a group, of which others are held out"),
        ({"covered": 200}, "groups of all rows"),
        ({"shared": 50}, "a part of training"),
    ],
)
def test_rows_of_one_output_that_are_no_leak(facts: dict[str, int], why: str) -> None:
    assert examined(validation_overlaps_training.RULE, rows_compared(**facts)) == [], why


def test_rows_of_one_output_of_which_none_is_held_out() -> None:
    rule, whole = validation_overlaps_training.RULE, {"shared": 50, "is_part": True}
    (finding,) = examined(rule, rows_compared(**whole), FINISHED)
    assert finding.confidence == "medium"
    assert examined(rule, rows_compared(**whole)) == [], "others may follow"
    assert examined(rule, rows_compared(**whole, unseen=30), FINISHED) == []
    assert examined(rule, rows_compared(**whole, all_too=True), FINISHED) == []
    assert len(examined(rule, rows_compared(**whole, all_too=True, trained=200), FINISHED)) == 1


def fold(number: int, **more: Any) -> RowsCompared:
    """A set that was evaluated at the end of a stretch of ten steps; the first one had been held out."""
    facts = {"own_loader": False, "shared": 40 if number else 0, "first": 10 * number + 8, "last": 10 * number + 9}
    return compared(**{**facts, **more})


def test_folds_that_go_on_with_one_model() -> None:
    rule = validation_overlaps_training.RULE
    (finding,) = examined(rule, (fold(number) for number in range(4)))
    assert (finding.location, finding.step_first) == (at(30), 19)
    assert finding.evidence == {"sets": 4, "samples": 160}


@pytest.mark.parametrize(
    "folds",
    [
        [fold(0), fold(1)],
        [fold(number, shared=40) for number in range(4)],
        [fold(number, shared=0) for number in range(4)],
        [fold(0, complete=False), *(fold(number) for number in range(1, 4))],
        [fold(0, evaluated=3), *(fold(number) for number in range(1, 4))],
        [fold(0), *(fold(number, again=40) for number in range(1, 4))],
        [fold(0), *(fold(number, tells_apart=False) for number in range(1, 4))],
        [fold(0), *(fold(number, location=at(31)) for number in range(1, 4))],
        [fold(number, first=8, last=39) for number in range(4)],
    ],
    ids=[
        "two sets",
        "none was held out",
        "all were held out",
        "before training went through its samples",
        "few samples",
        "the same samples again",
        "samples alike by accident",
        "at other lines",
        "side by side",
    ],
)
def test_sets_that_are_no_folds_of_one_model(folds: list[RowsCompared]) -> None:
    assert examined(validation_overlaps_training.RULE, folds) == []


def test_rows_are_missed_only_at_the_end() -> None:
    event = RowsNeverDrawn(location=at(3), chosen_at=at(4), name="x", low=0, high=50, rows=500, samples=160)
    (finding,) = examined(samples_never_drawn.RULE, event, event, FINISHED)
    assert "450 of them can never come" in finding.message
    assert examined(samples_never_drawn.RULE, event, STOPPED) == []
    assert examined(samples_never_drawn.RULE, event) == []


def test_rows_that_are_sorted_on_one_side_are_told_where_they_are_taken() -> None:
    facts: dict[str, Any] = {"location": at(4), "sorted_at": at(3), "met_at": at(9), "operation": "mul", "rows": 32}
    events = [SortedRowsMet(step=step, moved=30, **facts) for step in (0, 1)]
    (finding,) = examined(inputs_and_targets_misaligned.RULE, *events)
    assert (finding.severity, finding.location) == ("warning", at(4))
    assert "30 of 32 change places" in finding.message
    assert [place.location for place in finding.related] == [at(9), at(3)]


def test_indices_that_are_drawn_once_may_be_the_data() -> None:
    facts: dict[str, Any] = {"location": at(3), "chosen_at": at(4), "name": "x", "low": 0, "high": 50, "rows": 500}
    found = [
        examined(samples_never_drawn.RULE, RowsNeverDrawn(**facts, samples=160, draws=draws), FINISHED)[0].severity
        for draws in (1, 2)
    ]
    assert found == ["info", "warning"]


def test_samplers_that_draw_a_part() -> None:
    rule, facts = samples_never_drawn.RULE, {"location": at(3), "sampler": "Blocks", "rows": 200, "drawn": 100}
    facts |= {"passes": 3, "at_random": True, "evaluated": False}
    found: list[list[tuple[str, str]]] = []
    for more in ({}, {"at_random": False}, {"evaluated": True}, {"passes": 1}, {"drawn": 190}):
        event = SamplerRepeats(**{**facts, **more})
        found.append([(each.severity, each.confidence) for each in examined(rule, event, FINISHED)])
        assert examined(rule, event, STOPPED) == []
    assert found == [[("warning", "medium")], [("info", "low")], [("info", "low")], [], []]


def test_rows_that_are_evaluated_with_all_others_are_a_hint() -> None:
    facts: dict[str, Any] = {"location": at(3), "chosen_at": at(4), "name": "x", "low": 0, "high": 50, "rows": 500}
    (finding,) = examined(samples_never_drawn.RULE, RowsNeverDrawn(**facts, samples=160, evaluated=True), FINISHED)
    assert (finding.severity, finding.confidence) == ("info", "low")


@pytest.mark.parametrize(
    ("assigned", "asked", "severities"),
    [(False, True, ["error"]), (True, False, ["warning"]), (True, True, [])],
)
def test_what_is_put_there_may_be_the_state_of_a_sampler(assigned: bool, asked: bool, severities: list[str]) -> None:
    facts: dict[str, Any] = {"dataset": "Chains", "field": "state", "location": at(6), "samples": 20, "index": 3}
    facts |= {"seen": True, "again": 5, "times": 2, "size_before": 1.0, "size": 0.5}
    event = StoredDataChanged(**facts, assigned=assigned, asked=asked)
    assert [each.severity for each in examined(dataset_changes_under_reading.RULE, event)] == severities


@pytest.mark.parametrize(("seen", "confidence"), [(True, "high"), (False, "medium")])
def test_a_line_that_was_not_seen_to_write(seen, confidence) -> None:
    facts: dict[str, Any] = {"dataset": "Pictures", "field": "pixels", "location": at(6), "samples": 20, "index": 3}
    event = StoredDataChanged(**facts, seen=seen, again=5, times=2, size_before=100.0, size=0.5)
    (finding,) = examined(dataset_changes_under_reading.RULE, event)
    assert finding.confidence == confidence
    assert (
        examined(
            dataset_changes_under_reading.RULE,
            StoredDataChanged(**facts, seen=seen, again=0, times=1, size_before=100.0, size=0.5),
        )
        == []
    )


@pytest.mark.parametrize("name", ["corpus", ""])
def test_data_that_the_loop_writes_to_are_told_once_by_their_line(name: str) -> None:
    facts: dict[str, Any] = {"location": at(9), "operation": "mul_", "name": name, "parts": 8, "size_before": 20.0}
    first = GivenRowsChanged(**facts, again=1, size=17.0, is_target=True)
    latest = GivenRowsChanged(**facts, again=12, size=9.0, is_target=True)
    (finding,) = examined(dataset_changes_under_reading.RULE, first, latest)
    assert (finding.severity, finding.subject, finding.location) == ("error", name, at(9))
    assert "12 times" in finding.message


@pytest.mark.parametrize(
    ("rule", "facts"),
    [(constant_data.RULE, {}), (all_targets_ignored.RULE, {"all_ignored": 10, "classes": {}, "class_count": 0})],
    ids=["constant", "ignored"],
)
def test_targets_are_told_with_the_line_that_made_them(rule: Rule, facts: dict[str, Any]) -> None:
    (finding,) = examined(rule, targets_seen(made_at=at(7), **facts))
    assert [place.location for place in finding.related] == [at(7)]
    (finding,) = examined(rule, targets_seen(made_at=at(12), **facts))
    assert not finding.related
