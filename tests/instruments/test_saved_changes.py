"""Tensors saved for backward and changed before it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.errors import SavedTensorChanged
from autograd_doctor.instruments.errors.saved_changes import SavedChanges, _Complaint
from autograd_doctor.reading.provenance import Change, Provenance
from tests.inventing import Invented, inventing


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(3))


def complain(run: Invented, root: torch.Tensor) -> SavedTensorChanged:
    """The backward runs, and raises what autograd raises."""
    with run.backward(root) as call:
        try:
            root.backward()
        except RuntimeError as error:
            call.error = error
    assert call.error is not None
    return run.of(SavedTensorChanged)[-1]


def test_a_complaint_is_read():
    complaint = _Complaint.read(
        "modified by an inplace operation: [torch.FloatTensor [2, 3]], which is output 0 of SelectBackward0, "
        "is at version 4; expected version 2 instead"
    )
    assert complaint == ([2, 3], 4, 2, True)
    assert (
        _Complaint.read("[torch.FloatTensor [5]], output 0 of ExpBackward0, is at version 1; expected version 0")[3]
        is False
    )
    assert _Complaint.read("something else") == ([], 0, 0, False)


@pytest.mark.parametrize(
    ("shape", "version", "of_view", "fits", "part"),
    [
        ([3, 2], 4, True, True, False),
        ([2, 3], 3, True, False, False),
        ([2], 4, True, False, True),
        ([2], 4, False, False, False),
        ([2], 3, True, False, False),
        ([7, 2], 4, True, False, False),
    ],
)
def test_which_tensors_fit_a_complaint(shape, version, of_view, fits, part):
    made = Provenance("mul", None, 0)
    made.shape = (2, 3)
    made.changes = (Change("mul_", None, 3), Change("add_", None, 4))
    complaint = _Complaint(shape, version, 0, of_view)
    assert (complaint.fits(made), complaint.fits_part(made)) == (fits, part)


def test_a_tensor_that_was_changed_after_it_was_saved():
    a = weight()
    with inventing(SavedChanges) as run:
        hidden = run.operated("exp", a.exp(), a)
        loss = run.operated("sum", hidden.sum(), hidden)
        hidden.add_(1)
        run.operated("add_", hidden, hidden)
        hidden.mul_(2)
        run.operated("mul_", hidden, hidden)
        event = complain(run, loss)
        assert (event.backward, event.silently, event.step) == (0, False, 0)
        assert (event.tensor.operation, event.tensor.shape, event.tensor.made_at is not None) == ("exp", [3], True)
        assert (event.saved_by, event.saved_at is not None, event.needed_at is not None) == ("exp", True, True)
        assert (event.changed.operation, event.changed.version) == ("add_", 1)
        assert event.changed.location is not None


def test_a_change_before_it_was_saved_is_not_to_blame() -> None:
    a = weight()
    with inventing(SavedChanges) as run:
        x = run.operated("ones", torch.ones(3))
        run.operated("mul_", x.mul_(2), x)
        loss = run.operated("mul", (a * x).sum(), a, x)
        run.operated("add_", x.add_(1), x)
        event = complain(run, loss)
        assert (event.changed.operation, event.changed.version) == ("add_", 2)


def test_a_tensor_that_is_dead_is_known_by_the_graph():
    a = weight()
    with inventing(SavedChanges) as run:
        hidden = run.operated("exp", a.exp(), a)
        hidden.add_(1)
        run.operated("add_", hidden, hidden)
        loss = run.operated("sum", hidden.sum(), hidden)
        del hidden
        event = complain(run, loss)
        assert (event.tensor.operation, event.tensor.shape, event.changed.operation) == ("exp", [3], "add_")


def test_a_view_of_what_was_changed():
    a = weight()
    with inventing(SavedChanges) as run:
        whole = run.operated("mul", nn.Parameter(torch.ones(2, 3)) * 1)
        part = whole[0]
        loss = run.operated("mul", (part * a).sum(), part, a)
        whole.add_(1)
        run.operated("add_", whole, whole)
        event = complain(run, loss)
        assert (event.tensor.operation, event.tensor.shape) == ("mul", [2, 3])
        assert event.changed.operation == "add_"


def test_a_parameter_that_an_optimizer_updated():
    a, b = weight(), weight()
    with inventing(SavedChanges) as run:
        run.number(a)
        loss = run.operated("mul", (a * b).sum(), a, b)
        with run.step(SGD([a], lr=0.1)), torch.no_grad():
            a.add_(1)
        event = complain(run, loss)
        assert (event.changed.operation, event.changed.version, event.tensor.shape) == ("step", 1, [3])
        assert event.changed.location is not None
        assert event.tensor.name == "a"


def test_a_change_that_nobody_saw_is_told_by_its_shape():
    a, x = weight(), torch.ones(5)
    with inventing(SavedChanges) as run:
        loss = (a.sum() * x).sum()
        x.add_(1)
        event = complain(run, loss)
        assert (event.tensor.shape, event.changed.operation, event.changed.version) == ([5], "", 1)


def test_a_parameter_that_was_not_changed_is_not_to_blame():
    a = weight()
    with inventing(SavedChanges) as run:
        hidden = a.exp()
        loss = hidden.sum()
        hidden.add_(1)
        event = complain(run, loss)
        assert (event.changed.operation, event.tensor.name) == ("", "")


def test_other_errors_are_not_explained():
    with inventing(SavedChanges) as run:
        with run.backward(weight().sum()) as call:
            call.error = RuntimeError("out of memory")
        assert run.of(SavedTensorChanged) == []


# ------------------------------------------------------------------------------------------------------------- silently


def hide(run: Invented, tensor: torch.Tensor, name: str = "mul_", *, by: float = 2) -> None:
    """A change through `.data`."""
    alias = run.operated("data", tensor.data, tensor)
    alias.mul_(by)
    run.operated(name, alias, alias)


def test_a_hidden_change_is_found_before_the_backward_and_measured():
    a = weight()
    with inventing(SavedChanges) as run:
        hidden = run.operated("exp", (a * 1).exp(), a)
        loss = run.operated("sum", hidden.sum(), hidden)
        hide(run, hidden)
        with run.backward(loss):
            (event,) = run.of(SavedTensorChanged)
        assert (event.silently, event.backward, event.saved_by) == (True, 0, "exp")
        assert (event.changed.operation, event.changed.location is not None) == ("mul_", True)
        assert event.relative_error == pytest.approx(1.0)
        assert event.tensor.operation == "exp"
        assert event.saved_at is not None
        assert event.needed_at is not None


def test_nothing_is_measured_where_a_hook_would_run_twice():
    a = weight()
    with inventing(SavedChanges) as run:
        run.signals.hooks.on_tensor.send(a)
        hidden = run.operated("exp", a.exp(), a)
        loss = run.operated("sum", hidden.sum(), hidden)
        hide(run, hidden)
        with run.backward(loss):
            pass
        assert run.of(SavedTensorChanged)[0].relative_error is None


def test_a_hidden_change_before_it_was_saved_does_no_harm():
    a, x = weight(), torch.ones(3)
    with inventing(SavedChanges) as run:
        run.operated("ones", x)
        hide(run, x)
        loss = run.operated("mul", (a * x).sum(), a, x)
        other = run.operated("exp", a.exp(), a)
        hide(run, torch.ones(2))
        with run.backward(loss + other.sum()):
            pass
        assert run.of(SavedTensorChanged) == []


def test_a_parameter_changed_through_data_is_called_by_its_name():
    a, b = weight(), weight()
    with inventing(SavedChanges) as run:
        run.number(a)
        loss = run.operated("mul", (a * b).sum(), a, b)
        hide(run, a)
        with run.backward(loss):
            pass
        with run.step(SGD([a], lr=0.1)):
            (event,) = run.of(SavedTensorChanged)
        assert (event.tensor.name, event.changed.operation) == ("a", "mul_")
        assert (event.tensor.operation, event.tensor.made_at) == ("", None)


def test_a_parameter_that_is_put_back_before_the_step_was_swapped_for_the_backward() -> None:
    a, b = weight(), weight()
    with inventing(SavedChanges) as run:
        run.number(a)
        loss = run.operated("mul", (a * b).sum(), a, b)
        hide(run, a)
        with run.backward(loss):
            pass
        hide(run, a, by=0.5)
        with run.step(SGD([a], lr=0.1)):
            pass
    assert run.of(SavedTensorChanged) == []


def test_a_tensor_changed_through_data_is_called_by_its_variable() -> None:
    a = weight()
    with inventing(SavedChanges) as run:
        run.number(weight())
        hidden = run.operated("exp", a.exp(), a)
        loss = run.operated("sum", hidden.sum(), hidden)
        hide(run, hidden)
        with run.backward(loss):
            pass
        (event,) = run.of(SavedTensorChanged)
        assert (event.tensor.name, event.tensor.operation) == ("hidden", "exp")
        assert event.tensor.made_at is not None


def test_a_tensor_that_died_after_its_hidden_change_has_no_name() -> None:
    a = weight()
    with inventing(SavedChanges) as run:
        hidden = run.operated("exp", a.exp(), a)
        loss = run.operated("sum", hidden.sum(), hidden)
        hide(run, hidden)
        run.nodes.clear()
        del hidden
        with run.backward(loss):
            pass
        assert [event.tensor.name for event in run.of(SavedTensorChanged)] == [""]


def test_a_backward_without_hidden_changes_is_not_searched():
    a = weight()
    with inventing(SavedChanges) as run:
        call: Any
        with run.backward(a.exp().sum()) as call:
            pass
        assert call.error is None
        assert run.of(SavedTensorChanged) == []
