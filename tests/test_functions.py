"""The probe of custom functions: verdicts, attributes of `ctx`, and that the program does not notice."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.errors import ContextAttributeKept, FunctionJudged
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.errors.functions import Functions
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.derivatives import small_copies
from tests.watching import one_of_two, watching

CALLS: list[str] = []


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class HalfSquare(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x * grad


class Swapped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return a.T @ grad, grad @ b.T


class TooFew(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, grad):
        return grad


class WrongShape(TooFew):
    @staticmethod
    def backward(ctx, grad):
        return grad, grad.new_ones(1 + grad.numel())


class KinkAtZero(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x > 0)


class Unmasked(KinkAtZero):
    @staticmethod
    def backward(ctx, grad):
        return grad


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + x.abs()) ** 2


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Bounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-0.1, 0.1)

    @staticmethod
    def backward(ctx, grad):
        return grad


class AtLeast(Bounded):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0.25)


class Byte(Bounded):
    """One bound is 0, the other far from what the function meets."""

    @staticmethod
    def forward(ctx, x):
        return x.clamp(0, 255)


class Pruned(Bounded):
    @staticmethod
    def forward(ctx, x):
        return x * (x.abs() > 0.5)


class SpikeAndRest(torch.autograd.Function):
    """One output is a step, the other is not."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        spike = (x > 1).to(x.dtype)
        return spike, 2 * x

    @staticmethod
    def backward(ctx, grad_spike, grad_rest):
        (x,) = ctx.saved_tensors
        return grad_spike / (1 + x.abs()) ** 2 + 2 * grad_rest


class Replaced(torch.autograd.Function):
    """The values of one input with the gradient of another."""

    @staticmethod
    def forward(ctx, soft, hard):
        return hard.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class LearnedSteps(torch.autograd.Function):
    """Quantised with a learned size of the steps."""

    @staticmethod
    def forward(ctx, x, size):
        ctx.save_for_backward(x, size)
        return torch.round(x / size) * size

    @staticmethod
    def backward(ctx, grad):
        x, size = ctx.saved_tensors
        return grad, (grad * (torch.round(x / size) - x / size)).sum().reshape(1)


class Below(KinkAtZero):
    """At most 0, where gradients that lead back below it still pass."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(max=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ((x <= 0) | (grad > 0))


class Clipped(KinkAtZero):
    """A right derivative, clipped."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (2 * x * grad).clamp(-0.1, 0.1)


class Pinball(KinkAtZero):
    """The error of a quantile, of which one side is rare."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x < 2, 0.1 * x.square(), 1.4 * x - 2.4)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.where(x < 2, 0.2 * x, -1.4)


class PinballSummed(Pinball):
    @staticmethod
    def forward(ctx, x):
        return Pinball.forward(ctx, x).sum(-1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * torch.where(x < 2, 0.2 * x, -1.4)


class PinballRight(Pinball):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.where(x < 2, 0.2 * x, 1.4)


class FarOnly(Pinball):
    """The sign is missing in its derivative, which is right wherever inputs are positive."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs().clamp(min=0.5) - 0.5

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() > 0.5)


class Saturating(KinkAtZero):
    """A bound that few inputs reach, beyond which the gradient passes on purpose."""

    @staticmethod
    def forward(ctx, x):
        return x.clamp(-2.2, 2.2)

    @staticmethod
    def backward(ctx, grad):
        return grad


class ClampWithoutGradientOfTheIncoming(KinkAtZero):
    """Straight-through estimator, surrogate, quantised, spike, threshold: words that change nothing."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x**2  # no clamp needed: STE


class SquaredIncoming(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * grad.abs() * 3


class Maximum(torch.autograd.Function):
    """Masks forgotten for both inputs: each looks like a bound of the other."""

    @staticmethod
    def forward(ctx, a, b):
        return torch.maximum(a, b)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class Largest(torch.autograd.Function):
    """The gradient of a maximum, given to all."""

    @staticmethod
    def forward(ctx, x):
        return x.amax(dim=1)

    @staticmethod
    def backward(ctx, grad):
        return grad.unsqueeze(1).expand(-1, 8)


class Spread(torch.autograd.Function):
    """Each gradient goes to every element, also to those that its output does not depend on."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad.sum().expand_as(grad)


