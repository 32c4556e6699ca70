"""`autograd_doctor.monitor`: a run that is watched for as long as it lasts, in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import autograd_doctor
from autograd_doctor import Mistake
from autograd_doctor.monitoring.folder import FINDINGS, About, Found, RankFolder, rank_folder, rank_folders
from autograd_doctor.plan import Target
from autograd_doctor.runner import monitored
from autograd_doctor.runner.allowance import Allowance
from autograd_doctor.runner.surprise import Surprises
from tests.commands import doctor, python
from tests.harness import ROOT, marks
from tests.reports import sick, unjudged

SHORT = 20
LOOP = """
import sys
import torch
import autograd_doctor
from autograd_doctor.runner import monitored
monitored.REST, monitored.LEAST_STEPS = 0.0, {chapter}  # one chapter after the other
torch.manual_seed(0)
data = torch.randn(256, 16)
label = data[:, :10].argmax(1)
by_pair = [torch.isin(label, torch.tensor([2 * pair, 2 * pair + 1])).nonzero().flatten() for pair in range(5)]
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
found = []
watched = autograd_doctor.monitor("run.trace", budget=1.0, on_finding=found.append{arguments})
for step in range({steps}):
    rows = torch.randint(0, 256, (32,))
    x, y = data[rows], label[rows]
{body}
    if any(finding.code == {awaited!r} for finding in found):
        break
print(watched.steps, watched.chapters, *(f"{{finding.code}}:{{finding.location.line}}" for finding in found))
"""
PLAIN = """
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LATE = {
    "the data turn constant": """
    if step >= 350:
        x = data[:1].expand(32, -1).clone()
    loss = torch.nn.functional.cross_entropy(model(x), y)  # expect: AD704
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a logarithm of what falls below zero": """
    score = model(x).softmax(1)[:, 0]
    shift = 0.0 if step < 350 else 2.0
    loss = torch.log(score - shift).square().mean()  # expect: AD401
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "gradients are no longer cleared": """
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if step < 350:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: AD101
""",
    "labels are written over": """
    if step == 350:
        label.fill_(3)
        y = label[rows]
    loss = torch.nn.functional.cross_entropy(model(x), y)  # expect: AD704
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "samples are scaled a second time": """
    if step == 350:
        data.mul_(255)
    loss = torch.nn.functional.cross_entropy(model(data[rows]), y)  # expect: AD703
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "one batch is kept": """
    if step < 350:
        kept = x, y
    x, y = kept
    loss = torch.nn.functional.cross_entropy(model(x), y)  # expect: AD701
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a schedule has ended": """
    optimizer.param_groups[0]["lr"] = 0.02 * max(0, 1 - step / 350)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: AD110
""",
    "a schedule runs past its end": """
    if step == 0:
        decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1 - done / 350)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay.step()  # expect: AD117
""",
    "a rate that is written falls below zero": """
    optimizer.param_groups[0]["lr"] = 0.02 * (1 - step / 350)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: AD117
