"""What a report tells of the course of a run, from hand-made traces."""

from __future__ import annotations

import math

import msgspec
import pytest

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import LossesFollowed, UnitsCounted
from autograd_doctor.events.run import LightStepsCounted, ProgramRaised
from autograd_doctor.events.steps import MemoryMeasured
from autograd_doctor.events.subjects import ModulePart
from autograd_doctor.findings import Location
from autograd_doctor.judging.presentation import Presenter
from autograd_doctor.judging.run_course import course
from autograd_doctor.run_course import Course, told
from autograd_doctor.trace import Trace
from autograd_doctor.views import flow as flows
from autograd_doctor.views.flow import flow
from autograd_doctor.views.module_tree import module_rows
from autograd_doctor.views.networks import networks
from autograd_doctor.views.series import series
from autograd_doctor.views.thinning import spans, thinned
from autograd_doctor.views.timeline import timeline
from tests.traces import at, backward, built, forward, module, seen, stepped


def line(location: Location | None) -> str:
    return f"{location.line}" if location else ""


# -------------------------------------------------------------------------------------------------------------- series


def test_losses_of_one_step_are_averaged_and_lines_kept_apart() -> None:
    other = TensorFacts(shape=[], dtype="float32")
    trace = Trace.of_events(
        backward(0, loss=1.0), backward(0, loss=3.0), backward(1, loss=math.nan),
        backward(0, line=30, loss=7.0, root=other),
        LossesFollowed(
            location=at(30), first=0, backwards=1, opening=7.0, last=7.0, low=7.0, high=7.0, early=[(0, 7.0)]
        ),
        LossesFollowed(location=at(20), first=5, backwards=0, opening=None, last=None, low=None, high=None),
    )  # fmt: skip
    found = {each.name: (each.place, each.steps, each.values) for each in series(trace, line)}
    assert found == {"loss": ("20", [1, 2], [2.0, "nan"]), "30": ("", [1], [7.0])}


def test_a_line_that_sees_several_losses_is_named_by_its_place() -> None:
    names = {20: ["loss_d", "loss_d"], 30: ["loss_d", "loss_g"], 40: ["", "loss_g"]}
    followed = [
        LossesFollowed(location=at(row), first=0, backwards=1, opening=1.0, last=1.0, low=1.0, high=1.0)
        for row in names
    ]
    ran = [
        backward(step, line=row, loss=1.0, root=TensorFacts(shape=[], dtype="float32", name=name))
        for row, called in names.items()
        for step, name in enumerate(called)
    ]
    found = [(each.name, each.place) for each in series(Trace.of_events(*ran, *followed), line)]
    assert found == [("loss_d", "20"), ("30", ""), ("loss_g", "40")]


def test_optimizers_of_one_name_are_told_apart_by_their_places() -> None:
    ran = [stepped(0, {0: 3.0}, optimizer=0), stepped(1, {1: 3.0}, optimizer=1)]
    two = Trace.of_events(built(0, optimizer=0), built(1, optimizer=1, line=6), *ran)
    assert [(each.name, each.place) for each in series(two, line)] == [("optimizer", "5"), ("optimizer", "6")]
    one = Trace.of_events(built(0, optimizer=0), *ran[:1])
    assert [(each.name, each.place) for each in series(one, line)] == [("optimizer", "")]


def test_losses_of_light_steps_are_told_by_first_last_and_extremes() -> None:
    light = LossesFollowed(step=19, location=at(20), first=10, backwards=10, opening=4.0, last=2.0, low=1.0, high=9.0)
    spoiled = LossesFollowed(
        step=29, location=at(20), first=20, backwards=10, opening=2.0, last=2.0, low=2.0, high=2.0, non_finite=3
    )
    (found,) = series(Trace.of_events(light, spoiled), line)
    points = dict(zip(found.steps, found.values, strict=True))
    assert {1.0, 9.0} <= set(points.values())
    assert (points[11], points[20], points[30]) == (4.0, 2.0, "nan")


def test_gradients_rates_and_memory() -> None:
    clip = GradientsClipped(parameters=[0], fresh=[0], missing=[], location=at(9), limit=1.0, norm=10.0, loss_scale=2.0)
    trace = Trace.of_events(
        built(0, 1),
        clip,
        stepped(0, {0: 3.0, 1: 4.0}, learning_rates=[0.1]),
        stepped(1, {0: math.inf}, learning_rates=[0.2]),
        MemoryMeasured(step=1, resident=1000),
        MemoryMeasured(step=2, resident=3000, allocated=5),
    )
    assert [(each.quantity, each.name, each.steps, each.values) for each in series(trace, line)] == [
        ("gradient norm", "optimizer", [1, 2], [5.0, "inf"]),
        ("gradient norm", "before clipping", [1], [5.0]),
        ("learning rate", "optimizer", [1, 2], [0.1, 0.2]),
        ("memory", "process", [1, 2], [1000.0, 3000.0]),
        ("memory", "tensors on accelerators", [2], [5.0]),
    ]


