"""Which parameters a forward pass wrote to."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.connectivity import WritesTakenBack, WritesWeighed, WriteWeighed
from autograd_doctor.instruments.connectivity import forward_writes as module
from autograd_doctor.instruments.connectivity.forward_writes import ForwardWrites
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.signals.operations import Operation
from tests.inventing import Invented, inventing


def operate(run: Invented, name: str, *args: Any, **kwargs: Any) -> None:
    run.signals.operations.began.send(Operation(torch.add, Kind.OPERATION, name, args, kwargs))


def step(run: Invented, *moved: torch.Tensor) -> None:
    run.train(SGD([nn.Parameter(torch.ones(1))], lr=0.1))
    with torch.no_grad():
        for parameter in moved:
            parameter.add_(0.1 * torch.randn_like(parameter))


def known(run: Invented) -> nn.Linear:
    model = nn.Linear(2, 2)
    for parameter in model.parameters():
        run.number(parameter)
    return model


@pytest.mark.parametrize("name", ["mul_", "__setitem__", "data.__set__", "__iadd__"])
def test_an_operation_that_writes_to_a_parameter_tells_the_line(name):
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        operate(run, name, model.weight.data, torch.zeros(2, 2))
        written = writes.end(0)
        assert (written.parameters, written.undone) == ([0], [])
        assert written.location is not None
        assert not run.signals.operations.began


def test_a_result_that_goes_into_a_parameter():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        operate(run, "add", torch.ones(2), out=model.bias)
        assert writes.end(0).parameters == [1]


def test_a_parameter_that_is_given_its_own_values_is_not_written_to():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        operate(run, "data.__set__", model.weight, model.weight.data)
        assert writes.end(0).parameters == []
        writes.begin(model, 0, trains=True)
        operate(run, "data.__set__", model.weight, model.weight.data[:1])
        assert writes.end(0).parameters == [0]


@pytest.mark.parametrize("name", ["mul", "requires_grad_", "detach_"])
def test_what_only_reads(name):
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        operate(run, name, model.weight)
        operate(run, "mul_", torch.ones(2))
        operate(run, "mul_", 3)
        operate(run, "mul_", torch.eye(2).to_sparse())
        operate(run, "zero_grad_")
        assert writes.end(0) == module._NOTHING


def test_a_version_that_moved_tells_a_write_without_its_line():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=False)
        assert not run.signals.operations.began
        with torch.no_grad():
            model.bias.zero_()
        written = writes.end(0)
        assert (written.parameters, written.location) == ([1], None)


def test_a_line_that_wrote_twice_is_the_first():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        operation = Operation(torch.add, Kind.OPERATION, "mul_", (model.weight,), {})
        run.signals.operations.began.send(operation)
        operate(run, "mul_", model.weight)
        location = writes.end(0).location
        assert location is not None
        assert location.function.startswith("test_")


def test_operations_are_listened_to_in_the_first_steps_and_then_for_suspects():
    with inventing(ForwardWrites) as run:
        innocent, suspect, writes = known(run), known(run), run.find(ForwardWrites)

        def listens(model: nn.Module, number: int) -> bool:
            writes.begin(model, number, trains=True)
            listening = bool(run.signals.operations.began)
            if model is suspect:
                with torch.no_grad():
                    suspect.bias.zero_()
            writes.end(run.steps)
            return listening

        for _ in range(module._STEPS):
            assert listens(innocent, 0)
            assert listens(suspect, 1)
            step(run)
        assert (listens(innocent, 0), listens(suspect, 1)) == (False, True)


def test_parameters_that_nobody_knows_are_not_watched():
    with inventing(ForwardWrites) as run:
        writes = run.find(ForwardWrites)
        writes.begin(nn.Linear(1, 1), 0, trains=True)
        assert not run.signals.operations.began
        assert writes.end(0) == module._NOTHING
        assert writes.end(0) == module._NOTHING


def test_an_optimizer_that_stepped_meanwhile_has_written():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        operate(run, "mul_", model.weight)
        step(run)
        assert writes.end(0) == module._NOTHING


def test_a_forward_that_begins_anew_forgets_the_one_that_never_ended():
    with inventing(ForwardWrites) as run:
        model, other, writes = known(run), known(run), run.find(ForwardWrites)
        writes.begin(model, 0, trains=True)
        writes.begin(other, 1, trains=True)
        operate(run, "mul_", model.weight)
        assert writes.end(0) == module._NOTHING
        writes.begin(model, 0, trains=True)
        run.session.detach(ForwardWrites)
        assert not run.signals.operations.began


def test_what_is_written_again_after_a_step_is_undone():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)

        def forward(value: float) -> list[int]:
            writes.begin(model, 0, trains=True)
            with torch.no_grad():
                model.weight.fill_(value)
                model.bias.fill_(float(torch.rand(())))
            return writes.end(run.steps).undone

        assert forward(0.5) == []
        assert forward(0.5) == [], "no step lies between"
        step(run)
        assert forward(0.5) == [], "the step has not moved it"
        step(run, model.weight)
        assert forward(0.5) == [0]
        step(run, model.weight)
        assert forward(0.75) == []


def test_large_parameters_are_not_compared_and_sparse_ones_are(monkeypatch):
    monkeypatch.setattr(module, "_VALUES", 4)
    with inventing(ForwardWrites) as run:
        model, writes = (
            nn.ParameterList([torch.ones(4), torch.ones(5), torch.eye(2).to_sparse()]),
            run.find(ForwardWrites),
        )
        for parameter in model:
            run.number(parameter)
        for undone in ([], [0, 2]):
            writes.begin(model, 0, trains=True)
            with torch.no_grad():
                for parameter in model:
                    parameter.zero_()
            written = writes.end(run.steps)
            assert (written.parameters, written.undone) == ([0, 1, 2], undone)
            step(run, *list(model)[:2])


def test_tensors_of_inference_mode_have_no_versions():
    with inventing(ForwardWrites) as run:
        with torch.inference_mode():
            model = nn.Linear(1, 1)
        for parameter in model.parameters():
            run.number(parameter)
        run.find(ForwardWrites).begin(model, 0, trains=True)
        assert run.find(ForwardWrites).end(0) == module._NOTHING


@pytest.mark.parametrize(
    ("put_back", "is_back"),
    [
        (lambda weight, before: weight.copy_(before), True),
        (lambda weight, before: weight.copy_(before + 1e-6), True),
        (lambda weight, before: weight.copy_(before + 1e-2), False),
        (lambda weight, before: None, False),
        (lambda weight, before: weight.set_(torch.cat([before, before])), None),
    ],
    ids=["to the bit", "but for rounding", "nearly", "not", "another shape"],
)
@pytest.mark.parametrize("in_closure", [False, True])
def test_what_a_forward_wrote_may_be_taken_back_before_the_step(put_back, is_back, in_closure):
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        sgd = SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            writes.begin(model, 0, trains=True)
            before = model.weight.detach().clone()
            with torch.no_grad():
                model.weight.add_(0.5)
            writes.end(run.steps)
            with torch.no_grad():
                put_back(model.weight, before)
            with run.step(sgd, closure=in_closure) as call:
                if in_closure:
                    assert run.of(WritesTakenBack)[1:] == []
                    with run.closure(call):
                        pass
        said = [(event.parameters, event.left) for event in run.of(WritesTakenBack)]
        assert said == {True: [([0], [])], False: [([], [0])], None: []}[is_back]


@pytest.mark.parametrize(("rows", "is_part"), [(1, True), (2, False), (4, False)])
def test_whether_a_part_of_the_rows_was_written(rows, is_part):
    with inventing(ForwardWrites) as run:
        model, writes = nn.Linear(3, 4), run.find(ForwardWrites)
        number = run.number(model.weight)
        sgd = SGD([model.weight], lr=0.1)
        for _ in range(4):
            writes.begin(model, 0, trains=True)
            with torch.no_grad():
                model.weight[:rows] += 0.5
            writes.end(run.steps)
            run.train(sgd)
        assert [(event.left, event.parts) for event in run.of(WritesTakenBack)] == [([number], [number] * is_part)]


def test_it_is_said_again_when_it_changes_and_looked_at_by_the_optimizer_concerned():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        mine, other = SGD(model.parameters(), lr=0.1), SGD([nn.Parameter(torch.ones(1))], lr=0.1)
        for takes_back in (True, True, False, True):
            writes.begin(model, 0, trains=True)
            with torch.no_grad():
                model.weight.add_(0.5)
            writes.end(run.steps)
            run.train(other)
            if takes_back:
                with torch.no_grad():
                    model.weight.sub_(0.5)
            run.train(mine)
        assert [(event.parameters, event.left) for event in run.of(WritesTakenBack)] == [
            ([0], []),
            ([], [0]),
            ([0], []),
        ]


def test_what_a_later_forward_of_the_same_step_finds_is_not_what_was_there_before():
    with inventing(ForwardWrites) as run:
        model, writes = known(run), run.find(ForwardWrites)
        sgd = SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            for _ in range(2):
                writes.begin(model, 0, trains=True)
                with torch.no_grad():
                    model.weight.add_(0.5)
                writes.end(run.steps)
            with torch.no_grad():
                model.weight.sub_(1.0)
            run.train(sgd)
        assert [(event.parameters, event.left) for event in run.of(WritesTakenBack)] == [([0], [])]


@pytest.mark.parametrize(
    ("write", "blind", "said"),
    [
        (lambda weight: weight.div_(weight.norm(dim=1, keepdim=True)), True, ([], [], [0])),
        (lambda weight: weight.mul_(3.0), True, ([], [], [0])),
        (lambda weight: weight.div_(weight.norm(dim=1, keepdim=True)), False, ([], [0], [])),
        (lambda weight: weight.clamp_(-0.1, 0.1), True, ([], [0], [])),
    ],
    ids=["by row", "the whole", "with a loss that heeds it", "bent"],
)
def test_a_factor_to_which_the_loss_is_blind(write, blind, said):
    torch.manual_seed(0)
    x = torch.randn(8, 4)
    with inventing(ForwardWrites) as run:
        model, writes = nn.Linear(4, 3), run.find(ForwardWrites)
        run.number(model.weight)
        sgd = SGD([model.weight], lr=0.1)
        for _ in range(4):
            writes.begin(model, 0, trains=True)
            with torch.no_grad():
                write(model.weight)
            writes.end(run.steps)
            sgd.zero_grad()
            weight = nn.functional.normalize(model.weight, dim=1) if blind else model.weight
            (x @ weight.T - 1).square().mean().backward()
            run.train(sgd)
            with torch.no_grad():
                model.weight.sub_(model.weight.grad)
        assert [(event.parameters, event.left, event.rescaled) for event in run.of(WritesTakenBack)] == [said]


def forwards(run: Invented, model: nn.Module, write: Any, *, name: str = "add", rest: tuple[Any, ...] = ()) -> None:
    run.find(ForwardWrites).begin(model, 0, trains=True)
    run.signals.operations.began.send(
        Operation(getattr(torch.Tensor, name), Kind.OPERATION, name, (next(model.parameters()), *rest), {})
    )
    with torch.no_grad():
        write(next(model.parameters()))
    run.find(ForwardWrites).end(run.steps)


def stepping(run: Invented, parameter: torch.Tensor, by: float) -> None:
    run.train(SGD([parameter], lr=0.1))
    with torch.no_grad():
        parameter.add_(by)


def weighed(run: Invented) -> list[WriteWeighed]:
    return [write for event in run.of(WritesWeighed) for write in event.writes]


def test_what_a_forward_leaves_of_steps_is_weighed():
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.tensor([-0.1, 0.0, 0.1])])
        number = run.number(model[0])
        for _ in range(3):
            forwards(run, model, lambda weight: weight.clamp_(-0.1, 0.1))
            forwards(run, model, lambda weight: weight.clamp_(-0.1, 0.1))
            stepping(run, model[0], 0.01)
        assert [event.step for event in run.of(WritesWeighed)] == [1, 2]
        first, second = weighed(run)
        assert (first.parameter, first.moved, first.free, first.held) == (number, 3, 2, 1)
        assert (second.moved, second.free, second.held) == (3, 2, 1)
        assert first.turned == pytest.approx(0.01 / (0.09**2 + 0.01**2 + 0.11**2) ** 0.5)


def test_what_forwards_did_unseen_is_not_put_down_to_steps():
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.ones(3)])
        run.number(model[0])
        forwards(run, model, lambda weight: weight.mul_(0.9))
        stepping(run, model[0], 0.01)
        stepping(run, model[0], 0.01)
        forwards(run, model, lambda weight: weight.mul_(0.9))
        assert weighed(run) == []
        stepping(run, model[0], 0.01)
        forwards(run, model, lambda weight: weight.mul_(0.9))
        assert len(weighed(run)) == 1


def test_steps_that_were_not_heard_of_may_hide_forwards():
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.ones(3)])
        run.number(model[0])
        forwards(run, model, lambda weight: weight.mul_(0.9))
        stepping(run, model[0], 0.01)
        run.find(ForwardWrites)._heard -= 1
        forwards(run, model, lambda weight: weight.mul_(0.9))
        assert weighed(run) == []


def test_a_parameter_that_changes_its_shape_or_that_no_step_moves_is_not_weighed():
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.ones(3)])
        run.number(model[0])
        for write in (lambda weight: weight.mul_(0.9), lambda weight: weight.set_(torch.ones(5))):
            forwards(run, model, write)
            run.train(SGD([model[0]], lr=0.1))
        forwards(run, model, lambda weight: weight.mul_(0.9))
        assert weighed(run) == []


@pytest.mark.parametrize(
    ("name", "rest", "told"),
    [
        ("clamp_", (0.0, 2.0), [None, True, True]),
        ("fill_", (2.0,), [None, False, False]),
        ("copy_", (torch.tensor([2.0]),), [None, None, None]),
    ],
)
def test_one_value_that_never_leaves_its_bound_is_tried(name, rest, told):
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.tensor([2.0])])
        run.number(model[0])
        for _ in range(4):
            forwards(run, model, lambda weight: weight.fill_(2.0), name=name, rest=rest)
            stepping(run, model[0], 0.1)
        assert [write.heeds for write in weighed(run)] == told


def test_a_value_that_moved_once_is_not_tried():
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.tensor([2.0])])
        run.number(model[0])
        for by in (-0.1, 0.2, 0.1, 0.1):
            forwards(run, model, lambda weight: weight.clamp_(0.0, 2.0), name="clamp_", rest=(0.0, 2.0))
            stepping(run, model[0], by)
        assert [(write.held, write.heeds) for write in weighed(run)] == [(0, None), (1, None), (1, None)]


def test_values_that_are_not_finite_are_not_weighed():
    with inventing(ForwardWrites) as run:
        model = nn.ParameterList([torch.ones(3)])
        run.number(model[0])
        for by in (math.nan, math.inf, 0.1):
            forwards(run, model, lambda weight: weight.fill_(1.0))
            stepping(run, model[0], by)
        assert weighed(run) == []