class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + torch.rand_like(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Recording(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        CALLS.append("forward")
        return 3 * x

    @staticmethod
    def backward(ctx, grad):
        return grad


class WithCallable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        return run(x)

    @staticmethod
    def backward(ctx, grad):
        return None, grad


class FixedShape(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x.reshape(3, 7)

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad.reshape(21)


class InFloat32(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x.float() * 3.3).sin().to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3.3 * (3.3 * x).cos()


class Printing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward")
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.x = x
        ctx.mask = x > 0
        ctx.factor = factor
        ctx.result = x * factor
        return ctx.result

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Once(Square):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class ConstantBackward(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad


def watched(program: Callable[[], Any]) -> list[Event]:
    with watching(Functions) as seen:
        program()
    return seen


def verdict(function: Any, *arguments: Any) -> FunctionJudged:
    """What is said of a function after one call."""
    (judged,) = [event for event in watched(lambda: function.apply(*arguments)) if isinstance(event, FunctionJudged)]
    return judged


def verdict_after_a_step(function: Any, x: torch.Tensor, thing: Any) -> FunctionJudged:
    """The same after a call in each of two steps: objects are to be seen to stay as they are."""

    def program() -> None:
        optimizer = torch.optim.SGD([x], lr=0.1)
        for _ in range(2):
            function.apply(x, thing).sum().backward()
            optimizer.step()

    (judged,) = [event for event in watched(program) if isinstance(event, FunctionJudged)]
    return judged


def inputs(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).requires_grad_()


# ------------------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize("function", [Square, KinkAtZero, Once, Printing])
def test_right_gradients(function: Any) -> None:
    assert verdict(function, inputs(64, 128)).verdict == "right"


def test_kinks_that_were_met_exactly_are_no_mistake() -> None:
    assert verdict(KinkAtZero, torch.zeros(4, 4, requires_grad=True)).verdict == "right"


def test_wrong_factor_is_measured_and_placed() -> None:
    judged = verdict(HalfSquare, inputs(5, 5))
    assert judged.verdict == "wrong"
    assert judged.input == 0
    assert judged.expected == pytest.approx(2 * (judged.found or 0), rel=1e-4)
    assert "0.5 times" in judged.reason
    assert judged.location is not None
    assert judged.location.function == "HalfSquare.backward"
    with open(judged.location.path, encoding="utf-8") as source:
        assert source.readlines()[judged.location.line - 1].strip() == "def backward(ctx, grad):"


def test_swapped_gradients_are_recognised() -> None:
    class SwappedProduct(Swapped):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * a, grad * b

    judged = verdict(SwappedProduct, inputs(4, 4), inputs(4, 4) + 1)
    assert judged.verdict == "wrong"
    assert judged.reason == "the gradients of inputs 1 and 2 are swapped"


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(TooFew, (inputs(3), inputs(3))), (WrongShape, (inputs(3), inputs(3))), (Swapped, (inputs(4, 6), inputs(6, 5)))],
    ids=["too few", "wrong shape", "swapped matrices"],
)
def test_gradients_that_autograd_refuses_are_wrong(function: Any, arguments: Any) -> None:
    judged = verdict(function, *arguments)
    assert judged.verdict == "wrong"
    assert judged.reason


def test_missing_mask_is_wrong_where_the_forward_is_flat() -> None:
    judged = verdict(Unmasked, inputs(8, 8))
    assert (judged.verdict, judged.expected, judged.found) == ("wrong", 0.0, 1.0)


def mostly_small(*shape: int) -> torch.Tensor:
    """Few elements are large, and none of the first."""
    x = inputs(*shape).detach().clamp(-1, 1)
    x.reshape(-1)[40::37] = 3 + torch.rand(1, generator=torch.Generator().manual_seed(2))
    return x.requires_grad_()


@pytest.mark.parametrize("function", [Pinball, PinballSummed])
@pytest.mark.parametrize("shape", [(256,), (32, 24), (4, 8, 16)], ids=["vector", "matrix", "stack"])
def test_an_error_confined_to_few_elements_is_found(function: Any, shape: tuple[int, ...]) -> None:
    judged = verdict(function, mostly_small(*shape))
    assert judged.verdict == "wrong"
    assert (judged.found or 0) * (judged.expected or 0) < 0


@pytest.mark.parametrize("shape", [(256,), (32, 24)])
def test_a_missing_sign_is_found_whatever_elements_come_first(shape: tuple[int, ...]) -> None:
    x = inputs(*shape).detach()
    for ordered in (x.abs(), -x.abs(), x, x.sort().values):
        ordered.reshape(-1)[100:104] = -2.0
        assert verdict(FarOnly, ordered.requires_grad_()).verdict == "wrong"


@pytest.mark.parametrize(("function", "expected"), [(PinballRight, "right"), (Saturating, "surrogate")])
def test_few_elements_of_another_kind_are_no_mistake(function: Any, expected: str) -> None:
    assert verdict(function, mostly_small(32, 24)).verdict == expected


def test_inputs_that_grow_are_looked_at_again() -> None:
    def program(function: Any) -> list[str]:
        with watching(Functions) as seen:
            for call in range(70):
                function.apply((inputs(64).detach() * 0.1 * (1 + call)).requires_grad_())
                if call == 0:
                    seen.find(Functions).finish()
        return [each.verdict for each in seen.of(FunctionJudged)]

    assert program(Pinball) == ["right", "wrong"]
    assert program(PinballRight) == ["right"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (Rounded, "constant"),
        (Spike, "constant"),
        (SpikeAndRest, "constant"),
        (Pruned, "constant"),
        (Reversed, "identity"),
        (Bounded, "bound"),
        (AtLeast, "bound"),
        (Byte, "bound"),
        (Below, "sign or size"),
        (Clipped, "sign or size"),
    ],
)
def test_gradients_that_differ_by_design(function: Any, reason: str) -> None:
    judged = verdict(function, inputs(8, 8))
    assert judged.verdict == "surrogate"
    assert reason in judged.reason


def test_steps_of_learned_size_differ_by_design() -> None:
    assert verdict(LearnedSteps, inputs(8, 8), torch.ones(1, requires_grad=True)).verdict == "surrogate"


def test_values_of_one_with_the_gradient_of_another_differ_by_design() -> None:
    assert verdict(Replaced, inputs(4, 4), torch.ones(4, 4)).verdict == "surrogate"


@pytest.mark.parametrize("function", [ClampWithoutGradientOfTheIncoming, SquaredIncoming, Largest, Spread])
def test_words_and_shapes_of_mistakes_excuse_nothing(function: Any) -> None:
    assert verdict(function, inputs(8, 8)).verdict in ("wrong", "differs")


def test_two_inputs_that_bound_each_other_are_no_surrogates() -> None:
    assert verdict(Maximum, inputs(4, 4), inputs(4, 4).detach().flip(0).requires_grad_()).verdict == "wrong"


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (Noisy, (inputs(4),), "differs from call to call"),
        (Recording, (inputs(4),), "`CALLS`"),
        (WithCallable, (torch.sin, inputs(4)), "builtin_function_or_method"),
    ],
)
def test_what_cannot_be_judged_is_said(function: Any, arguments: Any, reason: str) -> None:
    judged = verdict(function, *arguments)
    assert judged.verdict == "not judged"
    assert reason in judged.reason


