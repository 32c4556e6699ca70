"""Batches that come again in every step, the tensors that data were taken from, and workers that are alike."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.optim import SGD
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

from autograd_doctor.events.data import BatchRepeated, WorkersAlike
from autograd_doctor.instruments.data.batches import Batches
from autograd_doctor.instruments.data.workers import Workers
from autograd_doctor.instruments.spine.sources import Sources, samples
from autograd_doctor.signals.loaders import BatchAsked, PassBegan
from autograd_doctor.signals.transforms import TransformCall
from tests.inventing import Invented, inventing
from tests.watching import one_of_two


class Iterator:
    """Stands for torch's own."""


def loader(rows: int = 40, **more: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.arange(rows)[:, None].float()), batch_size=4, **more)


def drawn(run: Invented, each: DataLoader[Any], *batches: torch.Tensor) -> None:
    """A new pass, of which these batches are drawn."""
    iterator: Any = Iterator()
    run.signals.loaders.began.send(PassBegan(each, iterator))
    for batch in batches:
        run.signals.loaders.drawn.send(BatchAsked(iterator, batch=[batch]))


def trained(run: Invented, model: nn.Module, x: torch.Tensor) -> None:
    with run.calling(model, x, output=model(x)):
        pass
    run.train(SGD(model.parameters(), lr=0.1))


def told(run: Invented) -> list[tuple[str, int, int, int, bool]]:
    run.find(Batches).finish()
    return [(event.how, event.steps, event.samples, event.of, event.rest_used) for event in run.of(BatchRepeated)]


def test_passes_that_begin_with_the_same_batch():
    with inventing(Batches) as run:
        model, data = nn.Linear(1, 1), loader()
        for _ in range(10):
            batch = torch.ones(4, 1)
            drawn(run, data, batch)
            trained(run, model, batch)
        assert told(run) == [("new pass", 8, 4, 40, False), ("new pass", 10, 4, 40, False)]
        assert run.of(BatchRepeated)[0].name == "each"


@pytest.mark.parametrize(
    "case", ["other batches", "whole passes", "no training", "two steps to a pass", "all there is"]
)
def test_passes_that_are_right(case):
    with inventing(Batches) as run:
        model, data = nn.Linear(1, 1), loader(4 if case == "all there is" else 40)
        for step in range(10):
            batch = torch.full((4, 1), float(step) if case == "other batches" else 1.0)
            drawn(run, data, *([batch, torch.zeros(4, 1)] if case == "whole passes" else [batch]))
            for _ in range(2 if case == "two steps to a pass" else 1):
                trained(run, model, torch.rand(4, 1) if case == "no training" else batch)
        assert told(run) == []


@pytest.mark.parametrize(
    ("case", "steps"), [("asks", 9), ("does not ask", 0), ("asks an older pass", 0), ("has another batch", 0)]
)
def test_an_old_batch_of_a_pass_that_is_over(case: str, steps: int) -> None:
    with inventing(Batches) as run:
        model, data, older, iterator = nn.Linear(1, 1), loader(), Iterator(), Iterator()
        for each in (older, iterator):
            run.signals.loaders.began.send(PassBegan(data, each))  # type: ignore[arg-type]
        batch = torch.rand(4, 1)
        run.signals.loaders.drawn.send(BatchAsked(iterator, batch=[batch]))  # type: ignore[arg-type]
        for _ in range(9):
            if case != "does not ask":
                asked: Any = older if case == "asks an older pass" else iterator
                run.signals.loaders.exhausted.send(BatchAsked(asked))
            trained(run, model, torch.rand(4, 1) if case == "has another batch" else batch)
        found = [entry for entry in told(run) if entry[0] == "used up"]
    assert found[-1:] == ([("used up", steps, 4, 40, False)] if steps else [])


def test_slices_that_stay_where_they_are():
    with inventing(Batches) as run:
        model, x = nn.Linear(2, 1), torch.rand(40, 2)
        for _ in range(9):
            trained(run, model, x[8:16])
        assert told(run) == [("same slice", 9, 8, 40, False)]


@pytest.mark.parametrize("case", ["the same view", "other rows", "the rest is evaluated"])
def test_slices_that_are_right(case):
    with inventing(Batches) as run:
        model, x = nn.Linear(2, 1), torch.rand(40, 2)
        first = x[:8]
        for step in range(9):
            trained(run, model, first if case == "the same view" else x[step : step + 8] if "rows" in case else x[:8])
            if case == "the rest is evaluated":
                with torch.no_grad(), run.calling(model, x[8:], grad_enabled=False):
                    pass
        assert [rest for *_, rest in told(run)] == ([True] if case == "the rest is evaluated" else [])


