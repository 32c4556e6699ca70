"""Whole programs of two ranks and more, started by each launcher: found out, left in peace, and always ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from tests import commands
from tests.harness import RANKS, ROOT, marks

ENDS = 300
ALWAYS = ("--isolated", "--seconds", "0")
REPLICAS, SPAWNED = RANKS / "replicas.py", RANKS / "spawned.py"
ALIKE, SAME_DATA, KEPT_STATES = (RANKS / f"{name}.py" for name in ("alike", "same_data", "kept_states"))
MISBEHAVES = dict(marks(REPLICAS.read_text()))["AD599"]
HANGS = next(n for n, line in enumerate(REPLICAS.read_text().splitlines(), 1) if line.endswith("# <- hangs"))


class Checked(NamedTuple):
    """A check that has ended: its report, its exit code, and what was printed beside the report."""

    report: dict[str, Any]
    code: int
    printed: str

    @property
    def codes(self) -> list[tuple[str, list[int]]]:
        """What was found, with the ranks that have it."""
        return [(finding["code"], finding["ranks"]) for finding in self.report["findings"]]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder, from which nothing is left of what it has started."""
    return _alone(
        folder,
        subprocess.run(command, cwd=folder, env=_marked(folder), capture_output=True, text=True, timeout=ENDS),
    )


def _alone(folder: Path, done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    assert _left(folder) == [], done.stderr
    return done


def _marked(folder: Path) -> dict[str, str]:
    """An environment by which processes are known."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TEST_OF": str(folder)}


def _left(folder: Path) -> list[str]:
    sign = f"TEST_OF={folder}".encode()
    return [each.name for each in Path("/proc").glob("[0-9]*") if sign in _read(each / "environ") or _in(each, folder)]


def _in(process: Path, folder: Path) -> bool:
    """Processes that were forked, and not started anew, are known by where they are."""
    try:
        return (process / "cwd").readlink() == folder
    except OSError:
        return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def doctor(*options: str) -> list[str]:
    return [sys.executable, "-m", "autograd_doctor", "check", *ALWAYS, *options]


def checked(folder: Path, *options: str) -> Checked:
    """A check, which leaves no file."""
    report = folder / "report.json"
    command = ("check", *ALWAYS, "--output-format", f"json:{report}", *options)
    done = _alone(folder, commands.doctor(*command, cwd=folder, env=_marked(folder), timeout=ENDS))
    assert report.is_file(), done.stderr
    assert [path.name for path in folder.iterdir()] == ["report.json"]
    return Checked(json.loads(report.read_text()), done.returncode, done.stdout + done.stderr)


def assert_healthy(found: Checked, *, least: int = 20) -> None:
    run = found.report["run"]
    assert (found.code, found.report["verdict"], found.codes) == (0, "passed", []), found.report["exit_reason"]
    assert run["ranks"] == [0, 1]
    assert least <= run["steps"] < 2000


def test_what_is_left_is_seen(tmp_path: Path) -> None:
    """Otherwise no test here would prove that nothing is."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    waits = [sys.executable, "-c", "input()"]
    for where, environment in ((here, {}), (elsewhere, _marked(here))):
        with subprocess.Popen(waits, cwd=where, env=environment, stdin=subprocess.PIPE) as left:
            assert _left(here) == [str(left.pid)]
            left.kill()


# ------------------------------------------------------------------------------------------------- torch's own launcher


def test_ranks_of_torchs_launcher_are_judged_together(tmp_path: Path) -> None:
    assert_healthy(found := checked(tmp_path, "--nproc-per-node", "2", str(REPLICAS)))
    assert found.report["environment"]["world_size"] == 2
    assert found.report["run"]["stopped_by"] == "steps"


def test_a_fault_of_one_rank_is_that_ranks(tmp_path: Path) -> None:
    found = checked(tmp_path, "--nproc-per-node", "2", str(REPLICAS), "--fault", "keeps-gradients")
    assert (found.code, found.codes) == (1, [("AD101", [1])])


def test_of_four_ranks_the_first_that_died_tells_how(tmp_path: Path) -> None:
    found = checked(tmp_path, "--nproc-per-node", "4", str(REPLICAS), "--fault", "raises")
    assert (found.code, found.codes) == (1, [("AD599", [1])])
    (crash,) = found.report["findings"]
    assert crash["location"]["line"] == MISBEHAVES
    assert crash["evidence"]["steps_before"] == 12
    assert found.report["run"]["told_by"] == 1
    assert any(note.endswith("after that") for note in found.report["notes"])


def test_a_rank_that_is_killed_is_told_from_those_that_were_left(tmp_path: Path) -> None:
    found = checked(tmp_path, "--nproc-per-node", "2", str(REPLICAS), "--fault", "is-killed")
    assert (found.code, found.report["verdict"]) == (3, "program-failed")
    assert found.report["exit_reason"].startswith("rank 1: the program was killed by SIGKILL after at least ")


def test_ranks_that_hang_are_shown_where_they_stand(tmp_path: Path) -> None:
    options = ("--max-seconds", "12", "--nproc-per-node", "2", str(REPLICAS), "--fault", "waits-for-ever")
    found = checked(tmp_path, *options)
    assert (found.code, found.report["verdict"], found.report["run"]["stopped_by"]) == (3, "program-failed", "hung")
    stood = next(note for note in found.report["notes"] if note.startswith("where the ranks stood"))
    assert f"replicas.py:{HANGS}" in stood
    assert "rank 0" in stood
    assert "`backward`" in stood


def test_a_rank_that_evaluates_while_the_others_wait_is_no_hang(tmp_path: Path) -> None:
    options = ("--max-seconds", "12", "--nproc-per-node", "2", str(REPLICAS), "--fault", "evaluates-alone")
    assert_healthy(checked(tmp_path, *options), least=13)


def test_an_interrupt_ends_all_ranks_with_one_report(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ("--nproc-per-node", "2", "--steps", "1000000", "--output-format", f"json:{report}")
    command = doctor(*options, str(REPLICAS), "--says-when")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, env=_marked(tmp_path), text=True, **pipes) as started:  # type: ignore[call-overload]
        assert started.stdout is not None
        assert any("step 12" in line for line in started.stdout)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=ENDS)
    told = json.loads(report.read_text())
    assert (started.returncode, told["verdict"], told["run"]["ranks"]) == (130, "interrupted", [0, 1])
    assert told["run"]["steps"] >= 12
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert _left(tmp_path) == []


