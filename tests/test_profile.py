"""`doctor profile`: what is measured, from numbers to the screen."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, IterableDataset

from autograd_doctor.events.efficiency import (
    CheckpointsTried,
    EvaluationTried,
    GraphMeasured,
    ItemsReread,
    IterationTimed,
    LineCost,
    LinesMeasured,
    MemoryBudgeted,
    OptimizerTried,
    PassTimed,
    Peak,
    Spent,
    WorkersKept,
    WorkersRuledOut,
    WorkersTried,
)
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import RecordingStarted
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.profile_changes import MEMORY, WHOLE, changes
from autograd_doctor.profiling import Measured, Memory, Part, Profile
from autograd_doctor.reading.allocated import HighWater, allocated
from autograd_doctor.reading.checkpointing import Call, groups, predicted, tried
from autograd_doctor.reading.forward_modes import compared as compared_modes
from autograd_doctor.reading.fused_attention import Attention, compared
from autograd_doctor.reading.graph_bytes import activations_of, saved_bytes
from autograd_doctor.reading.graph_structure import depth_of, nodes_of
from autograd_doctor.reading.optimizer_ways import obstacle as ways_obstacle
from autograd_doctor.reading.optimizer_ways import tried as ways_tried
from autograd_doctor.reading.repeated_items import reread
from autograd_doctor.reading.trials import Undecided, autocast_now
from autograd_doctor.reading.worker_trials import obstacle, seconds_of_a_batch, seconds_with_kept_workers
from autograd_doctor.renderers import Options
from autograd_doctor.renderers.canvas import Canvas
from autograd_doctor.renderers.curve_line import curve_line
from autograd_doctor.renderers.profile_tables import pace, tables
from autograd_doctor.report import to_json
from autograd_doctor.rules import rule_called
from autograd_doctor.rules.efficiency import data_bound, slow_optimizer_step
from autograd_doctor.run_course import Series
from autograd_doctor.trace import Trace
from autograd_doctor.views.block_trials import as_reported, blocks_of, code_for, offers, on_the_front, predictions
from autograd_doctor.views.iterations import profile
from tests.commands import doctor
from tests.harness import ROOT
from tests.reports import healthy

TRAINS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x):
        hidden = torch.relu(self.up(x))
        return x + self.down(hidden)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = TensorDataset(torch.randn(128, 8), torch.randn(128, 1))
for epoch in range(4):
    for x, y in DataLoader(data, batch_size=16):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
print("weights", sum(p.double().sum().item() for p in model.parameters()))
"""
PARAMETERS = 4 * (3 * (8 * 32 + 32 + 32 * 8 + 8) + 8 + 1)


def _line(location: Location | None) -> str:
    return f"{location.path}:{location.line}" if location is not None else "?"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAINS)
    return tmp_path


def run(*arguments: str, columns: int = 120) -> tuple[int, str, str]:
    always = {"AUTOGRAD_DOCTOR_SECONDS": "0", "COLUMNS": str(columns), "PYTHONPATH": str(ROOT)}
    done = doctor(*arguments, env={**os.environ, **always})
    return done.returncode, done.stdout, done.stderr


# ------------------------------------------------------------------------------------------------------------- numbers


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=60))
def test_the_interval_of_a_median_lies_around_it(numbers: list[float]) -> None:
    measured = Measured.of(numbers)
    assert min(numbers) <= measured.low <= measured.median <= measured.high <= max(numbers)
    if len(numbers) < 6:
        assert (measured.low, measured.high) == (min(numbers), max(numbers))


def test_the_interval_is_that_of_the_order_statistics() -> None:
    """Of 100 numbers, the 40th and the 61st (Conover, 3.2: 50 less 9.8, rounded down)."""
    measured = Measured.of([float(number) for number in range(1, 101)])
    assert (measured.low, measured.median, measured.high) == (41.0, 50.5, 60.0)


def _trace(*happened: Any) -> Trace:
    return Trace.of_events(RecordingStarted(tool="", began=0.0, needs=["IterationTimed"]), *happened)


def _timed(seconds: float, **others: Any) -> IterationTimed:
    where = Location("train.py", 7)
    spent = [Spent("data", seconds / 4, where), Spent("forward", 3 * seconds / 4)]
    return IterationTimed(**{"seconds": seconds, "spent": spent, "samples": 8, **others})


def test_only_iterations_in_which_nothing_else_was_done_tell_how_long_one_takes() -> None:
    evaluating = _timed(90.0, spent=[Spent("evaluation", 90.0)])
    found = profile(_trace(_timed(50.0, recorded=True), evaluating, _timed(2.0), _timed(4.0), _timed(3.0)), _line)
    assert found is not None
    assert (found.iterations, found.seconds.median, found.samples) == (3, 3.0, 8 / 3)
    assert [(part.activity, part.share, part.lines) for part in found.parts] == [
        ("forward", 0.75, []),
        ("data", 0.25, ["train.py:7"]),
    ]
    assert [(each.activity, each.iterations, each.seconds) for each in found.beside] == [("evaluation", 1, 90.0)]


EVALUATED = Location("train.py", 9)


def _evaluates(seconds: float, passes: int, where: Location = EVALUATED, *, recorded: bool) -> IterationTimed:
    spent = [Spent("evaluation", seconds, where, passes), Spent("checkpoint", 1.0)]
    return _timed(seconds + 1.0, spent=spent, recorded=recorded)


def _beside(*happened: Event) -> list[tuple[str, int, float, bool]]:
    found = profile(_trace(*[_timed(2.0)] * 20, *happened), _line)
    assert found is not None
    return [(each.activity, each.iterations, each.seconds, each.while_recorded) for each in found.beside]


def test_evaluations_that_were_recorded_are_told_by_others_at_their_line() -> None:
    found = _beside(_evaluates(90.0, 4, recorded=True), _evaluates(6.0, 2, recorded=False))
    assert found == [("checkpoint", 2, 2.0, False), ("evaluation", 2, 4 * 3.0 + 6.0, False)]


def test_evaluations_that_were_all_recorded_are_told_by_those_of_a_copy() -> None:
    tried = _evaluated(called=EVALUATED, inference=([2.0, 2.5, 3.0], [1.0] * 3))
    assert _beside(_evaluates(90.0, 4, recorded=True), tried)[1] == ("evaluation", 1, 4 * 2.5, False)


def test_evaluations_of_which_nothing_else_tells_are_told_as_recorded() -> None:
    elsewhere = _evaluated(called=Location("train.py", 1))
    with_gradients = _evaluated(called=EVALUATED, gradients=True)
    found = _beside(_evaluates(90.0, 4, recorded=True), elsewhere, with_gradients)
    assert found[1] == ("evaluation", 1, 90.0, True)
    shown = profile(_trace(_timed(2.0), _timed(2.0), _evaluates(90.0, 4, recorded=True)), _line)
    assert shown is not None
    said = "and evaluation: 90 s in 1 iteration, while operations were recorded, which takes longer (train.py:9)"
    assert said in next(iter(tables(shown))).notes


