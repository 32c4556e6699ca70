"""Lineage: what flowed into a tensor, where gradients were cut, and what was changed behind autograd's back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import ParameterCopied, ParameterFrozen
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.graph_walk import lineage_of
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.grad_modes import GradSwitched
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in
from tests.inventing import Invented, inventing
from tests.watching import watching


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(3))


def made(run: Invented, tensor: torch.Tensor) -> Provenance:
    found = run.find(Tensors).get(tensor)
    assert found is not None
    return found


def cuts(run: Invented, tensor: torch.Tensor) -> list[tuple[str, str, list[int]]]:
    return [(cut.operation, cut.reason, cut.parameters) for cut in made(run, tensor).cuts_of(~0)]


def flows(run: Invented, tensor: torch.Tensor) -> tuple[list[int], list[int]]:
    """The parameters whose values flow into a tensor, and those that gradients would reach."""
    return numbers_in(made(run, tensor).values), numbers_in(made(run, tensor).connected)


def guessed(run: Invented, tensor: torch.Tensor) -> list[int]:
    return numbers_in(made(run, tensor).guessed)


# ----------------------------------------------------------------------------------------------------------- recording


def test_the_node_of_what_is_given_back_as_it_was_is_that_of_what_made_it():
    with watching(Lineage):
        product = weight() * 2
        assert product.to(torch.float32) is product
        made = lineage_of(product.grad_fn)
    assert made is not None
    assert made.operation == "mul"


def test_values_and_gradients_flow_through_operations():
    a, b, x = weight(), weight(), torch.ones(3)
    b.requires_grad_(False)
    with inventing(Lineage) as run:
        heard = run.heard(run.find(Lineage).recorded)
        product = run.operated("mul", a * x, a, x)
        total = run.operated("cat", torch.cat([product, b]), [product, b])
        assert flows(run, product) == ([0], [0])
        assert flows(run, total) == ([0, 1], [0])
        assert cuts(run, total) == []
        assert made(run, product).alias_of is None
        found = made(run, total)
        assert (found.operation, found.created_by, found.step) == ("cat", "cat", 0)
        assert lineage_of(total.grad_fn) is found
        assert found.place is not None
        assert [(each.output is total, each.made is found, list(each.inputs)) for each in heard][1:] == [
            (True, True, [product, b])
        ]


def test_arguments_by_keyword_flow_as_well():
    a = weight()
    with inventing(Lineage) as run:
        assert flows(run, run.operated("where", a * 1, other=a)) == ([0], [0])


def test_data_have_no_parameters():
    x = torch.ones(3)
    with inventing(Lineage) as run:
        assert flows(run, run.operated("mul", x * 2, x, 2)) == ([], [])
        assert run.find(Tensors).get(x) is None


def test_several_outputs_each_have_a_lineage():
    a, b = weight(), weight()
    with inventing(Lineage) as run:
        first, second = run.operated("split", (a * 1, a * 2), a)
        assert (flows(run, first), flows(run, second)) == (([0], [0]), ([0], [0]))
        left, right = run.operated("broadcast_tensors", [a * 1, b * 1], a, b)
        assert (flows(run, left), flows(run, right)) == (([0], [0]), ([1], [1]))


def test_what_takes_only_a_shape_takes_no_values():
    a = weight()
    with inventing(Lineage) as run:
        assert flows(run, run.operated("zeros_like", torch.zeros(3), a)) == ([], [])


def test_what_takes_its_shape_or_dtype_of_another_takes_no_values_of_it():
    a, b = weight(), weight()
    with inventing(Lineage) as run:
        assert flows(run, run.operated("view_as", (a * 1).view_as(b), a, b)) == ([0], [0])
        assert flows(run, run.operated("to", torch.ones(3, dtype=torch.int64).to(b), torch.ones(3), b)) == ([], [])


def test_nothing_inside_a_backward_is_recorded():
    a = weight()
    with inventing(Lineage) as run:
        with run.backward(torch.ones(())):
            inside = run.operated("mul", a * 2, a)
        assert run.find(Tensors).get(inside) is None


def test_a_custom_function_is_recorded_like_an_operation():
    a = weight()

    class Cuts(torch.autograd.Function):
        pass

    with inventing(Lineage) as run:
        heard = run.heard(run.find(Lineage).recorded)
        connected, lost, data = a * 2, torch.ones(3), torch.ones(3)
        for result, args in ((connected, (a,)), ((lost,), (a, 3)), (data, ())):
            run.signals.custom_functions.ended.send(FunctionCall(Cuts, args, {}, result))
        assert flows(run, connected) == ([0], [0])
        assert lineage_of(connected.grad_fn) is made(run, connected)
        assert flows(run, lost) == ([0], [])
        assert cuts(run, lost) == [("Cuts", "function", [0])]
        assert (flows(run, data), cuts(run, data)) == (([], []), [])
        assert [each.output is output for each, output in zip(heard, (connected, lost, data), strict=True)] == [
            True
        ] * 3


class Hides(torch.autograd.Function):
    """Multiplies by what it reads beside its arguments; `own` writes the gradient of that in its `backward`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, read: Callable[[], torch.Tensor], own: bool) -> torch.Tensor:
        ctx.read, ctx.own = read, own
        return x * read()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        if ctx.own:
            with torch.enable_grad():
                torch.autograd.backward((ctx.read() * 2).sum())
        return gradient, None, None


