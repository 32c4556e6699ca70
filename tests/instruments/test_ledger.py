"""The ledger of gradients: who wrote them, who used them, and who cleared them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.steps import Accumulation, GradientsCleared, GradientUse, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.findings import Location
from autograd_doctor.instruments.spine import ledger as module
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.tensor_facts import read_together
from autograd_doctor.signals.clipping import ClipCall
from tests.inventing import Invented, inventing

HERE = Location(path="train.py", line=7)
LOSS = torch.ones(())


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(4))


def wrote(run: Invented, *parameters: torch.Tensor, value: float = 1.0) -> None:
    """A backward adds to the gradients of these parameters."""
    for parameter in parameters:
        run.number(parameter)
    with run.backward(LOSS):
        for parameter in parameters:
            gradient = torch.full_like(parameter, value)
            if parameter.grad is None:
                parameter.grad = gradient.detach()
            else:
                parameter.grad += gradient.detach()


def use(run: Invented, *parameters: torch.Tensor, scale: float = 1.0) -> list[GradientUse]:
    """What a step would find."""
    run.find(Ledger).catch_up()
    coming = run.find(Ledger).uses_to_come([(run.number(each), each) for each in parameters])
    return coming.put_together(read_together(coming.norms.parts), scale)


def stepped(run: Invented, *parameters: torch.Tensor, at: Location | None = None) -> list[GradientUse]:
    found = use(run, *parameters)
    run.find(Ledger).stepped([(run.number(each), each) for each in parameters], at)
    return found


# ------------------------------------------------------------------------------------------------------------ writing


def test_a_backward_owns_what_it_wrote():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        ledger = run.find(Ledger)
        run.number(b)
        wrote(run, a)
        assert ledger.wrote == [run.number(a)]
        assert [ledger.fresh(run.number(each)) for each in (a, b)] == [True, False]
        wrote(run, b)
        assert ledger.wrote == [run.number(b)]
        (found_a, found_b) = use(run, a, b)
        assert (found_a.backwards, found_b.backwards) == ([0], [1])


def test_what_two_backwards_wrote_belongs_to_both():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        wrote(run, a)
        assert run.find(Ledger).wrote == [0]
        (found,) = use(run, a)
        assert (found.backwards, found.consumed, found.norms) == ([0, 1], [], [4.0])


def test_a_gradient_that_a_look_during_the_backward_saw_already_is_counted_once():
    a = weight()
    with inventing(Ledger) as run:
        run.number(a)
        with run.backward(LOSS):
            a.grad = torch.ones(4)
            run.find(Ledger).catch_up()
            assert run.find(Ledger).fresh(0)
            a.grad += 1
        assert run.find(Ledger).wrote == [0]
        assert use(run, a)[0].backwards == [0]


def test_a_gradient_written_before_anybody_looked_has_no_history():
    a = weight()
    a.grad = torch.ones(4)
    with inventing(Ledger) as run:
        assert not run.find(Ledger).fresh(run.number(a))
        assert use(run, a)[0].backwards == []


def test_the_graph_of_a_backward_is_there_while_it_runs():
    a = weight()
    with inventing(Ledger) as run:
        with run.backward(a.sum()):
            walk = run.find(Ledger).walk
            assert walk is not None
            assert (walk.backward, walk.step, list(walk.leaves.values())) == (0, 0, [a])
            assert run.find(Course).running == 0
        assert run.find(Ledger).walk is None


def test_a_backward_that_began_before_the_ledger_looked_is_let_alone():
    from autograd_doctor.signals.backward import BackwardCall

    with inventing(Ledger) as run:
        run.signals.backward.ended.send(BackwardCall([LOSS], False, False, [], "backward"))
        assert run.find(Ledger).wrote == []


@pytest.mark.parametrize(
    ("inputs", "kind", "numbered"), [([], "backward", 2), ([LOSS], "backward", 1), ([], "grad", 1)]
)
def test_leaves_that_collect_a_gradient_are_numbered_though_they_are_no_parameters(inputs, kind, numbered):
    collects, bare, known = (torch.ones(2, requires_grad=True) for _ in range(3))
    with inventing(Ledger) as run:
        run.number(known)
        with run.backward((collects * bare * known).sum(), inputs=inputs, kind=kind):
            collects.grad = torch.ones(2)
        assert len(list(run.find(Parameters).living())) == numbered
        assert run.find(Parameters).get(bare) is None
        assert (run.find(Parameters).get(collects) is None) == (numbered == 1)


def test_training_that_makes_leaves_anew_does_not_fill_the_table(monkeypatch):
    monkeypatch.setattr(module, "_MOST_RAW_LEAVES", 2)
    leaves = [torch.ones(2, requires_grad=True) for _ in range(3)]
    parameter = weight()
    with inventing(Ledger) as run:
        for leaf in [*leaves[:2], parameter, leaves[2]]:
            with run.backward(leaf.sum()):
                leaf.grad = torch.ones_like(leaf)
        assert [value for _, value in run.find(Parameters).living() if value is leaves[2]] == []
        assert len(list(run.find(Parameters).living())) == 3


# -------------------------------------------------------------------------------------------------------------- using


def test_a_step_uses_up_what_was_written_so_far():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        (found,) = stepped(run, a)
        assert (found.parameters, found.backwards, found.consumed, found.norms) == ([0], [0], [], [2.0])
        assert not run.find(Ledger).fresh(0)
        assert use(run, a)[0].consumed == [0]
        wrote(run, a)
        assert run.find(Ledger).fresh(0)
        assert (use(run, a)[0].backwards, use(run, a)[0].consumed) == ([0, 1], [0])
        stepped(run, a)
        assert use(run, a)[0].consumed == [0, 1]


def test_norms_are_those_before_a_scaler_scaled():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        assert use(run, a, scale=8.0)[0].norms == [0.25]


def test_gradients_of_the_same_history_are_told_together():
    a, b, c = weight(), weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a, b, c)
        wrote(run, c)
        together, alone = use(run, a, b, c)
        assert (together.parameters, together.norms) == ([0, 1], [2.0, 2.0])
        assert (alone.parameters, alone.norms) == ([2], [4.0])


@pytest.mark.parametrize(
    ("operation", "used", "is_cleared"),
    [
        ("zero_", False, True),
        ("mul_", False, False),
        ("masked_fill_", False, False),
        ("__setitem__", False, False),
        ("mul_", True, True),
    ],
)
def test_what_a_mask_makes_zero_before_any_step_is_no_clearing(operation, used, is_cleared):
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        if used:
            stepped(run, a)
        a.grad.zero_()
        run.find(Tensors).put(a.grad, Provenance(operation, None, 0))
        run.find(Ledger).catch_up()
        assert len(run.of(GradientsCleared)) == is_cleared
        assert [each.backwards for each in use(run, a)] == [[] if is_cleared else [0]]


def test_a_gradient_that_a_step_removes_is_cleared():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        found = use(run, a)
        a.grad = None
        run.find(Ledger).stepped([(0, a)], None)
        a.grad = torch.ones(4)
        assert found[0].backwards == [0]
        assert use(run, a)[0].backwards == []
        assert run.of(GradientsCleared) == []


@pytest.mark.parametrize(
    ("shares", "unscales", "altered"),
    [((0.5, 0.5), False, True), ((0.5, 0.75), False, False), ((2.0, 2.0), False, False), ((0.5, 0.5), True, False)],
)
def test_a_step_that_leaves_the_same_share_of_each_gradient_scales_them(shares, unscales, altered):
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a, b)
        found = use(run, a, b)
        a.grad *= shares[0]
        b.grad *= shares[1]
        run.find(Ledger).stepped([(0, a), (1, b)], None, unscales=unscales)
        assert not found[0].altered
        wrote(run, a, b)
        accumulated = run.find(Ledger).accumulated
        assert (accumulated is None) == altered
        assert {each.altered for each in use(run, a, b)} == {altered}
        assert {each.altered for each in stepped(run, a, b)} == {altered}, "until they are cleared"
        a.grad = b.grad = None
        wrote(run, a, b)
        assert not use(run, a)[0].altered


def test_what_a_step_adds_to_gradients_is_no_change_by_the_program():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        found = use(run, a)
        a.grad += 1
        run.find(Ledger).stepped([(0, a)], None)
        assert not found[0].altered
        assert not use(run, a)[0].altered
        wrote(run, a)
        assert run.find(Ledger).accumulated == Accumulation([0], pytest.approx(2.0))


def test_gradients_that_another_optimizer_stepped_after_are_foreign():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a, b)
        stepped(run, a, at=HERE)
        assert use(run, b)[0].foreign == [], "no newer backward has come since"
        wrote(run, b)
        (found,) = use(run, b)
        assert (found.backwards, found.foreign, found.foreign_step_at) == ([0, 1], [0], HERE)
        wrote(run, a)
        assert use(run, a)[0].foreign == []
        assert use(run, a)[0].foreign_step_at is None
        b.grad = None
        wrote(run, b)
        assert (use(run, b)[0].foreign, use(run, b)[0].foreign_step_at) == ([], None)


def test_gradients_of_a_backward_that_the_step_did_not_use_are_not_foreign():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, b)
        wrote(run, a)
        stepped(run, a, at=HERE)
        wrote(run, b)
        assert use(run, b)[0].foreign == []
        assert use(run, b)[0].foreign_step_at is None


def test_only_what_a_step_used_anew_makes_others_foreign():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        stepped(run, a)
        wrote(run, a, b)
        wrote(run, b)
        stepped(run, a, at=HERE)
        wrote(run, b)
        (found,) = use(run, b)
        assert (found.backwards, found.foreign, found.foreign_step_at) == ([1, 2, 3], [1], HERE)


# ----------------------------------------------------------------------------------------------------------- clearing


@pytest.mark.parametrize("used", [False, True])
def test_an_optimizer_that_sets_gradients_to_none(used):
    a, untouched = weight(), weight()
    with inventing(Ledger) as run:
        sgd = SGD([a, untouched], lr=0.1)
        number = run.find(Optimizers).number(sgd)
        wrote(run, a)
        if used:
            stepped(run, a)
        with run.clearing(sgd):
            a.grad = None
        (cleared,) = run.of(GradientsCleared)
        assert (cleared.parameters, cleared.unused) == ([0], [] if used else [0])
        assert (cleared.how, cleared.optimizer) == ("optimizer.zero_grad", number)
        assert cleared.location is not None
        assert not run.find(Ledger).fresh(0)
        with run.clearing(sgd):
            pass
        assert len(run.of(GradientsCleared)) == 1
        wrote(run, a)
        assert run.find(Ledger).fresh(0)
        assert (use(run, a)[0].backwards, use(run, a)[0].consumed) == ([1], [])


@pytest.mark.parametrize("used", [False, True])
def test_a_module_that_zeroes_gradients_in_place(used):
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        if used:
            stepped(run, a)
        with run.clearing(nn.Linear(1, 1)):
            a.grad.zero_()
        (cleared,) = run.of(GradientsCleared)
        assert (cleared.parameters, cleared.unused) == ([0], [] if used else [0])
        assert (cleared.how, cleared.optimizer) == ("module.zero_grad", None)
        with run.clearing(nn.Linear(1, 1)):
            a.grad.zero_()
        assert len(run.of(GradientsCleared)) == 1, "there was nothing left to clear"
        wrote(run, a)
        assert use(run, a)[0].backwards == [1]


def test_gradients_cleared_by_hand_belong_to_the_line_that_set_them():
    a = weight()
    with inventing(Ledger) as run:
        for place in (HERE, None):
            wrote(run, a)
            a.grad = None
            if place is not None:
                run.find(Ledger).set_by_hand(place)
            run.find(Ledger).catch_up()
        first, second = run.of(GradientsCleared)
        assert (first.how, first.location, first.unused, first.optimizer) == ("by hand", HERE, [0], None)
        assert second.location is None


def test_what_happened_by_hand_before_a_backward_is_told_when_it_begins_and_names_are_too():
    a = weight()
    with inventing(Ledger) as run:
        run.signals.optimizers.built.send(kept := SGD([weight()], lr=0.1))
        number = run.number(a)
        with run.backward(LOSS):
            a.grad = torch.ones(4)
        assert run.find(Ledger).fresh(number)
        assert [event.name for event in run.of(ParameterSeen)][-1] == "a"
        assert [event.name for event in run.of(OptimizerBuilt)] == ["", "kept"]
        a.grad = None
        with run.backward(LOSS):
            assert len(run.of(GradientsCleared)) == 1
        assert kept is not None


def test_what_was_cleared_by_hand_before_a_zero_grad_is_not_laid_at_its_door():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        a.grad = None
        with run.clearing(SGD([a], lr=0.1)):
            pass
        assert [event.how for event in run.of(GradientsCleared)] == ["by hand"]


def test_zeros_that_were_scaled_together_with_others_are_not_cleared():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        with run.backward(LOSS):
            b.grad = torch.zeros(4)
            run.number(b)
        a.grad *= 0.5
        b.grad *= 0.5
        run.find(Ledger).catch_up()
        assert run.of(GradientsCleared) == []
        assert run.find(Ledger).fresh(run.number(a))


def test_another_tensor_in_place_of_a_gradient_has_no_history():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        kept, a.grad = a.grad, torch.full((4,), 3.0)
        assert use(run, a)[0].backwards == []
        assert not run.find(Ledger).fresh(0)
        assert run.of(GradientsCleared) == []
        wrote(run, a)
        assert run.find(Ledger).accumulated is None
        assert kept is not None


@pytest.mark.parametrize(("filled", "backwards"), [((0, 1), [1]), ((0,), [0, 1]), ((), [0, 1])])
def test_gradients_that_numpy_has_emptied_have_no_history(filled: tuple[int, ...], backwards: list[int]) -> None:
    held = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, *held)
        for number in filled:
            gradient = held[number].grad
            assert gradient is not None
            gradient.numpy().fill(0)
        wrote(run, *held)
        (found,) = use(run, *held)
        assert found.backwards == backwards


def test_a_gradient_altered_after_its_step():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        a.grad *= 0.5  # as clipping does, before the step
        assert not stepped(run, a)[0].altered
        a.grad *= 0.5
        assert use(run, a)[0].altered
        wrote(run, a)
        assert use(run, a)[0].altered
        assert run.find(Ledger).accumulated is None
        with run.clearing(SGD([a], lr=0.1)):
            a.grad = None
        wrote(run, a)
        assert not use(run, a)[0].altered


@pytest.mark.parametrize("clips", [True, False])
def test_a_gradient_reworked_before_its_step(clips: bool) -> None:
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        call = ClipCall("clip_grad_norm_", [a], (1.0,), {})
        if clips:
            run.signals.clipping.began.send(call)
        a.grad *= 0.5
        if clips:
            run.signals.clipping.ended.send(call)
        assert stepped(run, a)[0].reworked is not clips
        with run.clearing(SGD([a], lr=0.1)):
            a.grad = None
        wrote(run, a)
        assert not use(run, a)[0].reworked


# -------------------------------------------------------------------------------------------------------- accumulation


def test_a_backward_that_adds_onto_what_was_used():
    a, b, fresh = weight(), weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a, b, value=1.0)
        stepped(run, a, b)
        wrote(run, a, fresh, value=2.0)
        assert run.find(Ledger).accumulated == Accumulation([0], pytest.approx(0.5))
        stepped(run, a)
        wrote(run, a)
        assert run.find(Ledger).accumulated == Accumulation([0], None), "measured once"
        wrote(run, fresh)
        assert run.find(Ledger).accumulated is None


def test_a_gradient_that_no_step_used_is_accumulated_on_purpose():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        wrote(run, a)
        assert run.find(Ledger).accumulated is None
        stepped(run, a)
        wrote(run, a)
        wrote(run, a)
        assert run.find(Ledger).accumulated is None, "the last backward added onto something fresh"


@pytest.mark.parametrize(("limit", "error"), [(15, None), (16, pytest.approx(10.0))])
def test_large_leftovers_are_not_copied(limit, error, monkeypatch):
    monkeypatch.setattr(module, "_MEASURED_BYTES", limit)
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        stepped(run, a)
        wrote(run, a, value=0.1)
        assert run.find(Ledger).accumulated == Accumulation([0], error)


def test_an_error_cannot_be_measured_where_nothing_was_added():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        stepped(run, a)
        wrote(run, a, value=0.0)
        assert run.find(Ledger).accumulated == Accumulation([0], None)


def test_leftovers_that_are_zero_change_nothing():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a, value=0.0)
        stepped(run, a)
        wrote(run, a)
        assert run.find(Ledger).accumulated is None
        assert use(run, a)[0].backwards == [1]


def test_leftovers_behind_the_version_counter_are_told_by_their_norm():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        a.grad *= 2
        stepped(run, a)
        a.grad.data.mul_(0.5)
        wrote(run, a)
        assert run.find(Ledger).accumulated is None
        assert use(run, a)[0].altered


# ------------------------------------------------------------------------------------------------------------ by hand


def test_an_update_by_hand_is_a_step_once_the_program_builds_a_graph_again():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        ledger = run.find(Ledger)
        wrote(run, a, b)
        run.find(Course).loss_seen(0.5)
        ledger.written_by_hand(0, HERE)
        ledger.written_by_hand(0, None)
        ledger.written_by_hand(1, None)
        assert run.of(OptimizerStepped) == []
        ledger.graph_grows()
        (event,) = run.of(OptimizerStepped)
        assert (event.optimizer, event.location, event.moved, event.loss, event.step) == (None, HERE, [0, 1], 0.5, 0)
        assert [found.backwards for found in event.uses] == [[0], [0]]
        assert [found.norms for found in event.uses] == [[2.0], [2.0]]
        assert run.steps == 1
        assert not ledger.fresh(0)
        ledger.graph_grows()
        ledger.catch_up()
        assert run.steps == 1


def test_an_update_by_hand_is_told_before_what_clears_the_gradients():
    a = weight()
    with inventing(Ledger) as run:
        wrote(run, a)
        run.find(Ledger).written_by_hand(0, HERE)
        a.grad = None
        run.find(Ledger).catch_up()
        assert [type(event) for event in run if not hasattr(event, "shape")] == [OptimizerStepped]


def test_an_update_with_a_gradient_that_was_taken_off_the_parameter():
    a, b = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, a, b)
        a.grad = None
        run.find(Ledger).written_by_hand(0, HERE)
        run.find(Ledger).written_by_hand(1, HERE)
        run.find(Ledger).graph_grows()
        (event,) = run.of(OptimizerStepped)
        assert (event.moved, [found.parameters for found in event.uses]) == ([0, 1], [[1]])
        run.find(Ledger).catch_up()
        assert run.of(GradientsCleared) == [], "the update has used what is gone"


def test_what_is_written_without_a_fresh_gradient_is_no_update():
    a = weight()
    with inventing(Ledger) as run:
        ledger = run.find(Ledger)
        ledger.written_by_hand(run.number(a), HERE)
        wrote(run, a)
        stepped(run, a)
        ledger.written_by_hand(0, HERE)
        ledger.catch_up()
        assert run.of(OptimizerStepped) == []


def test_what_an_optimizer_holds_is_not_updated_by_hand():
    a = weight()
    with inventing(Ledger) as run:
        run.find(Optimizers).number(SGD([a], lr=0.1))
        wrote(run, a)
        run.find(Ledger).written_by_hand(0, HERE)
        run.find(Ledger).catch_up()
        assert run.of(OptimizerStepped) == []


def given_by_nobody_knows(run: Invented, value: float) -> nn.Parameter:
    """A parameter that a step has used the gradient of, which no backward was seen to write."""
    a = weight()
    a.grad = torch.full_like(a, value)
    for _ in range(2):
        stepped(run, a)
    return a


def test_a_gradient_that_nobody_touches_is_left_over() -> None:
    with inventing(Ledger) as run:
        a = given_by_nobody_knows(run, 1.0)
        assert [each.left_over for each in use(run, a)] == [True]
        wrote(run, a)
        assert [each.left_over for each in use(run, a)] == [False]


@pytest.mark.parametrize("how", ["another", "in place", "behind its version"])
def test_a_gradient_that_the_program_writes_is_not(how: str) -> None:
    with inventing(Ledger) as run:
        a = given_by_nobody_knows(run, 1.0)
        assert a.grad is not None
        if how == "another":
            a.grad = torch.full_like(a, 2.0)
        elif how == "in place":
            a.grad.mul_(1.0)
        else:
            a.grad.data.mul_(2.0)
        assert [each.left_over for each in use(run, a)] == [False]


# ----------------------------------------------------------------------------------------------------------- clipping


@pytest.mark.parametrize("clips", [True, False])
def test_what_clipping_makes_zero_was_not_cleared(clips: bool) -> None:
    """The norm of large gradients overflows, and what is divided by it is 0."""
    first, second = weight(), weight()
    with inventing(Ledger) as run:
        wrote(run, first, second, value=1e30)
        call = ClipCall("clip_grad_norm_", [first], (1.0,), {})
        if clips:
            run.signals.clipping.began.send(call)
        for parameter in (first, second):
            assert parameter.grad is not None
            parameter.grad.mul_(0.0)
        if clips:
            run.signals.clipping.ended.send(call)
        run.find(Ledger).catch_up()
        numbers = [number for event in run.of(GradientsCleared) for number in event.unused]
        assert numbers == ([run.number(second)] if clips else [run.number(first), run.number(second)])


def test_what_was_cleared_before_clipping_was_cleared() -> None:
    parameter = weight()
    with inventing(Ledger) as run:
        wrote(run, parameter)
        assert parameter.grad is not None
        parameter.grad.zero_()
        run.signals.clipping.began.send(ClipCall("clip_grad_norm_", [parameter], (1.0,), {}))
        assert len(run.of(GradientsCleared)) == 1