def test_an_evaluation_in_most_iterations_is_a_part_of_them() -> None:
    evaluating = _timed(4.0, spent=[Spent("evaluation", 1.0), Spent("forward", 3.0)])
    found = profile(_trace(_timed(90.0), evaluating, evaluating), _line)
    assert found is not None
    assert (found.iterations, found.beside) == (3, [])
    assert "evaluation" in {part.activity for part in found.parts}


def test_a_short_program_is_told_by_what_was_recorded_of_it_and_that_is_said() -> None:
    found = profile(_trace(_timed(2.0, recorded=True), _timed(4.0, recorded=True)), _line)
    assert found is not None
    assert (found.iterations, found.while_recorded, found.seconds.median) == (2, True, 3.0)
    assert "slowed down by being recorded" in pace(found)


def test_parts_come_from_iterations_that_wait_for_the_accelerator_and_the_whole_from_the_others() -> None:
    found = profile(_trace(*(_timed(seconds, waited=seconds > 5) for seconds in (2.0, 8.0, 2.0, 8.0))), _line)
    assert found is not None
    assert found.seconds.median == 2.0
    assert {part.activity: part.seconds.median for part in found.parts} == {"forward": 6.0, "data": 2.0}


def test_where_the_host_waits_comes_from_iterations_in_which_nothing_else_does() -> None:
    def waiting(seconds: float, times: int, **others: Any) -> IterationTimed:
        return _timed(4.0, spent=[Spent("synchronisation", seconds, Location("train.py", 9), times)], **others)

    found = profile(_trace(waiting(9.0, 9, waited=True), waiting(1.0, 1), waiting(2.0, 2), _timed(4.0)), _line)
    assert found is not None
    assert [(each.line, each.times, each.seconds) for each in found.waiting] == [("train.py:9", 1.0, 1.0)]
    table = next(each for each in tables(found) if "accelerator" in each.title)
    assert table.rows == [["train.py:9", "1", "1 s", "25%"]]


def test_what_was_not_asked_for_is_not_there_and_what_was_not_seen_is_empty() -> None:
    assert profile(Trace.of_events(_timed(1.0)), _line) is None
    nothing = profile(_trace(), _line)
    assert nothing is not None
    assert not nothing.iterations


def test_a_line_that_runs_in_several_modules_is_one() -> None:
    costs = [LineCost(Location("m.py", 3, column), f"m.{column}", ["linear"], 1.0, 2.0, 3.0, 4.0) for column in (1, 2)]
    found = profile(_trace(_timed(1.0), LinesMeasured(iterations=2, lines=costs)), _line)
    assert found is not None
    (line,) = found.lines
    assert (line.line, line.calls, line.forward, line.backward, line.saved) == ("m.py:3", 2.0, 4.0, 6.0, 8.0)


def test_loaders_are_told_by_line_and_by_who_reads() -> None:
    passes = [
        PassTimed(Location("t.py", 3), loader=0, workers=2, kept=False, batches=4, start=start, wait=wait)
        for start, wait in ((0.5, 0.25), (0.5, None))
    ]
    validation = PassTimed(Location("t.py", 9), loader=1, workers=0, kept=False, batches=1, start=2.0)
    found = profile(_trace(_timed(1.0), *passes, validation), _line)
    assert found is not None
    assert [(each.line, each.workers, each.passes, each.start.median) for each in found.loaders] == [
        ("t.py:3", 2, 2, 0.5),
        ("t.py:9", 0, 1, 2.0),
    ]
    assert next(iter(tables(found))).notes == [
        "t.py:3 is read by 2 workers: a batch is waited for 250 ms, the first of a pass 500 ms",
        "t.py:9 is read by the process that trains: the first of a pass 2 s",
    ]


# --------------------------------------------------------------------------------------------------------------- bytes


def _kept(model: nn.Module, x: torch.Tensor) -> int:
    """By hooks, which see what is packed: another way to the same number."""
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    found: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept = model(x)
        total = sum(found.values())
    del kept
    return total


def test_what_nodes_keep_adds_up_to_what_the_graph_keeps() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Dropout(0.5), nn.Linear(32, 4))
    x = torch.randn(16, 8)
    loss = model(x)
    by_node = sum(saved for _, saved in activations_of(nodes_of([loss])))
    assert by_node == saved_bytes([loss]).bytes == _kept(model, x)


# -------------------------------------------------------------------------------------------------------------- graphs


def test_the_longest_way_through_a_graph_counts() -> None:
    x = torch.randn(4, requires_grad=True)
    short, long = x.exp(), x.sin().cos().tanh()
    assert depth_of(nodes_of([long])) == 4  # with the leaf
    assert depth_of(nodes_of([short + long])) == depth_of(nodes_of([long + short])) == 5
    assert depth_of([]) == 0


def test_memory_that_is_handed_out_is_counted() -> None:
    before = allocated()
    if before is None:
        pytest.skip("neither an accelerator nor a C library that tells")
    held = torch.empty(2**20)
    assert (allocated() or 0) - before >= held.nbytes
    del held
    assert (allocated() or 0) - before < 2**20


def test_the_highest_is_kept_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([100, 130, 180, 150])
    monkeypatch.setattr("autograd_doctor.reading.allocated.allocated", lambda: next(told))
    water, where = HighWater(), Location(path="m.py", line=3)
    water.look("forward", None)
    assert water.highest is None  # nobody knows what was there before
    water.begin()
    water.begin()
    for during, location in (("forward", None), ("backward", where), ("forward", None)):
        water.look(during, location)  # type: ignore[arg-type]
    assert water.highest == Peak(80, "backward", where)


def test_what_graphs_keep_and_what_is_most_is_told_below_the_table() -> None:
    budget = MemoryBudgeted(
        parameters=2**20, buffers=0, gradients=2**20, optimizer=0, activations=2**21,
        peak=Peak(5 * 2**20, "backward", Location(path="m.py", line=3)),
    )  # fmt: skip
    graphs = [GraphMeasured(nodes=n, depth=n // 2, saved=2**20 * n, left=left) for n, left in ((4, 0), (8, 2**20))]
    found = profile(_trace(_timed(1.0), budget, *graphs), _line)
    assert found is not None
    (memory,) = [table for table in tables(found) if table.title.startswith("memory")]
    assert memory.rows[-1][:2] == ["together", "4.0 MiB"]
    assert memory.shares == [0.25, 0.25, 0.5, 1.0]
    assert memory.notes == [
        "at least 5.0 MiB at once in an iteration, in the backward of m.py:3",
        "the largest graph: 8 nodes, 4 in a row, 8.0 MiB saved; its backward leaves 1.0 MiB of that",
    ]


def test_what_checkpoints_would_do_is_a_table() -> None:
    budget = MemoryBudgeted(parameters=1, buffers=0, gradients=1, optimizer=0, activations=2**21)
    done = replace(_tried(2, 500, 1.25), moved=["norm.running_mean", "norm.running_var"])
    unsafe = replace(_tried(1, 0, 1.0), before=[], after=[], untried="it has hooks")
    found = profile(_trace(_timed(1.0), budget, done, unsafe), _line)
    assert found is not None
    table = next(table for table in tables(found) if table.title == "what checkpoints would do")
    assert table.rows == [
        ["every second of model.blocks (4 x Block)", "500 bytes", "1000 bytes", "1.25 to 1.25"],
        ["model.blocks (4 x Block)", "", "", ""],
    ]
    assert table.notes == [
        "what a forward writes would be written twice: norm.running_mean and 1 more",
        "not tried: it has hooks",
    ]
    small = profile(_trace(_timed(1.0), replace(budget, activations=2**10), done), _line)
    assert small is not None
    assert "what checkpoints would do" not in [table.title for table in tables(small)]


# --------------------------------------------------------------------------------------------------------- checkpoints


class Block(nn.Module):
    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Linear(8, 64),
            nn.BatchNorm1d(64) if norm else nn.Identity(),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(64, 8),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)  # type: ignore[no-any-return]


def _stack(norm: bool = False) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), *(Block(norm) for _ in range(4)), nn.Linear(8, 1))


