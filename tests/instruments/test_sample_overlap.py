"""The samples that modules are trained and evaluated on, and the scale of what first layers take in."""

from __future__ import annotations

import numpy
import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.data import FirstLayerFed, InputsAlike, InputScaleTurned, RowsCompared
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.data.first_layers import FirstLayers
from autograd_doctor.instruments.data.sample_overlap import SampleOverlap
from autograd_doctor.instruments.spine.detail import Detail
from tests.inventing import Invented, inventing


def trained(run: Invented, model: nn.Module, x: torch.Tensor) -> None:
    with run.calling(model, x, output=model(x)):
        pass
    run.train(SGD(model.parameters(), lr=0.1))


def evaluated(run: Invented, model: nn.Module, x: torch.Tensor) -> None:
    model.eval()
    with torch.no_grad(), run.calling(model, x, output=model(x), grad_enabled=False):
        pass
    model.train()


def data(rows: int) -> torch.Tensor:
    return torch.rand(rows, 4, generator=torch.Generator().manual_seed(rows))


def test_what_was_trained_on_before_it_was_evaluated():
    with inventing(SampleOverlap) as run:
        model, x, others = nn.Linear(4, 1), data(40), data(6)
        for _ in range(3):
            for rows in torch.arange(40).split(8):
                trained(run, model, x[rows])
        evaluated(run, model, torch.cat([x[:5], others]))
        trained(run, model, others)
        run.find(SampleOverlap).finish()
        (event,) = run.of(RowsCompared)
    assert (event.evaluated, event.shared, event.trained) == (11, 5, 46)
    assert (event.complete, event.tells_apart, event.own_loader, event.loader) == (True, True, False, "")


@pytest.mark.parametrize("tested", [True, False])
def test_samples_that_are_trained_on_once_they_have_been_evaluated(tested: bool) -> None:
    with inventing(SampleOverlap) as run:
        model, x, others = nn.Linear(4, 1), data(40), data(6)
        for _ in range(3):
            for rows in torch.arange(40).split(8):
                trained(run, model, x[rows])
        evaluated(run, model, others if tested else x[:5])
        trained(run, model, others)
        run.find(SampleOverlap).finish()
        (event,) = run.of(RowsCompared)
    assert event.passed_on is tested


@pytest.mark.parametrize(
    ("held_out", "sets"),
    [(slice(40, 60), [(20, 0), (10, 10)]), (slice(30, 60), [(40, 20)])],
    ids=["apart", "with some that were trained on"],
)
def test_parts_of_one_tensor_that_a_line_evaluates_in_turn(held_out: slice, sets: list[tuple[int, int]]) -> None:
    """Two sets, if the one was trained on as a whole and the other not at all."""
    whole, model = data(60), nn.Linear(4, 1)
    with inventing(SampleOverlap) as run:
        for _ in range(4):
            trained(run, model, whole[:40])
            evaluated(run, model, whole[:10])
            trained(run, model, whole[:40])
            evaluated(run, model, whole[held_out])
        run.find(SampleOverlap).finish()
        assert [(event.evaluated, event.shared) for event in run.of(RowsCompared)] == sets


def evaluated_in_turn(run: Invented, model: nn.Module, rows: torch.Tensor) -> None:
    evaluated(run, model, run.operated("clone", rows.clone()))


def test_when_sets_were_evaluated_and_what_of_them_the_same_line_had_seen():
    with inventing(SampleOverlap) as run:
        model, x = nn.Linear(4, 1), data(40)
        for rows in (x[:10], x[10:20], x[5:10]):
            trained(run, model, x)
            evaluated_in_turn(run, model, rows)
            trained(run, model, x)
        run.find(SampleOverlap).finish()
        told = [(event.evaluated, event.first, event.last, event.again) for event in run.of(RowsCompared)]
    assert told == [(10, 1, 1, 0), (10, 3, 3, 0), (5, 5, 5, 5)]


@pytest.mark.parametrize(("operation", "known"), [("clone", 15), ("randn", 8)])
def test_batches_of_random_numbers_never_come_again_and_are_not_read_in_light_steps(operation, known, monkeypatch):
    monkeypatch.setattr("autograd_doctor.instruments.spine.detail.FIRST_STEPS", 1)
    with inventing(SampleOverlap) as run:
        model = nn.Linear(4, 1)
        run.signals.optimizers.built.send(SGD(model.parameters(), lr=0.1))
        trained(run, model, run.operated(operation, data(8)))
        assert not run.find(Detail).full
        trained(run, model, data(7))
        evaluated(run, model, data(6))
        run.find(SampleOverlap).finish()
        (event,) = run.of(RowsCompared)
    assert event.trained == known


