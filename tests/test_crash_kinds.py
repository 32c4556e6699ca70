"""Every error that a rule explains, provoked in the torch that is installed: its wording must still tell its kind."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable
from textwrap import dedent
from typing import get_args

import numpy
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.instruments.errors.failures import Failures
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import CrashKind, crash_of
from tests.harness import check_program
from tests.watching import watching

Provoke = Callable[[], object]
PROVOKED: list[tuple[CrashKind, Provoke]] = []


def raises(kind: CrashKind) -> Callable[[Provoke], Provoke]:
    def decorate(provoke: Provoke) -> Provoke:
        PROVOKED.append((kind, provoke))
        return provoke

    return decorate


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=True)


class Refused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gradient):
        ctx.gradient = gradient
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return ctx.gradient


@raises("ended")
def exits() -> None:
    raise SystemExit


@raises("ended")
def exits_with_zero() -> None:
    raise SystemExit(0)


@raises("other")
def exits_with_three() -> None:
    raise SystemExit(3)


@raises("in_place")
def changes_a_saved_tensor() -> None:
    y = leaf(3).exp()
    y += 1
    y.sum().backward()


@raises("in_place")
def steps_between_two_backwards() -> None:
    first, second = leaf(2, 2), leaf(2, 2)
    loss = (torch.ones(1, 2) @ first @ second).sum()
    with torch.no_grad():
        second.add_(1)
    loss.backward()


@raises("in_place_leaf")
def changes_a_leaf() -> None:
    leaf(3).add_(1)


@raises("in_place_leaf")
def writes_into_a_view_of_a_leaf() -> None:
    leaf(3)[0] = 1.0


@raises("freed_graph")
def goes_backward_twice() -> None:
    loss = leaf(3).exp().sum()
    loss.backward()
    loss.backward()


@raises("freed_graph")
def differentiates_twice() -> None:
    x = leaf(3)
    loss = x.exp().sum()
    torch.autograd.grad(loss, x)
    torch.autograd.grad(loss, x)


def joins_and_leaves(meeting: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=1, world_size=2)
    dist.destroy_process_group()


@raises("lost_peer")
def waits_for_a_rank_that_is_gone() -> None:
    with tempfile.TemporaryDirectory() as meeting:
        other = multiprocessing.get_context("fork").Process(target=joins_and_leaves, args=(meeting,))
        other.start()
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=0, world_size=2)
        other.join()
        try:
            dist.all_reduce(torch.ones(2))
        finally:
            dist.destroy_process_group()


class Half(nn.Bilinear):
    """A layer whose bias no output depends on."""

    def forward(self, x):
        return x @ self.weight[0]


@raises("unfinished_reduction")
def leaves_a_layer_out() -> None:
    with tempfile.TemporaryDirectory() as meeting:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=0, world_size=1)
        layers = DistributedDataParallel(Half(2, 2, 2))
        try:
            layers(torch.ones(2)).sum().backward()
            layers(torch.ones(2))
        finally:
            dist.destroy_process_group()


@raises("non_scalar")
def reduces_nothing() -> None:
    (leaf(3) * 2).backward()


@raises("no_graph")
def has_no_graph() -> None:
    torch.ones(1).sum().backward()


@raises("not_in_graph")
def asks_for_a_gradient_of_something_else() -> None:
    torch.autograd.grad(leaf(3).sum(), leaf(3))


@raises("not_in_graph")
def asks_for_a_gradient_of_data() -> None:
    torch.autograd.grad(leaf(3).sum(), torch.ones(3))


@raises("inference_tensor")
def saves_an_inference_tensor() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    leaf(3) * x


@raises("inference_tensor")
def changes_an_inference_tensor() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    x.requires_grad_()
    x.add_(1)


@raises("custom_gradient")
def returns_too_few_gradients() -> None:
    Refused.apply(leaf(3), torch.ones(3)).sum().backward()


@raises("custom_gradient")
def returns_a_gradient_of_another_shape() -> None:
    Refused.apply(leaf(3), (torch.ones(7), None)).sum().backward()


@raises("checkpoint")
def saves_other_tensors_when_recomputed() -> None:
    calls: list[int] = []

    def segment(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.exp() if len(calls) == 1 else x[:1].exp().sin()

    checkpoint(segment, leaf(3), use_reentrant=False).sum().backward()


def scaler() -> tuple[torch.amp.GradScaler, torch.optim.Optimizer, torch.Tensor]:
    weight = leaf(3)
    return torch.amp.GradScaler("cpu"), torch.optim.SGD([weight], lr=0.1), weight.sum()


@raises("scaler_without_update")
def steps_twice_without_update() -> None:
    scales, optimizer, loss = scaler()
    scales.scale(loss).backward()
    scales.step(optimizer)
    scales.step(optimizer)


@raises("scaler_without_update")
def unscales_twice_without_update() -> None:
    scales, optimizer, loss = scaler()
    scales.scale(loss).backward()
    scales.unscale_(optimizer)
    scales.unscale_(optimizer)


@raises("scaler_without_scale")
def never_scales() -> None:
    scales, optimizer, loss = scaler()
    loss.backward()
    scales.step(optimizer)


@raises("scaler_without_check")
def steps_without_gradients() -> None:
    scales, optimizer, loss = scaler()
    scales.scale(loss)
    scales.step(optimizer)


@raises("target_index")
def has_too_many_classes() -> None:
    functional.cross_entropy(leaf(2, 3), torch.tensor([0, 3]))


@raises("target_dtype")
def has_float_classes() -> None:
    functional.nll_loss(leaf(2, 3), torch.ones(2))


@raises("target_dtype")
def has_whole_numbers_for_probabilities() -> None:
    functional.binary_cross_entropy_with_logits(leaf(2), torch.ones(2, dtype=torch.long), weight=torch.ones(5))


@raises("target_dtype")
def has_doubles_in_a_matrix_of_errors() -> None:
    functional.binary_cross_entropy(torch.full((2,), 0.5), torch.ones(2, dtype=torch.long))


@raises("target_shape")
def has_a_column_of_classes() -> None:
    functional.cross_entropy(leaf(2, 3), torch.zeros(2, 1, dtype=torch.long))


@raises("target_shape")
def has_classes_for_another_batch() -> None:
    functional.cross_entropy(leaf(2, 3), torch.zeros(4, dtype=torch.long))


@raises("target_shape")
def has_targets_of_another_size() -> None:
    functional.binary_cross_entropy_with_logits(leaf(2, 1), torch.ones(2))


@raises("not_a_probability")
def predicts_no_probability() -> None:
    functional.binary_cross_entropy(torch.full((2,), 1.5), torch.ones(2))


@raises("device")
def lives_on_two_devices() -> None:
    torch.addmm(torch.ones(2, device="meta"), torch.ones(2, 2), torch.ones(2, 2))


@raises("dtype")
def share_of_whole_numbers_in_place() -> None:
    time = torch.arange(5)
    time /= 5


@raises("dtype")
def multiplies_two_dtypes() -> None:
    nn.Linear(2, 2)(torch.ones(1, 2, dtype=torch.float64))


@raises("dtype")
def convolves_bytes() -> None:
    nn.Conv2d(1, 1, 2)(torch.ones(1, 1, 4, 4, dtype=torch.uint8))


@raises("dtype")
def embeds_floats() -> None:
    nn.Embedding(3, 2)(torch.ones(2))


@raises("shape")
def multiplies_matrices_that_do_not_fit() -> None:
    nn.Linear(2, 2)(torch.ones(4, 3))


@raises("shape")
def adds_other_sizes() -> None:
    leaf(3) + leaf(4)


@raises("shape")
def joins_other_sizes() -> None:
    torch.cat([leaf(2, 3), leaf(2, 4)])


@raises("shape")
def stacks_other_sizes() -> None:
    torch.stack([leaf(2), leaf(3)])


@raises("shape")
def views_what_does_not_divide() -> None:
    leaf(5).view(2, -1)


@raises("shape")
def convolves_other_channels() -> None:
    nn.Conv2d(3, 4, 3)(torch.ones(1, 1, 8, 8))


@raises("shape")
def normalises_other_channels() -> None:
    nn.BatchNorm1d(3)(torch.ones(4, 5))


@raises("single_value")
def normalises_one_sample() -> None:
    nn.BatchNorm1d(3)(torch.ones(1, 3))


@raises("shape")
def normalises_other_features() -> None:
    nn.LayerNorm(3)(torch.ones(4, 5))


@raises("shape")
def normalises_flat_data() -> None:
    nn.BatchNorm2d(3)(torch.ones(4, 3))


@raises("shape")
def expands_what_does_not_fit() -> None:
    leaf(3).expand(4, 2)


@raises("shape")
def recurs_over_other_features() -> None:
    nn.LSTM(3, 4)(torch.ones(5, 2, 6))


@raises("shape")
def asks_for_a_dimension_that_is_not_there() -> None:
    leaf(3).sum(dim=2)


@raises("out_of_memory")
def asks_for_more_memory_than_there_is() -> None:
    leaf(2**50)


@raises("out_of_memory")
def asks_numpy_for_more_memory_than_there_is() -> None:
    numpy.ones((2**25, 2**25))


@raises("out_of_memory")
def asks_python_for_more_memory_than_there_is() -> None:
    bytearray(2**60)


@raises("other")
def asks_a_dict() -> None:
    raise KeyError("size mismatch")


@pytest.mark.parametrize(("kind", "provoke"), PROVOKED, ids=[provoke.__name__ for _, provoke in PROVOKED])
def test_an_error_of_torch_is_of_its_kind(kind: CrashKind, provoke: Provoke) -> None:
    with watching(BackwardRuns, Failures) as events, pytest.raises(BaseException) as caught:  # noqa: PT011
        provoke()
    raised = ProgramRaised(kind=caught.type.__qualname__, message=str(caught.value), frames=[])
    crash = crash_of(Trace.of_events(*events, raised))
    assert crash is not None
    assert crash.kind == kind, raised.message


def test_every_kind_was_provoked() -> None:
    assert {kind for kind, _ in PROVOKED} == set(get_args(CrashKind))


def test_the_failing_operation_is_the_one_that_ended_the_program() -> None:
    caught = OperationFailed(operation="add", location=None, error="RuntimeError: one", operands=[])
    fatal = OperationFailed(operation="mul", location=None, error="RuntimeError: two", operands=[])
    crash = crash_of(Trace.of_events(caught, fatal, ProgramRaised(kind="RuntimeError", message="one", frames=[])))
    assert crash is not None
    assert crash.operation is caught


def test_a_shortage_that_a_program_states_itself_is_none() -> None:
    for kind in ("OutOfMemoryError", "MemoryError"):
        crash = crash_of(Trace.of_events(ProgramRaised(kind=kind, message="beyond the budget", frames=[], stated=True)))
        assert crash is not None
        assert crash.kind == "other"


def test_what_is_saved_for_the_backward_is_told_by_line_and_module() -> None:
    source = """
        import torch
        from torch import nn

        class Mixer(nn.Module):
            def forward(self, x):
                return (x @ x.mT).softmax(-1) @ x

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 16), Mixer(), Mixer())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(3):
            hidden = model(torch.randn(4, 64, 16))
            if step == 2:
                torch.empty(2**50)
            optimizer.zero_grad()
            hidden.square().mean().backward()
            optimizer.step()
    """
    report = check_program(dedent(source))
    (finding,) = (each for each in report.findings if each.code == "AD513")
    assert "`softmax` in `model.1` and 1 more keeps 128 KiB for the backward here" in [
        each.message for each in finding.related
    ]