def test_blocks_are_those_of_a_class_side_by_side() -> None:
    assert [(each.path, each.kind, each.paths, each.alone) for each in groups(_stack())] == [
        ("", "Block", ("1", "2", "3", "4"), False)
    ]
    two = nn.ModuleDict({"encoder": _stack()[1:5], "decoder": nn.Sequential(Block(), Block())})
    assert [(each.path, len(each.paths), each.alone) for each in groups(two)] == [("", 2, True)]
    assert groups(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))) == []


def test_a_block_that_stands_at_several_places_is_one() -> None:
    shared = Block()
    assert [each.paths for each in groups(nn.ModuleList([shared, Block(), shared]))] == [("0", "1")]
    assert groups(nn.ModuleList([shared] * 3)) == []


def test_what_only_holds_blocks_is_none() -> None:
    both = nn.ModuleDict({"down": nn.ModuleList([Block(), Block()]), "up": nn.ModuleList([Block(), Block()])})
    assert sorted(each.path for each in groups(both)) == ["down", "up"]


def test_what_a_checkpoint_keeps_is_what_it_keeps_when_it_is_applied_by_hand() -> None:
    model, x = _stack(), torch.randn(32, 8)
    blocks = groups(model)[0]
    plain, every, half = tried(model, Call((x,), {}), [(), blocks.paths, blocks.paths[::2]], 0.0)
    assert plain.saved == _kept(model, x)
    assert (plain.differs, every.differs, half.differs) == (0.0, 0.0, 0.0)
    assert len(plain.seconds) == len(every.seconds) == 5
    assert "forward" not in vars(model[1])

    def by_hand() -> torch.Tensor:
        hidden = model[0](x)
        for block in list(model)[1:5]:
            hidden = checkpoint(block, hidden, use_reentrant=False)
        return model[5](hidden)  # type: ignore[no-any-return]

    assert every.saved == saved_bytes([by_hand()]).bytes
    assert every.saved < half.saved < plain.saved


def test_a_copy_runs_under_the_autocast_of_the_program() -> None:
    model, x = _stack(), torch.randn(32, 8)
    with torch.autocast("cpu", torch.bfloat16):
        call = Call((x,), {}, autocast_now(model))
        by_hand = saved_bytes([model(x)]).bytes
    plain, every = tried(model, call, [(), groups(model)[0].paths], 0.0)
    assert (plain.saved, every.differs) == (by_hand, 0.0)
    assert by_hand < _kept(model, x)


def test_statistics_that_would_move_twice_are_named() -> None:
    model, x = _stack(norm=True), torch.randn(32, 8)
    _, every = tried(model, Call((x,), {}), [(), groups(model)[0].paths], 0.0)
    assert {name.rpartition(".")[2] for name in every.moved} == {
        "num_batches_tracked", "running_mean", "running_var",
    }  # fmt: skip


def test_what_would_be_kept_can_be_added_up() -> None:
    saved = {"": 10.0, "blocks.1": 1.0, "blocks.1.inner": 100.0, "blocks.10": 1000.0, "head": 5.0}
    assert predicted(saved, ["blocks.1"], {"blocks.1": 7, "blocks.10": 8}) == (1116, 1022)
    assert predicted(saved, ["blocks.1", "blocks.10"], {"blocks.1": 7, "blocks.10": 8}) == (1116, 30)


def test_what_could_not_be_tried_is_told_as_added_up() -> None:
    untried = replace(_tried(1, 0, 1.0), before=[], after=[], predicted=(2**26, 2**24), untried="it has hooks")
    assert offers(Trace.of_events(untried)) == []
    assert predictions(Trace.of_events(untried, _tried(1, 100, 1.3))) == [untried]
    (told,) = as_reported(Trace.of_events(untried))
    assert (told.predicted, told.saved, told.cost, told.untried) == ((2**26, 2**24), None, None, "it has hooks")


def _tried(every: int, saved: int, after: float, **others: Any) -> CheckpointsTried:
    return CheckpointsTried(
        model="model", holder="model.blocks", kind="Block", alone=True, blocks=4, every=every,
        saved=(1000, saved), before=[1.0] * 8, after=[after] * 8, **others,
    )  # fmt: skip


def test_an_offer_that_another_beats_is_none() -> None:
    found = offers(Trace.of_events(_tried(1, 100, 1.3), _tried(2, 400, 1.1), _tried(2, 500, 1.2)))
    assert [each.tried.saved[1] for each in found] == [100, 400, 500]
    assert [each.tried.saved[1] for each in on_the_front(found)] == [100, 400]
    assert blocks_of(found[1].tried) == "every second of `model.blocks` (4 x `Block`)"
    compile(code_for(found[1].tried), "code", "exec")


def test_of_two_offers_that_are_as_good_none_is_left_out() -> None:
    found = offers(Trace.of_events(_tried(1, 100, 1.3), _tried(2, 100, 1.3)))
    assert on_the_front(found) == found


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("alone", [True, False])
def test_the_lines_to_paste_do_what_was_tried(every: int, alone: bool) -> None:
    model = _stack()
    held = nn.ModuleList(list(model)[1:5]) if alone else model
    event = _tried(every, 1, 1.0)
    offer = offers(Trace.of_events(CheckpointsTried(**{**_fields(event), "holder": "held", "alone": alone})))[0]
    exec(code_for(offer.tried), {"held": held})
    assert sum("forward" in vars(each) for each in held) == 4 // every


def _fields(event: CheckpointsTried) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


# ------------------------------------------------------------------------------------------------------------- workers


class _Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> int:
        if index == 4 and torch.utils.data.get_worker_info() is None:
            raise AssertionError("read in the process that trains")
        return index


def test_workers_read_and_the_process_that_trains_does_not() -> None:
    loader = DataLoader(_Numbers(), batch_size=3, shuffle=True)
    before = torch.random.get_rng_state(), random.getstate()
    assert not obstacle(loader)
    assert 0 < seconds_of_a_batch(loader, 2, 1.0, 0.0) < 5
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert before[1] == random.getstate()


