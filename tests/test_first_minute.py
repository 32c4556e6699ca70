"""What the doctor says to somebody who has just come: of programs that do not start, do not train, or are elsewhere."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests.commands import doctor
from tests.harness import ROOT

TRAINS = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(60):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
FUNCTIONS = "import torch\ndef evaluate(model, loader): ...\ndef train(epochs=1): ...\ndef _helper(): ...\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str, room: int = 0, **environment: str) -> tuple[int, str, str]:
    """Exit code, the report as one line, and what went to standard error; `room` is the largest file, in bytes."""
    always = {"AUTOGRAD_DOCTOR_SECONDS": "0", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    done = doctor("check", *arguments, env={**os.environ, **always, **environment}, room=room)
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# --------------------------------------------------------------------------------------------------- modules elsewhere


def test_a_module_in_src_is_found_there(home: Path) -> None:
    write("src/pkg/__init__.py", "")
    write("src/pkg/cli.py", TRAINS)
    for arguments in (["-m", "pkg.cli"], ["pkg.cli:main"]):
        code, out, err = check(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "pkg.cli: no such module, but src/pkg/cli.py is there" in err
        assert f"`{sys.executable} -m pip install -e .`), or put `PYTHONPATH=src` before the command" in err
    assert check("-m", "pkg.cli", "--max-seconds", "9", PYTHONPATH=f"src:{ROOT}")[0] == 0
    assert "src" not in check("-m", "pkg.clj")[2]


def test_a_module_that_is_not_installed_is_told_with_the_python_that_lacks_it(home: Path) -> None:
    write("train.py", "import torch\nimport no_such_library.parts\n")
    code, out, _ = check("train.py")
    assert code == 3
    assert f"runs with `{sys.executable}`, which has no module `no_such_library`" in out
    assert f"`{sys.executable} -m pip install no_such_library`" in out
    assert "follow the calls" not in out


@pytest.mark.parametrize(
    ("script", "where", "told"),
    [
        ("train.py", "src", "src"),
        ("scripts/train.py", "", "."),
        ("a/b.py", "a/src", "a/src"),
        ("a/b.py", "ours", "ours"),
    ],
)
def test_a_module_of_the_project_is_told_with_its_folder(home: Path, script: str, where: str, told: str) -> None:
    write(script, "import torch\nimport ours\n")
    write(f"{where or '.'}/ours/__init__.py", "")
    write("ours/setup.py" if where == "ours" else "setup.py", "")  # a clone lies under the name of its package
    _, out, _ = check(script)
    folder = str(home) if told == "." else told
    assert f"`ours` is in `{folder}`, which is not on Python's path" in out
    assert f"PYTHONPATH={folder}" in out


def test_a_folder_of_data_is_no_module_of_the_project(home: Path) -> None:
    write("train.py", "import torch\nimport no_such_library\n")
    write("src/no_such_library/run-1/log.txt", "")
    assert "pip install no_such_library" in check("train.py")[1]


def test_a_module_that_its_package_lacks_is_told_with_the_package(home: Path) -> None:
    write("wave.py", "import torch\n")
    write("train.py", "import wave.forms\n")
    assert "`wave.py` was imported, but has no `wave.forms`" in check("train.py")[1]


def test_an_import_error_of_the_programs_own_is_as_it_was(home: Path) -> None:
    write("train.py", "raise ModuleNotFoundError('bring your own')")
    assert "follow the calls" in check("train.py")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model.pt"], "model.pt: saved weights, not a program that trains"),
        (["run.sh"], "run.sh: a shell script, not a Python program (give the Python program that it runs)"),
        (["data.csv"], "data.csv: not a Python program"),
        (["run.trace"], "run.trace: a saved trace, not a Python program (`doctor report` judges it again)"),
        (["env", "train.py", "--lr", "3"], "env: no such file; leave it out: `doctor check train.py --lr 3`"),
        (["env", "gone.py"], "env: no such file"),
        (
            ["train.py:main", "--max-epochs", "3"],
            "--max-epochs: the doctor has no such option; pass arguments to a function as `--set max_epochs=",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_program(home: Path, words: list[str], said: str) -> None:
    for name in ("run.sh", "data.csv", "train.py"):
        write(name, "def main(max_epochs=1): ...\n")
    for name in ("model.pt", "run.trace"):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("data.pkl", "")
    code, out, err = check(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("error: ")


# -------------------------------------------------------------------------------------------------- nothing was trained

_REQUIRED = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()\n"


def test_arguments_that_are_missing(home: Path) -> None:
    write("train.py", f"import torch\n{_REQUIRED}{TRAINS}")
    code, out, _ = check("train.py")
    assert code == 3
    assert "put arguments after it: `doctor check train.py --name value`" in out
    assert check("train.py", "--data", "x")[0] == 0


def test_a_file_that_trains_nothing_is_told_with_its_functions(home: Path) -> None:
    write("tools.py", f"{FUNCTIONS}if __name__ == '__main__':\n    print('use me')\n")
    code, out, _ = check("tools.py")
    assert code == 4
    assert "the program ended without training" in out
    assert "`doctor check tools.py:train`; there is also `evaluate`" in out
    assert "max-seconds" not in out
    assert "_helper" not in out


def test_a_program_that_comes_to_no_step_is_told_so(home: Path) -> None:
    write("train.py", TRAINS.replace("range(60)", "range(0)"))
    _, out, _ = check("train.py", "--data", "x")
    assert "the program ended before the first step of `SGD`" in out
    assert "--name value" not in out
    assert "--name value" in check("train.py")[1]


def test_a_function_that_needs_arguments_is_told_with_them(home: Path) -> None:
    write("tools.py", "import torch\ndef train(epochs): ...\nprint('use me')\n")
    assert "`doctor check tools.py:train --set epochs=…`" in check("tools.py")[1]


def test_a_custom_function_is_told_of_its_own_check(home: Path) -> None:
    write("ops.py", "import torch\nclass Twice(torch.autograd.Function):\n    pass\nprint('defined')\n")
    assert "to check the custom function alone: `doctor gradcheck ops.py:Twice`" in check("ops.py")[1]


def test_a_file_for_pytest_is_told_of_the_fixture(home: Path) -> None:
    write("test_model.py", "import torch\ndef test_training():\n    assert True\nprint('collected')\n")
    _, out, _ = check("test_model.py")
    assert "`doctor check test_model.py:test_training`" in out
    assert "the fixture `doctor` judges a training (`doctor.assert_healthy(train)`)" in out


def test_a_program_whose_time_was_up_is_told_of_the_time(home: Path) -> None:
    write("slow.py", "import torch, time\nprint(torch.ones(1))\ntime.sleep(60)\n")
    code, out, _ = check("--max-seconds", "1", "--timeout", "4", "slow.py")
    assert code in (3, 4)
    assert "ended by itself" not in out


# --------------------------------------------------------------------------------------------- a recording that ended


@pytest.mark.parametrize("room", [1_500, 8_000, 30_000])
def test_a_recording_that_was_lost_is_told_with_its_folder_and_its_reason(home: Path, room: int) -> None:
    write("train.py", TRAINS)
    code, out, _ = check("train.py", room=room, XDG_STATE_HOME=str(home / "state"))
    assert code == 4
    unwrapped = out.replace(" ", "")
    assert f"therecordingisdamaged:recordingin{home}/state/autograd_doctor/" in unwrapped
    assert "stopped:Filetoolarge" in unwrapped
    assert "ended by itself" not in out
    assert out.count("was not recorded") == 0