def test_what_is_acted_on_between_steps_is_no_evaluation():
    with inventing(SampleOverlap) as run:
        model, x = nn.Linear(4, 1), data(40)
        trained(run, model, x)
        with torch.no_grad(), run.calling(model, x, grad_enabled=False):
            pass
        trained(run, model, x)
        run.find(SampleOverlap).finish()
        assert run.of(RowsCompared) == []


@pytest.mark.parametrize(("alike", "told"), [(True, [(4, 20, 0.5)]), (False, [])])
def test_samples_that_are_all_the_same(alike, told):
    with inventing(SampleOverlap) as run:
        model, x = nn.Linear(4, 1), torch.full((60, 4), 0.5)
        if not alike:
            x[17] = 1
        for step in range(4):
            trained(run, model, x[5 * step : 5 * step + 5])
        run.find(SampleOverlap).finish()
        assert [(event.steps, event.samples, event.constant) for event in run.of(InputsAlike)] == told


@pytest.mark.parametrize(("others", "beside"), [("during", True), ("after", False)])
def test_samples_that_are_all_the_same_beside_others(others: str, beside: bool) -> None:
    with inventing(SampleOverlap) as run:
        one, other, same, x = nn.Linear(4, 1), nn.Linear(4, 1), torch.full((60, 4), 0.5), data(60)
        for step in range(3):
            if others == "during":
                trained(run, other, x[5 * step : 5 * step + 5])
            trained(run, one, same[5 * step : 5 * step + 5])
        trained(run, other, x[30:35])
        run.find(SampleOverlap).finish()
        assert [event.beside for event in run.of(InputsAlike)] == [beside]


def test_values_that_are_no_numbers_are_not_all_the_same():
    with inventing(SampleOverlap) as run:
        model, x = nn.Linear(4, 1), torch.full((60, 4), float("nan"))
        for step in range(4):
            trained(run, model, x[5 * step : 5 * step + 5])
        run.find(SampleOverlap).finish()
        assert run.of(InputsAlike) == []


def test_constants_of_the_program_are_no_data():
    with inventing(SampleOverlap) as run:
        model = nn.Linear(4, 1)
        for _ in range(4):
            trained(run, model, torch.ones(5, 4))
        run.find(SampleOverlap).finish()
        assert run.of(InputsAlike) == []


@pytest.mark.parametrize(("case", "told"), [("arrays", [True]), ("one sample", []), ("tokens", []), ("once", [])])
def test_what_comes_out_of_arrays_is_data(case, told):
    with inventing(SampleOverlap) as run:
        model, size = nn.Linear(4, 1), 1 if case == "one sample" else 5
        array = numpy.zeros((size, 4), dtype=numpy.float32)
        once = run.operated("from_numpy", torch.from_numpy(array), array)
        for step in range(4):
            read = once
            if case != "once":
                read = run.operated("from_numpy", torch.from_numpy(array), array)
            x = run.operated("mul", read * 2, read, 2)
            if case == "tokens":
                with run.calling(model, x.long()):
                    pass
            elif case != "once" or step:
                trained(run, model, x)
            else:
                run.train(SGD(model.parameters(), lr=0.1))
        run.find(SampleOverlap).finish()
        assert [event.read for event in run.of(InputsAlike)] == told


def test_samples_on_an_accelerator_are_left_there():
    with inventing(SampleOverlap) as run:
        with run.calling(nn.Linear(4, 1), torch.ones(5, 4, device="meta")):
            pass
        assert [event.instrument for event in run.of(InstrumentLimited)] == ["sample_overlap"]


def fed(run: Invented, x: torch.Tensor, *, then: str = "relu") -> list[FirstLayerFed]:
    layer = nn.Linear(4, 2)
    for _ in range(3):
        output = run.operated("linear", layer(x), x, layer.weight, layer.bias)
        run.operated(then, output * 1, output)
        run.train(SGD(layer.parameters(), lr=0.1))
    return run.of(FirstLayerFed)


def test_the_scale_of_what_goes_into_the_first_layer():
    with inventing(FirstLayers) as run:
        (event,) = fed(run, torch.tensor([[100.0, 102.0, 98.0, 100.0]]))
    assert (event.operation, event.mean, event.low, event.high, event.shape) == ("linear", 100.0, 98.0, 102.0, [1, 4])
    assert event.deviation == pytest.approx(2**0.5)
    assert event.applied_at is not None


@pytest.mark.parametrize("then", ["layer_norm", "batch_norm"])
def test_a_normalisation_takes_over(then):
    with inventing(FirstLayers) as run:
        assert fed(run, torch.full((3, 4), 100.0), then=then) == []


def test_what_a_layer_made_is_no_data():
    with inventing(FirstLayers) as run:
        first = nn.Linear(4, 4)
        x = torch.rand(3, 4)
        hidden = run.operated("tanh", first(x), run.operated("linear", first(x), x, first.weight))
        assert len(fed(run, hidden.detach().requires_grad_())) == 0


