"""The graph of a backward: what a walk reaches, and what the gradients meet on their way through it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch.autograd.graph import get_gradient_edge
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.reading import graph_structure, graph_walk
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.graph_walk import (
    BadGradient,
    GradientWatch,
    GraphWalk,
    _magnitude,
    _told_by,
    lineage_of,
    mark,
    node_name,
    non_finite_event,
    zeroing_events,
)
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance

CODE = compile("x = 1\ny = 2\nz = 3", "train.py", "exec")
FIRST, SECOND, THIRD = ((CODE, offset) for offset in (2, 6, 10))


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def walk(*roots: torch.Tensor, inputs: Sequence[Any] = (), backward: int = 1, step: int = 5) -> GraphWalk:
    return GraphWalk(roots, inputs, backward=backward, step=step)


def made(operation: str = "mul", place: Place | None = FIRST, step: int = 5) -> Provenance:
    return Provenance(operation, place, step)


class Marked:
    """Tensors with what is known of them; a node keeps what it is told while Python refers to it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def __call__(self, tensor: torch.Tensor, lineage: Provenance) -> torch.Tensor:
        self.nodes.append(tensor.grad_fn)
        mark(tensor, lineage)
        return tensor


@pytest.fixture
def marked() -> Marked:
    return Marked()


# ------------------------------------------------------------------------------------------------------------- marking


def test_a_node_knows_how_its_output_was_made(marked: Marked) -> None:
    one = made()
    output = marked(leaf() * 2, one)
    assert lineage_of(output.grad_fn) is one
    assert lineage_of((output * 2).grad_fn) is None
    mark(leaf(), one)


def test_a_gradient_stays_known_as_one(marked: Marked) -> None:
    first, second, third = made(), made(), made()
    first.of_backward, third.of_backward = 3, 4
    output = leaf() * 2
    found = []
    for each in (first, second, third):
        marked(output, each)
        found.append(each.of_backward)
    assert found == [3, 3, 4]


# ------------------------------------------------------------------------------------------------------------- walking


def test_a_walk_reaches_every_node_and_leaf_once() -> None:
    a, b = leaf(), leaf()
    product = a * a
    total = product + b
    loss = total.sum()
    found = walk(loss, total, torch.ones(1))
    assert sorted(node_name(node) for node in found.nodes.values()) == [
        "AccumulateGrad", "AccumulateGrad", "AddBackward", "MulBackward", "SumBackward",
    ]  # fmt: skip
    assert {id(each) for each in found.leaves.values()} == {id(a), id(b)}
    assert found.made.keys() == found.nodes.keys() - found.leaves.keys()
    key = next(key for key, each in found.leaves.items() if each is a)
    assert found.consumers[key] == [(id(product.grad_fn), 0), (id(product.grad_fn), 1)]
    assert found.consumers[id(product.grad_fn)] == [(id(total.grad_fn), 0)]


def test_a_walk_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_structure, "MOST_NODES", 3)
    assert len(walk(leaf().exp().exp().exp().exp().sum()).nodes) == 3


def names_of(nodes: Iterable[Any]) -> list[str]:
    return [node_name(node).removesuffix("Backward") for node in nodes]


def test_a_graph_ends_at_the_inputs_of_a_grad() -> None:
    weight = leaf()
    x = weight.exp()
    y = x.sin()
    z = (y * weight).sum()
    assert names_of(nodes_of([z])) == ["Sum", "Mul", "AccumulateGrad", "Sin", "Exp"]
    assert names_of(nodes_of([z], [y])) == ["Sum", "Mul", "AccumulateGrad", "Sin"]
    assert names_of(nodes_of([z], [y, weight])) == ["Sum", "Mul", "AccumulateGrad", "Sin"]
    assert names_of(nodes_of([z], [get_gradient_edge(y)])) == names_of(nodes_of([z], [y]))
    assert list(walk(z, inputs=[y]).nodes.values()) == nodes_of([z], [y])


