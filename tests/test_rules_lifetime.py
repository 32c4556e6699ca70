"""What is kept alive: the rules AD301 to AD310 on traces made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_doctor.events.errors import ContextAttributeKept
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.lifetime import (
    GraphRetained,
    HooksCounted,
    SnapshotKept,
    Survivor,
    SurvivorsCounted,
    WeightsMetThemselves,
)
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan, BatchDrawn, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule
from autograd_doctor.rules.lifetime.activations_kept import RULE as AD305
from autograd_doctor.rules.lifetime.context_attribute_leak import RULE as AD308
from autograd_doctor.rules.lifetime.create_graph_unneeded import RULE as AD309
from autograd_doctor.rules.lifetime.graph_grows_across_steps import RULE as AD303
from autograd_doctor.rules.lifetime.graph_held_by_running_total import RULE as AD302
from autograd_doctor.rules.lifetime.graph_held_in_container import RULE as AD301
from autograd_doctor.rules.lifetime.hooks_pile_up import RULE as AD306
from autograd_doctor.rules.lifetime.memory_grows import RULE as AD307
from autograd_doctor.rules.lifetime.retain_graph_unneeded import RULE as AD304
from autograd_doctor.rules.lifetime.snapshot_aliases_weights import RULE as AD310
from autograd_doctor.trace import Trace

STEPS = (2, 5, 10)


def at(line: int) -> Location:
    return Location(path="train.py", line=line)


def findings(rule: Rule, *events: Event) -> list[Finding]:
    return list(rule.examine(Trace.of_events(*events), rule.defaults))


def survivor(**facts: Any) -> Survivor:
    """Losses in a list after their backward, unless told otherwise."""
    defaults: dict[str, Any] = {
        "made_at": at(8),
        "operation": "mse_loss",
        "holder": "losses",
        "holder_kind": "list",
        "count": 3,
        "made_in_steps": 3,
        "tensor_bytes": 12,
        "graph_bytes": 0,
        "nodes": 9,
        "has_graph": True,
        "freed": True,
        "stored_at": at(12),
    }
    return Survivor(**{**defaults, **facts})


def censuses(*rows: Survivor, epoch: int | None = None, steps: tuple[int, ...] = STEPS) -> list[Event]:
    """One census per survivor; the optimizer steps all the time."""
    counted = [
        SurvivorsCounted(step=step, survivors=[row], steps_per_epoch=epoch)
        for step, row in zip(steps, rows, strict=True)
    ]
    return [built(0), *(OptimizerStepped(step=step, optimizer=0, location=None) for step in range(11)), *counted]


def drawn(step: int, *, ended: bool = False) -> BatchDrawn:
    return BatchDrawn(step=step, loader=0, name="loader", location=at(6), pass_number=1, batches=8, ended=ended)


def built(number: int) -> OptimizerBuilt:
    return OptimizerBuilt(optimizer=number, name="optimizer", kind="SGD", location=None, groups=[])


def growing(**facts: Any) -> list[Survivor]:
    """A holder whose tensors, nodes and tensor bytes grow with the step; callables in `facts` are given the step."""
    rows = []
    for step in STEPS:
        sizes = {"count": step, "made_in_steps": step, "nodes": 3 * step, "tensor_bytes": 4 * step}
        rows.append(survivor(**{**sizes, **{k: v(step) if callable(v) else v for k, v in facts.items()}}))
    return rows


# -------------------------------------------------------------------------------------------------------------- AD301


def test_losses_kept_after_backward_are_a_warning_that_speaks_of_nodes() -> None:
    (finding,) = findings(AD301, *censuses(*growing()))
    assert (finding.severity, finding.location, finding.subject) == ("warning", at(12), "losses")
    assert "backward freed the activations, 30 graph nodes remain, 3 more per step" in finding.message
    assert finding.related[0].location == at(8)


def test_losses_kept_without_backward_are_an_error_that_counts_bytes_and_looks_ahead() -> None:
    kept = growing(freed=False, graph_bytes=lambda step: 2**17 * step)
    (finding,) = findings(AD301, *censuses(*kept, epoch=500))
    assert finding.severity == "error"
    assert "1.2 MiB of saved activations, 128 KiB more per step" in finding.message
    assert finding.notes == ("an epoch of 500 steps would add 62.5 MiB",)
    assert finding.evidence["graph_bytes_per_step"] == 2**17


def test_activations_that_survive_a_backward_are_an_error_too() -> None:
    (finding,) = findings(AD301, *censuses(*growing(graph_bytes=lambda step: 2**16 * step)))
    assert finding.severity == "error"
    assert "although backward freed" in finding.message


@pytest.mark.parametrize("epoch", [None, 500, 10_000_000])
def test_graphs_of_a_few_bytes_do_no_harm_but_in_an_epoch_that_is_very_long(epoch: int | None) -> None:
    for rule, kept in ((AD301, growing), (AD302, total)):
        (finding,) = findings(rule, *censuses(*kept(graph_bytes=lambda step: 770 * step), epoch=epoch))
        assert finding.severity == ("error" if epoch == 10_000_000 else "warning")
        assert epoch or finding.notes == ("100,000 steps would add 73.4 MiB",)


@pytest.mark.parametrize(
    "facts",
    [
        {"limit": 8},
        {"has_graph": False},
        {"count": 4, "made_in_steps": 4},
        {"made_in_steps": 1},
        {"made_in_steps": 2},
    ],
    ids=["window of fixed length", "no graph", "does not grow", "one step's tensors", "two steps' tensors"],
)
def test_what_does_not_pile_up_is_silent(facts: dict[str, Any]) -> None:
    assert findings(AD301, *censuses(*growing(**facts))) == []


def test_window_that_is_far_from_full_piles_up_like_any_list() -> None:
    (finding,) = findings(AD301, *censuses(*growing(limit=1000, graph_bytes=lambda step: 64 * step)))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert finding.notes == ("it drops the oldest only when it holds 1,000, which was not reached",)


def test_list_that_was_emptied_in_between_is_silent() -> None:
    first, second, third = growing()
    assert findings(AD301, *censuses(second, first, third)) == []


def test_holder_that_vanished_is_silent() -> None:
    events = censuses(*growing())
    events.append(SurvivorsCounted(step=20, survivors=[]))
    assert findings(AD301, *events) == []


def test_list_that_began_anew_with_an_epoch_is_found_in_the_epoch_that_tells_most() -> None:
    counts = {2: 2, 4: 4, 6: 6, 10: 1, 12: 3}
    passes = [drawn(0), *censuses(*(survivor(count=n, nodes=3 * n) for n in counts.values()), steps=tuple(counts))]
    assert not findings(AD301, *passes)
    [finding] = findings(AD301, *passes, drawn(8, ended=True))
    assert (finding.evidence["tensors"], finding.step_first) == (6, 2)


def test_two_censuses_are_not_enough() -> None:
    assert findings(AD301, *censuses(*growing()[:2], steps=STEPS[:2])) == []


def test_graphs_kept_for_an_optimizer_that_has_not_stepped_are_silent() -> None:
    kept = growing(freed=False, graph_bytes=lambda step: 1024 * step)
    late = OptimizerStepped(step=16, optimizer=1, location=None)
    assert findings(AD301, built(1), *censuses(*kept), late) == []
    assert len(findings(AD301, built(1), *censuses(*growing()))) == 1


def test_dictionary_is_named_without_the_key_of_one_entry() -> None:
    (finding,) = findings(AD301, *censuses(*growing(holder="by_step[0]", holder_kind="dict")))
    assert finding.subject == "by_step"


# -------------------------------------------------------------------------------------------------------------- AD302


def total(**facts: Any) -> list[Survivor]:
    one = {"count": 1, "holder": "total", "holder_kind": "variable", "chained": True, "operation": "add"}
    return growing(**{**one, **facts})


def test_running_total_is_found_by_its_chain() -> None:
    (finding,) = findings(AD302, *censuses(*total()))
    assert (finding.severity, finding.subject, finding.location) == ("warning", "total", at(12))
    assert "30 graph nodes remain, 3 more per step" in finding.message
    assert findings(AD301, *censuses(*total())) == []


def test_running_total_that_keeps_activations_is_an_error() -> None:
    (finding,) = findings(AD302, *censuses(*total(graph_bytes=lambda step: 2**17 * step, freed=False)))
    assert finding.severity == "error"


def test_sum_that_starts_anew_is_silent() -> None:
    assert findings(AD302, *censuses(*total(nodes=20))) == []
    assert findings(AD302, *censuses(*total(chained=False))) == []


def test_chain_that_a_backward_runs_through_belongs_to_another_rule() -> None:
    crossing = BackwardRan(
        backward=0, location=at(14), kind="backward", root=facts(), reaches_back=3, reaches_back_at=at(12)
    )
    assert findings(AD302, crossing, *censuses(*total())) == []


# -------------------------------------------------------------------------------------------------------------- AD303


def facts() -> TensorFacts:
    return TensorFacts(shape=[], dtype="float32", name="loss")


def backward(number: int, **more: Any) -> BackwardRan:
    defaults: dict[str, Any] = {"step": number, "location": at(14), "kind": "backward", "root": facts()}
    return BackwardRan(backward=number, **{**defaults, **more})


def test_graph_that_reaches_further_back_with_each_step_is_an_error() -> None:
    runs = [backward(i, reaches_back=i, reaches_back_at=at(10), nodes=7 + 6 * i, carried_by="h") for i in range(6)]
    (finding,) = findings(AD303, *runs)
    assert (finding.severity, finding.location) == ("error", at(10))
    assert "reaches back through 5 earlier steps through `h`: it grew from 7 to 37 nodes" in finding.message
    assert "`h`" in finding.help


@pytest.mark.parametrize(
    "depths", [[0, 1, 2, 2, 2, 2], [0, 1, 2, 3, 0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2]]
)
def test_bounded_horizon_is_silent(depths: list[int]) -> None:
    assert findings(AD303, *(backward(i, reaches_back=depth) for i, depth in enumerate(depths))) == []


def test_graph_that_only_grows_older_is_silent() -> None:
    runs = [backward(i, reaches_back=i, reaches_back_at=at(10), nodes=20) for i in range(6)]
    assert findings(AD303, *runs) == []


def by_hand(number: int, graph_kept: int) -> OptimizerStepped:
    where = {"step": number, "optimizer": None, "location": at(30)}
    return OptimizerStepped(**where, uses=[], moved=[0, 1], graph_kept=graph_kept)


def test_updates_by_hand_that_keep_their_graphs_are_an_error() -> None:
    (finding,) = findings(AD303, *(by_hand(i, i + 1) for i in range(10)))
    assert (finding.severity, finding.location, finding.parameters) == ("error", at(30), (0, 1))
    assert finding.evidence == {"updates": 10}


@pytest.mark.parametrize(
    "kept",
    [[i + 1 for i in range(9)], [0] * 20, [0, *(i + 1 for i in range(12))], [i % 5 + 1 for i in range(20)]],
    ids=["a few, as in an inner loop", "without graphs", "detached once", "detached now and then"],
)
def test_updates_by_hand_that_may_keep_their_graphs_are_silent(kept: list[int]) -> None:
    assert findings(AD303, *(by_hand(i, graph_kept) for i, graph_kept in enumerate(kept))) == []


def failed_second(nodes: int) -> list[Event]:
    error = "Trying to backward through the graph a second time"
    crash = ProgramRaised(kind="RuntimeError", message=error, frames=[])
    second = backward(1, reaches_back=1, reaches_back_at=at(10), nodes=nodes, error=f"RuntimeError: {error}")
    return [backward(0, nodes=20), second, crash]


def test_second_backward_that_contains_the_first_step_is_explained() -> None:
    (finding,) = findings(AD303, *failed_second(nodes=36))
    assert "20 nodes in the step before, 36 now" in finding.message
    assert finding.location == at(10)


def test_second_backward_that_only_shares_a_beginning_is_not_a_growing_graph() -> None:
    assert findings(AD303, *failed_second(nodes=20)) == []


# ----------------------------------------------------------------------------------------------------- AD304 and AD309


def retained(number: int, *, create: bool = False, again: bool = False) -> GraphRetained:
    return GraphRetained(
        step=number, backward=number, location=at(11), create_graph=create, used_again=again, bytes_held=2048
    )


@pytest.mark.parametrize(("rule", "create"), [(AD304, False), (AD309, True)], ids=["AD304", "AD309"])
def test_graphs_that_nothing_used_again(rule: Rule, create: bool) -> None:
    (finding,) = findings(rule, *(retained(i, create=create) for i in range(4)))
    assert (finding.severity, finding.location) == ("warning", at(11))
    assert "2.0 KiB" in finding.message
    assert finding.evidence["bytes_held"] == 2048


@pytest.mark.parametrize(("rule", "create"), [(AD304, False), (AD309, True)], ids=["AD304", "AD309"])
def test_graphs_that_were_used_at_least_once_or_kept_only_once(rule: Rule, create: bool) -> None:
    used = [retained(0, create=create), retained(1, create=create, again=True), retained(2, create=create)]
    assert findings(rule, *used) == []
    assert findings(rule, retained(0, create=create)) == []
    assert findings(rule, *(retained(i, create=not create) for i in range(4))) == []


# -------------------------------------------------------------------------------------------------- AD305 and AD307


def activations(**more: Any) -> list[Survivor]:
    return growing(**{"tensor_bytes": lambda step: 100_000 * step, "operation": "relu", **more})


def test_activations_held_by_a_module_are_told_from_records_and_buffers() -> None:
    model = ModuleSeen(module=0, name="model", kind="Net", parameters=[], location=None)
    kept = activations(module="model", holder="model.cache", has_graph=False)
    (finding,) = findings(AD305, model, *censuses(*kept))
    assert finding.subject == "model"
    assert "97.7 KiB more per step" in finding.message
    assert findings(AD307, model, *censuses(*kept)) == []
    assert findings(AD305, model, *censuses(*activations(holder="model.cache", has_graph=False))) == []
    assert findings(AD305, model, *censuses(*growing(holder="model.losses"))) == []


def test_hook_that_keeps_activations() -> None:
    assert len(findings(AD305, *censuses(*activations(holder_kind="hook", holder="saved")))) == 1
    assert findings(AD301, *censuses(*activations(holder_kind="hook", holder="saved"))) == []


def test_numbers_in_a_module_are_records_whatever_their_storage() -> None:
    kept = activations(module="model", holder="model.losses", scalars=True)
    assert findings(AD305, *censuses(*kept)) == []
    assert len(findings(AD301, *censuses(*kept))) == 1
    assert len(findings(AD305, *censuses(*activations(module="model", holder="model.losses")))) == 1


def test_what_later_steps_compute_with_is_a_memory_that_may_not_be_full_yet() -> None:
    read = activations(has_graph=False, read_in_steps=lambda step: step - 1)
    (finding,) = findings(AD307, *censuses(*read))
    assert finding.severity == "info"
    assert "9 later steps computed with some of them" in finding.message
    (finding,) = findings(AD307, *censuses(*activations(has_graph=False, read_in_steps=2)))
    assert finding.severity == "warning"


def test_tensors_without_a_graph_that_fill_the_memory() -> None:
    (finding,) = findings(AD307, *censuses(*activations(has_graph=False), epoch=1000))
    assert finding.severity == "warning"
    assert finding.notes == ("an epoch of 1,000 steps would add 95.4 MiB",)


@pytest.mark.parametrize(
    "more",
    [
        {"limit": 8},
        {"tensor_bytes": 500_000},
        {"tensor_bytes": lambda step: 4 * step},
        {"holder_kind": "variable"},
    ],
    ids=["stated size", "settled", "numbers", "not the real holder"],
)
def test_memory_that_settles_is_silent(more: dict[str, Any]) -> None:
    assert findings(AD307, *censuses(*activations(has_graph=False, **more))) == []


# ----------------------------------------------------------------------------------------------- AD306, AD308, AD310


def test_hooks_that_grow_at_one_line_are_one_finding() -> None:
    counts = [
        HooksCounted(step=step, subject=subject, hooks=step + 1, location=at(9))
        for step in STEPS
        for subject in ("model.0", "model.1")
    ]
    (finding,) = findings(AD306, *counts)
    assert "has 11 hooks after 10 steps, 1 more per step; the same line adds hooks to 1 more" in finding.message


def test_hooks_that_stay_as_many_are_silent() -> None:
    counts = [HooksCounted(step=step, subject="model.0", hooks=2, location=at(9)) for step in STEPS]
    assert findings(AD306, *counts) == []


def test_context_attribute_is_reported_once_with_its_largest_call() -> None:
    kept = [
        ContextAttributeKept(function="Square", attribute="x", which="output", location=at(5), bytes_held=size)
        for size in (64, 4096, 64)
    ]
    (finding,) = findings(AD308, *kept)
    assert "`ctx.x`" in finding.message
    assert "4.0 KiB" in finding.message
    assert "reference each other" in finding.message


def test_a_view_that_is_read_in_every_step_is_meant() -> None:
    assert findings(AD310, snapshot(10, read_in_a_row=3)) == []
    assert len(findings(AD310, snapshot(10, read_in_a_row=2))) == 1
    (finding,) = findings(AD310, snapshot(10, read_in_a_row=9, loaded_back=True))
    assert finding.severity == "error"


def snapshot(step: int, **more: Any) -> SnapshotKept:
    return SnapshotKept(step=step, holder="best", location=at(16), taken_in_step=2, parameters=[0], **more)


def test_snapshot_that_follows_the_weights_is_an_error_once_it_is_loaded_back() -> None:
    (finding,) = findings(AD310, snapshot(5), snapshot(10))
    assert finding.severity == "warning"
    assert "taken after 2 steps" in finding.message
    assert "8 later steps changed" in finding.message
    assert finding.parameters == (0,)
    (finding,) = findings(AD310, snapshot(5), snapshot(10, loaded_back=True))
    assert finding.severity == "error"


def test_snapshot_that_is_young_or_was_used_at_once_is_silent() -> None:
    assert findings(AD310, snapshot(3)) == []
    assert findings(AD310, snapshot(10, used_at_once=True)) == []


def met(step: int, **more: Any) -> WeightsMetThemselves:
    return WeightsMetThemselves(**{"step": step, "parameters": [0], "kept_at": at(7), "location": at(15), **more})


@pytest.mark.parametrize(
    ("how", "words"), [("updated", "averaged the weights with themselves"), ("compared", "was exactly 0 in each of 6")]
)
def test_what_is_kept_and_meets_the_weights_is_an_error(how: str, words: str) -> None:
    (finding,) = findings(AD310, *(met(step, how=how) for step in range(6)))
    assert (finding.severity, finding.location) == ("error", at(7))
    assert words in finding.message
    assert [each.location for each in finding.related] == [at(15)]


def test_a_line_that_updates_and_one_that_compares_are_told_apart() -> None:
    ways = [met(step, how=how) for step in range(6) for how in ("updated", "compared")]
    assert len(findings(AD310, *ways)) == 2
    assert findings(AD310, met(0, how="updated"), met(0, how="compared")) == []