def test_what_workers_cannot_read_is_not_tried() -> None:
    class Fails(_Numbers):
        def __getitem__(self, index: int) -> int:
            raise ValueError

    with pytest.raises(Undecided, match="ValueError"):
        seconds_of_a_batch(DataLoader(Fails(), batch_size=2), 1, 1.0, 0.0)


def test_workers_that_are_kept_read_other_samples_in_each_pass() -> None:
    class Notes(_Numbers):
        def __getitem__(self, index: int) -> int:
            assert index not in _seen
            _seen.add(index)
            return index

        def __len__(self) -> int:
            return 100

    _seen: set[int] = set()
    loader = DataLoader(Notes(), batch_size=3, num_workers=1)
    found = seconds_with_kept_workers(loader, 60.0)
    assert len(found) == 5
    assert all(0 < each < 5 for each in found)
    assert len(seconds_with_kept_workers(loader, 0.0)) == 2
    assert _seen == set()


def _passes(*starts: float, **others: Any) -> list[PassTimed]:
    """One after another at one line; the first of all is among them."""
    return [
        PassTimed(
            **{
                "location": Location("t.py", 3), "loader": 0, "workers": 2, "kept": False, "batches": 8, "start": start,
                "since": None if not number else 2.0, **{name: value[number] for name, value in others.items()},
            }
        )
        for number, start in enumerate(starts)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("passes", "said"),
    [
        (_passes(1.0, 1.0, 1.0), "add `persistent_workers=True`"),
        (_passes(1.0, 1.0, 1.0, loader=[0, 1, 2], kept=[True] * 3), "build the loader once"),
        (_passes(1.0, 1.0), None),
        (_passes(1.0, 1.0, 1.0, kept=[True] * 3), None),
        (_passes(1.0, 1.0, 1.0, since=[None, 50.0, 50.0]), None),
        (_passes(0.05, 0.05, 0.05, since=[None, 0.1, 0.1]), None),
        (_passes(1.0, 0.02, 1.0), None),
        (_passes(1.0, 1.0, 1.0, workers=[0] * 3), None),
    ],
    ids=["anew", "another loader", "once", "kept", "a trifle", "next to nothing", "noise", "no workers"],
)
def test_workers_that_start_in_each_pass_are_told(passes: list[PassTimed], said: str | None) -> None:
    kept = WorkersKept(location=Location("t.py", 3), ready=[0.01, 0.02, 0.03])
    found = list(data_bound.examine(_trace(*passes, kept), data_bound.RULE.defaults))
    assert [said is not None and said in each.help for each in found] == [True] * (said is not None)


def test_the_start_of_workers_is_no_waiting_for_data_beside() -> None:
    """Of iterations in which workers started only the start is told."""
    starting = [_timed(1.0, spent=[Spent("data", 0.9), Spent("forward", 0.1)], starts=1) for _ in range(20)]
    others = [_timed(1.0, spent=[Spent("forward", 1.0)]) for _ in range(20)]
    assert list(data_bound.examine(_trace(*starting, *others), data_bound.RULE.defaults)) == []


class _Read(Dataset[Any]):
    """Of five samples; only workers may read them."""

    def __init__(self, of: Callable[[int], Any]) -> None:
        self._of = of

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        assert torch.utils.data.get_worker_info() is not None
        return self._of(index)


_GENERATOR = torch.Generator().manual_seed(0)


@pytest.mark.parametrize(
    ("of", "same"),
    [
        (lambda index: {"x": torch.full((3,), float("nan")), "y": [numpy.ones(2), (index, "text")]}, True),
        (lambda index: torch.rand(2), False),
        (lambda index: numpy.random.rand(2), False),
        (lambda index: index if random.random() < 2 else -1, False),
        (lambda index: torch.rand(2, generator=_GENERATOR), False),
        (lambda index: time.perf_counter(), False),
        (lambda index: object(), False),
    ],
    ids=["same", "torch", "numpy", "no difference yet", "a generator of its own", "time", "unknown"],
)
def test_samples_that_are_the_same_each_time(of: Callable[[int], Any], same: bool) -> None:
    before = torch.random.get_rng_state(), random.getstate(), _GENERATOR.get_state()
    found = reread(DataLoader(_Read(of), batch_size=2), 1.0, 0.0)
    assert [each.same for each in found] == [same] * 4
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert torch.equal(before[2], _GENERATOR.get_state())
    assert before[1] == random.getstate()


def test_the_bytes_of_a_sample_are_told_and_a_sample_that_cannot_be_read_is_none() -> None:
    assert {each.bytes for each in reread(DataLoader(_Read(lambda _: (torch.ones(3), 1))), 1.0, 0.0)} == {12}
    with pytest.raises(Undecided, match="ZeroDivisionError"):
        reread(DataLoader(_Read(lambda _: 1 / 0)), 1.0, 0.0)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, True),
        ({"same": 7}, False),
        ({"samples": 3, "same": 3}, False),
        ({"again": 0.1}, False),
        ({"first": 0.1}, False),
    ],
    ids=["same", "one differs", "few", "kept already", "others take the time"],
)
def test_what_is_read_again_in_each_pass_is_told(other: dict[str, Any], said: bool) -> None:
    told = {"samples": 8, "same": 8, "first": 1.0, "again": 1.0, "waited": 1.0, "bytes": 1024, "of": 2048, **other}
    waiting = [_timed(1.0, spent=[Spent("data", 0.6), Spent("forward", 0.4)]) for _ in range(12)]
    (found,) = data_bound.examine(_trace(*waiting, ItemsReread(location=None, **told)), data_bound.RULE.defaults)
    assert ("it is the same for a sample in each pass" in found.help) is said
    assert any("2.0 MiB" in note for note in found.notes) is said


class _Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(100))


class _DividedStream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        worker = torch.utils.data.get_worker_info()
        assert worker is not None
        yield from range(worker.id, 100, worker.num_workers)


def test_a_stream_that_each_worker_would_read_whole_is_told_from_one_that_they_divide() -> None:
    assert 0 < seconds_of_a_batch(DataLoader(_DividedStream(), batch_size=2), 2, 1.0, 0.0) < 5
    with pytest.raises(Undecided, match="each would read all samples"):
        seconds_of_a_batch(DataLoader(_Stream(), batch_size=2), 2, 1.0, 0.0)
    with pytest.raises(Undecided, match="too few batches"):
        seconds_of_a_batch(DataLoader(_DividedStream(), batch_size=20), 2, 1.0, 0.0)


