"""Custom functions: copies of what they met, judged at a quiet moment."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.optim import SGD

from autograd_doctor.events.errors import ContextAttributeKept, FunctionJudged
from autograd_doctor.instruments.errors import functions as module
from autograd_doctor.instruments.errors.functions import Functions
from autograd_doctor.signals.custom_functions import FunctionCall
from tests.inventing import Invented, inventing


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**2 * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * ctx.factor * gradient, None


class Wrong(Square):
    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return 3 * gradient, None


class Once(Square):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * ctx.factor * gradient, None


class Refuses(Square):
    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient


class Insists(Square):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        assert x.numel() == 3, "three."
        raise ValueError("never.")


class Row(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        ctx.rows, ctx.shape = rows, table.shape
        return table[rows]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient.new_zeros(ctx.shape).index_add_(0, ctx.rows, gradient), None


class RareRow(Row):
    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        counts = torch.bincount(ctx.rows, minlength=ctx.shape[0]).clamp(min=1)
        return Row.backward(ctx, gradient)[0] / counts[:, None], None


class LastRow(Row):
    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        back = gradient.new_zeros(ctx.shape)
        back[ctx.rows] = gradient
        return back, None


class FewRows(LastRow):
    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        assert table.dtype is torch.float32 or len(rows) < 10
        return Row.forward(ctx, table, rows)


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.kept = [x]
        ctx.other = torch.ones(1)
        out = x * 2
        ctx.out = out
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def x(*shape: int, **options: Any) -> torch.Tensor:
    return torch.linspace(0.5, 2.5, max(1, torch.Size(shape).numel())).reshape(shape).requires_grad_(**options)


def began(run: Invented, function: Any, *args: Any, **kwargs: Any) -> FunctionCall:
    call = FunctionCall(function, args, kwargs)
    run.signals.custom_functions.began.send(call)
    return call


def apply(run: Invented, function: Any, *args: Any, **kwargs: Any) -> None:
    call = began(run, function, *args, **kwargs)
    call.result = torch.ones(1)
    run.signals.custom_functions.ended.send(call)


def judged(function: Any, *args: Any, twice: bool = False, asked: bool = False) -> list[FunctionJudged]:
    with inventing(Functions) as run:
        run.find(Functions).asked_about = function if asked else None
        if twice:
            with run.backward(torch.ones(()), create_graph=True):
                pass
        apply(run, function, *args)
        run.session.close()
        return run.of(FunctionJudged)


def test_a_function_is_judged_once_when_a_step_was_taken():
    with inventing(Functions) as run:
        apply(run, Square, x(3), 2.0)
        assert run.of(FunctionJudged) == []
        for _ in range(2):
            run.train(SGD([nn.Parameter(torch.ones(1))], lr=0.1))
            apply(run, Square, x(3), 2.0)
        (event,) = run.of(FunctionJudged)
        assert (event.function, event.verdict, event.double, event.requested, event.step) == (
            "Square",
            "right",
            False,
            False,
            1,
        )
        assert [(facts.name, facts.shape, facts.dtype) for facts in event.judged_on] == [("x", [3], "float64")]
        assert event.location is not None
        assert event.location.function == "Square.backward"
        assert event.applied_at is not None


def test_a_wrong_gradient_comes_with_what_was_expected():
    (event,) = judged(Wrong, x(1), 1.0)
    assert (event.verdict, event.input) == ("wrong", 0)
    assert (event.expected, event.found, event.error) == pytest.approx((1.0, 3.0, 2.0), abs=1e-4)


def test_a_function_that_returns_too_few_gradients_is_wrong():
    (event,) = judged(Refuses, x(1), 1.0)
    assert event.verdict == "wrong"
    assert "incorrect number of gradients" in event.reason


@pytest.mark.parametrize(("function", "verdict"), [(Square, "right"), (Once, "wrong")])
def test_second_derivatives_are_judged_where_the_program_takes_them(function, verdict):
    first, second = judged(function, x(2), 1.0, twice=True)
    assert (first.verdict, first.double) == ("right", False)
    assert (second.verdict, second.double) == (verdict, True)
    assert len(judged(function, x(2), 1.0)) == 1
    assert len(judged(Wrong, x(2), 1.0, twice=True)) == 1


def test_nothing_is_judged_during_a_backward():
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    with inventing(Functions) as run:
        apply(run, Square, x(1))
        with run.backward(torch.ones(())), run.step(sgd):
            pass
        assert len(run.of(FunctionJudged)) == 1
        apply(run, Once, x(1))
        with run.backward(torch.ones(())):
            run.find(Functions)._step_taken(None)  # type: ignore[arg-type]
            assert len(run.of(FunctionJudged)) == 1


def test_a_forward_that_never_came_to_an_end_is_not_judged():
    with inventing(Functions) as run:
        began(run, Square, x(1))
        run.session.close()
        assert run.of(FunctionJudged) == []


@pytest.mark.parametrize(
    "args",
    [(torch.ones(1),), (torch.full((1,), float("nan"), requires_grad=True),), (torch.ones(1, dtype=torch.int64),)],
    ids=["no gradient", "not finite", "whole numbers"],
)
def test_inputs_that_are_of_no_use(args):
    assert judged(Square, *args) == []


def test_later_calls_may_bring_inputs_that_are():
    with inventing(Functions) as run:
        for argument in (torch.ones(1), torch.ones(1), x(1)):
            apply(run, Square, argument)
        for argument in (*[torch.ones(1)] * module._CALLS_LOOKED_AT, x(1)):
            apply(run, Once, argument)
        run.session.close()
        assert [event.function for event in run.of(FunctionJudged)] == ["Square"]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((x(1), iter([2])), "it takes a `list_iterator` besides tensors"),
        ((x(1), (1, [iter([2])])), "it takes a `tuple` besides tensors that holds a `list_iterator`"),
        ((x(1), torch.eye(2).to_sparse()), "it takes sparse or complex tensors"),
        ((x(1), torch.ones(1, dtype=torch.complex64)), "it takes sparse or complex tensors"),
        ((x(2, 2, 2, 2, 2, 2, 2, 2, 2, 2), x(3)), "its inputs are too large"),
    ],
)
def test_inputs_with_which_it_cannot_be_called_again(args, reason):
    (event,) = judged(Square, *args)
    assert (event.verdict, event.reason, event.judged_on) == ("not judged", reason, [])


def test_plain_arguments_are_handed_on():
    assert judged(Square, x(1), None)[0].verdict == "not judged", "a power times None"
    assert judged(Square, x(1), 2)[0].verdict == "right"
    assert judged(Keeps, x(1))[0].verdict == "right"


def test_calls_by_keyword_are_let_alone():
    with inventing(Functions) as run:
        apply(run, Square, x(1), factor=1.0)
        apply(run, Square, x(1), 1.0)
        apply(run, Square, x(1), factor=1.0)
        run.session.close()
        assert len(run.of(FunctionJudged)) == 1


def test_functions_of_libraries_are_let_alone():
    class Theirs(torch.autograd.Function):
        pass

    assert judged(Theirs, x(1)) == []


def test_inputs_are_cut_unless_the_person_chose_them():
    (event,) = judged(Square, x(100), 1.0)
    assert (event.judged_on[0].shape, event.requested) == ([6], False)
    (event,) = judged(Square, x(100), 1.0, asked=True)
    assert (event.judged_on[0].shape, event.requested) == ([100], True)


def test_a_function_that_accepts_no_copy():
    (event,) = judged(Insists, x(8))
    assert (event.verdict, event.reason) == (
        "not judged",
        "it does not accept smaller inputs: AssertionError: three",
    )
    (event,) = judged(Insists, x(8), asked=True)
    assert event.reason == "it failed: AssertionError: three"
    (event,) = judged(Insists, x(3))
    assert event.reason == "it does not accept smaller inputs: ValueError: never"


@pytest.mark.parametrize(
    ("function", "verdict"), [(Row, "right"), (RareRow, "surrogate"), (LastRow, "wrong"), (FewRows, "not judged")]
)
def test_rows_are_chosen_by_their_numbers(function: type, verdict: str) -> None:
    rows = torch.arange(200).remainder(7).square().remainder(60) + 23
    (event,) = judged(function, torch.randn(60, 33, requires_grad=True), rows.remainder(60))
    assert event.verdict == verdict


def test_judging_does_not_take_for_ever(monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    (event,) = judged(Square, x(1), 1.0)
    assert (event.verdict, event.reason) == ("not judged", "it took longer than 0 s")


# ------------------------------------------------------------------------------------------------------------- contexts


def test_inputs_and_outputs_that_the_context_keeps():
    with inventing(Functions) as run:
        for _ in range(2):
            argument = x(4)
            call = began(run, Keeps, argument)
            call.result = Keeps.apply(argument)
            run.signals.custom_functions.ended.send(call)
        found = {event.attribute: event for event in run.of(ContextAttributeKept)}
        assert len(run.of(ContextAttributeKept)) == 2
        assert [(name, event.which, event.bytes_held) for name, event in found.items()] == [
            ("kept", "input", 16),
            ("out", "output", 16),
        ]
        assert found["kept"].function == "Keeps"
        assert found["kept"].location is not None
        assert found["kept"].location.function == "Keeps.forward"


def test_parameters_that_the_context_keeps_stay_alive_anyway():
    with inventing(Functions) as run:
        argument = nn.Parameter(torch.ones(4))
        call = began(run, Keeps, argument)
        call.result = Keeps.apply(argument)
        run.signals.custom_functions.ended.send(call)
        assert [(event.attribute, event.which) for event in run.of(ContextAttributeKept)] == [("out", "output")]


@pytest.mark.parametrize(("before", "looked"), [(module._CALLS_LOOKED_AT - 1, 2), (module._CALLS_LOOKED_AT, 0)])
def test_contexts_are_looked_at_in_the_first_calls(before, looked):
    with inventing(Functions) as run:
        for _ in range(before):
            apply(run, Keeps, x(1))
        argument = x(4)
        call = began(run, Keeps, argument)
        call.result = Keeps.apply(argument)
        run.signals.custom_functions.ended.send(call)
        assert len(run.of(ContextAttributeKept)) == looked