def test_inputs_behind_an_input_are_looked_for() -> None:
    weight, unused = leaf(), leaf()
    x = weight.exp()
    y = x.sin()
    z = y.sum()
    everything = ["Sum", "Sin", "Exp", "AccumulateGrad"]
    assert names_of(nodes_of([z], [y, x])) == everything[:3]
    assert names_of(nodes_of([z], [y, weight])) == everything
    assert names_of(nodes_of([z], [y, unused])) == everything
    assert names_of(nodes_of([z], [torch.ones(2), y])) == everything[:2]  # the engine complains of it


def test_a_node_without_a_line_takes_that_of_its_consumer(marked: Marked) -> None:
    inner = leaf() * 2
    outer, consumer = made("exp"), made("sum")
    loss = marked(marked(inner.exp(), outer).sum(), consumer)
    found = walk(loss)
    assert found.made[id(loss.grad_fn)] is consumer
    assert found.made[id(inner.grad_fn)] is outer


def test_a_fresh_graph_belongs_to_this_step_alone(marked: Marked) -> None:
    found = walk(marked(leaf().sum(), made()))
    assert (found.oldest_step, found.crossing, found.carrier) == (5, None, None)
    assert (found.reused, found.differentiated, found.contains) == (set(), set(), set())


def test_a_second_backward_over_the_same_nodes_is_told(marked: Marked) -> None:
    hidden, inner = made("exp"), made()
    output = marked(marked(leaf() * 2, inner).exp(), hidden)
    first, second = output.sum(), output.sum()
    kept = walk(first, backward=1)
    found = walk(second, backward=2)
    assert (kept.reused, found.reused, found.carrier) == (set(), {1}, hidden)
    assert found.contains == set()


def test_the_last_backwards_over_a_node_are_remembered() -> None:
    loss = leaf().sum()
    walks = [walk(loss, backward=number) for number in range(1, 7)]
    assert [found.reused for found in walks] == [set(), {1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}]


def test_a_loss_inside_a_graph_is_told() -> None:
    loss = leaf().sum()
    kept = walk(loss, backward=1)
    assert walk(loss * 2, backward=2).contains == {1}
    assert kept.contains == set()


def test_gradients_that_flow_into_a_loss_are_told(marked: Marked) -> None:
    gradient = made()
    gradient.of_backward = 4
    found = walk(marked(leaf() * 2, gradient).sum())
    assert (found.reused, found.differentiated) == ({4}, {4})


def test_a_graph_of_an_earlier_step_is_crossed_where_it_is_used(marked: Marked) -> None:
    oldest, old, new = made("h0", FIRST, 3), made("h1", SECOND, 4), made("loss", THIRD, 5)
    hidden = marked(marked(leaf() * 2, oldest).exp(), old)
    found = walk(marked(hidden.sum(), new))
    assert (found.oldest_step, found.crossing, found.carrier) == (3, SECOND, oldest)
    alone = walk(marked((leaf() * 2).sum(), old))
    assert (alone.oldest_step, alone.crossing, alone.carrier) == (4, SECOND, old)


def test_leaves_below_a_node_are_those_that_its_gradients_reach() -> None:
    a, b = leaf(), leaf()
    product = a * a
    loss = (product + b).sum()
    found = walk(loss)
    below = {id(found.leaves[key]) for key in found.leaves_below(product.grad_fn)}
    assert below == {id(a)}
    assert found.leaves_below(loss.grad_fn) == found.leaves.keys()


# ----------------------------------------------------------------------------------------------------------- gradients


@contextmanager
def watched(root: torch.Tensor, *, known: dict[int, Provenance] | None = None) -> Iterator[GradientWatch]:
    """A backward that runs in the block, watched."""
    table = known or {}
    watch = GradientWatch(walk(root), looking=nullcontext, made_of=lambda tensor: table.get(id(tensor)))
    watch.attach()
    yield watch
    watch.detach()


