"""Tapes in a trace: what is sealed is read again as it was, once for each structure, and rules judge it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given as for_any
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.events.tapes import TapeSealed, TapeSeenAgain
from autograd_doctor.instruments.spine import tapes
from autograd_doctor.instruments.spine.tapes import Tapes
from autograd_doctor.recording import encoded, load
from autograd_doctor.rules.connectivity import straight_through_missing
from autograd_doctor.rules.losses import mask_used_as_index
from autograd_doctor.tape import Op, Tape, Value, behind, is_made_of_parameters
from autograd_doctor.taping import RecordedValue, seal, unsealed
from autograd_doctor.trace import Trace
from tests.commands import check_by_command
from tests.harness import body_of, marks
from tests.tapes import data, given, made, tape
from tests.watching import Recorded, watching

NAMES = ("add", "mul", "exp", "softmax", "__getitem__")


@st.composite
def losses(draw: st.DrawFn) -> Value:
    """Whatever a few operations make of parameters and data."""
    values: list[Value] = [given(3, values=1), given(3, values=6), data(3), data(3, kind="int", span=(0.0, 2.0))]
    for _ in range(draw(st.integers(1, 8))):
        operands = draw(st.lists(st.sampled_from([*values, 2, 0.5, True]), min_size=1, max_size=3))
        dim = draw(st.sampled_from([None, -1, "mean"]))
        values.append(made(draw(st.sampled_from(NAMES)), *operands, shape=(3,), dim=dim))
    return values[-1]


def told(op: Op) -> tuple[Any, ...]:
    return (op.name, op.called, op.module, op.location, dict(op.options), op.in_place, *map(shown, op.outputs))


def shown(value: Any) -> Any:
    if not isinstance(value, Value):
        return type(value), value
    return value.kind, value.shape, value.learns, value.values, value.connected, value.span, value.is_parameter


@for_any(losses())
def test_a_tape_is_read_as_it_was_sealed(loss: Value) -> None:
    read = unsealed(seal(3, [loss]), TapeSeenAgain(tape=3, steps=[0, 2, 5]))
    before = behind([loss], live=False)
    assert [told(op) for op in read.ops] == [told(op) for op in before]
    assert [list(map(shown, op.operands)) for op in read.ops] == [list(map(shown, op.operands)) for op in before]
    assert [shown(root) for root in read.roots] == [shown(loss)]
    assert (read.number, read.steps) == (3, {0, 2, 5})
    assert encoded(seal(3, read.roots)) == encoded(seal(3, [loss]))


def test_a_value_that_was_cut_is_read_as_cut() -> None:
    kept = made("detach", given(3, values=5), shape=(3,))
    assert isinstance(kept, RecordedValue)
    kept.connected, kept.learns = 0, False
    loss = made("sum", made("mul", kept, given(3, values=2), shape=(3,)))
    (read,) = tape(loss).tapes
    assert (read.roots[0].values, read.roots[0].connected) == (7, 2)


def test_spans_are_those_of_all_steps() -> None:
    loss = made("sum", made("__getitem__", given(9, 2), data(9, kind="int", span=(0, 1)), shape=(9, 2)))
    sealed = seal(0, [loss])
    place = next(place for place, value in enumerate(sealed.values) if value.kind == "int")
    (read,) = Trace.of_events(sealed, TapeSeenAgain(tape=0, steps=[0, 1], spans={place: (0.0, 8.0)})).tapes
    assert read.ops[0].values[1].span == (0.0, 8.0)


# ----------------------------------------------------------------------------------------------------------- in a run


def trained(model: nn.Module, steps: int, loss_of: Any) -> Recorded:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watching(Tapes) as recorded:
        for step in range(steps):
            loss_of(step).backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded


def read(recorded: Recorded) -> tuple[Tape, ...]:
    return Trace.of_events(*recorded).tapes


def test_one_tape_for_each_structure_with_the_steps_that_had_it() -> None:
    model = nn.Linear(3, 2)

    def loss_of(step: int) -> torch.Tensor:
        given = model(torch.ones(4 + step, 3))
        return given.square().mean() if step % 2 else given.abs().mean()

    recorded = trained(model, 4, loss_of)
    assert [(each.step, each.steps) for each in read(recorded)] == [(0, {0, 2}), (1, {1, 3})]
    first = read(recorded)[0]
    assert [op.name for op in first.ops][-3:] == ["linear", "abs", "mean"]
    linear = next(first.named("linear"))
    assert linear.module.endswith("Linear") or linear.module == "model"
    assert [value.is_parameter for value in linear.values] == [False, True, True]
    assert linear.values[1].values | linear.values[2].values == linear.output.values == 0b11


def test_spans_widen_from_step_to_step() -> None:
    model = nn.Linear(3, 2)
    recorded = trained(model, 3, lambda step: model(torch.ones(4, 3))[torch.tensor([0, step])].sum())
    (found,) = read(recorded)
    assert next(found.named("__getitem__")).values[1].span == (0.0, 2.0)
    assert [event.spans for event in recorded.of(TapeSeenAgain)] != [{}]


@pytest.mark.parametrize(("limit", "number"), [("_MOST_TAPES", 2), ("_MOST_IN_ALL", 8)])
def test_what_does_not_fit_is_said(limit: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, limit, number)
    model = nn.Linear(3, 2)

    def loss_of(step: int) -> torch.Tensor:
        value = model(torch.ones(4, 3))
        for _ in range(step):
            value = value * 2
        return value.sum()

    recorded = trained(model, 4, loss_of)
    assert len(recorded.of(TapeSealed)) == 2
    assert [event.instrument for event in recorded.of(InstrumentLimited)] == ["tapes"]


def test_of_data_the_nearest_operations_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, "_MOST_OPS", 8)
    model = nn.Linear(3, 2)

    def loss_of(step: int) -> torch.Tensor:
        seen = torch.zeros(4, 2)
        for place in range(4):
            seen[place] = model(torch.ones(4, 3)).detach()[place] * 2
        return nn.functional.mse_loss(model(torch.ones(4, 3)), seen)

    recorded = trained(model, 2, loss_of)
    assert not recorded.of(InstrumentLimited)
    (sealed,) = recorded.of(TapeSealed)
    found = unsealed(sealed, None)
    assert [op.name for op in found.ops][-2:] == ["linear", "mse_loss"]
    assert len(found.ops) == 8
    target = found.roots[0].by.operands[1] if found.roots[0].by is not None else None
    assert target is not None
    assert target.values
    assert any(value.by is None and value.values for op in found.ops for value in op.plain)


def test_a_tape_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, "_MOST_OPS", 2)
    model = nn.Linear(3, 2)
    recorded = trained(model, 2, lambda step: model(torch.ones(4, 3)).square().mean())
    assert not recorded.of(TapeSealed)
    assert recorded.of(InstrumentLimited)


def test_of_what_is_opaque_nobody_says_that_it_is_made_of_parameters() -> None:
    weight = RecordedValue((3, 2), "float", True, is_parameter=True, values=1, connected=1)
    assert is_made_of_parameters(made("sum", made("square", weight, shape=(3, 2))))
    assert not is_made_of_parameters(RecordedValue((), "float", False, values=1))
    assert not is_made_of_parameters(made("sum", made("mul", weight, data(3, 2), shape=(3, 2))))


# -------------------------------------------------------------------------------------------------------------- rules


def mask(*, rows: int = 32, kind: Any = "bool", span: tuple[float, float] = (0, 1)) -> Value:
    index = made("long", data(rows, kind=kind), shape=(rows,), kind="int")
    assert isinstance(index, RecordedValue)
    index.span = span
    return index


def chosen(name: str, *operands: Any) -> Value:
    """Whole numbers that an operation puts where truth values say so."""
    index = made("long", made(name, *operands, shape=(32,)), shape=(32,), kind="int")
    assert isinstance(index, RecordedValue)
    index.span = (0, 1)
    return index


def picked(index: Value, *, shape: tuple[int, ...] = (32, 4)) -> Trace:
    scores = given(*shape)
    return tape(made("cross_entropy", made("__getitem__", scores, index, shape=(index.count, *shape[1:])), data(32)))


@pytest.mark.parametrize(
    ("trace", "count"),
    [
        (picked(mask()), 1),
        (picked(chosen("where", data(32, kind="bool"), 1, 0)), 1),
        (picked(chosen("where", data(32, kind="bool"), made("ones", shape=(32,)), made("zeros", shape=(32,)))), 1),
        (picked(chosen("__setitem__", made("zeros", shape=(32,)), data(32, kind="bool"), 1)), 1),
        (picked(chosen("__setitem__", data(32, kind="int"), data(32, kind="bool"), 1)), 0),
        (picked(chosen("__setitem__", made("zeros", shape=(32,)), data(3, kind="int"), 1)), 0),
        (picked(mask(span=(0, 31))), 0),
        (picked(mask(kind="int")), 0),
        (picked(mask(rows=4), shape=(4, 4)), 0),
        (picked(mask(), shape=(2, 4)), 0),
        (tape(made("sum", made("__getitem__", data(32, 4), mask(), shape=(32, 4)))), 0),
    ],
    ids=[
        "a mask",
        "numbers for a mask",
        "ones and zeros",
        "ones written",
        "ones among any",
        "ones at places",
        "any rows",
        "whole numbers before",
        "few rows",
        "a table of two",
        "of data",
    ],
)
def test_masks_used_as_an_index(trace: Trace, count: int) -> None:
    assert len(list(mask_used_as_index.examine(trace, mask_used_as_index.RULE.defaults))) == count


def test_a_step_in_which_a_line_has_two_structures_counts_once() -> None:
    one, other = picked(mask()), picked(mask())
    (sealed,), (again,) = other.of(TapeSealed), other.of(TapeSeenAgain)
    second = (msgspec.structs.replace(sealed, tape=1), msgspec.structs.replace(again, tape=1))
    (found,) = mask_used_as_index.examine(Trace.of_events(*one.events, *second), mask_used_as_index.RULE.defaults)
    assert found.step_count == 4


def test_what_was_chosen_goes_on_without_its_gradient() -> None:
    encoded, codes = given(8, 3, values=0b01), given(12, 3, values=0b10)
    nearest = made("argmin", made("cdist", encoded, codes, shape=(8, 12)), shape=(8,), kind="int")
    looked_up = made("embedding", codes, nearest, shape=(8, 3))
    decoded = made("linear", looked_up, given(3, 3, values=0b100), shape=(8, 3))
    alone = made("add", made("mse_loss", looked_up, encoded), made("mse_loss", decoded, data(8, 3)))
    (found,) = straight_through_missing.examine(tape(alone), straight_through_missing.RULE.defaults)
    assert found.parameters == (0,)
    both = made("add", alone, made("mse_loss", made("linear", encoded, given(3, 3), shape=(8, 3)), data(8, 3)))
    assert not list(straight_through_missing.examine(tape(both), straight_through_missing.RULE.defaults))


def test_a_saved_trace_is_judged_by_a_rule_on_tapes(tmp_path: Path) -> None:
    script, saved = tmp_path / "train.py", tmp_path / "kept.trace"
    script.write_text(body_of(mask_used_as_index.bad), encoding="utf-8")
    check_by_command(script, "--save-trace", str(saved))
    kept = load(saved)
    (found,) = mask_used_as_index.examine(kept, mask_used_as_index.RULE.defaults)
    assert found.location is not None
    assert marks(body_of(mask_used_as_index.bad)) == [("AD635", found.location.line)]


def test_functional_calls_are_recorded_with_their_options() -> None:
    model = nn.Linear(3, 2)
    targets = torch.zeros(4, dtype=torch.long)
    recorded = trained(
        model, 1, lambda step: functional.cross_entropy(model(torch.ones(4, 3)), targets, reduction="sum")
    )
    (found,) = read(recorded)
    assert next(found.named("cross_entropy")).options["reduction"] == "sum"