def test_thinning_keeps_the_ends_the_extremes_and_what_is_not_finite() -> None:
    points = [(step, 1.0) for step in range(1000)]
    points[333], points[334], points[700] = (333, 50.0), (334, -50.0), (700, math.nan)
    kept = thinned(points, 40)
    assert len(kept) <= 40
    assert {points[0], points[333], points[334], points[700], points[-1]} <= set(kept)
    assert kept == sorted(kept)
    assert thinned(points[:40], 40) == points[:40]


def test_numbers_are_such_as_json_has() -> None:
    assert [told(value) for value in (1.23456, math.nan, math.inf, -math.inf)] == [1.235, "nan", "inf", "-inf"]


# ---------------------------------------------------------------------------------------------------------------- flow


def test_steps_of_optimizers_with_parameters_of_their_own_share_a_column() -> None:
    trace = Trace.of_events(
        seen(0, "g.w"), seen(1, "d.w"), seen(2, "d.idle"),
        built(0, optimizer=0), built(1, 2, optimizer=1),
        *(stepped(2 * n, {1: 0.0 if n else 5.0}, optimizer=1) for n in range(3)),
        *(stepped(2 * n + 1, {0: float(n)}, optimizer=0) for n in range(3)),
    )  # fmt: skip
    found = flow(trace)
    assert found.steps == [1, 3, 5]
    assert {row.name: row.norms for row in found.rows} == {
        "g.w": [0.0, 1.0, 2.0],
        "d.w": [5.0, 0.0, 0.0],
        "d.idle": [None, None, None],
    }


def test_large_models_are_told_by_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MOST_ROWS", 4)
    named = [seen(2 * n + k, f"model.{n}.{leaf}") for n in range(4) for k, leaf in enumerate(("weight", "bias"))]
    found = flow(Trace.of_events(*named, built(*range(8)), stepped(0, dict.fromkeys(range(8), 3.0) | {1: 4.0})))
    assert [(row.name, row.parameters) for row in found.rows] == [(f"model.{n}", 2) for n in range(4)]
    assert found.rows[0].norms == [5.0]
    loose = [seen(n, f"w{n}") for n in range(9)]
    found = flow(Trace.of_events(*loose, built(*range(9)), stepped(0, dict.fromkeys(range(9), 1.0))))
    assert [(row.name, row.parameters) for row in found.rows[-2:]] == [("w2", 1), ("6 more", 6)]


def test_of_many_steps_the_first_and_the_largest_are_kept() -> None:
    steps = [stepped(n, {0: 900.0 if n == 555 else 1.0}) for n in range(1000)]
    found = flow(Trace.of_events(seen(0, "w"), built(0), *steps))
    assert len(found.steps) == flows.MOST_STEPS
    assert found.steps[:30] == list(range(1, 31))
    assert 556 in found.steps


# ------------------------------------------------------------------------------------------------------------- modules


def test_the_tree_tells_what_becomes_of_parameters() -> None:
    parts = [
        ModulePart("model", "Net"),
        ModulePart("model.body", "Linear", [0, 1]),
        ModulePart("model.act", "ReLU"),
        ModulePart("model.head", "Linear", [2, 3]),
    ]
    trace = Trace.of_events(
        seen(0, "model.body.weight", shape=(8, 2)), seen(1, "model.body.bias", shape=(8,)),
        seen(2, "model.head.weight", shape=(1, 8), requires_grad=False), seen(3, "model.head.bias", shape=(1,)),
        seen(4, "scale", shape=()),
        module(0, 0, 1, 2, 3, parts=parts), module(1, 0, 1, name="model.body", parts=parts[1:2]),
        built(0, 1, 2, 4),
        stepped(0, {0: 3.0, 1: 0.0, 4: 1.0}),
        UnitsCounted(location=None, operation="relu", parameters=[0], units=8, silent=3, lost=1, looks=3, samples=9),
    )  # fmt: skip
    rows = {row.name: row for row in module_rows(trace)}
    assert list(rows) == ["model", "model.body", "model.act", "model.head", "scale"]
    assert [row.depth for row in rows.values()] == [0, 1, 1, 1, 0]
    assert rows["model"].values == 16 + 8 + 8 + 1
    assert rows["model.body"].parameters == {"trained": 1, "gradient zero": 1}
    assert rows["model.head"].parameters == {"frozen": 1, "in no optimizer": 1}
    assert (rows["model.body"].gradient, rows["model.body"].dead, rows["model.head"].gradient) == (3.0, 0.5, None)


# ------------------------------------------------------------------------------------------------------------ networks

GENERATOR, CRITIC = [0, 1], [2, 3]


def game(*held: list[int]) -> list[Event]:
    """One module that holds two networks, and optimizers that hold these parameters."""
    parts = [
        ModulePart("gan", "Gan"),
        ModulePart("gan.generator", "Linear", GENERATOR),
        ModulePart("gan.critic", "Linear", CRITIC),
    ]
    optimizers = [built(*parameters, optimizer=number) for number, parameters in enumerate(held)]
    return [*(seen(n, f"p{n}") for n in range(4)), module(0, *range(4), name="gan", parts=parts), *optimizers]