def zeroed(watch: GradientWatch) -> list[str]:
    return [node_name(node) for node, _ in watch.zeroings()]


def test_healthy_gradients_give_no_finding() -> None:
    loss = leaf().exp().sum()
    with watched(loss) as watch:
        loss.backward()
    assert (watch.first_bad, watch.zeroings(), watch.without_answer) == (None, [], set())


def test_the_first_node_with_a_bad_gradient_is_told_with_what_it_saved() -> None:
    a = leaf(0.0, 4.0)
    root = a.sqrt()
    loss = (root * 2).sum()
    with watched(loss) as watch:
        loss.backward()
    assert watch.first_bad is not None
    bad = watch.first_bad
    assert (bad.node is root.grad_fn, bad.hook) == (True, None)
    assert [(facts.name, facts.low, facts.high, facts.operation, facts.made_at) for facts in bad.operands] == [
        ("result", 0.0, 2.0, "", None)
    ]
    assert watch.zeroings() == []


def test_what_a_node_saved_is_told_with_how_it_was_made() -> None:
    a, b = leaf(1.0), leaf(0.0)
    quotient = a / b
    with watched(quotient, known={id(b): made("relu")}) as watch:
        quotient.backward()
    assert watch.first_bad is not None
    told = {facts.name: (facts.operation, facts.made_at) for facts in watch.first_bad.operands}
    assert told["other"] == ("relu", locate(FIRST))


def test_what_was_freed_is_not_told() -> None:
    loss = leaf(1.0).exp().sum()
    node = loss.grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    assert [facts.name for facts in graph_walk._operands(node, lambda _: None)] == ["result"]
    loss.backward()
    assert graph_walk._operands(node, lambda _: None) == []


def test_what_a_custom_function_keeps_beside_is_not_told() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.kept = x.detach()
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    output: Any = Keeps.apply(leaf())  # type: ignore[no-untyped-call]
    assert graph_walk._operands(output.grad_fn, lambda _: None) == []


def test_only_a_few_operands_are_told() -> None:
    output = F.batch_norm(torch.randn(4, 2), torch.zeros(2), torch.ones(2), leaf(), leaf(), training=True)
    saved = [name for name in dir(output.grad_fn) if name.startswith("_saved_")]
    tensors = [name for name in saved if isinstance(getattr(output.grad_fn, name), torch.Tensor)]
    assert len(tensors) > 4
    assert len(graph_walk._operands(output.grad_fn, lambda _: None)) == 4


def test_nothing_is_looked_at_after_the_first_bad_gradient() -> None:
    looks = []

    @contextmanager
    def looking() -> Iterator[None]:
        looks.append(1)
        yield

    loss = leaf(0.0).exp().exp().sqrt().mul(math.inf).sum()
    watch = GradientWatch(walk(loss), looking=looking, made_of=lambda _: None)
    watch.attach()
    loss.backward()
    watch.detach()
    assert len(looks) == 2


def test_hooks_are_gone_after_the_backward() -> None:
    loss = leaf(0.0).sqrt().sum()
    with watched(loss) as watch:
        pass
    loss.backward()
    assert watch.first_bad is None


def test_leaves_are_not_hooked() -> None:
    a = leaf()
    with watched(a * 2) as watch:
        (key,) = watch._walk.leaves
        (a * 2).sum().backward()
        assert key not in watch.magnitudes


def test_a_node_that_turns_gradients_into_zeros_is_told_and_those_behind_it_are_not() -> None:
    a, b = leaf(-1.0, -2.0), leaf()
    hidden = (a * 3).relu()
    loss = (hidden + b).sum()
    with watched(loss) as watch:
        loss.backward()
    ((node, below),) = watch.zeroings()
    assert node is hidden.grad_fn
    assert [watch._walk.leaves[key] is a for key in below] == [True]


