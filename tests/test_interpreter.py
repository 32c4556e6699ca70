"""The Python that runs the program: found, asked what it has, and told apart from what cannot run a check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from autograd_doctor import config, interpreter, target
from autograd_doctor.asked import MARK
from autograd_doctor.command import checking
from autograd_doctor.command.request import Request
from autograd_doctor.interpreter import NEEDED, OLDEST_PYTHON, OWN, Interpreter, of_program
from autograd_doctor.mistakes import Mistake
from autograd_doctor.settings import target_list
from tests.environments import environment, site_packages

ROOT = Path(__file__).parent.parent
HEALTHY = """
import torch
from torch import nn
def main(lr=0.1, steps=4):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
if __name__ == "__main__":
    main()
"""
SICK = HEALTHY.replace("        optimizer.zero_grad()\n", "")
FINE: dict[str, list[str] | None] = {"torch": ["2.13.0+cpu"], "msgspec": ["0.22.0"], "pip": ["25.3"]}


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """An executable that is no Python."""

    def written(body: str) -> str:
        file = tmp_path / "python"
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return str(file)

    return written


def saying(version: Sequence[int] = (3, 12, 1), **packages: list[str] | None) -> str:
    said = json.dumps({"version": version, "path": ["/there"], "packages": FINE | packages})
    return f"echo 'a site that prints'; echo '{MARK}{said}'"


def mistake(named: str | None, beside: Path = ROOT) -> str:
    with pytest.raises(Mistake) as caught:
        of_program(named, "--python", beside)
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------- one that will do


def test_our_own_is_taken_where_none_or_our_own_is_named() -> None:
    assert of_program(None, "", ROOT) is OWN
    assert of_program(sys.executable, "--python", ROOT) is OWN


def test_a_path_a_link_an_environment_and_a_name_are_found(
    script: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = script(saying())
    inside = tmp_path / "env" / "bin"
    inside.mkdir(parents=True)
    (inside / "python").symlink_to(command)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for named, found in {
        command: command,
        "./python": command,
        "env/bin/python": str(inside / "python"),
        "env": str(inside / "python"),
        "python": command,
    }.items():
        assert of_program(named, "--python", ROOT) == Interpreter(found, (3, 12, 1), ("/there",))


def test_a_torch_of_no_known_version_will_do(script: Callable[..., str]) -> None:
    assert of_program(script(saying(torch=[])), "--python", ROOT).version == (3, 12, 1)


# ------------------------------------------------------------------------------------------------ those that will not


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 0", "is not a working Python"),
        ("echo 1; echo what >&2; exit 3", "is not a working Python; asked for its version, it exited with 3: what"),
        ("kill -SEGV $$", "is not a working Python; asked for its version, it died of SIGSEGV"),
        (f"echo '{MARK}no JSON'", "is not a working Python"),
        ("sleep 60 & sleep 60", "did not tell its Python version within 0.5 seconds"),
    ],
)
def test_what_is_no_python_is_one_line(
    script: Callable[..., str], monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    monkeypatch.setattr(interpreter, "_PATIENCE", 0.5)
    command = script(body)
    assert mistake(command) == f"--python: {command}: {said}"


def test_what_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("env").mkdir()
    Path("python3").touch()
    Path("gone").symlink_to("/nowhere/python")
    assert mistake("./pyhton3") == "--python: ./pyhton3: no such interpreter; did you mean `python3`?"
    assert mistake("no-such-python") == "--python: no-such-python: no such interpreter"
    assert mistake("gone") == "--python: gone: a link to /nowhere/python, which does not exist"
    assert mistake("env") == "--python: env: a folder without `bin/python` is not a Python environment"
    assert mistake("./python3") == f"--python: {tmp_path}/python3: cannot be run: Permission denied"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (saying([3, 9, 2]), "--python: {} is Python 3.9.2, but a check needs Python 3.11 or later"),
        (
            saying(torch=None),
            "torch is not installed for {}, but a check needs torch 2.4 or later there: "
            "install it (`{} -m pip install 'torch>=2.4'`)",
        ),
        (
            saying(torch=["2.1.0+cu118"]),
            "{} has torch 2.1.0+cu118, but a check needs torch 2.4 or later there: "
            "install it (`{} -m pip install 'torch>=2.4'`)",
        ),
        (
            saying(msgspec=None),
            "msgspec is not installed for {}, but a check needs msgspec 0.19 or later there: "
            "install it (`{} -m pip install 'msgspec>=0.19'`)",
        ),
        (
            saying(msgspec=None, pip=None),
            "msgspec is not installed for {}, but a check needs msgspec 0.19 or later there: "
            "install it (`uv pip install --python {} 'msgspec>=0.19'`)",
        ),
        (
            saying(msgspec=["0.9.1"]),
            "{} has msgspec 0.9.1, but a check needs msgspec 0.19 or later there: "
            "install it (`{} -m pip install 'msgspec>=0.19'`)",
        ),
    ],
)
def test_what_it_lacks_is_one_line(script: Callable[..., str], answer: str, said: str) -> None:
    command = script(answer)
    assert mistake(command) == said.replace("{}", command)


def test_where_our_own_lacks_torch_the_environment_of_the_program_is_named(
    script: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "installed", lambda name: None if name == "torch" else ["0.22.0"])
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    beside = tmp_path / "project" / "scripts"
    beside.mkdir(parents=True)
    lacking = (
        f"torch is not installed for {sys.executable}, which runs the doctor, but a check needs torch 2.4 or later"
    )
    assert mistake(None, beside) == (
        f"{lacking} there: name the Python of your program (`--python .venv/bin/python`), "
        f"or install it (`{sys.executable} -m pip install 'torch>=2.4'`)"
    )
    inside = tmp_path / "project" / ".venv" / "bin"
    inside.mkdir(parents=True)
    (inside / "python").symlink_to(script(saying()))
    assert mistake(None, beside) == (
        f"{lacking} there: project/.venv/bin/python has it: use `--python project/.venv/bin/python`"
    )


def test_what_is_needed_is_what_the_package_says() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for package, release in NEEDED.items():
        assert f'"{package}>={".".join(map(str, release))}"' in text
    assert f'requires-python = ">={".".join(map(str, OLDEST_PYTHON))}"' in text


# ---------------------------------------------------------------------------------------------------------- its syntax


@pytest.mark.parametrize("version", [(3, 0, 0), (99, 0, 0)])
def test_source_is_read_as_the_python_of_the_program_reads_it(version: tuple[int, ...]) -> None:
    other = Interpreter(sys.executable, version, ())
    target.compiled(b"x = 1", "a.py", python=other)
    with pytest.raises(Mistake, match=r"a\.py:2:5: not valid Python: expected ':'") as caught:
        target.compiled(b"\nif x\n", "a.py", python=other)
    assert "if x" in caught.value.detail


def test_what_only_a_later_python_can_read_is_no_mistake(tmp_path: Path, script: Callable[..., str]) -> None:
    program = tmp_path / "later.py"
    program.write_text("import torch\ndef main(): pass\nif x\n")
    later = Interpreter(script("exit 0"), (99, 0), ())
    assert checking.target_of(Request(str(program)), config.load({}, folder=tmp_path, environment={}), later)[1] is None
    checking.call_of(Request(f"{program}:main", sets=["no_such=1"]), later)


# ------------------------------------------------------------------------------------------------------------ settings


def test_a_path_in_a_settings_file_counts_from_it(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    file = tmp_path / "autograd_doctor.yaml"
    for written, meant in {
        ".venv/bin/python": f"{tmp_path}/.venv/bin/python",
        "env": f"{tmp_path}/env",
        "/usr/bin/python3": "/usr/bin/python3",
        "python3.12": "python3.12",
        "~/env": "~/env",
    }.items():
        file.write_text(json.dumps({"python": written, "targets": [{"script": "a.py", "python": written}]}))
        assert config.load({}, folder=tmp_path, environment={}).settings.python == meant
        (listed,) = target_list.listed(file)
        assert config.load({}, folder=tmp_path, environment={}, section=listed.section).settings.python == meant


def test_no_settings_from_above_say_what_is_run(tmp_path: Path) -> None:
    (tmp_path / "autograd_doctor.yaml").write_text("python: /somebody/elses/python")
    (tmp_path / "below").mkdir()
    loaded = config.load({}, folder=tmp_path / "below", environment={})
    assert loaded.settings.python is None
    assert any("`python`" in said and "--python" in said for said in loaded.said)


# ------------------------------------------------------------------------------------------- real environments, apart


@pytest.fixture(scope="module")
def without_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment for the doctor alone."""
    return environment(tmp_path_factory.mktemp("doctor"), without={"torch", "numpy"}, with_doctor=True)


