"""How one tensor was made: what flowed in, where gradient paths were cut, and what of that is kept."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from autograd_doctor.reading.origin import Origin
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import _MOST_CHANGES, _MOST_CUTS, CutPoint, Provenance, address, has_graph
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.tape import numbers_in

PLACE: Place = (compile("x = 1", "train.py", "exec"), 2)


def point(operation: str, reason: str = "operation", **flags: bool) -> CutPoint:
    return CutPoint(operation, None, reason, None, **flags)


def made(values: int = 0, connected: int = 0, **more: Any) -> Provenance:
    found = Provenance("mul", None, 0)
    found.values, found.connected = values, connected
    for name, value in more.items():
        setattr(found, name, value)
    return found


def told(found: Provenance, lost: int = ~0) -> list[tuple[str, list[int]]]:
    return [(cut.operation, cut.parameters) for cut in found.cuts_of(lost)]


def test_nothing_has_flowed_into_a_new_one() -> None:
    new = Provenance("mul", PLACE, 3)
    kept = {name: getattr(new, name) for name in Provenance.__slots__ if name not in ("__weakref__", "order", "born")}
    assert kept == {
        "operation": "mul", "place": PLACE, "step": 3, "created_by": "mul", "created_at": PLACE, "values": 0,
        "guessed": 0, "connected": 0, "cuts": {}, "origin": None, "rewrapped": None, "rewrapped_by": "",
        "of_backward": None, "alias_of": None, "hidden_alias": False, "changes": (), "shape": (), "reference": None,
        "under": None, "of_gradient": False, "source": None, "by_library": False, "looked_at": False,
    }  # fmt: skip


def test_what_is_made_later_has_a_higher_order() -> None:
    assert made().order < made().order


def test_a_cut_tells_where_and_whose_path_ended() -> None:
    cut = CutPoint("detach", PLACE, "operation", None, guessed=True).event([2])
    assert (cut.operation, cut.location, cut.parameters) == ("detach", locate(PLACE), [2])
    assert (cut.reason, cut.switch, cut.guessed) == ("operation", None, True)


def test_parameters_cut_at_one_point_add_up() -> None:
    found = made()
    found.add_cut(point("detach"), 0b01)
    found.add_cut(point("detach"), 0b10)
    assert told(found) == [("detach", [0, 1])]


def test_only_the_first_cuts_are_kept_but_go_on_counting() -> None:
    found, other = made(), made()
    for number in range(_MOST_CUTS + 2):
        found.add_cut(point(f"cut{number}"), 1)
        other.add_cut(point(f"other{number}"), 1)
    found.add_cut(point("cut0"), 2)
    found.absorb(other, connected=True)
    found.absorb(made(cuts={point("cut1"): 4}), connected=True)
    names = [f"cut{number}" for number in range(2, _MOST_CUTS)]
    assert told(found) == [("cut0", [0, 1]), ("cut1", [0, 2]), *((name, [0]) for name in names)]


def test_cuts_are_merged_up_to_the_limit() -> None:
    found, other = made(), made()
    found.add_cut(point("mine"), 1)
    for number in range(_MOST_CUTS):
        other.add_cut(point(f"other{number}"), 1)
    found.absorb(other, connected=True)
    assert [name for name, _ in told(found)] == ["mine", *(f"other{number}" for number in range(_MOST_CUTS - 1))]


def test_a_cut_of_one_is_none_of_those_that_it_shares_its_cuts_with() -> None:
    first, second = made(), made()
    first.add_cut(point("detach"), 1)
    second.absorb(first, connected=False)
    second.add_cut(point("item"), 1)
    assert told(first) == [("detach", [0])]
    assert told(made()) == []


def test_only_paths_of_lost_parameters_are_told() -> None:
    found = made()
    found.add_cut(point("detach"), 0b011)
    found.add_cut(point("item"), 0b100)
    assert told(found, lost=0b010) == [("detach", [1])]


def test_what_goes_on_as_whole_numbers_is_a_choice_whatever_cut_it() -> None:
    found = made()
    found.add_cut(point("no_grad", "grad-mode"), 1)
    found.add_cut(point("detach"), 1)
    found.choose()
    assert list(found.cuts) == [point("no_grad", "grad-mode", choice=True), point("detach", choice=True)]


def test_what_was_chosen_twice_adds_up() -> None:
    found = made()
    found.add_cut(point("no_grad", "grad-mode", choice=True), 0b010)
    found.add_cut(point("no_grad", "grad-mode", choice=False), 0b100)
    found.choose()
    assert told(found) == [("no_grad", [1, 2])]


def test_a_choice_is_to_blame_only_for_those_cut_nowhere_else() -> None:
    found = made()
    found.add_cut(point("argmax", "grad-mode", choice=True), 0b011)
    found.add_cut(point("detach"), 0b110)
    assert told(found) == [("argmax", [0]), ("detach", [1, 2])]


def test_what_cuts_off_others_that_learn_all_the_same_comes_last() -> None:
    found = made()
    found.add_cut(point("detach"), 0b011)
    found.add_cut(point("item"), 0b010)
    assert told(found, lost=0b010) == [("item", [1]), ("detach", [1])]
    assert told(found, lost=0b011) == [("detach", [0, 1]), ("item", [1])]


def test_gradients_reach_through_an_input_only_if_it_requires_them() -> None:
    found = made(0b0001, 0b0001)
    found.absorb(made(0b0110, 0b0010), connected=True)
    found.absorb(made(0b1000, 0b1000), connected=False)
    assert (found.values, found.connected) == (0b1111, 0b0011)


def test_parameters_cut_in_several_inputs_add_up() -> None:
    found = made()
    for bit in (0b010, 0b100):
        found.absorb(made(cuts={point("detach"): bit}), connected=True)
    assert told(found) == [("detach", [1, 2])]


def test_cuts_of_a_guessed_input_are_guessed() -> None:
    found = made()
    found.absorb(made(cuts={point("item"): 1}), connected=False, guessed=True)
    assert [cut.guessed for cut in found.cuts_of(1)] == [True]
    seen = made()
    seen.absorb(made(cuts={point("item"): 1}), connected=False)
    assert [cut.guessed for cut in seen.cuts_of(1)] == [False]


def test_the_first_origin_and_the_first_rewrapping_go_on() -> None:
    first, second = (Origin(name, None, describe(torch.ones(1)), (), ()) for name in ("log", "sqrt"))
    found = made()
    found.absorb(made(), connected=True)
    found.absorb(made(origin=first, rewrapped=PLACE, rewrapped_by="tensor"), connected=True)
    found.absorb(made(origin=second, rewrapped=(PLACE[0], 4), rewrapped_by="as_tensor"), connected=True)
    assert (found.origin, found.rewrapped, found.rewrapped_by) == (first, PLACE, "tensor")


def test_the_last_changes_are_kept() -> None:
    found, tensor = made(), torch.ones(2, 3)
    for _ in range(_MOST_CHANGES + 3):
        found.change("add_", PLACE, tensor)
        tensor.add_(1)
    assert [change.version for change in found.changes] == list(range(3, _MOST_CHANGES + 3))
    assert found.changes[0][:2] == ("add_", PLACE)
    assert found.shape == (2, 3)


def test_only_results_of_recorded_operations_have_a_graph() -> None:
    leaf = torch.ones(2, requires_grad=True)
    assert has_graph(leaf * 2)
    assert not has_graph(leaf)
    assert not has_graph(torch.ones(2) * 2)


def test_a_view_that_refuses_to_say_has_no_graph() -> None:
    base = torch.ones(2, requires_grad=True).clone()
    with torch.no_grad():
        view = base[:1]
    base.mul_(2)
    with pytest.raises(RuntimeError):
        view.grad_fn  # noqa: B018
    assert not has_graph(view)


def test_addresses_are_those_of_storages() -> None:
    plain = torch.ones(3)
    assert address(plain[1:]) == plain.data_ptr() + 4
    assert address(torch.eye(2).to_sparse()) == 0
    with FakeTensorMode():
        assert address(torch.ones(2)) == 0


@pytest.mark.parametrize(("bits", "numbers"), [(0, []), (1, [0]), (0b10110, [1, 2, 4]), (1 << 100, [100])])
def test_numbers_of_a_bit_set(bits: int, numbers: list[int]) -> None:
    assert numbers_in(bits) == numbers