def test_a_root_that_passes_on_zeros_is_told() -> None:
    root = leaf(-1.0).relu()
    with watched(root) as watch:
        root.backward()
    assert zeroed(watch) == ["ReluBackward"]


def test_a_node_that_passes_on_something_is_not_told() -> None:
    a, b = leaf(0.0), leaf(3.0)
    product = a * b  # the gradient of b is zero, that of a is not
    with watched(product) as watch:
        product.backward()
    assert zeroed(watch) == []


def test_gradients_that_cancel_out_are_told_where_the_ways_meet() -> None:
    a = leaf(1.0, 2.0)
    hidden = a.tanh()
    gap = hidden.exp() * 2 - hidden.exp() * 2
    loss = (gap * leaf(3.0)).sum()
    with watched(loss) as watch:
        loss.backward()
    assert zeroed(watch) == []
    ((node, below),) = watch.cancellations()
    assert node is gap.grad_fn
    assert [watch._walk.leaves[key] is a for key in below] == [True]


def test_gradients_that_cancel_out_at_a_leaf_are_told() -> None:
    a, b = leaf(1.0, 2.0), leaf(1.0, 2.0)
    gap = (a.square() - a.square()) + (b.square() - b)
    with watched(gap.sum()) as watch:
        gap.sum().backward()
    assert [[watch._walk.leaves[key] is a for key in below] for _, below in watch.cancellations()] == [[True]]


def test_gradients_that_add_up_or_do_not_meet_are_not_told_to_cancel_out() -> None:
    a, b, c = leaf(1.0), leaf(1.0), leaf(-1.0)
    loss = (a.exp() + a.exp() - b.exp() + (c * 0).relu() + (c * 2).relu()).sum()
    with watched(loss) as watch:
        loss.backward()
    assert watch.cancellations() == []


def test_factors_that_are_all_zero_are_counted() -> None:
    a, b = torch.zeros(2, 3, requires_grad=True), torch.zeros(3, 2, requires_grad=True)
    product = a @ b
    loss = (product + 1).sum()
    with watched(loss) as watch:
        loss.backward()
    ((node, _),) = watch.zeroings()
    assert (node is product.grad_fn, watch.zero_factors) == (True, {id(node): 2})


def test_what_a_backward_did_not_run_through_has_received_nothing() -> None:
    a, b = leaf(-1.0), leaf(1.0)
    hidden = a.relu()
    loss = hidden.sum() + b.sum()
    with watched(loss) as watch:
        hidden.backward(torch.zeros(1))
    assert zeroed(watch) == []


@pytest.mark.parametrize(
    ("gradient", "magnitude"),
    [
        (None, 0.0),
        (torch.empty(0), 0.0),
        (torch.ones(1, dtype=torch.int64), 0.0),
        (torch.eye(2).to_sparse(), 0.0),
        (torch.zeros(2), 0.0),
        (torch.tensor([3.0, 4.0]), 5.0),
        (torch.tensor([2.0**-140, 2.0**-140]), 2.0**-140),
        (torch.tensor([1e30, 1e30]), 1.7976931348623157e308),
        (torch.tensor([1.0, math.inf]), math.inf),
    ],
)
def test_magnitudes_of_gradients(gradient: torch.Tensor | None, magnitude: float) -> None:
    assert _magnitude(gradient) == magnitude


@pytest.mark.parametrize(
    ("norm", "largest", "magnitude"),
    [(0.0, 0.0, 0.0), (0.0, 2.0**-140, 2.0**-140), (5.0, 4.0, 5.0), (math.inf, 1e30, 1.7976931348623157e308)],
)
def test_magnitudes_that_an_accelerator_tells(norm: float, largest: float, magnitude: float) -> None:
    assert _told_by(norm, largest) == magnitude
    assert math.isinf(_told_by(math.inf, math.inf))


