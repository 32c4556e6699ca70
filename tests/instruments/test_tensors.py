"""The table of living tensors."""

from __future__ import annotations

import gc
from typing import Any

import torch
from torch import nn

from autograd_doctor.instruments.spine import tensors as module
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.provenance import Provenance, next_order
from tests.inventing import inventing


def put(tensors: Tensors, tensor: torch.Tensor, operation: str = "mul") -> Provenance:
    made = Provenance(operation, None, 0)
    tensors.put(tensor, made)
    return made


def test_a_tensor_is_known_while_it_lives():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        x, other = torch.ones(2, 3), torch.ones(1)
        made = put(tensors, x)
        assert tensors.get(x) is made
        assert tensors.get(other) is None
        assert [tensor is x for tensor, _ in tensors.living()] == [True]
        pointer = x.data_ptr()
        assert tensors.sharing(pointer) is made
        del x
        assert list(tensors.living()) == []
        assert tensors.sharing(pointer) is None
        assert (tensors._made, tensors._by_pointer) == ({}, {})


def test_a_lineage_put_anew_replaces_the_old_one():
    with inventing(Tensors) as run:
        tensors, x = run.find(Tensors), torch.ones(1)
        first = put(tensors, x)
        second = put(tensors, x)
        first.reference = None
        gc.collect()
        assert tensors.get(x) is second
        assert len(list(tensors.living())) == 1


def test_the_oldest_of_several_aliases_is_known_by_their_address():
    with inventing(Tensors) as run:
        tensors, x = run.find(Tensors), torch.ones(4)
        made = put(tensors, x)
        alias = x.detach()
        put(tensors, alias)
        assert tensors.sharing(x.data_ptr()) is made
        del alias
        assert tensors.sharing(x.data_ptr()) is made
        alias = x.detach()
        late = put(tensors, alias)
        del x
        again = put(tensors, alias.detach())
        assert tensors.sharing(alias.data_ptr()) in (late, again, None)


def test_an_alias_that_nobody_recorded_is_known_by_its_address():
    with inventing(Tensors) as run:
        tensors, x = run.find(Tensors), torch.ones(4)
        made = put(tensors, x)
        assert tensors.source(x.detach()) is made
        alias = x.detach()
        assert tensors.source(alias) is made
        known = put(tensors, alias)
        assert tensors.source(alias) is known
        assert tensors.source(torch.ones(4)) is None
        leaf = torch.ones(4, requires_grad=True)
        put(tensors, leaf)
        assert tensors.source(leaf * 1) is not tensors.source(leaf), "a tensor with a graph stands for itself"


def test_what_was_made_unseen_is_connected_to_what_its_graph_says():
    with inventing(Tensors) as run:
        tensors, weight, other = run.find(Tensors), nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(3))
        bit, unseen = tensors.parameter_bit(weight), torch.vmap(lambda row: row * 2)(weight)
        made = tensors.derive(Provenance("sub", None, 0), [unseen, other.detach()])
        assert (made.values, made.connected) == (bit, bit)
        assert tensors.get(unseen) is None


def test_parameters_are_their_own_source():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        known, parameter, data = torch.ones(1), nn.Parameter(torch.ones(1)), torch.ones(1)
        run.number(known)
        assert [tensors.parameter_bit(each) for each in (known, parameter, data)] == [1, 2, 0]
        assert [tensors.source(each) for each in (known, parameter, data)] == [1, 2, None]


def test_what_flows_in_is_live_only_if_it_requires_a_gradient():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        trained, frozen = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1), requires_grad=False)
        hidden = trained * 1
        first = tensors.derive(Provenance("mul", None, 0), [trained, frozen, torch.ones(1)])
        assert (first.values, first.connected) == (3, 1)
        tensors.put(hidden, first)
        assert (tensors.derive(Provenance("mul", None, 0), [hidden]).connected) == 1
        detached = hidden.detach()
        tensors.put(detached, first)
        later = tensors.derive(Provenance("mul", None, 0), [detached])
        assert (later.values, later.connected) == (3, 0)


def test_what_was_written_into_a_parameter_flows_out_of_it():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        a, b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        tensors.parameter_bit(a)
        written = tensors.derive(Provenance("copy_", None, 0), [b])
        tensors.written[0] = written
        made = tensors.derive(Provenance("mul", None, 0), [a])
        assert (made.values, made.connected) == (3, 1)
        assert tensors.derive(Provenance("mul", None, 0), [b]).values == 2


def test_copies_of_what_may_change_are_kept_until_the_next_backward():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        hidden = torch.full((2, 2), 3.0, requires_grad=True) * 1
        before = next_order()
        tensors.keep_original(hidden)
        hidden.data.zero_()
        found = tensors.original(hidden.view(4), before)
        assert found is not None
        assert found.tolist() == [3.0] * 4
        assert tensors.original(hidden, next_order()) is None, "it was saved after the copy was made"
        assert tensors.original(hidden[:1], before) is None, "the sizes differ"
        assert tensors.original(torch.ones(2, 2), before) is None
        with run.backward(torch.ones(())):
            assert len(tensors.originals) == 1
        assert tensors.originals == []


def test_only_a_few_small_tensors_that_learn_are_copied(monkeypatch):
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        tensors.keep_original(torch.ones(2))
        assert tensors.originals == []
        monkeypatch.setattr(module, "_ORIGINAL_BYTES", 8)
        for size in (2, 3):
            tensors.keep_original(torch.ones(size, requires_grad=True))
        assert len(tensors.originals) == 1
        for _ in range(module._MOST_ORIGINALS):
            tensors.keep_original(torch.ones(2, requires_grad=True))
        assert len(tensors.originals) == module._MOST_ORIGINALS


def test_what_only_a_graph_or_torch_refers_to_is_not_held_by_the_program():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        held: Any = [torch.ones(2, requires_grad=True) * 1, torch.ones(2)]
        for tensor in held:
            put(tensors, tensor)
        saved = held[0].square().sum()
        del tensor
        assert len(list(tensors.held_by_program())) == 2
        held.pop(0)
        assert len(list(tensors.living())) == 2
        assert [each.requires_grad for each, _ in tensors.held_by_program()] == [False]
        assert saved is not None


def test_a_description_says_what_made_a_tensor_and_what_it_is_called():
    with inventing(Tensors) as run:
        tensors = run.find(Tensors)
        x, weight = torch.full((2,), 3.0), nn.Parameter(torch.ones(1))
        for tensor in (x, weight):
            put(tensors, tensor, "exp")
        del tensor
        facts = tensors.describe(x)
        assert (facts.name, facts.operation, facts.low, facts.made_at) == ("x", "exp", 3.0, None)
        assert tensors.describe(weight).operation == "", "what was written into a parameter last did not make it"
        hidden = {(): nn.Parameter(torch.ones(1))}
        run.number(hidden[()])
        (unnamed,) = map(tensors.describe, hidden.values())
        assert (unnamed.name, unnamed.parameter) == ("", 0)
        (unknown,) = map(tensors.describe, {(): torch.ones(1)}.values())
        assert unknown.name == ""