Lineages = tuple[list[int], list[int], list[tuple[str, str, list[int]]]]


def hiding(own: bool, read: Callable[[torch.Tensor], torch.Tensor] = lambda hidden: hidden) -> list[Lineages]:
    """What is known of the result of a function in each of two steps."""
    taken, hidden = weight(), weight()
    told = []
    with watching(BackwardRuns) as run:
        optimizer = torch.optim.SGD([taken, hidden], lr=0.1)
        for _ in range(2):
            out = Hides.apply(taken * 2, lambda: read(hidden), own)  # type: ignore[no-untyped-call]
            found = run.find(Tensors).get(out)
            assert found is not None
            lost = [(cut.operation, cut.reason, cut.parameters) for cut in found.cuts_of(~0)]
            told.append((numbers_in(found.values), numbers_in(found.connected), lost))
            out.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return told


def test_what_a_function_uses_beside_its_arguments_gets_no_gradient():
    first, second = hiding(own=False)
    assert first == second == ([0, 1], [0], [("Hides", "function", [1])])


def test_what_a_function_writes_the_gradient_of_by_itself_gets_one():
    first, second = hiding(own=True)
    assert first == ([0, 1], [0], [("Hides", "function", [1])])
    assert second == ([0], [0], [])


def test_numbers_that_come_back_inside_a_function_are_no_proof():
    first, _ = hiding(own=False, read=lambda hidden: torch.tensor(hidden.tolist()))
    assert first == ([0], [0], [])


# --------------------------------------------------------------------------------------------------------------- cuts


def test_an_operation_that_drops_the_graph_cuts_what_was_live():
    a, b = weight(), weight()
    b.requires_grad_(False)
    with inventing(Lineage) as run:
        both = run.operated("add", a + b, a, b)
        cut = run.operated("detach", both.detach(), both)
        assert flows(run, cut) == ([0, 1], [])
        assert cuts(run, cut) == [("detach", "operation", [0])]
        later = run.operated("mul", cut * 2, cut)
        assert cuts(run, later) == [("detach", "operation", [0])]
        again = run.operated("add", later + a, later, a)
        assert flows(run, again) == ([0, 1], [0])


def test_under_a_switch_the_switch_cut():
    a = weight()
    with inventing(Lineage) as run:
        manager = torch.no_grad()
        import sys

        run.signals.grad_modes.entered.send(GradSwitched(manager, False, sys._getframe()))
        switch = run.find(GradModes).switch
        out = run.operated("mul", a.detach() * 2, a, grad_enabled=False)
        (cut,) = made(run, out).cuts_of(1)
        assert (cut.operation, cut.reason, cut.switch, cut.location) == ("", "grad-mode", switch, None)
        run.signals.grad_modes.exited.send(GradSwitched(manager, True, sys._getframe()))
        unknown = run.operated("mul", a.detach() * 2, a, grad_enabled=False)
        (cut,) = made(run, unknown).cuts_of(1)
        assert (cut.operation, cut.reason, cut.switch) == ("mul", "grad-mode", None)
        assert cut.location is not None