@pytest.mark.parametrize(
    ("held", "names"),
    [
        ([GENERATOR, CRITIC], ["gan.generator", "gan.generator", "gan.critic", "gan.critic"]),
        ([GENERATOR + CRITIC], ["gan"] * 4),
        ([GENERATOR], ["gan"] * 4),
        ([[0, 2], [1, 3]], ["gan"] * 4),
    ],
    ids=["two sides", "one optimizer", "one side frozen", "weights and biases"],
)
def test_a_network_is_what_is_trained_as_one(held: list[list[int]], names: list[str]) -> None:
    assert networks(Trace.of_events(*game(*held))) == dict(enumerate(names))


def test_roots_are_networks_of_their_own() -> None:
    trees = [module(n, n, name=name, parts=[ModulePart(name, "Linear", [n])]) for n, name in enumerate("gd")]
    assert networks(Trace.of_events(seen(0, "g.w"), seen(1, "d.w"), *trees, built(0, 1))) == {0: "g", 1: "d"}


def test_a_loss_is_of_the_network_whose_step_follows_it() -> None:
    """The loss of a generator writes to the critic, too, which is cleared before the critic steps."""
    followed = [
        LossesFollowed(step=step, location=at(row), first=step, backwards=1, opening=1.0, last=1.0, low=1.0, high=1.0)
        for step, row in enumerate((20, 30))
    ]
    trace = Trace.of_events(
        *game(GENERATOR, CRITIC), *followed,
        backward(0, line=20, loss=1.0, wrote=CRITIC), stepped(0, dict.fromkeys(CRITIC, 1.0), optimizer=1),
        backward(1, line=30, loss=1.0, wrote=GENERATOR + CRITIC), stepped(1, dict.fromkeys(GENERATOR, 1.0)),
        MemoryMeasured(step=1, resident=1000),
    )  # fmt: skip
    assert [(each.quantity, each.network) for each in series(trace, line)] == [
        ("loss", "gan.critic"),
        ("loss", "gan.generator"),
        ("gradient norm", "gan.critic"),
        ("gradient norm", "gan.generator"),
        ("memory", ""),
    ]
    assert [row.network for row in flow(trace).rows] == ["gan.generator"] * 2 + ["gan.critic"] * 2


# ------------------------------------------------------------------------------------------------------------ timeline


def test_lanes_a_round_and_what_happened_once() -> None:
    events: list[Event] = [built(0, line=3)]
    for step in range(4):
        events += [forward(step), backward(step), stepped(step, {0: 1.0})]
    events += [
        forward(3, grad_enabled=False, training=False, line=40),
        LightStepsCounted(step=20, first=4, steps=16),
        ProgramRaised(step=20, kind="RuntimeError", message="no\nmore", frames=[]),
    ]
    found = timeline(Trace.of_events(*events), line)
    assert {lane.name: lane.spans for lane in found.lanes} == {
        "forward": [[1, 4]],
        "backward": [[1, 4]],
        "step": [[1, 4]],
        "evaluation": [[4, 4]],
    }
    assert found.light == [[5, 20]]
    assert [(each.what, each.place) for each in found.cycle][:3] == [
        ("forward", "18"),
        ("backward", "20"),
        ("step", "21"),
    ]
    assert [(each.step, each.what, each.detail) for each in found.moments] == [
        (1, "optimizer built", "optimizer (SGD)"),
        (21, "the program raised", "RuntimeError: no"),
    ]


def test_too_many_stretches_are_drawn_together() -> None:
    assert spans([1, 2, 3, 7, 8, 20], 9) == [[1, 3], [7, 8], [20, 20]]
    assert spans([1, 2, 3, 7, 8, 20], 2) == [[1, 8], [20, 20]]
    assert len(spans(list(range(0, 9000, 3)), 150)) == 1


# ------------------------------------------------------------------------------------------------------------- at large


def test_a_long_run_of_a_large_model_stays_small() -> None:
    named = [seen(n, f"model.layers.{n // 2}.{'weight' if n % 2 else 'bias'}") for n in range(600)]
    steps = [stepped(n, dict.fromkeys(range(600), 0.123456)) for n in range(200)]
    losses = [backward(n, loss=1.0 / (n + 1)) for n in range(5000)]
    followed = LossesFollowed(location=at(20), first=0, backwards=1, opening=1.0, last=1.0, low=1.0, high=1.0)
    told_of = course(Trace.of_events(*named, built(*range(600)), *steps, *losses, followed), Presenter("/"))
    encoded = msgspec.json.encode(told_of)
    assert len(encoded) < 200_000
    assert msgspec.json.decode(encoded, type=Course) == told_of


def test_an_empty_trace_has_an_empty_course() -> None:
    assert course(Trace.of_events(), Presenter("/")) == Course()