def test_loaders_of_which_workers_are_not_tried() -> None:
    opened = iter([1])
    assert "does not say in advance" in obstacle(DataLoader(_Numbers(), batch_sampler=[[0, 1]]))
    assert "processes cannot share" in obstacle(DataLoader(_Read(lambda _: next(opened))))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda path: path.write_text("read"), "writes files"),
        (lambda path: path.with_name("folder").mkdir(), "writes files"),
        (lambda path: subprocess.run(["touch", path], check=True), "starts other programs"),
        (lambda path: socket.create_connection(("127.0.0.1", 9)), "uses the network"),
    ],
    ids=["file", "folder", "program", "network"],
)
def test_what_is_seen_outside_of_workers_is_refused(tmp_path: Path, act: Callable[[Path], Any], said: str) -> None:
    def swallowed(index: int) -> int:
        with contextlib.suppress(Exception):
            act(tmp_path / "a")
        return index

    for of in (lambda index: act(tmp_path / "a"), swallowed):
        loader = DataLoader(_Read(of), batch_size=2)
        with pytest.raises(Undecided, match=said):
            seconds_of_a_batch(loader, 1, 1.0, 0.0)
        with pytest.raises(Undecided, match=said):
            reread(loader, 1.0, 0.0)
    assert list(tmp_path.iterdir()) == []


def test_workers_may_read_files_in_a_trial(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    loader = DataLoader(_Read(lambda _: int(path.read_text())), batch_size=2)
    assert seconds_of_a_batch(loader, 1, 1.0, 0.0) > 0


def test_a_trial_reads_a_part_of_the_data_set(tmp_path: Path) -> None:
    class Counted(_Numbers):
        def __init__(self, shared: mmap.mmap) -> None:
            self._shared = shared

        def __len__(self) -> int:
            return 400

        def __getitem__(self, index: int) -> int:
            self._shared[index] = 1
            return index

    with mmap.mmap(-1, 400) as shared:
        seconds_of_a_batch(DataLoader(Counted(shared), batch_size=5), 2, 1e-6, 60.0)
        assert 55 <= sum(shared[:]) <= 100


def _said_of_waiting(*others: Event) -> Finding:
    waiting = [_timed(1.0, spent=[Spent("data", 0.9, Location("t.py", 3)), Spent("forward", 0.1)]) for _ in range(12)]
    (found,) = data_bound.examine(_trace(*waiting, *others), data_bound.RULE.defaults)
    return found


def test_workers_are_advised_only_where_they_were_tried() -> None:
    tried = WorkersTried(location=None, workers=2, before=0.9, after=0.3)
    assert "`num_workers=2`" in _said_of_waiting(tried).help
    assert "workers" not in _said_of_waiting().help
    found = _said_of_waiting(WorkersRuledOut(location=None, why="each would read all samples"))
    assert "workers" not in found.help
    assert found.notes[-1] == "workers are not advised: each would read all samples"


@pytest.mark.parametrize(("cores", "more"), [(0, False), (2, False), (8, True)])
def test_a_loader_with_workers_is_told_how_many_it_has(cores: int, more: bool) -> None:
    there = {"loader": 0, "workers": 2, "kept": True, "batches": 12, "start": 0.1, "cores": cores}
    found = _said_of_waiting(PassTimed(location=Location("t.py", 3), **there))
    assert found.help.startswith("2 workers prepare batches already: do what is the same")
    assert "num_workers" not in found.help
    assert ("or try more of them, as this machine has 8 cores" in found.help) is more
    assert ("cores" in found.help) is more


# ----------------------------------------------------------------------------------------------------------- attention


def _attention(mask: torch.Tensor | None = None, scale: float = 0.5, **others: Any) -> Attention:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 4, 96, 8)
    scores = queries @ keys.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else scores + mask
    return Attention(queries, keys, values, scale, mask, others.get("result", scores.softmax(-1) @ values))


@pytest.mark.parametrize(
    ("mask", "causal"),
    [
        (None, False),
        (torch.ones(96, 96).tril().bool(), True),
        (torch.ones(1, 1, 96, 96).tril().bool(), True),
        (torch.arange(96) < 70, False),
        (torch.zeros(96, 96).masked_fill(torch.ones(96, 96).triu(3).bool(), -1e9), False),
    ],
    ids=["none", "causal", "causal of all heads", "padding", "added"],
)
def test_the_fused_call_computes_the_same_and_keeps_less(mask: torch.Tensor | None, causal: bool) -> None:
    attention = _attention(mask if mask is None or mask.dim() > 1 else mask.expand(96, 96))
    found = compared(attention, 0.0)
    assert attention.is_causal is causal
    assert found.differs < 1e-5
    weights = 4 * 2 * 4 * 96 * 96
    assert found.fused.saved < weights <= found.stepwise.saved
    assert len(found.stepwise.seconds) == len(found.fused.seconds) == 5


def test_what_computes_something_else_is_no_attention() -> None:
    with pytest.raises(Undecided, match="more than was understood"):
        compared(_attention(result=torch.ones(2, 4, 96, 8)), 0.0)


# --------------------------------------------------------------------------------------------------------- evaluations


def test_a_forward_computes_the_same_in_all_modes_and_keeps_a_graph_only_with_gradients() -> None:
    model, x = _stack(), torch.randn(32, 8)
    found = compared_modes(model, ((x,), {}), 0.0)
    assert found.differs == (0.0, 0.0)
    assert found.saved == saved_bytes([model(x)], [x]).bytes
    assert {len(each) for each in (*found.recording, *found.inference)} == {5}


class _Counting(nn.Linear):
    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return super().forward(x) * self.calls


class _Writing(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.mul_(1.0))


@pytest.mark.parametrize(
    ("model", "reason"), [(_Counting(8, 8), "another one each time"), (_Writing(8, 8), "writes to what it is given")]
)
def test_forwards_that_are_not_alike_are_not_compared(model: nn.Module, reason: str) -> None:
    x = torch.ones(4, 8)
    with pytest.raises(Undecided, match=reason):
        compared_modes(model, ((x,), {}), 0.0)
    assert x._version == 0


def _evaluated(**others: Any) -> EvaluationTried:
    """Ten passes of half a second, which take half as long under `inference_mode`."""
    known: dict[str, Any] = {
        "module": "model", "gradients": False, "passes": 10, "followed": 10, "within": 10, "iterations": 10,
        "saved": 0, "recording": ([0.6] * 9, [0.5] * 9), "inference": ([0.5] * 9, [0.25] * 9), "differs": (0.0, 0.0),
    }  # fmt: skip
    return EvaluationTried(**{**known, **others})


def _said(*happened: Any) -> list[str]:
    rule = rule_called("AD804")
    assert rule is not None
    return [finding.message for finding in rule.examine(_trace(*happened), rule.defaults)]


def test_a_line_that_training_shares_is_not_to_be_put_under_inference_mode() -> None:
    rule = rule_called("AD804")
    assert rule is not None
    helps: dict[tuple[str, str], str] = {}
    for kind, form in (("no_grad", "block"), ("set_grad_enabled", "block"), ("set_grad_enabled", "call")):
        (finding,) = rule.examine(_trace(_evaluated(kind=kind, form=form), _timed(1.0)), rule.defaults)
        helps[kind, form] = finding.help
    assert "`torch.inference_mode(mode)` in its place" in helps["set_grad_enabled", "block"]
    assert helps["no_grad", "block"] == helps["set_grad_enabled", "call"]
    assert helps["no_grad", "block"].startswith("put the evaluation under `torch.inference_mode()`")