def test_whole_numbers_that_were_chosen_are_to_blame_for_nothing_else():
    a = weight()
    with inventing(Lineage) as run:
        choice = run.operated("argmax", a.detach().argmax(), a, grad_enabled=False)
        values = run.operated("mul", a.detach() * 2, a, grad_enabled=False)
        assert cuts(run, choice) == [("argmax", "grad-mode", [0])]
        both = run.operated("add", choice + values, choice, values)
        assert cuts(run, both) == [("mul", "grad-mode", [0])]
        chosen = run.operated("argmax", a.argmax(), a)
        assert cuts(run, chosen) == [("argmax", "operation", [0])]
        looked_up = run.operated("detach", a.detach(), a)
        found = run.operated("index_select", chosen + looked_up, looked_up, chosen)
        assert cuts(run, found) == [("detach", "operation", [0])]
        complexes = run.operated("view_as_complex", torch.ones(1, dtype=torch.complex64), a, grad_enabled=False)
        assert not any(point.choice for point in made(run, complexes).cuts)


def test_a_fresh_leaf_made_of_parameters_is_rewrapped():
    a = weight()
    with inventing(Lineage) as run:
        hidden = run.operated("mul", a * 2, a)
        wrapped = run.operated("requires_grad_", hidden.detach().requires_grad_(), hidden.detach())
        assert made(run, wrapped).rewrapped is not None
        assert made(run, wrapped).rewrapped_by == "requires_grad_"
        later = run.operated("mul", wrapped * 2, wrapped)
        assert made(run, later).rewrapped == made(run, wrapped).rewrapped
        assert made(run, hidden).rewrapped is None
        view = run.operated("view", nn.Parameter(torch.ones(3)).view(3), a)
        assert made(run, view).rewrapped is None


def test_a_view_of_a_parameter_under_a_switch_only_says_that_it_requires_a_gradient():
    a = weight()
    with inventing(Lineage) as run:
        with torch.no_grad():
            view = a.view(1, 3)
        assert view.requires_grad
        run.operated("view", view, a, grad_enabled=False)
        assert made(run, view).rewrapped is None
        run.operated("requires_grad_", view, a, grad_enabled=False)
        assert made(run, view).rewrapped is not None


def test_a_leaf_made_of_numbers_that_had_left_torch_is_rewrapped_too():
    a, b = weight(), weight()
    with inventing(Lineage) as run:
        early = run.operated("ones", torch.ones(3))
        run.operated("requires_grad_", early.requires_grad_(), early)
        run.escaped("item", 3.0, a)
        data, learned, fresh = torch.ones(3), b.detach(), torch.ones(3, requires_grad=True)
        run.operated("stack", data)
        run.operated("mul", learned, b)
        for tensor in (data, learned, fresh):
            run.operated("requires_grad_", tensor.requires_grad_(), tensor)
        assert [flows(run, each) for each in (early, data, learned, fresh)] == [
            ([], []),
            ([0], []),
            ([1], []),
            ([], []),
        ]


# -------------------------------------------------------------------------------------------------------------- escapes


def test_numbers_that_come_back_bring_their_lineage():
    a = weight()
    with inventing(Lineage) as run:
        loss = run.operated("sum", (a * 0.1).sum(), a)
        number = run.escaped("item", 0.7654321, loss)
        back = run.operated("mul", torch.ones(3) * number, torch.ones(3), number)
        assert flows(run, back) == ([0], [])
        assert cuts(run, back) == [("item", "operation", [0])]
        other = run.operated("mul", torch.ones(3), torch.ones(3), 0.123456)
        assert flows(run, other) == ([], [])


@pytest.mark.parametrize("value", [0.5, 2.0, math.inf, math.nan, 3])
def test_numbers_that_are_met_by_accident_bring_nothing(value):
    a = weight()
    with inventing(Lineage) as run:
        run.escaped("item", value, a)
        assert flows(run, run.operated("mul", torch.ones(3), torch.ones(3), value)) == ([], [])


def test_numbers_in_lists_and_arrays_come_back():
    a = weight()
    with inventing(Lineage) as run:
        numbers = run.escaped("tolist", [0.123456, [0.654321]], a)
        assert flows(run, run.operated("tensor", torch.ones(1), [numbers[1]])) == ([0], [])
        array = a.detach().numpy()
        run.escaped("numpy", array, a)
        copied = run.operated("from_numpy", torch.ones(3), array)
        assert flows(run, copied) == ([0], [])