def test_coarse_arithmetic_is_no_mistake() -> None:
    assert verdict(InFloat32, inputs(4)).verdict in ("right", "not judged")


def test_function_with_a_fixed_shape_is_judged_on_all_of_its_input() -> None:
    assert verdict(FixedShape, inputs(21)).verdict == "right"


def test_function_without_gradients_is_left_alone() -> None:
    assert watched(lambda: HalfSquare.apply(torch.ones(3))) == []


@pytest.mark.parametrize("began", ["before the call", "after it"])
def test_function_of_a_process_that_is_one_of_several_is_not_called(began: str) -> None:
    with one_of_two() if began == "before the call" else nullcontext(), watching(Functions) as seen:
        HalfSquare.apply(inputs(4))
        with one_of_two() if began == "after it" else nullcontext():
            seen.find(Functions).finish()
    (judged,) = seen.of(FunctionJudged)
    assert (judged.verdict, judged.reason) == ("not judged", "other processes may take part in it")


# ------------------------------------------------------------------------------------------- objects besides tensors


class Grid:
    """Coefficients in float32, of the size that inputs have; `served` counts how often they were asked for."""

    def __init__(self, size: int, *, learned: bool = False) -> None:
        self.size = size
        self.matrix = torch.linspace(0.5, 1.5, size * size).reshape(size, size).requires_grad_(learned)
        self.served = 0

    def operator(self) -> torch.Tensor:
        self.served += 1
        return self.matrix

    def noted(self) -> torch.Tensor:
        CALLS.append("noted")
        return self.matrix


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, grid):
        ctx.grid = grid
        return x @ grid.operator()

    @staticmethod
    def backward(ctx, grad):
        return grad @ ctx.grid.matrix.T, None