def test_what_inference_mode_saves_is_said() -> None:
    assert _said(_evaluated(), _timed(1.0)) == [
        "under `inference_mode`, evaluating `model` would take 50% less time than under `no_grad`: 250 instead of "
        "500 ms a forward"
    ]


@pytest.mark.parametrize(
    "others",
    [
        {"inference": ([0.5] * 9, [0.25] * 6 + [0.6] * 3)},
        {"iterations": 1000},
        {"by": "linear"},
        {"followed": 0},
        {"gradients": True},
        {"differs": (0.0, 1e-3)},
    ],
    ids=["within the noise", "rarely", "meets autograd", "not followed", "with gradients", "something else"],
)
def test_what_inference_mode_would_not_save_is_not_said(others: dict[str, Any]) -> None:
    assert _said(_evaluated(**others), _timed(1.0)) == []


def test_an_evaluation_that_is_a_part_of_each_iteration_counts_once() -> None:
    part = _timed(1.0, spent=[Spent("evaluation", 0.12), Spent("forward", 0.88)])
    tried = _evaluated(inference=([0.12] * 9, [0.06] * 9))
    assert _said(tried, *[part] * 10)
    assert not _said(replace(tried, within=8), *[part] * 10)


def test_what_was_tried_of_an_evaluation_is_told_below_the_times() -> None:
    found = profile(_trace(_evaluated(saved=4096, met=Location("train.py", 3), by="linear"), _timed(1.0)), _line)
    assert found is not None
    assert next(tables(found)).notes == [
        "tried: a forward of model in evaluation takes 600 ms with gradients (keeping 4.0 KiB), 500 ms under no_grad, "
        "250 ms under inference_mode"
    ]
    assert found.evaluations[0].met == "train.py:3"


# ----------------------------------------------------------------------------------------------------------- optimizers


def _stepped(kind: Any, **options: Any) -> torch.optim.Optimizer:
    """After a few steps, with the last gradients."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    weights = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "weight_decay": 0.1}]
    optimizer: torch.optim.Optimizer = kind(weights, lr=0.01, **options)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).mean().backward()
        optimizer.step()
    return optimizer


def _held(optimizer: torch.optim.Optimizer) -> list[Any]:
    """Bits of all that it holds."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    state = [value for each in parameters for value in optimizer.state[each].values() if value is not None]
    return [each.tolist() for each in (*parameters, *(each.grad for each in parameters), *state)]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (torch.optim.Adam, {}),
        (torch.optim.Adam, {"amsgrad": True, "maximize": True}),
        (torch.optim.AdamW, {}),
        (torch.optim.SGD, {}),
        (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
        (torch.optim.Adagrad, {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else value.__name__,
)
def test_other_ways_of_an_optimizer_step_to_the_same_weights(kind: Any, options: dict[str, Any]) -> None:
    optimizer = _stepped(kind, **options)
    before, random_numbers = _held(optimizer), torch.random.get_rng_state()
    assert not ways_obstacle(optimizer)
    plain, *others = ways_tried(optimizer, 0.0)
    assert [each.option for each in others] == ["fused", "foreach"]
    assert all(each.differs < 1e-4 for each in others)
    assert len(plain.seconds) == len(others[0].seconds) == 8
    assert _held(optimizer) == before
    assert torch.equal(torch.random.get_rng_state(), random_numbers)


def test_a_way_that_computes_something_else_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["torch.optim.sgd"], "_fused_sgd", lambda *args, **kwargs: None)
    _, fused, foreach = ways_tried(_stepped(torch.optim.SGD), 0.0)
    assert (fused.differs, foreach.differs) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-4))


def test_a_way_that_makes_nan_is_as_far_off_as_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(params: list[torch.Tensor], *args: Any, **kwargs: Any) -> None:
        for each in params:
            each.fill_(torch.nan)

    monkeypatch.setattr(sys.modules["torch.optim.sgd"], "_fused_sgd", spoiled)
    _, fused, foreach = ways_tried(_stepped(torch.optim.SGD), 0.0)
    assert (fused.differs, foreach.differs) == (float("inf"), pytest.approx(0.0, abs=1e-4))


def test_no_hook_is_called_by_a_trial() -> None:
    called: list[object] = []
    hook = register_optimizer_step_pre_hook(lambda *_: called.append(1))
    try:
        optimizer = _stepped(torch.optim.Adam)
        count = len(called)
        ways_tried(optimizer, 0.0)
    finally:
        hook.remove()
    assert len(called) == count


def test_a_way_that_torch_refuses_is_left_out() -> None:
    """A rate that is a tensor goes with the fused way alone."""
    optimizer = _stepped(torch.optim.Adam)
    for group in optimizer.param_groups:
        group["lr"] = torch.tensor(0.01)
    assert [each.option for each in ways_tried(optimizer, 0.0)] == ["", "fused"]


class _Own(torch.optim.Adam):
    pass


def _hooked() -> torch.optim.Optimizer:
    optimizer = _stepped(torch.optim.Adam)
    optimizer.register_step_post_hook(lambda *_: None)
    return optimizer


def _cleared() -> torch.optim.Optimizer:
    optimizer = _stepped(torch.optim.Adam)
    optimizer.zero_grad()
    return optimizer


def _differentiable() -> torch.optim.Optimizer:
    optimizer = _stepped(torch.optim.Adam)
    optimizer.param_groups[1]["differentiable"] = True
    return optimizer


def _sparse() -> torch.optim.Optimizer:
    embedding = nn.Embedding(4, 2, sparse=True)
    embedding(torch.tensor([1])).sum().backward()
    return torch.optim.SGD(embedding.parameters())


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        (lambda: _stepped(_Own), "the program's own"),
        (_hooked, "hooks"),
        (lambda: _stepped(torch.optim.Adam, fused=True), "no other way"),
        (lambda: torch.optim.LBFGS(nn.Linear(1, 1).parameters()), "no other way"),
        (_cleared, "no gradients"),
        (_sparse, "sparse"),
        (_differentiable, "differentiable"),
    ],
    ids=["subclass", "hooks", "fused", "LBFGS", "cleared", "sparse", "differentiable"],
)
def test_optimizers_that_are_left_alone(optimizer: Any, reason: str) -> None:
    assert reason in ways_obstacle(optimizer())


def test_a_step_put_on_the_optimizer_is_its_own_and_that_of_a_scheduler_is_not() -> None:
    optimizer = _stepped(torch.optim.SGD)
    torch.optim.lr_scheduler.StepLR(optimizer, 5)
    assert "step" in vars(optimizer)
    assert not ways_obstacle(optimizer)
    plain = optimizer.step
    optimizer.step = lambda closure=None: plain()  # type: ignore[method-assign,misc]
    assert ways_obstacle(optimizer) == "its step is the program's own"