def test_a_gradient_that_is_no_number_has_no_magnitude() -> None:
    assert math.isnan(_magnitude(torch.tensor([1.0, math.nan])))


# --------------------------------------------------------------------------------------------------------------- names


def test_names_of_nodes_lose_numbers_and_namespaces() -> None:
    copied = leaf() * 2
    copied[0] = 1.0
    accumulating = (leaf() * 2).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    assert [node_name(each) for each in (copied.grad_fn, accumulating)] == ["CopySlices", "AccumulateGrad"]


# -------------------------------------------------------------------------------------------------------------- events


class ReturnsNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> None:
        return None


class ReturnsZeros(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 0


@pytest.mark.parametrize(
    ("function", "cut", "zeroing"),
    [
        (torch.round, ("round", "zero-derivative", [7]), None),
        (ReturnsNone.apply, ("returnsnone", "function", [7]), None),
        (ReturnsZeros.apply, None, ("returnszeros", [7])),
        (torch.relu, None, ("relu", [7])),
    ],
)
def test_zeros_are_told_apart_by_what_made_them(function: Any, cut: Any, zeroing: Any) -> None:
    loss = function(leaf(-1.0)).sum()
    with watched(loss) as watch:
        loss.backward()
    cuts, zeroings = zeroing_events(watch._walk, watch, lambda tensor: 7)
    assert [(each.operation, each.reason, each.parameters) for each in cuts] == ([cut] if cut else [])
    assert [(each.operation, each.parameters) for each in zeroings] == ([zeroing] if zeroing else [])
    events: list[Any] = [*cuts, *zeroings]
    assert [each.location for each in events] == [None]


@pytest.mark.parametrize("function", [torch.round, ReturnsNone.apply, torch.relu])
def test_zeros_are_told_with_the_line_that_made_them(function: Any, marked: Marked) -> None:
    loss = marked(function(leaf(-1.0)), made("hardening", SECOND)).sum()
    with watched(loss) as watch:
        loss.backward()
    cuts, zeroings = zeroing_events(watch._walk, watch, lambda tensor: 7)
    events: list[Any] = [*cuts, *zeroings]
    assert [(each.operation, each.location) for each in events] == [("hardening", locate(SECOND))]


def test_zeros_that_reach_no_parameter_are_not_told() -> None:
    known, unknown = leaf(-1.0), leaf(-1.0)
    loss = unknown.relu().sum() + known.round().sum()
    with watched(loss) as watch:
        loss.backward()
    cuts, zeroings = zeroing_events(watch._walk, watch, lambda tensor: 7 if tensor is known else None)
    assert ([each.parameters for each in cuts], zeroings) == ([[7]], [])


def test_a_bad_gradient_is_told_with_its_place(marked: Marked) -> None:
    root = marked(leaf(0.0).sqrt(), made("norm", SECOND))
    with watched(root) as watch:
        root.backward()
    assert watch.first_bad is not None
    event = non_finite_event(watch._walk, watch.first_bad, [3], absorbed=True)
    assert (event.step, event.backward, event.parameters, event.absorbed) == (5, 1, [3], True)
    assert (event.node, event.operation, event.location) == ("SqrtBackward0", "norm", locate(SECOND))
    assert event.operands == watch.first_bad[1]


def test_a_bad_gradient_of_a_node_without_a_line_is_told_by_its_name() -> None:
    root = leaf(0.0).sqrt()
    event = non_finite_event(walk(root), BadGradient(root.grad_fn, [], False), [], absorbed=False)
    assert (event.operation, event.location) == ("sqrt", None)


def test_leaves_that_a_gradient_is_sent_to() -> None:
    taught, clamped, cancelled = leaf(), leaf(), leaf()
    loss = (taught.exp() + clamped.clamp(min=1e3) + (cancelled - cancelled)).sum()
    with watched(loss) as watch:
        loss.backward()
    assert [each is taught for each in watch.sent_to()] == [True]