@pytest.mark.parametrize(
    ("rows", "used"), [(slice(8, 40), True), (slice(2, 6), False), (slice(30, 31), False)], ids=["rest", "own", "one"]
)
@pytest.mark.parametrize("of", ["samples", "targets", "another"])
def test_slices_whose_rest_is_read(rows: slice, used: bool, of: str) -> None:
    with inventing(Batches) as run:
        model, x, y, other = nn.Linear(2, 1), torch.rand(40, 2), torch.rand(40), torch.rand(60)
        for _ in range(9):
            trained(run, model, x[:8])
        run.signals.value_reads.read.send({"samples": x, "targets": y, "another": other}[of][rows])
        assert [rest for *_, rest in told(run)] == [used and of != "another"]


@pytest.mark.parametrize("mapped", ["samples", "another"])
def test_slices_of_what_a_transform_was_given(mapped: str) -> None:
    with inventing(Batches) as run:
        model, x = nn.Linear(2, 1), torch.rand(40, 2)
        for _ in range(9):
            trained(run, model, x[:8])
        given = x if mapped == "samples" else torch.rand(40, 2)
        run.signals.transforms.began.send(TransformCall("vmap", (model, (given,))))
        assert [rest for *_, rest in told(run)] == [mapped == "samples"]


def test_slices_in_another_shape():
    with inventing(Batches) as run:
        model, signal = nn.Linear(4, 1), torch.rand(400)
        for _ in range(9):
            trained(run, model, signal[40:80].view(10, 4))
        assert told(run) == [("same slice", 9, 40, 400, False)]