def _stepping(**other: Any) -> list[Any]:
    """Iterations of 10 ms, of which 4 ms are a step, that takes a quarter of that by the other way."""
    where = Location("t.py", 9)
    told = {"optimizer": 0, "parameters": 8, "option": "fused", "before": [0.004] * 8, "after": [0.001] * 8}
    spent = [Spent("optimizer", 0.004, where), Spent("forward", 0.006)]
    timed = [_timed(0.01, spent=spent) for _ in range(12)]
    return [*timed, OptimizerTried(location=where, **{**told, **other})]


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        (_stepping(), True),
        (_stepping(after=[0.001, 0.005] * 4), False),
        (_stepping(after=[0.0033] * 8), False),
        (_stepping(before=[0.0004] * 8, after=[0.0001] * 8), False),
        (_stepping(differs=0.1), False),
        (_stepping()[4:], False),
    ],
    ids=["faster", "within the noise", "hardly faster", "next to nothing", "other weights", "too few"],
)
def test_a_step_that_torch_could_take_faster_is_told(happened: list[Any], said: bool) -> None:
    built = OptimizerBuilt(optimizer=0, name="opt", kind="Adam", location=Location("t.py", 2), groups=[])
    found = list(slow_optimizer_step.examine(_trace(built, *happened), slow_optimizer_step.RULE.defaults))
    assert [each.location for each in found] == [Location("t.py", 2)] * said
    assert all("`torch.optim.Adam(…, fused=True)`" in each.help for each in found)


def test_the_faster_way_is_told_first_and_the_place_of_the_step_where_no_other_is_known() -> None:
    happened = _stepping()
    slower = replace(happened[-1], option="foreach", after=[0.002] * 8)
    (found,) = slow_optimizer_step.examine(_trace(*happened, slower), slow_optimizer_step.RULE.defaults)
    assert "with `fused=True` it takes 0.25 times as long" in found.message
    assert found.location == Location("t.py", 9)
    assert any("with `foreach=True`: 0.5 times as long" in note for note in found.notes)


# ------------------------------------------------------------------------------------------------------------ comparing


def _profile(seconds: float, saved: int = 1000, **parts: float) -> Profile:
    measured = [Part(name, _exactly(value), value / seconds, []) for name, value in parts.items()]  # type: ignore[arg-type]
    return Profile(iterations=9, seconds=_exactly(seconds), parts=measured, memory=Memory(100, 0, 100, 200, saved))


def _exactly(seconds: float) -> Measured:
    return Measured(seconds, 0.99 * seconds, 1.01 * seconds)


def test_what_differs_by_no_more_than_runs_do_has_not_changed() -> None:
    found = list(changes(_profile(1.0, forward=0.5, rest=0.01), _profile(1.04, forward=0.52, rest=0.013)))
    assert [(each.what, each.beyond_noise) for each in found if each.kind == "time"] == [
        (WHOLE, False),
        ("forward", False),
        ("rest", False),
    ]


def test_what_became_slower_larger_or_was_not_there_has_changed() -> None:
    found = {
        each.what: each for each in changes(_profile(1.0, forward=0.5), _profile(1.5, 1200, forward=0.5, data=0.5))
    }
    assert found[WHOLE].ratio == 1.5
    assert (found["data"].before, found["data"].beyond_noise, found["data"].ratio) == (None, True, None)
    assert not found["forward"].beyond_noise
    assert (found["saved for backward"].ratio, found["parameters"].beyond_noise) == (1.2, False)
    assert found[MEMORY].after == 1600


@given(st.floats(0.001, 10), st.floats(0.001, 10))
def test_a_change_one_way_is_one_the_other_way(one: float, other: float) -> None:
    there, back = (next(changes(_profile(a), _profile(b))) for a, b in ((one, other), (other, one)))
    if abs(one / other - 1) > 0.06:
        assert there.beyond_noise == back.beyond_noise
        assert there.grew != back.grew


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 0), (["--fail-on-slower", "10%"], 1), (["--fail-on-slower", "60"], 0), (["--fail-on-larger", "5%"], 1)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_gate_on_two_profiles(home: Path, options: list[str], code: int) -> None:
    _save("a.json", _profile(1.0, forward=0.5))
    _save("b.json", _profile(1.5, 1200, forward=0.75))
    found, out, _ = run("compare", "a.json", "b.json", *options)
    assert found == code
    assert "an iteration" in out
    assert ("fails: " in out) == bool(code)
    told = json.loads(run("compare", "a.json", "b.json", *options, "--output-format", "json")[1])
    assert any(each["fails"] for each in told["changes"]) == bool(code)