def test_values_made_anew_below_the_line_that_took_them_out_are_taken_for_the_same():
    a = weight()
    with inventing(Lineage) as run:
        send = run.signals.operations.ended.send
        above, below, elsewhere = (torch.ones(1) for _ in range(3))
        send(Operation(torch.add, Kind.OPERATION, "tensor", ([1.0],), {}, True, above))
        send(Operation(torch.add, Kind.ESCAPE, "item", (a,), {}, True, 3.0))
        send(Operation(torch.add, Kind.OPERATION, "tensor", ([1.0],), {}, True, below))
        send(Operation(torch.add, Kind.OPERATION, "mul", (1.5,), {}, True, elsewhere))
        assert [flows(run, each)[0] for each in (above, below, elsewhere)] == [[], [0], []]
        assert [cut.guessed for cut in made(run, below).cuts_of(~0)] == [True]


def test_what_was_guessed_to_flow_in_is_told_from_what_was_seen():
    a, b = weight(), weight()
    with inventing(Lineage) as run:
        send = run.signals.operations.ended.send
        send(Operation(torch.add, Kind.ESCAPE, "item", (a,), {}, True, 3.0))
        back = torch.ones(1)
        send(Operation(torch.add, Kind.OPERATION, "tensor", ([1.0],), {}, True, back))
        assert guessed(run, back) == [0]
        with_other = run.operated("mul", back * b, back, b)
        assert (flows(run, with_other)[0], guessed(run, with_other)) == ([0, 1], [0])
        for inputs in ((with_other, a), (a, with_other)):
            assert guessed(run, run.operated("mul", with_other * a, *inputs)) == [], "seen on another way"
        escaped = run.escaped("item", 0.7654321, with_other)
        returned = run.operated("tensor", torch.ones(1), [escaped])
        assert (flows(run, returned)[0], guessed(run, returned)) == ([0, 1], [0])


def test_what_left_no_parameter_is_not_followed():
    with inventing(Lineage) as run:
        run.escaped("item", 0.123456, torch.ones(()))
        assert flows(run, run.operated("tensor", torch.ones(1), 0.123456)) == ([], [])


# ---------------------------------------------------------------------------------------------------- changes in place


def test_a_change_in_place_is_remembered_with_its_version():
    a, x = weight(), torch.zeros(3)
    with inventing(Lineage) as run:
        run.operated("zeros", x)
        x.add_(1)
        run.operated("add_", x, x, 1)
        run.operated("mul", x, out=x)
        found = made(run, x)
        assert [(change.operation, change.version) for change in found.changes] == [("add_", 1), ("mul", 1)]
        assert (found.operation, found.created_by) == ("mul", "zeros")
        plain = run.operated("mul", x * 2, x, 2)
        assert made(run, plain).changes == ()
        assert flows(run, run.operated("add_", x, x, a)) == ([0], [])


def test_a_change_of_a_view_reaches_the_whole():
    a, whole = weight(), torch.zeros(2, 3)
    with inventing(Lineage) as run:
        view = whole[0]
        view.copy_(a.detach())
        run.operated("copy_", view, view, a)
        assert flows(run, whole) == ([0], [])
        assert [change.operation for change in made(run, whole).changes] == ["copy_"]
        run.operated("copy_", view, view, weight())
        assert len(made(run, whole).changes) == 2
        learned = torch.zeros(2, 3)
        part = learned[0]
        run.operated("copy_", part.copy_(a), part, a)
        assert flows(run, learned) == ([0], [0])


def test_an_assignment_to_a_part_changes_the_whole():
    a, x = weight(), torch.zeros(2, 3)
    with inventing(Lineage) as run:
        heard = run.heard(run.find(Lineage).recorded)
        run.operated("__setitem__", None, x, torch.tensor([True, False]), a)
        assert flows(run, x) == ([0], [])
        assert [change.operation for change in made(run, x).changes] == ["__setitem__"]
        assert [(each.output is x, [tensor is a for tensor in each.inputs]) for each in heard] == [(True, [True])]
        run.operated("no_such_thing", None, weight())
        run.operated("__setitem__", None, "no tensor")


def test_writes_to_a_parameter_are_updates_by_hand():
    a, loss = weight(), torch.ones(())
    with inventing(Lineage) as run:
        run.number(a)
        for name in ("sub_", "__setitem__", "data.__set__", "requires_grad_", "mul"):
            with run.backward(loss):
                a.grad = torch.ones(3)
            before = len(run.of(OptimizerStepped))
            if name in ("__setitem__", "data.__set__"):
                run.operated(name, None, a, torch.ones(3))
            else:
                run.operated(name, a, a, grad_enabled=False)
            run.find(Ledger).catch_up()
            assert len(run.of(OptimizerStepped)) - before == (name not in ("requires_grad_", "mul")), name
            assert run.find(Tensors).get(a) is None


