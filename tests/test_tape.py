"""What lies behind a value, and what follows from it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.spine import tape as module
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.reading.divergences import is_bare_divergence, is_divergence, sign_of_divergence
from autograd_doctor.reading.weighted_sums import weights_in
from autograd_doctor.tape import GRAD, Labels, Op, Value, behind, labels_behind, source_of, way_from
from tests.tapes import data, given, made
from tests.watching import Recorded, watching


def names(ops: list[Op]) -> list[str]:
    return [op.name for op in ops]


def test_what_is_behind_a_value_comes_in_the_order_of_the_forward() -> None:
    x = given(4)
    scaled = made("mul", x, 2.0, shape=(4,))
    weights = made("exp", data(4), shape=(4,))
    loss = made("sum", made("mul", made("add", scaled, x, shape=(4,)), weights, shape=(4,)))
    assert names(behind([loss])) == ["mul", "add", "mul", "sum"]
    assert names(behind([loss], live=False)) == ["mul", "exp", "add", "mul", "sum"]
    assert behind([x]) == []


def test_labels_are_carried_forward_and_end_where_nothing_is_said() -> None:
    def depth(op: Op, known: Labels[int]) -> int | None:
        return None if op.name == "detach" else 1 + max((known.get(value, 0) for value in op.values), default=0)

    first = made("relu", given(4), shape=(4,))
    loss = made("sum", made("detach", made("exp", first, shape=(4,)), shape=(4,)))
    found = labels_behind(loss, depth)
    assert (found[first], found[loss]) == (1, 1)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("operands", "options", "dim"),
    [
        ((1,), {}, 1),
        ((), {"dim": -1}, -1),
        ((2.0, 1), {}, 1),
        ((), {}, None),
        ((True,), {}, None),
        ((), {"dim": None}, None),
    ],
)
def test_the_dimension_is_a_whole_number_by_position_or_by_name(
    operands: tuple[Any, ...], options: dict[str, Any], dim: int | None
) -> None:
    op = made("softmax", given(4, 3), *operands, shape=(4, 3), **options).by
    assert op is not None
    assert op.dim == dim


def test_the_way_and_the_source() -> None:
    slope = made(GRAD, data(4), given(4), shape=(4,))
    moved = made("reshape", made("t", slope, shape=(4,)), shape=(2, 2))
    norm = made("norm", moved)
    way = way_from(norm, GRAD)
    assert way is not None
    assert names(way) == [GRAD, "t", "reshape", "norm"]
    assert source_of(moved, {"reshape", "t"}) is slope
    assert way_from(made("norm", given(4)), GRAD) is None


@pytest.mark.parametrize(
    ("build", "squares"),
    [
        (lambda x: made("square", x), True),
        (lambda x: made("pow", x, 2), True),
        (lambda x: made("mul", x, x), True),
        (lambda x: made("pow", x, 3), False),
        (lambda x: made("mul", x, given(4)), False),
        (lambda x: made("relu", x), False),
    ],
)
def test_squares(build: Any, squares: bool) -> None:
    op = build(given(4)).by
    assert op.is_square is squares


@pytest.mark.parametrize(
    ("span", "sign"), [((1, 2), 1), ((0, 3), 1), ((-2, 0), -1), ((0, 0), 0), ((-1, 1), 0), (None, 0)]
)
def test_signs(span: tuple[float, float] | None, sign: int) -> None:
    assert data(3, span=span).sign == sign


def kl(mean: Value, log_variance: Value) -> Value:
    kept = made("sub", made("add", 1, log_variance), made("pow", mean, 2))
    return made("mul", made("sub", kept, made("exp", log_variance)), -0.5)


def test_a_divergence_is_known_by_what_it_adds_up() -> None:
    mean, other = given(4), given(4)
    assert is_divergence(kl(mean, given(4)))
    deviation = given(4)
    by_deviation = made("sub", made("add", made("square", deviation), made("square", mean)), made("log", deviation))
    assert is_divergence(by_deviation)
    assert not is_divergence(made("sub", made("pow", mean, 2), made("exp", other)))
    assert not is_divergence(made("sub", made("exp", other), other))
    assert not is_divergence(mean)


def test_what_weighs_a_divergence_is_not_what_its_formula_divides_by() -> None:
    mean, deviation = given(4), given(4)
    ratio = made("pow", made("div", deviation, data(4)), 2)
    shifted = made("pow", made("div", made("sub", data(4), mean), data(4)), 2)
    both = made("mul", 0.5, made("sub", made("add", ratio, shifted), made("log", ratio)))
    assert is_bare_divergence(both)
    weighed = [made("mul", data(4, span=(1, 3)), both), made("mul", 0.1, both), made("mul", data(4, span=(3, 3)), both)]
    assert all(map(is_divergence, weighed))
    assert not any(map(is_bare_divergence, [*weighed, mean]))


def test_the_sign_of_a_divergence_is_that_of_its_square() -> None:
    mean, log_variance = given(4), given(4)
    written_out = kl(mean, log_variance)
    assert sign_of_divergence(written_out) == 1
    assert sign_of_divergence(made("neg", written_out)) == -1
    assert sign_of_divergence(made("mul", made("neg", written_out), -2.0)) == 1
    assert sign_of_divergence(mean) == 0


# ---------------------------------------------------------------------------------------------------- real operations


def taped(step: Any) -> tuple[Recorded, list[Op], list[torch.Tensor]]:
    """The operations behind what a function of a model and its input returns, in one step."""
    model = nn.Linear(3, 2)
    found: list[Op] = []
    with watching(Tape) as recorded:
        torch.optim.SGD(model.parameters(), lr=0.1)
        results = list(step(model, torch.randn(5, 3)))
        tape = recorded.find(Tape)
        with recorded.session.signals.guard.looking():
            found += behind(tape.values(results))
    return recorded, found, results


def test_a_change_in_place_is_an_operation_on_what_was_there() -> None:
    def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        loss = functional.mse_loss(model(x), x[:, :2])
        loss *= 0.5
        loss += 1
        return [loss]

    _, found, (loss,) = taped(step)
    assert [(op.name, op.called, op.numbers, op.in_place) for op in found[-2:]] == [
        ("mul", "mul_", [0.5], True),
        ("add", "add_", [1], True),
    ]
    assert found[-3].name == "mse_loss"
    assert found[-3].output is found[-2].values[0] is not found[-1].output
    assert found[-1].output.tensor is loss


def test_a_tensor_met_first_by_what_changes_it_held_another_value() -> None:
    kept = torch.ones(2, 3)

    def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            kept.mul_(0.9).add_(model.weight, alpha=0.1)
        return [model(x) @ kept]

    _, found, _ = taped(step)
    added = found[-1].values[1].by
    assert added is not None
    decayed = added.values[0].by
    assert decayed is not None
    assert weights_in(added.output) == {decayed.values[0]: 0.9, added.values[1]: 0.1}


def test_what_gives_back_what_it_was_given_has_made_nothing() -> None:
    _, found, _ = taped(lambda model, x: [model(x).sum().to("cpu").contiguous()])
    assert names(found) == ["linear", "sum"]


def test_what_was_written_through_an_alias_is_opaque() -> None:
    def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        out = model(x)
        out[0].zero_()
        return [out.sum()]

    _, found, _ = taped(step)
    assert names(found) == ["sum"]


def test_custom_functions_and_derivatives_are_operations() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient * 2

    def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        x = x.clone().requires_grad_()
        doubled: Any = Double.apply(model(x))  # type: ignore[no-untyped-call]
        (slope,) = torch.autograd.grad(doubled.square().sum(), x, create_graph=True)
        return [slope.norm()]

    _, found, _ = taped(step)
    assert [(op.name, op.called) for op in found if op.called in ("Double", "grad", "norm")] == [
        ("autograd.Function", "Double"),
        ("grad", "grad"),
        ("norm", "norm"),
    ]
    assert "mul" not in names(found)


def test_plain_numbers_beside_what_learns_are_read_and_learned_ones_are_not() -> None:
    def step(model: nn.Linear, x: torch.Tensor) -> list[torch.Tensor]:
        return [(model(x).sum(1) * torch.arange(5.0) * model.bias[0]).sum() * model.bias.new_ones(())]

    _, found, _ = taped(step)
    spans = [[value.span for value in op.plain] for op in found if op.name == "mul"]
    assert spans == [[(0.0, 4.0)], [], [(1.0, 1.0)]]


def test_no_tensor_is_kept_alive() -> None:
    _, found, results = taped(lambda model, x: [model(x).exp().sum()])
    del results
    assert all(value.tensor is None for op in found for value in op.outputs)


def test_a_tape_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograd_doctor.instruments.spine.tape._MOST", 3)

    def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        out = model(x)
        for _ in range(5):
            out = out.exp()
        return [out.sum()]

    recorded, found, _ = taped(step)
    assert names(found) == []
    assert [type(event).__name__ for event in recorded if "Limited" in type(event).__name__] == ["InstrumentLimited"]


def rollout(model: nn.Module, x: torch.Tensor, rounds: int = 40) -> list[torch.Tensor]:
    """What is kept of each round is a number."""
    scale = torch.ones(2) * 2
    total = sum(float((model(x) * scale).sum()) for _ in range(rounds))
    return [functional.mse_loss(model(x) * scale, x[:, :2] + total)]


def test_a_long_rollout_leaves_room_for_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 40)
    recorded, found, _ = taped(rollout)
    assert [op.name for op in found] == ["linear", "mul", "mse_loss"]
    assert not recorded.of(InstrumentLimited)
    scale = found[1].values[1]
    assert scale.by is not None
    assert scale.by.name == "mul"
    assert found[1] in scale.uses
    assert len(scale.uses) < 20


def test_what_a_rollout_leaves_in_a_buffer_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 40)

    def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        values = torch.zeros(60)
        for place in range(60):
            values[place] = (x * place).sum()
        return [functional.mse_loss(model(x)[:, 0], values[:5])]

    recorded, found, _ = taped(step)
    assert [op.name for op in found] == ["linear", "__getitem__", "mse_loss"]
    assert not recorded.of(InstrumentLimited)


def test_what_all_is_still_of_use_is_said_to_be_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 40)
    recorded, _, _ = taped(lambda model, x: [torch.stack([model(x).sum() for _ in range(40)]).mean()])
    (limited,) = recorded.of(InstrumentLimited)
    assert limited.reason == "only the first 40 operations of a step were recorded"


def test_a_step_that_is_over_leaves_nothing_to_the_garbage_collector() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.collect()
    gc.disable()
    try:
        with watching(Tape) as recorded:
            loss = model(torch.randn(5, 3)).square().mean()
            with recorded.session.signals.guard.looking():
                value = weakref.ref(recorded.find(Tape).value(loss))
            assert value() is not None
            loss.backward()
            optimizer.step()
            assert value() is None
    finally:
        gc.enable()