def test_a_rank_that_leaves_early_is_named(tmp_path: Path) -> None:
    found = checked(tmp_path, "--nproc-per-node", "2", str(REPLICAS), "--fault", "leaves-early")
    assert found.code in (1, 3)
    assert any(note.startswith("rank 1 had finished before that, after 1") for note in found.report["notes"])


# --------------------------------------------------------------------------------------- what the program itself starts


@pytest.mark.parametrize("how", ["spawn", "fork", "forkserver"])
def test_processes_of_multiprocessing_are_watched_and_loaders_are_not(how: str, tmp_path: Path) -> None:
    assert_healthy(checked(tmp_path, str(SPAWNED), "--how", how))


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_a_crash_is_at_its_own_line_and_not_where_processes_were_started(how: str, tmp_path: Path) -> None:
    found = checked(tmp_path, str(SPAWNED), "--how", how, "--fault", "raises")
    assert (found.code, found.codes) == (1, [("AD599", [1])])
    (crash,) = found.report["findings"]
    assert (crash["location"]["line"], crash["evidence"]["steps_before"]) == (MISBEHAVES, 12)


def test_a_branch_that_one_rank_takes_alone(tmp_path: Path) -> None:
    found = checked(tmp_path, str(RANKS / "branches.py"))
    assert (found.code, found.codes) == (1, [("AD904", [1])])
    [finding] = found.report["findings"]
    assert finding["evidence"]["parameters_without_gradient"] == 2
    assert finding["location"]["line"] == dict(marks((RANKS / "branches.py").read_text()))["AD904"]