def test_writes_to_a_vector_update_the_parameters_that_are_slices_of_it():
    flat = torch.ones(9)
    a, b, other = (nn.Parameter(torch.ones(3)) for _ in range(3))
    with inventing(Lineage) as run:
        run.operated("sub_", flat, flat, grad_enabled=False)
        numbers = [run.number(each) for each in (a, b, other)]
        for each, values in ((a, flat[:3]), (b, flat[3:6])):
            each.data = values
            run.operated("data.__set__", None, each, values)
        for target, moved in ((flat, [a, b]), (flat[2:4], [a, b]), (flat[4:], [b]), (flat[6:], [])):
            with run.backward(torch.ones(())):
                for each in (a, b, other):
                    each.grad = torch.ones(3)
            before = len(run.of(OptimizerStepped))
            run.operated("sub_", target, target, grad_enabled=False)
            run.find(Ledger).catch_up()
            said = run.of(OptimizerStepped)[before:]
            assert [event.moved for event in said] == ([[run.number(each) for each in moved]] if moved else [])
        assert numbers == [0, 1, 2]


def test_a_vector_that_holds_all_values_is_no_copy_of_other_parameters():
    a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    with inventing(Lineage) as run:
        for each in (a, b):
            run.number(each)
        for fresh in (True, False):
            with run.backward(torch.ones(())):
                if fresh:
                    a.grad, b.grad = torch.ones(3), torch.ones(3)
            vector = run.operated("cat", torch.ones(6), [a.detach(), b.detach()], grad_enabled=False)
            run.find(Tensors).put(vector, run.find(Tensors).derive(Provenance("cat", None, 0), [a, b]))
            run.operated("data.__set__", None, a, vector)
            run.find(Ledger).catch_up()
            assert (len(run.of(OptimizerStepped)), len(run.of(ParameterCopied))) == (1, int(not fresh))


def test_a_graph_that_grows_ends_an_update_by_hand():
    a = weight()
    with inventing(Lineage) as run:
        run.number(a)
        with run.backward(torch.ones(())):
            a.grad = torch.ones(3)
        run.operated("sub_", a, a)
        run.operated("mul", torch.ones(3))
        assert run.of(OptimizerStepped) == []
        run.operated("mul", a * 2, a)
        assert len(run.of(OptimizerStepped)) == 1


def test_an_assignment_to_grad_names_the_line_that_cleared():
    from autograd_doctor.events.steps import GradientsCleared

    a = weight()
    with inventing(Lineage) as run:
        run.number(a)
        with run.backward(torch.ones(())):
            a.grad = torch.ones(3)
        a.grad = None
        run.operated("grad.__set__", None, a, None)
        run.find(Ledger).catch_up()
        assert run.of(GradientsCleared)[0].location is not None


# ----------------------------------------------------------------------------------------------- behind autograd's back


def behind(run: Invented, tensor: torch.Tensor, name: str = "data") -> torch.Tensor:
    return run.operated(name, tensor.data, tensor)


def test_an_alias_made_by_data_is_one_of_the_parameter():
    a = weight()
    with inventing(Lineage) as run:
        alias, detached = behind(run, a), behind(run, a, "detach")
        assert [(made(run, each).alias_of, made(run, each).hidden_alias) for each in (alias, detached)] == [
            (0, True),
            (0, False),
        ]
        assert len(run.find(Tensors).originals) == 1
        for steps, (written, values) in enumerate(((alias, torch.ones(3)), (detached, torch.ones(3)), (alias, a)), 1):
            with run.backward(torch.ones(())):
                a.grad = torch.ones(3)
            run.operated("sub_", written, written, values)
            run.find(Ledger).catch_up()
            assert len(run.of(OptimizerStepped)) == steps


def test_a_change_behind_autograd_is_remembered_with_its_storage():
    a = weight()
    with inventing(Lineage) as run:
        hidden = run.operated("mul", a * 2, a)
        alias = behind(run, hidden)
        x = torch.ones(3)
        run.operated("add_", x, x)
        assert list(run.find(Tensors).hidden_changes) == []
        run.operated("clamp_", alias, alias, 0.5)
        (change,) = run.find(Tensors).hidden_changes
        assert (change.operation, change.region.storage) == ("clamp_", hidden.untyped_storage().data_ptr())
        assert change.order == made(run, alias).order


