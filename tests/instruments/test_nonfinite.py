"""Where NaN and Inf are born, and how an origin travels."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.instruments.numerics import nonfinite as module
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.signals.attention import Attention
from tests.inventing import Invented, inventing
from tests.watching import watching

NAN, INF = math.nan, math.inf


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values)


def backward(run: Invented, root: torch.Tensor) -> None:
    with run.backward(root):
        pass


def origin(run: Invented, output: torch.Tensor) -> str | None:
    made = run.find(Tensors).get(output)
    assert made is not None
    return made.origin.operation if made.origin is not None else ""


def test_a_birth_is_reported_when_it_reaches_a_loss():
    with inventing(NonFinite) as run:
        operands = [tensor(-1.0, 2.0) for _ in range(5)]
        logs = run.operated("log", tensor(NAN, 0.5), *operands)
        assert run.of(NonFiniteProduced) == []
        loss = run.operated("sum", tensor(NAN), logs)
        assert origin(run, loss) == "log"
        backward(run, loss)
        (event,) = run.of(NonFiniteProduced)
        assert (event.operation, event.reached, event.rows, event.step) == ("log", "loss", [0], 0)
        assert (event.output.nan, event.output.shape) == (1, [2])
        assert [operand.low for operand in event.operands] == [-1.0] * 4
        assert event.location is not None


def test_a_birth_that_was_absorbed_leaves_no_trace():
    with inventing(NonFinite) as run:
        masked = run.operated("log", tensor(-INF, 1.0), tensor(0.0, 1.0))
        weights = run.operated("softmax", tensor(0.0, 1.0), masked)
        assert origin(run, weights) == ""
        backward(run, run.operated("sum", tensor(1.0), weights))
        spoiled = run.operated("mul", tensor(1.0), masked)
        assert origin(run, spoiled) == ""
        assert run.of(NonFiniteProduced) == []


def test_a_loss_that_is_finite_is_not_spoiled_by_its_origin():
    with inventing(NonFinite) as run:
        spoiled = run.operated("log", tensor(NAN), tensor(0.0))
        loss = run.operated("clone", tensor(1.0), spoiled)  # cannot spoil, and is not looked at
        assert origin(run, loss) == "log"
        backward(run, loss)
        backward(run, tensor(NAN))
        assert run.of(NonFiniteProduced) == []


def test_a_tensor_that_came_in_spoiled():
    with inventing(NonFinite) as run:
        clean, batch = tensor(1.0), torch.tensor([[1.0, 2.0], [NAN, INF]])
        loss = run.operated("mul", tensor(NAN), clean, torch.tensor([1]), batch)
        assert origin(run, loss) is None
        backward(run, loss)
        (event,) = run.of(NonFiniteInput)
        assert (event.tensor.shape, event.tensor.nan, event.tensor.inf, event.rows) == ([2, 2], 1, 1, [1])
        assert run.of(NonFiniteProduced) == []


def test_of_several_inputs_the_first_that_came_in_spoiled_is_told() -> None:
    with inventing(NonFinite) as run:
        backward(run, run.operated("mul", tensor(NAN), torch.tensor([1.0, NAN]), tensor(INF)))
        assert [event.tensor.shape for event in run.of(NonFiniteInput)] == [[2]]


def test_of_several_roots_the_first_is_the_loss() -> None:
    with inventing(NonFinite) as run:
        spoiled = run.operated("log", tensor(NAN), tensor(0.0))
        for roots in ((tensor(1.0), spoiled), (spoiled, tensor(1.0))):
            assert run.of(NonFiniteProduced) == []
            with run.backward(*roots):
                pass
        assert len(run.of(NonFiniteProduced)) == 1


def test_an_infinity_written_down_on_purpose_is_not_where_nan_was_born():
    with inventing(NonFinite) as run:
        mask = run.operated("masked_fill", tensor(-INF, 0.0), tensor(1.0, 0.0))
        still = run.operated("add", tensor(-INF, 1.0), mask)
        assert origin(run, still) == "masked_fill"
        nan = run.operated("softmax", tensor(NAN, NAN), still)
        assert origin(run, nan) == "softmax"
        assert origin(run, run.operated("sum", tensor(NAN), nan)) == "softmax"


def test_sums_that_overflow_are_no_birth():
    with inventing(NonFinite) as run:
        large = run.operated("mul", tensor(3e38, 3e38), tensor(1.0))
        assert origin(run, large) == ""
        halves = run.operated("mul", torch.full((4,), 60_000.0, dtype=torch.float16), tensor(1.0))
        assert origin(run, halves) == ""
        doubles = run.operated("mul", torch.full((4,), 1e300, dtype=torch.float64), tensor(1.0))
        assert origin(run, doubles) == ""


@pytest.mark.parametrize("output", [torch.tensor([1]), torch.empty(0), torch.eye(2).to_sparse()])
def test_what_cannot_hold_nan_has_no_origin(output):
    with inventing(NonFinite) as run:
        spoiled = run.operated("log", tensor(NAN), tensor(0.0))
        run.operated("argmax", output, spoiled)
        assert origin(run, output) == ""


def test_each_line_is_looked_into_a_few_times_only():
    with inventing(NonFinite) as run:
        tensors = run.find(Tensors)
        found = []
        for number in range(module._MOST_PER_PLACE + 2):
            output = run.operated("log", torch.full((2,), NAN), torch.zeros(number + 1))
            made = tensors.get(output)
            assert made is not None
            assert made.origin is not None
            found.append(made.origin)
        shapes = [origin.operands[0].shape[0] for origin in found]
        last = module._MOST_PER_PLACE
        assert shapes == [*range(1, last + 1), last, last]


def test_each_birth_is_reported_once_and_only_a_few():
    with inventing(NonFinite) as run:
        for number in range(module._MOST_REPORTED + 1):
            for _ in range(2):
                backward(run, run.operated(f"log{number}", tensor(NAN), tensor(0.0)))
        assert [event.operation for event in run.of(NonFiniteProduced)] == [
            f"log{number}" for number in range(module._MOST_REPORTED)
        ]
        assert origin(run, run.operated("log", tensor(NAN), tensor(0.0))) == "", "nothing is checked any more"


def test_values_are_read_where_the_detail_asks_for_it_only():
    with inventing(NonFinite) as run:
        run.attend(Attention.FULL)
        assert origin(run, run.operated("log", tensor(NAN), tensor(0.0))) == ""
        run.attend(Attention.CLOSE)
        assert origin(run, run.operated("log", tensor(NAN), tensor(0.0))) == "log"


class Trained:
    """Positions of a sequence, of which the loss ignores the last; `work` is done on all of them."""

    def __init__(self, work: Callable[[torch.Tensor], torch.Tensor]) -> None:
        weight = nn.Parameter(torch.ones(3))
        scores = torch.stack([weight, weight * 2, weight * 0]).unsqueeze(0)
        with watching(NonFinite) as self.recorded:
            optimizer = torch.optim.SGD([weight], lr=0.1)
            worked = work(scores * 1.0)
            targets = torch.tensor([[0, 1, -100]])
            loss = nn.functional.cross_entropy(worked.transpose(1, 2), targets)
            loss.backward()
            optimizer.step()
        assert loss.isfinite()


def test_nan_that_the_loss_leaves_out_is_followed_to_its_birth() -> None:
    trained = Trained(lambda scores: scores / scores.sum(-1, keepdim=True))
    (event,) = trained.recorded.of(NonFiniteProduced)
    assert (event.operation, event.reached) == ("div", "backward")


def test_infinities_that_the_loss_leaves_out_spoil_nothing() -> None:
    def work(scores: torch.Tensor) -> torch.Tensor:
        return scores + torch.where(scores == 0, math.inf, 0.0)

    assert Trained(work).recorded.of(NonFiniteProduced) == []