SPREADS = {
    "ten thousand times less": ([1.0] * 4 + [1e-4] * 2, True),
    "a hundred times more": ([0.5, 1.0, 0.9, 1.0, 100.0, 90.0, 100.0], True),
    "less, and less again": ([1.0] * 5 + [0.01, 0.0001], True),
    "once": ([1.0] * 6 + [100.0, 1.0, 1.0], False),
    "seldom seen before": ([1.0] * 3 + [100.0] * 6, False),
    "little by little": ([1.0, 1.0, 1.0, 1.0, 3.5, 12.0, 40.0, 130.0], False),
    "now this, now that": ([1.0, 100.0] * 6, False),
    "twice as much": ([1.0] * 4 + [2.0] * 4, False),
    "nothing at all": ([1.0] * 4 + [0.0] * 4, False),
}


@pytest.mark.parametrize(("spreads", "told"), SPREADS.values(), ids=SPREADS)
def test_a_scale_that_turns(spreads: list[float], told: bool) -> None:
    layer, around = nn.Linear(2, 2), torch.tensor([[-1.0, 1.0], [1.0, -1.0]] * 4)
    with inventing(FirstLayers) as run:
        for spread in spreads:
            x = (around * spread)[:]
            whole = torch.cat([x, x])
            rows = run.operated("__getitem__", whole[:8], whole, slice(0, 8))
            run.operated("linear", layer(rows), rows, layer.weight, layer.bias)
            run.train(SGD(layer.parameters(), lr=0.1))
        events = run.of(InputScaleTurned)
    assert len(events) == told
    if told:
        assert (events[0].looks, events[0].before) == (2, len([each for each in spreads if 0.1 < each < 10]))
        assert (events[0].spread, events[0].since) == (pytest.approx(spreads[events[0].before]), events[0].before)


def test_other_weights_may_be_given_data_of_another_scale() -> None:
    with inventing(FirstLayers) as run:
        for scale in (1.0, 1000.0):
            layer, whole = nn.Linear(2, 2), scale * torch.rand(16, 2)
            for _ in range(6):
                rows = run.operated("__getitem__", whole[:8], whole, slice(0, 8))
                run.operated("linear", layer(rows), rows, layer.weight, layer.bias)
                run.train(SGD(layer.parameters(), lr=0.1))
        assert run.of(InputScaleTurned) == []


def collapsed(run: Invented, *parts: torch.Tensor, whole: torch.Tensor) -> list[InputsAlike]:
    model = nn.Linear(4, 1)
    for part in parts:
        for _ in range(3):
            rows = run.operated("__getitem__", part[:8], whole, slice(0, 8))
            trained(run, model, rows)
    run.find(SampleOverlap).finish()
    return run.of(InputsAlike)


def test_samples_that_are_alike_from_some_step_on() -> None:
    with inventing(SampleOverlap) as run:
        x = data(40)
        (event,) = collapsed(run, x, torch.zeros(40, 4), whole=x)
    assert (event.since, event.steps, event.samples, event.constant, event.same_source) == (3, 3, 24, 0.0, True)
    assert event.varied == 2, "the first batch tells that samples differ"


def test_samples_that_differ_again_are_not_alike() -> None:
    with inventing(SampleOverlap) as run:
        x = data(40)
        assert collapsed(run, x, torch.zeros(40, 4), x, whole=x) == []


@pytest.mark.parametrize(
    ("other", "unlabelled"),
    [("data", 0), ("ones", 8), ("said by the model", 8), ("never followed", 0), ("nothing", 8), ("within", 0)],
)
def test_samples_that_were_trained_on_without_targets(other: str, unlabelled: int) -> None:
    model, x = nn.Linear(4, 1), data(8)
    with inventing(SampleOverlap) as run:
        optimizer = SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            out = model(x)
            with run.calling(model, *[x, data(8)][: 1 + (other == "within")], output=out):
                pass
            said = run.operated("detach", out.detach(), out)
            ones = run.operated("ones", torch.ones(8, 1))
            target = {"data": data(8)[:, :1], "ones": ones, "said by the model": said}.get(other)
            if target is not None:
                apart = run.operated("sub", out - target, out, target)
                loss = run.operated("mean", apart.square().mean(), apart)
            elif other in ("nothing", "within"):
                loss = run.operated("mean", out.square().mean(), out)
            else:
                loss = out.square().mean()
            with run.backward(loss):
                pass
            with run.step(optimizer):
                pass
        evaluated(run, model, x)
        run.find(SampleOverlap).finish()
        (event,) = run.of(RowsCompared)
    assert (event.shared, event.unlabelled) == (8, unlabelled)