def test_what_is_written_behind_a_tensor_flows_into_it_without_gradient():
    a, b = weight(), weight()
    with inventing(Lineage) as run:
        hidden = run.operated("mul", a * 2, a)
        alias = behind(run, hidden)
        run.operated("add_", alias, alias, b)
        assert flows(run, hidden) == ([0, 1], [0])
        assert ("add_", "operation", [1]) in cuts(run, hidden)


def test_what_is_written_behind_a_parameter_flows_out_of_it():
    a, b = weight(), weight()
    with inventing(Lineage) as run:
        run.number(a)
        alias = behind(run, a)
        run.operated("copy_", alias, alias, b)
        used = run.operated("mul", a * 2, a)
        assert flows(run, used) == ([0, 1], [0])
        assert ("copy_", "operation", [1]) in cuts(run, used)


def test_an_assignment_to_data_brings_what_flows_into_it():
    a, known, plain = weight(), torch.ones(3), torch.ones(3)
    with inventing(Lineage) as run:
        run.operated("ones", known)
        for target in (known, plain):
            run.operated("data.__set__", None, target, a)
            assert flows(run, target) == ([0], [])
            assert cuts(run, target) == [("data", "operation", [0])]
        untouched = torch.ones(3)
        run.operated("data.__set__", None, untouched, torch.ones(3))
        assert run.find(Tensors).get(untouched) is None


# -------------------------------------------------------------------------------------------------------------- limits


def test_a_mode_that_the_program_took_off_the_stack_is_a_limit(monkeypatch):
    from torch.optim import SGD

    with inventing(Lineage) as run:
        sgd = SGD([weight()], lr=0.1)
        run.train(sgd)
        assert run.of(InstrumentLimited) == []
        other: Any = object()
        run.signals.operations._mode = other
        for _ in range(2):
            run.train(sgd)
        assert [event.instrument for event in run.of(InstrumentLimited)] == ["lineage"]
        run.signals.operations._mode = None


def test_an_escape_carries_what_flowed_into_the_tensor_it_left():
    a = weight()
    with inventing(Lineage) as run:
        run.signals.operations.ended.send(Operation(torch.add, Kind.ESCAPE, "item", (a[0], a), {}, True, 0.7654321))
        assert flows(run, run.operated("tensor", torch.ones(1), 0.7654321)) == ([0], [])


def test_a_parameter_that_is_given_values_of_others_is_a_copy_and_not_updated():
    source, target = weight(), weight()
    target.grad = torch.ones_like(target)
    with inventing(Lineage) as run:
        number = run.number(target)
        run.number(source)
        with torch.no_grad():
            for _ in range(2):
                run.operated("copy_", target.copy_(source), target, source)
        (copied,) = run.of(ParameterCopied)
        assert copied.parameter == number
        assert not run.find(Course).by_hand


def test_a_parameter_that_is_told_to_require_no_gradient_is_told_of_once_for_a_line() -> None:
    with inventing(Lineage) as run:
        parameter, data = weight(), torch.ones(3)
        for flag in (True, False, False, True, False):
            run.operated("requires_grad_", None, parameter.requires_grad_(flag), flag)
            run.operated("requires_grad_", data.requires_grad_(flag), data, flag)
        (frozen,) = run.of(ParameterFrozen)
        assert frozen.parameter == run.number(parameter)
        assert frozen.location is not None


def test_freezing_what_is_frozen_is_not_told_of() -> None:
    with watching(Lineage) as run:
        parameter = weight()
        parameter.requires_grad_(False)
        parameter.requires_grad = False
        assert len(run.of(ParameterFrozen)) == 1
        parameter.requires_grad = True
        parameter.requires_grad = False
        assert len(run.of(ParameterFrozen)) == 2


def test_state_that_gradients_move_by_hand_holds_no_values_of_parameters() -> None:
    scale, state = nn.Parameter(torch.ones(2)), torch.zeros(2)
    with watching(Lineage, BackwardRuns) as events:
        optimizer = torch.optim.SGD([scale], lr=0.1)
        tensors = events.find(Tensors)
        for _ in range(2):
            asked = state.clone().requires_grad_()
            (by_state,) = torch.autograd.grad((asked * scale + asked.square()).sum(), asked)
            state -= 0.1 * by_state
            fresh = torch.zeros(2)
            fresh += by_state
            optimizer.zero_grad()
            (scale * state).sum().backward()
            optimizer.step()
        moved, collected = tensors.get(state), tensors.get(fresh)
    assert moved is not None
    assert not moved.values
    assert collected is not None
    assert collected.values