@pytest.fixture(scope="module")
def with_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment for programs alone. What it has of ours, and of the doctor's needs, is not to be used."""
    folder = tmp_path_factory.mktemp("program")
    lent = {"executing", "jinja2", "pygments", "rich", "typer", "yaml", "_yaml"}
    python = environment(folder, without=lent)
    for name in ("autograd_doctor", "executing"):
        (site_packages(folder) / f"{name}.py").write_text("raise SystemExit('another version was imported')\n")
    package = site_packages(folder) / "their"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "train.py").write_text(HEALTHY)
    return python


Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def doctor(without_torch: Path, tmp_path: Path) -> Doctor:
    """The command of an environment that has no torch, in an empty folder."""
    (tmp_path / ".git").mkdir()
    outside = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(without_torch), "-m", "autograd_doctor", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True, timeout=120)

    return run


def checked(doctor: Doctor, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = doctor("check", "--isolated", "--seconds", "0", "--output-format", "json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_doctor_without_torch_checks_the_programs_of_another_environment(
    doctor: Doctor, with_torch: Path, tmp_path: Path
) -> None:
    """The program finds its own environment, and of the doctor's nothing but the package."""
    looks = (
        "\nimport importlib.util, json, sys\n"
        "found = {name: bool(importlib.util.find_spec(name)) for name in ('rich', 'typer', 'yaml')}\n"
        "print(json.dumps([sys.path, found, 'executing' in sys.modules, sys.prefix]), file=sys.stderr)\n"
    )
    (tmp_path / "train.py").write_text(SICK + looks)
    done = doctor("check", "--python", str(with_torch.parent.parent), "--output-format", "json", "train.py")
    report = json.loads(done.stdout)
    assert (done.returncode, [finding["code"] for finding in report["findings"]]) == (1, ["AD101"])
    assert report["environment"]["torch"]
    path, found, has_executing, prefix = json.loads(done.stderr.splitlines()[-1])
    assert path[0] == str(tmp_path)
    assert not [folder for folder in path if "doctor0" in folder or folder == str(ROOT)]
    assert (set(found.values()), has_executing, prefix) == ({False}, False, str(with_torch.parent.parent))


def test_modules_and_functions_are_found_where_the_program_runs(doctor: Doctor, with_torch: Path) -> None:
    code, report = checked(doctor, "--python", str(with_torch), "-m", "their.train")
    assert (code, report["verdict"]) == (0, "passed"), report
    code, report = checked(doctor, "--python", str(with_torch), "their.train:main", "--set", "lr=1e-2")
    assert (code, report["verdict"]) == (0, "passed"), report
    done = doctor("check", "--python", str(with_torch), "-m", "their.trian")
    assert (done.returncode, done.stderr) == (2, "error: their.trian: no such module; did you mean `their.train`?\n")


def test_what_spawned_processes_of_another_environment_write_is_put_back(
    doctor: Doctor, with_torch: Path, tmp_path: Path
) -> None:
    starts = (
        "    import multiprocessing\n"
        "    started = multiprocessing.get_context('spawn').Process(target=write)\n"
        "    started.start()\n    started.join()\n    print(open('written').read())\n"
    )
    writes = "def write():\n    open('written', 'w').write('there')\n"
    (tmp_path / "train.py").write_text(writes + HEALTHY + starts)
    done = doctor("check", "--python", str(with_torch), "train.py")
    assert "there" in done.stdout
    assert not (tmp_path / "written").exists()


def test_what_runs_nothing_needs_no_torch(doctor: Doctor, with_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SICK)
    kept = ("--save-trace", "saved.trace", "--output-format", "json:saved.json")
    done = doctor("check", "--python", str(with_torch), *kept, "train.py")
    assert done.returncode == 1, done.stderr
    for arguments, code in {
        ("--version",): 0,
        ("rules",): 0,
        ("explain", "AD101"): 0,
        ("config", "--show"): 0,
        ("report", "saved.trace"): 1,
        ("report", "saved.json", "--output-format", "html"): 1,
        ("init", "--ci", "none"): 0,
        ("env", "--python", str(with_torch)): 0,
    }.items():
        done = doctor(*arguments)
        assert (done.returncode, done.stderr) == (code, ""), arguments
        assert done.stdout


def test_without_torch_it_is_said_what_to_do(doctor: Doctor, without_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEALTHY)
    for arguments in (["check", "train.py"], ["gradcheck", "train.py:Cube", "--input", "3"]):
        done = doctor(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: torch is not installed for {without_torch}, which runs the doctor")
        assert "--python" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    for call in ("watch()", "assert_healthy(print)", "check('train.py')"):
        program = f"import autograd_doctor\ntry: autograd_doctor.{call}\nexcept autograd_doctor.Mistake as m: print(m)"
        done = subprocess.run([str(without_torch), "-c", program], cwd=tmp_path, capture_output=True, text=True)
        assert f"torch is not installed for {without_torch}" in done.stdout, done.stderr


def test_check_in_python_takes_an_interpreter(without_torch: Path, with_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SICK)
    program = f"import autograd_doctor\nprint(autograd_doctor.check('train.py', python={str(with_torch)!r}).exit_code)"
    done = subprocess.run([str(without_torch), "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


def test_gradients_of_a_function_of_another_environment_are_judged(
    doctor: Doctor, with_torch: Path, tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(
        "import torch\nclass Cube(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x ** 3\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 2 * ctx.saved_tensors[0] ** 2\n"
    )
    done = doctor("gradcheck", "--python", str(with_torch), "ops.py:Cube", "--input", "3")
    assert done.returncode == 1, done.stderr
    assert "AD507" in done.stdout