def picked(run: Invented, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Rows of it, the choice of which was seen."""
    return run.operated("__getitem__", x[rows], x, rows)


def test_rows_of_the_same_indices():
    with inventing(Batches) as run:
        model, x = nn.Linear(2, 1), torch.rand(40, 2)
        for step in range(9):
            rows = torch.tensor([30, 4, 17])
            trained(run, model, x[rows] if step in (3, 5) else picked(run, x, rows))
        assert told(run) == [("same slice", 9, 3, 40, False)]


def test_a_slice_of_one_of_several_ranks_leaves_the_rest_to_the_others():
    with one_of_two(), inventing(Batches) as run:
        model, x = nn.Linear(2, 1), torch.rand(40, 2)
        for _ in range(9):
            trained(run, model, x[8:16])
        assert told(run) == [("same slice", 9, 8, 40, True)]


@pytest.mark.parametrize("case", ["others of them", "others in light steps", "others are evaluated", "a slice of it"])
def test_rows_that_are_right(case):
    with inventing(Batches) as run:
        model, x, rows = nn.Linear(2, 1), torch.rand(40, 2), torch.tensor([30, 4, 17])
        for step in range(12):
            others = rows + (step == 10)
            trained(run, model, x[others] if case == "others in light steps" else picked(run, x, rows))
            if case == "others of them":
                trained(run, model, picked(run, x, others))
            if case in ("others are evaluated", "a slice of it"):
                with torch.no_grad(), run.calling(model, x[:3] if "slice" in case else x[others], grad_enabled=False):
                    pass
        assert all(rest for *_, rest in told(run))


def test_what_another_module_is_given_beside_it_varies():
    with inventing(Batches) as run:
        places, words, table = nn.Linear(2, 1), nn.Linear(2, 1), torch.rand(200, 2)
        x = torch.rand(400, 2)
        for step in range(9):
            with run.calling(places, table[:8]):
                pass
            trained(run, words, x[8 * step : 8 * step + 8])
        assert [rest for *_, rest in told(run)] == [True]


def test_places_beside_the_batches_of_a_loader():
    with inventing(Batches) as run:
        places, words, table, data = nn.Linear(2, 1), nn.Linear(1, 1), torch.rand(200, 2), loader()
        for _ in range(9):
            batch = torch.rand(4, 1)
            drawn(run, data, batch)
            with run.calling(places, table[:8]):
                pass
            trained(run, words, batch)
        assert [rest for how, *_, rest in told(run) if how == "same slice"] == [True]


@pytest.mark.parametrize("case", ["nothing else", "a view of it", "its rows in light steps"])
def test_what_may_be_the_rest(case):
    with inventing(Batches) as run:
        model, signal = nn.Linear(4, 1), torch.rand(400)
        for _ in range(9):
            trained(run, model, signal[40:80].view(10, 4))
        if case != "nothing else":
            table = signal.view(100, 4)
            rest = table if case == "a view of it" else table[torch.arange(60, 70)]
            with torch.no_grad(), run.calling(model, rest, grad_enabled=False):
                pass
        assert [rest for *_, rest in told(run)] == [case != "nothing else"]


@pytest.mark.parametrize("changes", [False, True])
def test_a_slice_beside_other_data_is_no_batch(changes):
    with inventing(Batches) as run:
        model, table, x = nn.Linear(2, 1), torch.rand(40, 2), torch.rand(200, 2)
        for step in range(9):
            begin = 8 * step if changes else 0
            with run.calling(model, x[begin : begin + 8], table[:8]):
                pass
            run.train(SGD(model.parameters(), lr=0.1))
        assert len(told(run)) == (0 if changes else 2)


# ------------------------------------------------------------------------------------------------------------ sources


def test_rows_are_known_by_what_chose_them():
    with inventing(Sources) as run:
        sources, x, rows = run.find(Sources), torch.rand(40, 2), torch.tensor([7, 3, 9])
        part = run.operated("__getitem__", x[rows], x, rows)
        (source,) = sources.of(run.operated("mul", part * 2, part, 2))
        assert (source.kind, source.rows, source.low, source.high) == ("chosen", 40, 3, 10)
        (later,) = sources.of(run.operated("__getitem__", x[rows + 1], x, rows + 1))
        assert later.selection != source.selection
        assert later.order == source.order != 0
        ascending = torch.arange(4)
        (ascends,) = sources.of(run.operated("__getitem__", x[ascending], x, ascending))
        assert ascends.order == 0
        mask = torch.arange(40) > 35
        (masked,) = sources.of(run.operated("__getitem__", x[mask], x, mask))
        assert (masked.low, masked.high) == (36, 40)
        (row,) = sources.of(run.operated("__getitem__", x[-1], x, -1))
        assert (row.low, row.high) == (39, 40)
        assert sources.of(run.operated("ones_like", torch.ones_like(part), part)) == ()
        assert sources.whole(x) == source.number


def test_one_data_set_has_one_origin_whichever_loader_draws_from_it() -> None:
    with inventing(Sources) as run:
        sources, data = run.find(Sources), TensorDataset(torch.rand(8, 1))
        kept = [DataLoader(each, batch_size=4) for each in (data, data, TensorDataset(torch.rand(8, 1)), [1.0] * 8)]
        batches = [torch.rand(4, 1) for _ in kept]
        for each, batch in zip(kept, batches, strict=True):
            drawn(run, each, batch)
        first, again, other, of_list = map(sources.origin_of, batches)
        assert first == again
        assert len({first, other, of_list}) == 3
        x = torch.rand(40, 2)
        assert sources.origin_of(x[:8]) == sources.origin_of(x[8:16]) != sources.origin_of(torch.rand(40, 2)[:8])
        assert sources.origin_of(x) is None


def test_slices_are_known_without_having_been_seen():
    with inventing(Sources) as run:
        sources, x = run.find(Sources), torch.rand(40, 2)
        (source,) = sources.of(x[8:16])
        assert (source.rows, source.low, source.high) == (40, 8, 16)
        assert sources.of(x) == sources.of(x[:, :1]) == sources.of(torch.rand(3)) == ()
        array = numpy.zeros((40, 2), dtype=numpy.float32)
        (source,) = sources.of(run.operated("from_numpy", torch.from_numpy(array[4:6]), array[4:6]))
        assert (source.rows, source.low, source.high) == (40, 4, 6)
        assert sources.of(run.operated("from_numpy", torch.from_numpy(array), array)) == ()


def test_how_many_samples_a_loader_draws_from():
    assert samples(loader(40)) == samples(loader(40, shuffle=True)) == 40
    assert samples(DataLoader(TensorDataset(torch.ones(9)), sampler=RandomSampler(range(9)))) == 9
    assert samples(DataLoader(Nameless())) == 0


class Nameless:
    def __len__(self) -> int:
        raise ValueError("not yet")

    def __getitem__(self, index: int) -> int:
        return index


# ------------------------------------------------------------------------------------------------------------ workers


def test_workers_that_deliver_the_same():
    with inventing(Workers) as run:
        data = loader(num_workers=2)
        run.signals.loaders.built.send(data)
        drawn(run, data, *(torch.full((4, 1), float(number // 2)) for number in range(7)))
        run.find(Workers).finish()
        (event,) = run.of(WorkersAlike)
        assert (event.name, event.workers, event.rounds, event.alike, event.stream) == ("each", 2, 3, 3, False)
        assert event.location is not None


@pytest.mark.parametrize(("workers", "values"), [(2, [1, 2, 3, 4]), (2, [1, 1, 1, 1]), (1, [1, 1, 2, 2])])
def test_workers_that_do_not(workers, values):
    with inventing(Workers) as run:
        drawn(run, loader(num_workers=workers), *(torch.full((4, 1), float(value)) for value in values))
        run.find(Workers).finish()
        assert run.of(WorkersAlike) == []


def test_batches_that_cannot_be_told_apart_are_not_the_same_for_that():
    """Each round has labels of its own, and each worker images that cannot be read."""
    with inventing(Workers) as run:
        iterator: Any = Iterator()
        run.signals.loaders.began.send(PassBegan(loader(num_workers=2), iterator))
        for number in range(8):
            images, labels = (torch.eye(4) * (number + 1)).to_sparse(), torch.full((4, 1), float(number // 2))
            run.signals.loaders.drawn.send(BatchAsked(iterator, batch=[images, labels]))
        run.find(Workers).finish()
        assert run.of(WorkersAlike) == []
