"""A check as one rank of several, as `torchrun` starts them: one report, one decision to stop, nothing green unseen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from autograd_doctor.findings import ExitCode
from autograd_doctor.judging.several_ranks import together
from autograd_doctor.plan import Ranks
from autograd_doctor.ranks import ALONE, Talk, this_rank
from autograd_doctor.report import Report
from tests.harness import ROOT
from tests.reports import finding_rule, judged, rule, training

PRELUDE = """
    import sys, time
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    def step(clear=True):
        if clear:
            optimizer.zero_grad()
        x = torch.randn(8, 4)
        (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
"""
SLOW_RANK = """
    if rank == 1:
        nn.Linear(4, 1)(torch.ones(2, 4)).sum().backward()
        time.sleep(4)
    for _ in range(10**6):
        step()
        time.sleep(0.02)
"""
FAULT_OF_ONE_RANK = """
    for _ in range(60):
        step(clear=rank == 0)
"""


def checked_by_torchrun(folder: Path, then: str, *options: str) -> tuple[dict[str, Any], int, str]:
    """The report, the exit code of the launcher, and all that was printed."""
    (folder / "train.py").write_text(dedent(PRELUDE) + dedent(then))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    check = ["-m", "autograd_doctor", "check", "--isolated", "--output-format", "full", *options]
    done = subprocess.run(
        [*launcher, *check, "--output-format", f"json:{folder / 'report.json'}", "train.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return json.loads((folder / "report.json").read_text()), done.returncode, done.stdout


def test_ranks_stop_together_and_one_of_them_reports(tmp_path: Path) -> None:
    report, code, printed = checked_by_torchrun(tmp_path, SLOW_RANK, "--seconds", "1")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (0, "passed", "steps")
    assert report["run"]["steps"] < 2000
    assert report["environment"]["world_size"] == 2
    assert not any("was removed" in note for note in report["notes"])
    assert printed.count("nothing wrong seen") == 1
    assert "2 ranks were watched one by one" in " ".join(printed.split())
    assert "not checked  what only shows between ranks" in printed


def test_a_fault_of_another_rank_is_in_the_report_and_in_the_exit_code(tmp_path: Path) -> None:
    report, code, printed = checked_by_torchrun(tmp_path, FAULT_OF_ONE_RANK, "--seconds", "0")
    assert (code != 0, report["verdict"], report["exit_code"]) == (True, "faults", 1)
    assert report["exit_reason"].startswith("rank 1: ")
    (finding,) = report["findings"]
    assert (finding["code"], finding["notes"][-1]) == ("AD101", "rank 1 has it, and rank 0 has not")
    assert printed.count("error[AD101]") == 1


def test_what_another_rank_has_stays_in_a_report_that_is_judged_again(tmp_path: Path) -> None:
    report, _, _ = checked_by_torchrun(tmp_path, FAULT_OF_ONE_RANK, "--seconds", "0", "--write-baseline")
    assert report["baseline"]["path"]
    assert [finding["code"] for finding in report["findings"]] == ["AD101"]


def test_a_rank_that_cannot_talk_to_the_first_prints_what_it_has(tmp_path: Path) -> None:
    program = """
        import torch
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([weight], lr=0.01)
        for _ in range(6):
            {clear}
            weight.pow(2).sum().backward()
            optimizer.step()
    """
    elsewhere = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}
    printed = {}
    for clear in ("pass", "optimizer.zero_grad()"):
        (tmp_path / "train.py").write_text(dedent(program.format(clear=clear)))
        command = [sys.executable, "-m", "autograd_doctor", "check", "--isolated", "--seconds", "0", "train.py"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **elsewhere}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
        printed[clear] = (done.returncode, "AD101" in done.stdout)
    assert printed == {"pass": (1, True), "optimizer.zero_grad()": (0, False)}


# ------------------------------------------------------------------------------------------------------------ talking

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "a"}


@pytest.mark.parametrize(
    ("changed", "rank", "several", "talks"),
    [
        ({}, 1, True, True),
        ({"WORLD_SIZE": "1"}, 0, False, False),
        ({"WORLD_SIZE": "many"}, 0, False, False),
        ({"WORLD_SIZE": "4"}, 1, True, False),
        ({"LOCAL_WORLD_SIZE": ""}, 1, True, False),
        ({"RANK": "-1"}, 0, True, True),
    ],
)
def test_the_launcher_says_which_rank_this_is(changed: dict[str, str], rank: int, several: bool, talks: bool) -> None:
    found = this_rank({**TORCHRUN, **changed})
    assert (found.rank, found.are_several, bool(found.folder)) == (rank, several, talks)


def test_runs_do_not_hear_one_another() -> None:
    assert this_rank({}) == ALONE
    assert this_rank(TORCHRUN).folder != this_rank({**TORCHRUN, "TORCHELASTIC_RUN_ID": "b"}).folder


def test_what_was_said_before_the_run_is_not_heard(tmp_path: Path) -> None:
    first = Talk(Ranks(size=2, folder=str(tmp_path / "run"), began=0.0))
    assert first.word() is None
    first.give_word(33)
    assert first.word() == 33
    later = Ranks(size=2, folder=str(tmp_path / "run"), began=(tmp_path / "run" / "word").stat().st_mtime + 60)
    assert Talk(later).word() is None
    first.end()
    assert not (tmp_path / "run").exists()


def test_who_hands_nothing_in_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    ranks = Ranks(size=3, folder=str(tmp_path / "run"))
    Talk(msgspec.structs.replace(ranks, rank=2)).hand_in(b"report")
    assert list(Talk(ranks).handed_in(0.0)) == [(1, None), (2, b"report")]


# ----------------------------------------------------------------------------------------------- one report of all


def _report(*codes: str, severity: str = "error") -> Report:
    rules = [finding_rule(code, {"subject": code, "severity": severity}) for code in codes]
    return judged(training(5), *(rules or [rule()]))


def _codes(report: Report) -> Sequence[str]:
    return [finding.code for finding in report.findings]


def test_what_ranks_share_is_said_once_and_what_one_has_alone_by_its_number() -> None:
    both = together(_report("AD101"), [(1, _report("AD101", "AD203"))])
    assert _codes(both) == ["AD101", "AD203"]
    assert [finding.notes for finding in both.findings] == [[], ["rank 1 has it, and rank 0 has not"]]
    assert (both.statistics.by_rule, both.exit_code) == ({"AD101": 1, "AD203": 1}, 1)


def test_the_worst_rank_gives_the_verdict() -> None:
    assert together(_report(), [(1, _report())]) == _report()
    sick = together(_report(), [(1, _report()), (2, _report("AD101"))])
    assert (sick.verdict, sick.exit_code) == ("faults", ExitCode.FINDINGS)
    assert sick.exit_reason.startswith("rank 2: ")
    assert together(_report("AD101"), [(1, _report())]).exit_code == ExitCode.FINDINGS


def test_a_rank_that_gives_no_report_is_never_green() -> None:
    silent = together(_report(), [(1, None)])
    assert (silent.verdict, silent.exit_code) == ("not-judged", ExitCode.NOT_JUDGED)
    assert silent.notes[-1] == silent.exit_reason == "rank 1 gave no report"
    assert together(_report("AD101"), [(1, None)]).exit_code == ExitCode.FINDINGS