class NotTransposed(Adjoint):
    @staticmethod
    def backward(ctx, grad):
        grid = ctx.grid
        return grad @ grid.matrix, None


class NotesItself(Adjoint):
    @staticmethod
    def backward(ctx, grad):
        grid = ctx.grid
        return grad @ grid.noted().T, None


class InHalfOfThePrecision(Adjoint):
    @staticmethod
    def forward(ctx, x, grid):
        ctx.grid = grid
        return (x.float() @ grid.operator().float()).to(x.dtype)


class Padded(torch.autograd.Function):
    """Right at its own size, where the number that it takes besides is that of columns."""

    @staticmethod
    def forward(ctx, x, options):
        ctx.columns = options["columns"] if type(options) is dict else options
        return 2 * x[:, : ctx.columns // 2]

    @staticmethod
    def backward(ctx, grad):
        returned = grad.new_zeros(grad.shape[0], ctx.columns)
        returned[:, : ctx.columns // 2] = 2 * grad
        return returned, None


@pytest.mark.parametrize("rows", [3, 400])
def test_objects_besides_tensors_are_held_fixed(rows: int) -> None:
    grid = Grid(8)
    assert verdict(Adjoint, inputs(rows, 8), grid).verdict == "right"
    judged = verdict_after_a_step(NotTransposed, inputs(rows, 8), grid)
    assert (judged.verdict, judged.input) == ("wrong", 0)
    assert grid.served == 3  # once for each call of the program
    assert grid.matrix.dtype == torch.float32


def test_objects_too_large_to_be_tried_element_by_element_are_tried_along_directions() -> None:
    grid = Grid(300)
    assert verdict(Adjoint, inputs(20, 300), grid).verdict == "right"
    assert verdict(NotTransposed, inputs(20, 300), grid).verdict == "not judged"


def test_lower_precision_within_is_no_mistake() -> None:
    assert verdict(InHalfOfThePrecision, inputs(4, 8), Grid(8)).verdict in ("right", "not judged")


@pytest.mark.parametrize("options", [40, {"columns": 40}])
def test_other_arguments_may_speak_of_sizes_that_were_cut(options: Any) -> None:
    assert verdict(Padded, inputs(64, 40), options).verdict == "right"


@pytest.mark.parametrize(
    ("function", "thing", "reason"),
    [
        (NotesItself, Grid(8), "it changes `CALLS`"),
        (Adjoint, Grid(8, learned=True), "require grad"),
        (WithCallable, nn.Linear(8, 8), "`Linear` besides tensors"),
        (WithCallable, nn.Linear(8, 8).forward, "`method` besides tensors"),
    ],
)
def test_objects_that_cannot_be_held_are_named(function: Any, thing: Any, reason: str) -> None:
    CALLS.clear()
    arguments = (thing, inputs(3, 8)) if function is WithCallable else (inputs(3, 8), thing)
    judged = verdict(function, *arguments)
    assert (judged.verdict, CALLS) == ("not judged", [])
    assert reason in judged.reason


# --------------------------------------------------------------------------------------------------- second derivatives


@pytest.mark.parametrize(("function", "expected"), [(Square, "right"), (ConstantBackward, "wrong"), (Once, "wrong")])
def test_second_derivatives_are_judged_where_the_program_uses_them(function: Any, expected: str) -> None:
    def program() -> None:
        x = inputs(4)
        torch.autograd.grad(function.apply(x).sum(), x, create_graph=True)

    first, second = [event for event in watched(program) if isinstance(event, FunctionJudged)]
    assert (first.verdict, first.double) == ("right", False)
    assert (second.verdict, second.double) == (expected, True)


# --------------------------------------------------------------------------------------------------- attributes of ctx


def test_inputs_and_outputs_on_ctx_are_found_with_their_lines() -> None:
    events = watched(lambda: Kept.apply(inputs(8), 2.0))
    kept = [event for event in events if isinstance(event, ContextAttributeKept)]
    assert {(event.attribute, event.which, event.bytes_held) for event in kept} == {
        ("x", "input", 32),
        ("result", "output", 32),
    }
    lines = [event.location.line for event in kept if event.location]
    with open(__file__, encoding="utf-8") as source:
        text = source.readlines()
    assert sorted(text[line - 1].split("=")[0].strip() for line in lines) == ["ctx.result", "ctx.x"]


def test_attributes_are_reported_once_for_many_calls() -> None:
    def program() -> None:
        for _ in range(5):
            Kept.apply(inputs(8), 2.0)

    assert sum(isinstance(event, ContextAttributeKept) for event in watched(program)) == 2


# ------------------------------------------------------------------------------------------------ without being noticed


def trained(function: Any) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = function.apply(model(torch.randn(8, 4))).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("function", [Square, HalfSquare, Noisy])
def test_training_and_random_state_stay_as_they_were(function: Any) -> None:
    random.seed(3)
    plain = trained(function)
    torch_after, python_after = torch.random.get_rng_state(), random.getstate()
    random.seed(3)
    weights: list[torch.Tensor] = []
    with watching(Functions) as seen:
        weights = trained(function)
        assert any(isinstance(event, FunctionJudged) for event in seen)
    assert all(torch.equal(one, other) for one, other in zip(plain, weights, strict=True))
    assert torch.equal(torch.random.get_rng_state(), torch_after)
    assert random.getstate() == python_after


def test_side_effects_do_not_happen_again(capsys: pytest.CaptureFixture[str]) -> None:
    CALLS.clear()
    watched(lambda: (Recording.apply(inputs(4)), Printing.apply(inputs(4))))
    assert CALLS == ["forward"]
    assert capsys.readouterr().out == "forward\n"


def test_patches_are_taken_back() -> None:
    before = vars(torch.autograd.Function)["apply"], torch.autograd._engine_run_backward
    with watching(Functions) as recorded:
        course = recorded.find(Course)
        assert vars(torch.autograd.Function)["apply"] is not before[0]
    assert (vars(torch.autograd.Function)["apply"], torch.autograd._engine_run_backward) == before
    assert not course.step_taken


def test_copies_are_small_and_keep_what_fits_together() -> None:
    x, weight, labels = torch.randn(512, 1024), torch.randn(10, 1024), torch.zeros(512, dtype=torch.long)
    copies = small_copies((x, weight, labels, 0.5))
    assert copies is not None
    assert copies[0].shape[1] == copies[1].shape[1]
    assert copies[0].shape[0] == copies[2].shape[0] != copies[0].shape[1]
    assert copies[0].dtype == torch.float64
    assert sum(copy.numel() for copy in copies[:3]) < 200
    assert copies[3] == 0.5
