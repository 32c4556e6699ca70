"""A check as one rank of several, as `torchrun` starts them: one report, one decision to stop, nothing green unseen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import CheckEnded, ProgramRaised, RecordingStarted, RunEnded, RunStarted
from autograd_doctor.findings import ExitCode
from autograd_doctor.judging.several_ranks import Part, judge_together, together
from autograd_doctor.judging.standing import Stood
from autograd_doctor.members import Death, Member, death, numbered, parted
from autograd_doctor.plan import Outcome, Ranks, Target
from autograd_doctor.ranks import ALONE, Talk, this_rank
from autograd_doctor.recording import load, save_several
from autograd_doctor.report import Report
from autograd_doctor.runner.children import _as_member
from autograd_doctor.trace import Trace
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
    report, code, printed = checked_by_torchrun(tmp_path, SLOW_RANK, "--seconds", "1", "--ignore", "AD907")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (0, "passed", "steps")
    assert report["run"]["steps"] < 2000
    assert report["environment"]["world_size"] == 2
    assert not any("removed after" in note for note in report["notes"])
    assert printed.count("nothing wrong seen") == 1
    assert "on 2 ranks (" in " ".join(printed.split())
    left = "rates and weights that a rank chooses by a number of its own"
    assert f"not checked what shows only between ranks: {left} " in " ".join(printed.split())


def test_a_fault_of_another_rank_is_in_the_report_and_in_the_exit_code(tmp_path: Path) -> None:
    report, code, printed = checked_by_torchrun(tmp_path, FAULT_OF_ONE_RANK, "--seconds", "0")
    assert (code != 0, report["verdict"], report["exit_code"]) == (True, "faults", 1)
    (finding,) = report["findings"]
    assert (finding["code"], finding["ranks"]) == ("AD101", [1])
    assert printed.count("error[AD101]") == 1
    assert "on rank 1 only, of 2" in printed


def test_a_baseline_accepts_what_another_rank_has(tmp_path: Path) -> None:
    report, _, _ = checked_by_torchrun(tmp_path, FAULT_OF_ONE_RANK, "--seconds", "0", "--write-baseline")
    assert report["baseline"]["path"]
    assert report["findings"] == []
    assert [finding["code"] for finding in report["suppressed"]] == ["AD101"]


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


def test_the_first_word_is_heard_and_no_other(tmp_path: Path) -> None:
    ranks = Ranks(size=2, folder=str(tmp_path / "run"))
    Talk(ranks).give_word(33)
    Talk(msgspec.structs.replace(ranks, rank=1)).give_word(44)
    assert Talk(ranks).word() == 33


def test_who_is_gone_without_a_word_does_not_train_any_more(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    talk = Talk(Ranks(size=2, folder=str(folder)))
    assert not talk.others_train()
    talk.say_training()
    assert not talk.others_train()
    child = subprocess.Popen(["sleep", "60"])
    mark = next(folder.glob("trains.*"))
    (folder / mark.name.replace(str(os.getpid()), str(child.pid))).touch()
    assert talk.others_train()
    child.kill()
    child.wait()
    assert not talk.others_train()
    assert talk.somebody_is_over()


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


def _together(*reports: Report | None, size: int = 0) -> Report:
    """The report on ranks that were judged, None for one that left no trace."""
    parts = [Part(rank, size or len(reports), report) for rank, report in enumerate(reports) if report is not None]
    return together(parts, fail_on="error")


def test_what_ranks_share_is_said_once_and_with_the_ranks_that_have_it() -> None:
    both = _together(_report("AD101"), _report("AD101", "AD203"))
    assert [(finding.code, finding.ranks) for finding in both.findings] == [("AD101", (0, 1)), ("AD203", (1,))]
    assert (both.statistics.by_rule, both.exit_code) == ({"AD101": 1, "AD203": 1}, 1)
    assert both.exit_reason == "2 of 2 findings at or above `error`"
    assert both.run.ranks == [0, 1]


def test_the_worst_rank_gives_the_verdict() -> None:
    assert _together(_report(), _report()).verdict == "passed"
    sick = _together(_report(), _report(), _report("AD101"))
    assert (sick.verdict, sick.exit_code, _codes(sick)) == ("faults", ExitCode.FINDINGS, ["AD101"])
    assert _together(_report("AD101"), _report()).exit_code == ExitCode.FINDINGS


def test_a_rank_that_leaves_no_trace_is_never_green() -> None:
    silent = _together(_report(), None)
    assert (silent.verdict, silent.exit_code) == ("not-judged", ExitCode.NOT_JUDGED)
    assert silent.notes[-1] == silent.exit_reason == "rank 1 left no trace"
    assert _together(_report("AD101"), None).exit_code == ExitCode.FINDINGS


def test_the_first_that_died_tells_and_what_the_others_died_of_is_a_consequence() -> None:
    first, later = _report("AD599"), judged(training(5), finding_rule("AD599", {"subject": "peer"}))
    parts = [
        Part(0, 3, later, Death(12.0, "raised `RuntimeError`")),
        Part(1, 3, first, Death(11.5, "raised `ValueError`")),
    ]
    report = together([*parts, Part(2, 3, _report(), left=True)], fail_on="error")
    assert [(finding.code, finding.ranks) for finding in report.findings] == [("AD599", (1,))]
    assert report.run.told_by == 1
    assert report.notes[-2:] == [
        "rank 0 raised `RuntimeError` after that",
        "rank 2 was terminated by the launcher after that",
    ]


def test_where_ranks_stood_is_told_and_the_one_at_a_line_of_its_own_tells() -> None:
    hung = judged([*training(5, reason=None), RunEnded(reason="hung")], rule())
    parts = [
        Part(0, 2, hung, stood=Stood("at a.py:3 in `wait`")),
        Part(1, 2, hung, stood=Stood("at a.py:2", True)),
    ]
    report = together(parts, fail_on="error")
    assert (report.verdict, report.run.told_by) == ("program-failed", 1)
    assert "where the ranks stood: rank 0 at a.py:3 in `wait`; rank 1 at a.py:2" in report.notes


# ----------------------------------------------------------------------------------------------------- who takes part


def _recorded(rank: int, began: float, *happened: Event, size: int = 4) -> Member:
    started = RecordingStarted(tool="1", began=began, rank=rank, world_size=size, sequence=1)
    trace = Trace((started, *happened))
    return Member(rank, size, trace, Outcome())


def test_helpers_of_a_rank_are_none_and_those_without_a_number_get_one() -> None:
    trained = training(2)
    ranks = [_recorded(1, 5.0, *trained), _recorded(1, 6.0), _recorded(0, 7.0), _recorded(-1, 8.0, *trained, size=1)]
    idle = _recorded(-1, 9.0, size=1)
    assert [(member.rank, member.began) for member in numbered([*ranks, idle])] == [(0, 7.0), (1, 5.0), (2, 8.0)]


def test_what_a_launcher_learns_late_is_no_later_than_what_its_peers_died_of() -> None:
    killed = _recorded(1, 100.0, RunStarted(time=5.0, target="", arguments=[], cwd="", python="", torch="", device=""))
    killed = killed._replace(outcome=Outcome(exit_code=None, signal=9), gone_at=105.2)
    raised = _recorded(0, 100.0, ProgramRaised(time=5.1, kind="RuntimeError", message="", frames=[]))
    ended = killed._replace(outcome=Outcome(exit_code=None, signal=15))
    assert (found := death(killed))
    assert (peer := death(raised))
    assert found.at < peer.at
    assert found.how == "was killed by SIGKILL"
    assert (late := death(killed._replace(gone_at=140.0)))
    assert late.at > peer.at
    assert death(ended) is None


def test_traces_of_several_are_saved_as_one_and_parted_again(tmp_path: Path) -> None:
    traces = [Trace(tuple(training(steps))) for steps in (2, 3)]
    last = CheckEnded(target=Target("script", "train.py"), outcome=Outcome())
    with (tmp_path / "trace").open("wb") as file:
        save_several(((rank, trace, last) for rank, trace in enumerate(traces)), file)
    main, members = parted(load(tmp_path / "trace"))
    assert [(member.rank, member.trace.steps_by_optimizer.total()) for member in members] == [(0, 2), (1, 3)]
    assert main is members[0].trace


def test_many_ranks_are_judged_one_at_a_time() -> None:
    """Time and memory grow with their number alone."""
    alive: list[int] = []

    def members() -> Iterator[Member]:
        for rank in range(300):
            trace = Trace((*training(3), RecordingStarted(tool="1", began=0.0, world_size=300)))
            weakref.finalize(trace, alive.remove, rank)
            alive.append(rank)
            yield Member(rank, 300, trace, Outcome())
            assert len(alive) <= 3

    made = finding_rule("AD101", {"subject": "x"})
    report = judge_together(
        members(),
        lambda member, between: judged(list(member.trace.events), made),
        [made],
        {},
        fail_on="error",
    )
    assert report.findings[0].ranks == tuple(range(300))


# -------------------------------------------------------------------------------------------- what the program starts


@pytest.mark.parametrize(
    ("command", "after"),
    [
        (["train.py", "--lr", "1"], ["script", "train.py", "--lr", "1"]),
        (["-u", "-W", "ignore", "-Xdev", "-m", "pkg.train", "-u"], ["module", "pkg.train", "-u"]),
        (["-c", "print()"], None),
        (["-i", "train.py"], None),
        ([], None),
    ],
)
def test_python_as_a_command_runs_the_same_program(command: list[str], after: list[str] | None) -> None:
    made = _as_member([sys.executable, *command], "plan.json")
    if after is None:
        assert made is None
    else:
        options = command[: command.index(after[1]) - (after[0] == "module")]
        assert made is not None
        assert made[: 1 + len(options)] == [sys.executable, *options]
        assert made[-len(after) - 1 :] == ["plan.json", *after]


def test_other_commands_are_left_alone() -> None:
    assert _as_member(["/bin/ls", "train.py"], "plan.json") is None
    assert _as_member("python train.py", "plan.json") is None
    assert (_as_member(["torchrun", "train.py"], "p") or [])[-2:] == [str(shutil.which("torchrun")), "train.py"]