def test_processes_that_wait_for_nobody_are_watched_one_by_one(tmp_path: Path) -> None:
    assert_healthy(checked(tmp_path, str(RANKS / "hogwild.py")))
    (tmp_path / "report.json").unlink()
    found = checked(tmp_path, str(RANKS / "hogwild.py"), "--keeps-gradients")
    assert (found.code, found.codes) == (1, [("AD101", [1])])


def test_a_launcher_that_a_script_starts(tmp_path: Path) -> None:
    launch = ["torchrun", "--standalone", "--nproc-per-node", "2", str(REPLICAS)]
    assert_healthy(checked(tmp_path, str(RANKS / "launches.py"), *launch))


def test_lightning_with_two_devices(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    assert_healthy(checked(tmp_path, str(RANKS / "lightning_ddp.py")))


def test_accelerates_launcher(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    assert_healthy(checked(tmp_path, *launch, str(RANKS / "accelerated.py")))


@pytest.mark.parametrize("program", ["sharded", "trainer"])
def test_frameworks_under_torchs_launcher(program: str, tmp_path: Path) -> None:
    if program == "trainer":
        pytest.importorskip("transformers")
    assert_healthy(checked(tmp_path, "--nproc-per-node", "2", str(RANKS / f"{program}.py")))


def test_a_function_that_all_ranks_call_is_never_called_by_one_alone(tmp_path: Path) -> None:
    assert_healthy(found := checked(tmp_path, "--nproc-per-node", "2", str(RANKS / "tensor_parallel.py")))
    reason = "the gradient of `{}` was not judged (other processes may take part in it)"
    assert found.report["checks"]["skipped"]["AD507"] == f"{reason.format('Copy')}; {reason.format('Reduce')}"


# ---------------------------------------------------------------------------------- one model on all ranks, or one each


SICK = [
    {
        "bypassed": ("AD901", "error", "bypassed"),
        "sends_first": ("AD901", "error", "accumulated"),
        "leaves_bias_out": ("AD901", "error", "by hand"),
        "sends_after_the_step": ("AD901", "error", "sends_after_the_step"),
        "sends_some_steps": ("AD901", "error", "sends_some_steps"),
        "divides_by_its_own_count": ("AD901", "error", "divides_by_its_own_count"),
        "bypassed_critic": ("AD901", "error", "bypassed_critic"),
        "leaves_out_a_step": ("AD901", "error", "leaves_out_a_step"),
        "unfrozen_when_wrapped": ("AD901", "error", "unfrozen_when_wrapped"),
        "reset_on_one_rank": ("AD902", "error", "reset_on_one_rank"),
        "frozen_on_one_rank": ("AD902", "warning", "frozen_on_one_rank"),
    },
    {
        "never_sends": ("AD901", "error", "accumulated"),
        "leaves_head_out": ("AD901", "warning", "by hand"),
    },
]
HEALTHY = [
    [
        "wrapped",
        "sends_last",
        "reduces_all",
        "sums_over_global_counts",
        "local_steps",
        "local_steps_of_a_wrapper",
        "compressed",
        "zero",
        "zero_on_uneven_data",
        "rate_of_an_own_head",
        "rate_sent_in_single_precision",
        "rank_zero_steps_for_all",
    ],
    [
        "local_steps_by_torch",
        "federated",
        "ensemble",
        "search",
        "pipeline",
        "gossip",
        "models_of_one_name",
        "own_heads",
        "stepped_by_rank_zero",
    ],
]


@pytest.mark.parametrize("cases", SICK, ids=["all", "the same lines"])
def test_replicas_that_part_are_found_where_they_are_stepped(
    cases: dict[str, tuple[str, str, str]], tmp_path: Path
) -> None:
    """Many in one program: each is told by itself, and once."""
    found = checked(tmp_path, "--steps", "1000", str(ALIKE), *cases)
    assert_found(found, ALIKE, cases.values())


def assert_found(found: Checked, program: Path, wanted: Iterable[tuple[str, str, str]]) -> None:
    """Codes, severities and the names that mark their lines, each on both ranks."""
    lines = {
        line.rpartition("# <- ")[2]: number
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if "# <- " in line
    }
    told = found.report["findings"]
    assert sorted((f["code"], f["severity"], f["location"]["line"], f["ranks"]) for f in told) == sorted(
        (code, severity, lines[mark], [0, 1]) for code, severity, mark in wanted
    )


@pytest.mark.parametrize("cases", HEALTHY, ids=["together", "apart"])
def test_nothing_is_said_of_ranks_that_train_as_they_should(cases: list[str], tmp_path: Path) -> None:
    found = checked(tmp_path, "--steps", "1000", str(ALIKE), *cases)
    assert (found.code, found.codes, found.report["run"]["ranks"]) == (0, [], [0, 1])
    assert {"AD901", "AD902", "AD907"} <= {*found.report["checks"]["ran"]}


def test_a_rank_that_waits_while_the_other_has_seen_enough_did_not_crash(tmp_path: Path) -> None:
    found = checked(tmp_path, "--steps", "24", str(ALIKE), "rank_zero_probes")
    assert (found.code, found.report["verdict"], found.codes) == (0, "passed", [])


def test_buffers_and_kept_weights_of_one_model_are_compared(tmp_path: Path) -> None:
    wanted = {
        "own_statistics": ("AD902", "info", "own_statistics"),
        "own_statistics_without_wrapper": ("AD902", "info", "own_statistics_without_wrapper"),
        "best_by_own_loss": ("AD907", "warning", "best_by_own_loss"),
    }
    found = checked(tmp_path, "--steps", "1000", str(KEPT_STATES), *wanted)
    assert_found(found, KEPT_STATES, wanted.values())


def test_nothing_is_said_of_buffers_and_weights_that_are_kept_on_purpose(tmp_path: Path) -> None:
    cases = [
        "statistics_averaged",
        "statistics_sent",
        "memory_of_each_rank",
        "best_on_rank_zero",
        "best_by_shared_loss",
        "kept_in_turn",
        "search_keeps_its_own_best",
    ]
    found = checked(tmp_path, "--steps", "1000", str(KEPT_STATES), *cases)
    assert (found.code, found.codes, found.report["run"]["ranks"]) == (0, [], [0, 1])
    assert {"AD902", "AD907"} <= {*found.report["checks"]["ran"]}


# --------------------------------------------------------------------------------------------------- data of the ranks


ON_THE_SAME_SAMPLES = [
    "in_order",
    "shuffled_alike",
    "drawn_alike",
    "stream_not_divided",
    "reduced_by_hand",
    "reduced_at_once",
    "accumulated",
    "sharded",
    "in_another_order",
]
ON_OTHERS = ["whole_set", "whole_set_for_ever", "epoch_never_set", "rate_of_each_shard"]
ON_THEIR_OWN = [
    "sampled_by_rank",
    "sharded_and_sampled_by_rank",
    "layers_sharded_for_one_batch",
    "seeded_by_rank",
    "augmented_by_rank",
    "part_of_each_batch",
    "part_inside_the_model",
    "part_of_the_sequence",
    "own_targets",
    "own_targets_and_dropout",
    "one_batch",
    "same_model_twice",
    "search",
    "parts_of_a_layer",
    "whole_part_in_each_step",
    "shard_shuffled_by_itself",
    "own_rows_of_a_tensor",
    "parts_of_a_layer_by_torch",
    "parts_summed_by_a_functional_collective",
    "half_of_the_set",
]


def test_ranks_on_the_same_samples_are_found_where_these_are_drawn(tmp_path: Path) -> None:
    found = checked(tmp_path, "--steps", "1000", str(SAME_DATA), *ON_THE_SAME_SAMPLES, *ON_OTHERS)
    same = [("AD905", "error", case) for case in ON_THE_SAME_SAMPLES]
    whole = [("AD905", "warning", "whole_set"), ("AD905", "info", "whole_set_for_ever")]
    others = [*whole, ("AD903", "warning", "epoch_never_set"), ("AD907", "error", "rate_of_each_shard")]
    assert_found(found, SAME_DATA, [*same, *others])


def test_nothing_is_said_of_ranks_that_share_samples_on_purpose(tmp_path: Path) -> None:
    found = checked(tmp_path, "--steps", "1000", str(SAME_DATA), *ON_THEIR_OWN)
    assert (found.code, found.codes, found.report["run"]["ranks"]) == (0, [], [0, 1])
    assert {"AD903", "AD905"} <= {*found.report["checks"]["ran"]}


# ------------------------------------------------------------------------------------------------- a foreign launcher


def test_ranks_of_another_launcher_leave_traces_that_are_judged_later(tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    check = [*doctor("--rank-reports", "traces")[1:], str(REPLICAS), "--fault", "raises"]
    done = run(tmp_path, *launcher, *check)
    assert done.returncode == 1
    assert "AD599" not in done.stdout
    left = sorted((tmp_path / "traces").iterdir())
    talk = sorted((tmp_path / "traces").glob(".*/*"))  # the last rank takes it away
    assert [path.name.partition(".")[2] for path in left] == ["rank-00000.trace", "rank-00001.trace"], (talk, done)
    told = run(tmp_path, sys.executable, "-m", "autograd_doctor", "report", "traces", "--output-format", "json")
    (crash,) = json.loads(told.stdout)["findings"]
    assert (told.returncode, crash["code"], crash["ranks"]) == (1, "AD599", [1])


def test_a_rank_that_its_launcher_ends_after_its_program_leaves_its_trace(tmp_path: Path) -> None:
    """The signal comes between the end of the program and the writing."""
    program = tmp_path / "train.py"
    program.write_text("import torch\n")
    ended = f"""
        import os, signal, sys
        from autograd_doctor import cli, launch
        over = launch.Child.__exit__
        def signalled(child, *error):
            over(child, *error)
            os.kill(os.getpid(), signal.SIGTERM)
        launch.Child.__exit__ = signalled
        sys.argv = {doctor("--rank-reports", "traces", str(program))[2:]}
        cli.main()
    """
    done = run(tmp_path, sys.executable, "-c", dedent(ended))
    assert [path.suffix for path in (tmp_path / "traces").iterdir() if path.is_file()] == [".trace"], done


def test_a_saved_trace_of_several_is_judged_as_they_were(tmp_path: Path) -> None:
    options = ("--output-format", "json:report.json", "--save-trace", "trace")
    run(tmp_path, *doctor(*options, str(SPAWNED), "--fault", "keeps-gradients"))
    told = run(tmp_path, sys.executable, "-m", "autograd_doctor", "report", "trace", "--output-format", "json")
    again, first = json.loads(told.stdout), json.loads((tmp_path / "report.json").read_text())
    assert (again["findings"], again["run"], again["exit_reason"]) == (
        first["findings"],
        first["run"],
        first["exit_reason"],
    )
    assert first["findings"][0]["ranks"] == [1]


# ----------------------------------------------------------------------------------------------------------- mistakes


def test_what_torchs_launcher_cannot_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text("def main(): pass\n")
    done = run(tmp_path, *doctor("--nproc-per-node", "2", "pkg:main"))
    assert (done.returncode, "torch's launcher starts only scripts and modules" in done.stderr) == (2, True)
    done = run(tmp_path, sys.executable, "-m", "autograd_doctor", "report", ".")
    assert (done.returncode, "no traces of ranks here" in done.stderr) == (2, True)