def _save(name: str, found: Profile) -> None:
    Path(name).write_bytes(to_json(replace(healthy(), profile=found)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json", "b.json", "--fail-on-slower", "ten"], "--fail-on-slower: expected a percentage such as `10%`"),
        (["a.json", "gone.json"], "gone.json: no such file"),
        (["a.json", "plain.json"], "plain.json: holds no profile"),
        (["a.json", "train.py"], "train.py: not a report"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_cannot_be_compared(home: Path, arguments: list[str], said: str) -> None:
    for name in ("a.json", "b.json"):
        _save(name, _profile(1.0))
    Path("plain.json").write_bytes(to_json(healthy()))
    code, out, err = run("compare", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


# -------------------------------------------------------------------------------------------------------------- curves


@given(st.lists(st.floats(0, 1e12) | st.just("nan"), min_size=1, max_size=200), st.booleans())
def test_a_curve_fits_into_its_line(values: list[float | str], unicode: bool) -> None:
    canvas = Canvas(Options(width=90, unicode=unicode))
    steps = list(range(1, len(values) + 1))
    text = curve_line(canvas, Series(quantity="gradient norm", name="opt", steps=steps, values=values), 3).plain
    assert len(text) <= 90
    assert unicode or text.isascii()
    if all(isinstance(value, str) for value in values):
        assert "not finite in any step" in text
    else:
        drawn = text.split("  ")[3]
        assert 0 < len(drawn) <= 32
        assert set(drawn) <= set(canvas.glyphs.levels)


def test_a_spike_is_told() -> None:
    canvas = Canvas(Options(width=90))
    values: list[float | str] = [1.0] * 50
    values[30] = 40.0
    series = Series(quantity="gradient norm", name="opt", steps=list(range(1, 51)), values=values)
    assert curve_line(canvas, series, 3).plain.endswith("1 in step 1, 1 in step 50, 40 in step 31")
    assert curve_line(canvas, series, 3).plain.count("█") == 1


# ----------------------------------------------------------------------------------------------------- the command line


def test_the_profile_of_a_program(home: Path) -> None:
    code, out, err = run("profile", "--isolated", "--output-format", "json", "train.py")
    assert code == 0, err
    report = json.loads(out)
    found = report["profile"]
    assert found["iterations"] + found["recorded"] > 16
    assert {part["activity"] for part in found["parts"]} >= {
        "data", "forward", "loss", "backward", "clipping", "optimizer", "zeroing",
    }  # fmt: skip
    assert abs(sum(part["share"] for part in found["parts"]) - 1) < 1e-6
    where = {part["activity"]: part["lines"] for part in found["parts"]}
    assert where["data"] == ["train.py:31"]
    assert where["backward"] == ["train.py:34"]
    lines = {line["line"]: line for line in found["lines"]}
    assert (lines["train.py:12"]["operations"], lines["train.py:12"]["calls"]) == (["linear", "relu"], 6.0)
    assert lines["train.py:12"]["saved"] == 3 * 4 * 16 * (8 + 32)
    modules = {module["name"]: module for module in found["modules"]}
    assert modules["model.blocks.1.up"]["calls"] == 1.0
    assert modules["model"]["seconds"]["median"] >= modules["model.blocks.1"]["seconds"]["median"]
    memory = found["memory"]
    assert (memory["parameters"], memory["gradients"]) == (PARAMETERS, PARAMETERS)
    assert memory["optimizer"] == 2 * PARAMETERS + 4 * 14
    assert memory["activations"] == sum(line["saved"] for line in found["lines"])
    assert [each["blocks"] for each in found["checkpoints"]] == ["`model.blocks` (3 x `Block`)"]
    (offer,) = found["checkpoints"]
    assert offer["differs"] == 0
    assert offer["predicted"] == offer["saved"]
    assert {(graph["depth"] > 10, graph["left"]) for graph in found["graphs"]} == {(True, 0)}
    assert {graph["saved"] for graph in found["graphs"]} == {memory["activations"]}


def test_a_loop_that_updates_by_hand_is_split(home: Path) -> None:
    by_hand = """
        with torch.no_grad():
            for p in model.parameters():
                p -= 1e-3 * p.grad
                p.grad = None
"""
    program = TRAINS.replace("        optimizer.step()\n", by_hand)
    (home / "train.py").write_text("".join(line for line in program.splitlines(True) if "optimizer" not in line))
    report = json.loads(run("profile", "--isolated", "--output-format", "json", "train.py")[1])
    found = report["profile"]
    assert found["iterations"] + found["recorded"] > 8
    assert {"data", "forward", "loss", "backward", "rest"} <= {part["activity"] for part in found["parts"]}
    memory = found["memory"]
    assert (memory["parameters"], memory["gradients"], memory["optimizer"]) == (PARAMETERS, PARAMETERS, 0)


def test_blocks_that_cannot_run_twice_are_not_tried(home: Path) -> None:
    hidden = "        hidden = torch"
    (home / "train.py").write_text("calls = []\n" + TRAINS.replace(hidden, f"        calls.append(1)\n{hidden}"))
    report = json.loads(run("profile", "--isolated", "--output-format", "json", "train.py")[1])
    (offer,) = report["profile"]["checkpoints"]
    assert offer["untried"] == "its code has side effects: it changes `calls`"
    assert (offer["saved"], offer["cost"]) == (None, None)
    assert offer["predicted"] is None


def test_what_would_be_kept_is_added_up_where_no_copy_can_be_made(home: Path) -> None:
    locked = "import threading\n" + TRAINS.replace("model = Model()", "model = Model()\nmodel.lock = threading.Lock()")
    (home / "train.py").write_text(locked)
    report = json.loads(run("profile", "--isolated", "--output-format", "json", "train.py")[1])
    (offer,) = report["profile"]["checkpoints"]
    assert offer["untried"].startswith("it holds a `lock`")
    assert offer["predicted"][1] < offer["predicted"][0] / 2


def test_a_graph_that_is_retained_is_told(home: Path) -> None:
    (home / "train.py").write_text(TRAINS.replace("backward()", "backward(retain_graph=True)"))
    report = json.loads(run("profile", "--isolated", "--output-format", "json", "train.py")[1])
    assert all(graph["left"] == graph["saved"] > 0 for graph in report["profile"]["graphs"])


def test_an_evaluation_is_told_by_what_was_tried_of_it(home: Path) -> None:
    evaluating = (
        "    model.eval()\n    with torch.no_grad():\n        model(data.tensors[0])\n    model.train()\nprint("
    )
    (home / "train.py").write_text(TRAINS.replace("print(", evaluating))
    code, out, err = run("profile", "--isolated", "--steps", "99", "--output-format", "json", "train.py")
    assert code == 0, err
    (found,) = json.loads(out)["profile"]["evaluations"]
    assert (found["module"], found["gradients"], found["met"]) == ("model", False, "")
    assert found["saved"] == 4 * 128 * (3 * 32 + 2 * 8 + 8)


def test_the_program_computes_what_it_computes_without_us(home: Path) -> None:
    _, _, printed = run("profile", "--isolated", "--steps", "99", "--output-format", "json", "train.py")
    plain: dict[str, Any] = {}
    torch.random.manual_seed(0)
    exec(compile(TRAINS.replace("print(", "said = ("), "train.py", "exec"), plain)
    assert f"weights {plain['said'][1]}" in printed


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_the_screen_keeps_to_its_width(home: Path, columns: int) -> None:
    code, out, _ = run("profile", "--isolated", "train.py", columns=columns)
    assert code == 0
    tables = out[out.index("an iteration takes") : out.index("profiled")]
    assert all(len(line) <= columns for line in tables.splitlines())
    assert "  by line" in tables
    assert "saved for backward" in tables


def test_a_profile_that_was_saved_is_told_again(home: Path) -> None:
    run("profile", "--isolated", "--save-trace", "p.trace", "--output-format", "json:p.json", "train.py")
    for name in ("p.trace", "p.json"):
        code, out, _ = run("report", name)
        assert code == 0
        assert "an iteration takes" in out


def test_a_check_measures_a_profile_where_it_is_asked_for(home: Path) -> None:
    code, out, err = run("check", "--profile", "--isolated", "--output-format", "json", "train.py")
    assert code == 0
    report = json.loads(out)
    assert report["profile"]["iterations"]
    assert not report["profile"]["alone"]
    assert {"AD101", "AD801", "AD806"} <= set(report["checks"]["ran"])
    assert "running it again to measure where time and memory go" in err
    html = run("check", "--profile", "--isolated", "--output-format", "html", "train.py")[1]
    assert '<h2 id="profile-title">Profile</h2>' in html
    assert '<a href="#profile">Profile</a>' in html
    markdown = run("profile", "--isolated", "--output-format", "markdown", "train.py")[1]
    assert "| module | calls | forward |" in markdown


def test_a_check_measures_no_profile(home: Path) -> None:
    report = json.loads(run("check", "--isolated", "--output-format", "json", "train.py")[1])
    assert report["profile"] is None
    assert "AD806" not in [*report["checks"]["ran"], *report["checks"]["skipped"]]


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("print('done')", 4, "not judged"),
        (TRAINS.replace("range(4)", "range(0)"), 4, "before the first step"),
        (TRAINS + "\nraise ValueError('late')", 3, "ValueError"),
    ],
    ids=["trains nothing", "no step", "crashes"],
)
def test_a_program_of_which_nothing_can_be_told(home: Path, program: str, code: int, said: str) -> None:
    (home / "train.py").write_text(program)
    found, out, err = run("profile", "--isolated", "--steps", "99", "train.py")
    assert found == code
    assert said in out + err
    assert "Traceback" not in err or code == 3


def test_what_is_no_program_is_a_mistake(home: Path) -> None:
    code, out, err = run("profile", "--isolated", "gone.py")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "gone.py: no such file" in err