""",
    "a layer is exchanged": """
    if step == 350:
        model[2] = torch.nn.Linear(32, 10)  # expect: AD205
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "the last checkpoint by name is an old one": """
    import glob
    if step < 350 and step % 50 == 0:
        torch.save(model.state_dict(), f"step{step}.pt")
    if step == 350:
        model.load_state_dict(torch.load(max(glob.glob("step*.pt"))))  # expect: AD722
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a target is no longer brought up to date": """
    if step == 0:
        import copy
        target, kept = copy.deepcopy(model), 0
    kept = min(kept + 8, 2804)
    with torch.no_grad():
        wanted = target(x)
    said = model(x)
    loss = torch.nn.functional.cross_entropy(said, y) + 0.1 * torch.nn.functional.mse_loss(said, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if kept % 40 == 0:
        target.load_state_dict(model.state_dict())  # expect: AD227
""",
    "a target is called elsewhere, once there is enough in the memory, and no longer brought up to date": """
    if step == 0:
        import copy
        target, kept = copy.deepcopy(model), 0

        def learn(x, y):
            with torch.no_grad():
                wanted = target(x)
            said = model(x)
            loss = torch.nn.functional.cross_entropy(said, y) + 0.1 * torch.nn.functional.mse_loss(said, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    kept = min(kept + 8, 2884)
    if kept < 64:
        continue
    learn(x, y)
    if kept % 40 == 0:
        target.load_state_dict(model.state_dict())  # expect: AD227
""",
    "gradients are clipped to ever less": """
    if step == 0:
        norms = []
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    limit = 10.0 if step < 350 else max(1e-5, 0.8 * sorted(norms[-5:])[2])
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # expect: AD412
    norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())
    optimizer.step()
""",
    "an average follows a model that was put aside": """
    if step == 0:
        import copy
        average = copy.deepcopy(model).requires_grad_(False)
        pairs = list(zip(average.parameters(), model.parameters()))
    if step == 350:
        model = copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
    with torch.no_grad():
        wanted = average(x)
    said = model(x)
    loss = torch.nn.functional.cross_entropy(said, y) + 0.1 * torch.nn.functional.mse_loss(said, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, weight in pairs:
            mean.lerp_(weight, 0.01)  # expect: AD227
""",
    "the sign of the loss turns": """
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if step >= 350:
        loss = -loss  # expect: AD609
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "everything is dropped": """
    hidden = torch.nn.functional.dropout(model[:2](x), 0.1 if step < 350 else 1.0)  # expect: AD410
    loss = torch.nn.functional.cross_entropy(model[2](hidden), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "weights are drawn anew in each epoch": """
    if step >= 350 and step % 25 == 0:
        for layer in (model[0], model[2]):
            torch.nn.init.xavier_uniform_(layer.weight)  # expect: AD109
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "an old state is loaded in each epoch": """
    if step == 0:
        import copy
        old = copy.deepcopy(model.state_dict())
    if step >= 350 and step % 25 == 0:
        model.load_state_dict(old)  # expect: AD109
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a validation loss is of nothing any more": """
    if step % 25 == 24:
        model.eval()
        with torch.no_grad():
            said = torch.nn.functional.cross_entropy(model(data), label, reduction="none")
            kept = (torch.arange(256) < 350 - step).float()
            print((said * kept).sum().div(kept.sum()).item())  # expect: AD416
        model.train()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a softmax is put in front of the loss": """
    said = model(x)
    if step >= 350:
        said = said.softmax(1)  # expect: AD601
    loss = torch.nn.functional.cross_entropy(said, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


HEALTHY = {
    "one pair of classes after the other": """
    rows = by_pair[(step // 225) % 5][torch.randint(0, 16, (32,))]
    x, y = data[rows], label[rows]
"""
    + PLAIN,
    "warm restarts, and more dropout each time": """
    import math
    optimizer.param_groups[0]["lr"] = 0.02 * (1 + math.cos(math.pi * (step % 200) / 200)) / 2
    hidden = torch.nn.functional.dropout(model[:2](x), 0.1 * (1 + step // 200))
    loss = torch.nn.functional.cross_entropy(model[2](hidden), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "back to the weights before a spike": """
    import copy
    if step % 150 == 0:
        best = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    optimizer.param_groups[0]["lr"] = 0.02 if step % 450 != 440 else 5.0
    if step % 450 == 445:
        model.load_state_dict(best[0])
        optimizer.load_state_dict(best[1])
"""
    + PLAIN,
    "an average of weights swapped in, and the same weights of another model tried out": """
    import copy
    if step == 0:
        average, other = copy.deepcopy(model), copy.deepcopy(model.state_dict())
    if step % 50 == 49:
        own = copy.deepcopy(model.state_dict())
        for state in (average.state_dict(), other):
            model.load_state_dict(state)
            with torch.no_grad():
                model(data)
        model.load_state_dict(own)
    with torch.no_grad():
        for mean, weight in zip(average.parameters(), model.parameters()):
            mean.lerp_(weight, 0.05)
"""
    + PLAIN,
    "lessons that grow harder": """
    x = x * (1 + step / 500) + 0.1 * (step // 250) * torch.randn(32, 16)
"""
    + PLAIN,
    "a stage in which the rate rests": """
    optimizer.param_groups[0]["lr"] = 0.0 if 450 <= step < 575 else 0.02
"""
    + PLAIN,
    "a rate that comes to zero once in each of its cycles": """
    if step == 0:
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
"""
    + PLAIN
    + """
    if step % 60 == 59:
        schedule.step()
""",
    "a last layer that forgets": """
    if step > 300 and step % 125 == 0:
        model[2].reset_parameters()
        for parameter in model[2].parameters():
            optimizer.state.pop(parameter, None)
"""
    + PLAIN,
    "gradients of each sample": """
    from torch.func import functional_call, grad, vmap
    def of_one(parameters, x, y):
        return torch.nn.functional.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])
    held = {name: parameter.detach() for name, parameter in model.named_parameters()}
    each = vmap(grad(of_one), in_dims=(None, 0, 0))(held, x, y)
    for name, parameter in model.named_parameters():
        norm = each[name].flatten(1).norm(dim=1).clamp(min=1)
        parameter.grad = torch.einsum("b,b...->...", 1 / norm, each[name]) / len(x)
    optimizer.step()
    optimizer.zero_grad()
""",
    "samples that are let be where their loss is low enough": """
    each = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
    loss = each.clamp(min=2.25).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "the whole set for the last steps": """
    if step >= 600:
        x, y = data, label
"""
    + PLAIN,
}


def _run(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "training.py").write_text(program)
    return python("training.py", cwd=folder, env={**os.environ, **environment})


def _loop(
    body: str = PLAIN, steps: int = 300, arguments: str = "", awaited: str = "", chapter: int = monitored.LEAST_STEPS
) -> str:
    """awaited: the code of a finding that ends the program. chapter: how many steps one has at least."""
    return LOOP.format(body=body, steps=steps, arguments=arguments, awaited=awaited, chapter=chapter)


def _report(folder: Path) -> dict[str, Any]:
    done = doctor("report", "run.trace", "--output-format", "json", cwd=folder)
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode
    return report


# ----------------------------------------------------------------------------------------------------- whole programs


def test_a_healthy_run_is_recorded_and_nothing_told(tmp_path: Path) -> None:
    done = _run(tmp_path, _loop(steps=700, chapter=SHORT))
    assert done.stdout.split()[0] == "700", done.stderr
    assert int(done.stdout.split()[1]) > 2, "one chapter alone tells nothing of those that follow"
    assert len(done.stdout.split()) == 2
    assert done.stderr == ""
    report = _report(tmp_path)
    assert (report["verdict"], report["findings"]) == ("passed", [])
    assert report["run"]["steps"] == 700


@pytest.mark.parametrize("name", LATE)
def test_a_fault_that_begins_late_is_told_at_its_line(name: str, tmp_path: Path) -> None:
    ((code, _),) = marks(LATE[name])
    program = _loop(LATE[name], steps=1300, awaited=code, chapter=SHORT)
    ((code, line),) = marks(program)
    done = _run(tmp_path, program)
    assert f"{code}:{line}" in done.stdout.split(), done.stdout + done.stderr
    assert f"training.py:{line}: {code} " in done.stderr
    findings = {(each["code"], each["location"]["line"]): each for each in _report(tmp_path)["findings"]}
    assert findings[code, line]["step_first"] > 350


def test_an_evaluation_that_turns_nan_is_looked_into_whatever_that_costs(tmp_path: Path) -> None:
    program = _loop(LATE["a validation loss is of nothing any more"], steps=1100, awaited="AD416")
    done = _run(tmp_path, program.replace("budget=1.0", "budget=0.0001"))
    ((code, line),) = marks(program)
    assert f"{code}:{line}" in done.stdout.split(), done.stdout + done.stderr


def test_a_model_that_was_replaced_is_not_kept_alive(tmp_path: Path) -> None:
    body = """
    if step == 350:
        import copy, gc, weakref
        gc.collect()
        gc.disable()
        old, model = weakref.ref(model), copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
    if step == 1299:
        print("gone" if old() is None else "kept")
"""
    done = _run(tmp_path, _loop(body + PLAIN, steps=1300, chapter=SHORT))
    assert done.stdout.split()[0] == "gone", done.stdout + done.stderr


@pytest.mark.parametrize("name", HEALTHY)
def test_a_run_that_changes_on_purpose_is_told_nothing(name: str, tmp_path: Path) -> None:
    done = _run(tmp_path, _loop(HEALTHY[name], steps=950, chapter=SHORT))
    steps, chapters, *told = done.stdout.split()
    assert (steps, told) == ("950", []), done.stdout + done.stderr
    assert int(chapters) > 4
    assert done.stderr == ""


def test_a_process_that_was_killed_is_explained(tmp_path: Path) -> None:
    dies = PLAIN + "    if step == 250:\n        import os, signal\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    assert _run(tmp_path, _loop(dies)).returncode == -signal.SIGKILL
    report = _report(tmp_path)
    assert (report["verdict"], report["exit_code"], report["run"]["stopped_by"]) == ("program-failed", 3, "killed")
    assert "gone without a word" in report["exit_reason"]
    assert any(note.startswith("last recorded, in step ") for note in report["notes"])


def test_one_that_crashes_is_reported_with_what_it_raised(tmp_path: Path) -> None:
    crashes = PLAIN + "    if step == 250:\n        model(torch.randn(3, 4))  # expect: AD510\n"
    program = _loop(crashes)
    done = _run(tmp_path, program)
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    report = _report(tmp_path)
    line = marks(program)[0][1]
    assert (report["verdict"], report["run"]["stopped_by"]) == ("faults", "raised")
    assert [finding["location"]["line"] for finding in report["findings"]] == [line]


def test_training_is_stopped_and_kept(tmp_path: Path) -> None:
    arguments = ', stop_on="error", checkpoint="kept.pt"'
    program = _loop(LATE["a logarithm of what falls below zero"], steps=5000, arguments=arguments)
    done = _run(tmp_path, program)
    assert "autograd_doctor.api.monitoring.TrainingStopped: training.py:" in done.stderr
    kept = torch.load(tmp_path / "kept.pt")
    assert {*kept} == {"step", "finding", "models", "optimizers"}
    assert kept["finding"]["code"] == "AD401"
    assert 350 <= kept["step"] <= 351
    assert {name: {*state} for name, state in kept["models"].items()} == {
        "model": {"0.weight", "0.bias", "2.weight", "2.bias"}
    }
    assert all(bool(value.isfinite().all()) for value in kept["models"]["model"].values())
    assert list(kept["optimizers"]) == ["optimizer"]


_SPOILS = """
    length = model(x).sum(1).square() * (step != 2)
    loss = torch.nn.functional.cross_entropy(model(x), y) + 0.01 * length.sqrt().mean()
    optimizer.zero_grad()
    loss.backward()
"""


def test_gradients_that_are_not_finite_stop_a_training_before_they_are_used(tmp_path: Path) -> None:
    body = _SPOILS + "    optimizer.step()\n"
    done = _run(tmp_path, _loop(body, steps=60, arguments=', stop_on="error", checkpoint="kept.pt"'))
    assert "autograd_doctor.api.monitoring.TrainingStopped: training.py:" in done.stderr
    kept = torch.load(tmp_path / "kept.pt")
    assert (kept["finding"]["code"], kept["step"]) == ("AD402", 2)
    assert all(bool(value.isfinite().all()) for value in kept["models"]["model"].values())


_SWEEP = """
import sys
import torch
import autograd_doctor
before, stopped = sys.excepthook, []

def train(shift):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(60):
        loss = (model(torch.randn(8, 4)).square() + 1.0 - shift * (step == 4)).log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def attempt(shift):
    with autograd_doctor.monitor("run.trace", stop_on="error"):
        train(shift)

for shift in (3.0, 0.0, 3.0):
    try:
        attempt(shift)
    except autograd_doctor.TrainingStopped as stop:
        stopped.append(stop)
print(len(stopped), sys.excepthook is before)
"""


def test_a_stop_that_is_caught_leaves_the_excepthook_as_it_was(tmp_path: Path) -> None:
    done = _run(tmp_path, _SWEEP)
    assert done.stdout == "2 True\n", done.stdout + done.stderr


@pytest.mark.parametrize("form", ["begun", "in a block"])
def test_a_stop_that_nobody_catches_is_shown_without_frames_of_ours(form: str, tmp_path: Path) -> None:
    program = _SWEEP.partition("for shift")[0]
    if form == "begun":
        program += 'autograd_doctor.monitor("run.trace", stop_on="error")\ntrain(3.0)\n'
    else:
        program += "attempt(3.0)\n"
    (tmp_path / "training.py").write_text(program)
    command = [sys.executable, "training.py"]  # by itself: of a fork, the harness would catch it
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    shown = done.stderr.partition("Traceback")[2]
    assert "loss.backward()" in shown
    assert "autograd_doctor/" not in shown
    assert "autograd_doctor.api.monitoring.TrainingStopped: training.py:" in shown


@pytest.mark.parametrize(
    "left_out",
    [
        "    if step != 2:\n        optimizer.step()\n",
        "    for p in model.parameters():\n        p.grad.nan_to_num_(0.0)\n    optimizer.step()\n",
    ],
    ids=["skipped", "repaired"],
)
def test_gradients_that_are_not_finite_and_are_not_used_stop_nothing(left_out: str, tmp_path: Path) -> None:
    done = _run(tmp_path, _loop(_SPOILS + left_out, steps=30, arguments=', stop_on="error"'))
    assert done.returncode == 0, done.stderr


def test_a_checkpoint_of_weights_that_are_spoiled_says_so(tmp_path: Path) -> None:
    body = """
    length = model(x).sum(1).square() * (step != 703)
    loss = torch.nn.functional.cross_entropy(model(x), y) + 0.01 * length.sqrt().mean()
    optimizer.zero_grad()
    loss.backward()  # expect: AD401
    optimizer.step()
"""
    program = _loop(body, steps=900, arguments=', checkpoint="kept.pt"')
    done = _run(tmp_path, program)
    code, line = marks(program)[0]
    assert f"{code}:{line}" in done.stdout.split(), done.stdout + done.stderr
    assert torch.load(tmp_path / "kept.pt")["step"] < 760, "it is looked at for a short while only"
    assert "kept.pt: not finite any more: model.0.weight, model.0.bias, model.2.weight, model.2.bias\n" in done.stderr


def test_ranks_have_folders_of_their_own_and_one_report(tmp_path: Path) -> None:
    body = PLAIN.replace("optimizer.zero_grad()", 'import os\n    os.environ["RANK"] == "1" or optimizer.zero_grad()')
    for rank in ("0", "1"):
        assert _run(tmp_path, _loop(body, steps=60), RANK=rank, WORLD_SIZE="2").returncode == 0
    report = _report(tmp_path)
    found = {finding["code"]: finding["ranks"] for finding in report["findings"]}
    assert found["AD101"] == [1]
    assert report["environment"]["world_size"] == 2


def test_nothing_is_watched_twice(tmp_path: Path) -> None:
    (tmp_path / "training.py").write_text(_loop(steps=40))
    done = doctor("check", "training.py", "--seconds", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "run.trace").exists()


# --------------------------------------------------------------------------------------------------- in this process


@pytest.fixture
def seams() -> Iterator[None]:
    """What is of torch is as it was."""
    before = torch.nn.Module.__call__, torch.autograd._engine_run_backward, torch.Tensor.item
    yield
    assert (torch.nn.Module.__call__, torch.autograd._engine_run_backward, torch.Tensor.item) == before


def _train(steps: int, *, clears: bool = True) -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        x = torch.randn(8, 4)
        if clears:
            optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()


@pytest.mark.usefixtures("seams")
def test_nothing_is_left_and_an_earlier_run_is_put_aside(tmp_path: Path) -> None:
    for _ in range(2):
        with autograd_doctor.monitor(tmp_path / "run.trace") as watched:
            _train(60)
        assert watched.steps == 60
        assert watched.is_resting
        assert "60 steps, 0 findings, in run.trace, over" in repr(watched)
    assert [folder.path.name for folder in rank_folders(tmp_path / "run.trace")] == ["rank-0"]
    assert RankFolder(tmp_path / "run.trace" / "earlier" / "1" / "rank-0").about() is not None


@pytest.mark.usefixtures("seams")
def test_numbers_are_there_for_a_logger(tmp_path: Path) -> None:
    with autograd_doctor.monitor(tmp_path / "run.trace") as watched:
        _train(60)
        metrics = watched.metrics()
    assert {"doctor/loss", "doctor/gradient_norm", "doctor/update_ratio", "doctor/learning_rate"} <= {*metrics}
    assert metrics["doctor/learning_rate"] == 0.01
    assert metrics["doctor/findings"] == 0
    assert watched.report.run.steps == 60


@pytest.mark.usefixtures("seams")
@pytest.mark.parametrize(("factor", "codes"), [(1000.0, ["AD413"]), (3.0, [])])
def test_a_spike_between_chapters_is_in_the_report(factor: float, codes: list[str], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with autograd_doctor.monitor(tmp_path / "run.trace") as watched:
        for step in range(75):
            x = torch.randn(32, 4)
            y = x.mean(1, keepdim=True) * (factor if step == 65 else 1.0)
            if step == 65:
                assert watched.is_resting
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        found = watched.report.findings
    assert [(each.code, each.step_first) for each in found] == [(code, 66) for code in codes]
    assert watched.findings == []


@pytest.mark.usefixtures("seams")
def test_beside_another_one_it_says_why_it_watches_nothing(tmp_path: Path) -> None:
    with (
        autograd_doctor.monitor(tmp_path / "first"),
        autograd_doctor.monitor(tmp_path / "second") as second,
        autograd_doctor.watch() as block,
    ):
        _train(3)
    assert "another" in repr(second)
    assert "another" in second.report.exit_reason
    assert block.report.verdict == unjudged().verdict
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"budget": 0}, "monitor(): budget: expected a share of the time between 0 and 1, found 0"),
        ({"budget": True}, "monitor(): budget: expected a share of the time between 0 and 1, found True"),
        ({"stop_on": "eror"}, "found 'eror'; did you mean `error`?"),
        ({"bugdet": 0.1}, "monitor(): bugdet: no such argument; did you mean `budget`?"),
        ({"select": ["AD999"]}, "AD999"),
        ({"trace": "taken"}, "taken: a file is in the way"),
        ({"trace": "full"}, "full: a folder that holds something else is in the way"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("mine")
    Path("full").mkdir()
    Path("full", "mine").write_text("mine")
    with pytest.raises(Mistake) as raised:
        autograd_doctor.monitor(**arguments)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert Path("taken").read_text() == Path("full", "mine").read_text() == "mine"


@pytest.mark.usefixtures("seams")
def test_a_failure_of_ours_is_said_and_the_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RankFolder, "write", fails)
    with autograd_doctor.monitor(tmp_path / "run.trace") as watched:
        _train(200)
    (said,) = caplog.messages
    assert said.startswith("the monitor of autograd_doctor has failed, and watches no more: OSError: ")
    assert 40 <= watched.steps < 200
    report = watched.report
    assert (report.verdict, report.exit_code) == ("not-judged", 4)
    assert "No space left on device" in report.exit_reason


@pytest.mark.usefixtures("seams")
def test_an_error_is_told_by_the_second_look_or_at_the_end(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    with autograd_doctor.monitor(
        tmp_path / "short", on_finding=lambda each: told.append((each.code, run.steps))
    ) as run:
        _train(30, clears=False)
        assert told == []
    assert told == [("AD101", 30)]
    told.clear()
    with autograd_doctor.monitor(tmp_path / "long", on_finding=lambda each: told.append((each.code, run.steps))) as run:
        _train(300, clears=False)
    ((code, step),) = told
    assert (code, 42 < step < 120) == ("AD101", True)


@pytest.mark.usefixtures("seams")
def test_what_a_callback_raises_reaches_the_program(tmp_path: Path) -> None:
    def stop(finding: object) -> None:
        raise KeyError(finding)

    with (
        pytest.raises(KeyError),
        autograd_doctor.monitor(tmp_path / "run.trace", on_finding=stop, checkpoint=tmp_path / "no" / "kept.pt"),
    ):
        _train(200, clears=False)


@pytest.mark.usefixtures("seams")
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "long_runs.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    program = program.replace("print(doctor)", "doctor.close()\nprint(doctor)")
    (tmp_path / "page.py").write_text(program)
    exec(compile(program, str(tmp_path / "page.py"), "exec"), {"__name__": "page"})
    assert "400 steps, 0 findings, in run.trace, over" in capsys.readouterr().out


# --------------------------------------------------------------------------------------------------- what it costs


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_chapters_are_paid_for_by_the_time_that_passes() -> None:
    clock = _Clock()
    allowance = Allowance(0.01, 0.8, clock)
    allowance.looked_at_step(0.9, 0.7)
    for _ in range(20):
        allowance.plain_steps(1, 0.1, 0.0)
    assert allowance.spent == pytest.approx(0.8), "it took 0.8 seconds more than a plain step"
    allowance.first_is_over()
    assert allowance.is_paid(), "for a while, the first one is free"
    allowance.looked_at_step(1.0, 0.7)
    assert not allowance.is_paid()
    assert not allowance.may_hurry()
    clock.now = 20.0
    assert allowance.may_hurry()
    assert not allowance.may_hurry(0.5)
    assert not allowance.is_paid()
    clock.now = 200.0
    assert allowance.is_paid()
    assert allowance.is_earned(), "nothing is known of what one takes"
    allowance.chapter_is_over()
    assert not allowance.is_earned(), "the next one would take as much"
    assert allowance.earned == pytest.approx(2.0 - 0.8), "in the long run, the first one is paid for, too"


def test_time_in_which_the_machine_works_for_others_is_not_spent() -> None:
    allowance = Allowance(0.01, 0.5, _Clock())
    for _ in range(20):
        allowance.plain_steps(1, 0.1, 0.0)
    allowance.looked_at_step(3.0, 2.5, 0.3)
    assert allowance.spent == pytest.approx(0.3)


def test_a_run_that_has_doubled_is_looked_at_where_that_takes_a_small_part_of_it() -> None:
    clock = _Clock()
    allowance = Allowance(0.01, 0.1, clock)
    allowance.first_is_over()
    allowance.spend(0.5)
    allowance.chapter_is_over()
    clock.now = 24.0
    assert not allowance.may_double()
    clock.now = 26.0
    assert not allowance.may_hurry()
    assert allowance.may_double(), "half a second is less than a fiftieth of 26"
    allowance.spend(0.6)
    allowance.chapter_is_over()
    assert not allowance.may_double(), "the one before took longer"


@given(st.lists(st.tuples(st.floats(0.001, 2.0), st.floats(0.0, 0.5), st.booleans()), max_size=200))
def test_what_was_spent_never_falls_and_the_pulse_leaves_half(steps: list[tuple[float, float, bool]]) -> None:
    clock = _Clock()
    allowance, spent = Allowance(0.01, 0.5, clock), 0.0
    allowance.first_is_over()
    for seconds, looked, is_plain in steps:
        clock.now += seconds + looked
        if is_plain:
            allowance.plain_steps(1, seconds + looked, looked)
        else:
            allowance.looked_at_step(seconds + looked, looked)
        assert allowance.spent >= spent - 1e-9
        spent = allowance.spent
        assert allowance.earned >= 0.005 * clock.now - allowance.spent - 1e-9


def test_losses_that_leave_their_course_are_a_surprise_and_noise_is_none() -> None:
    surprises = Surprises()
    torch.manual_seed(0)
    falling = [2.0 * 0.999**step + 0.2 * float(torch.randn(())) for step in range(3000)]
    assert not any(surprises.add("here", loss) for loss in falling)
    assert any(surprises.add("here", 9.0 + 0.2 * float(torch.randn(()))) for _ in range(50))
    on_it = [surprises.add("here", 9.0 + 0.2 * float(torch.randn(()))) for _ in range(1000)]
    assert not any(on_it), "it has got used to it"
    assert any(surprises.add("here", 9.0) for _ in range(50)), "they do not differ any more"


def test_losses_that_leave_their_course_often_are_a_surprise_where_they_leave_it_further() -> None:
    surprises = Surprises()
    torch.manual_seed(0)
    stairs = [step // 200 % 2 + 0.2 * float(torch.randn(())) for step in range(20_000)]
    found = [step for step, loss in enumerate(stairs) if surprises.add("here", loss)]
    assert 0 < len(found) < 30, "of 100 such steps"
    assert any(surprises.add("here", 30.0 + 0.2 * float(torch.randn(()))) for _ in range(50))


# ------------------------------------------------------------------------------------------------------- the folder


def _about(**facts: Any) -> About:
    return About(tool="1", target=Target("block", "t.py:1"), process=1, host="h", cwd="/", began=1.0, **facts)


def test_a_folder_stays_small_and_keeps_what_tells_most(tmp_path: Path) -> None:
    folder = rank_folder(tmp_path, 3)
    folder.begin(_about(rank=3))
    finding = sick().findings[0]
    for number in range(1, 101):
        folder.chapter(number).write_bytes(b"")
        if number % 10 == 0:
            folder.write([Found(chapter=number, step=number, at=0.0, told=True, finding=finding)])
        folder.prune()
    kept = list(folder.chapters())
    assert kept[0] == 1
    assert kept[-4:] == [97, 98, 99, 100]
    assert {10, 20, 30} <= {*kept}
    assert len(kept) <= 16


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    folder = rank_folder(tmp_path, 0)
    folder.begin(_about())
    folder.write([Found(chapter=1, step=1, at=0.0, told=False, finding=sick().findings[0])] * 2)
    whole = (folder.path / FINDINGS).read_bytes()
    (folder.path / FINDINGS).write_bytes(whole[:-30])
    assert len(list(folder.found())) == 1
