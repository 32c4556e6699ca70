"""Does the wheel work by itself, in an environment that has nothing but what it asks for?

    python -m tests.wheel dist/autograd_doctor-0.1.0-py3-none-any.whl

installs it into a new environment, without torch, and calls the commands there. Programs run with the Python that runs
this script, which has torch.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = (
    *("licenses/LICENSE", "autograd_doctor/py.typed", "autograd_doctor/renderers/report.schema.json"),
    *("html_/assets/report.html", "html_/assets/report.css", "html_/assets/report.js", "html_/assets/uplot/LICENSE"),
    *("templates/autograd_doctor.yaml", "templates/github.yml", "templates/gitlab.yml"),
)
"""Of those that are no code, what is easily left out."""
COMMANDS: Mapping[tuple[str, ...], int] = {
    ("--version",): 0,
    ("rules",): 0,
    ("explain", "AD101"): 0,
    ("init",): 0,
    ("check", "train.py"): 2,
    ("check", "--python", sys.executable, "--output-format", "html:page.html", "train.py"): 1,
}
"""With the exit codes that are right."""


def main(wheel: Path) -> int:
    """0 if nothing is wrong with it."""
    wrong = [f"the wheel lacks {file}" for file in FILES if not any(name.endswith(file) for name in _names(wheel))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrong += _wrong_when_installed(wheel, folder)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return len(wrong)


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def _wrong_when_installed(wheel: Path, folder: Path) -> Iterator[str]:
    venv.EnvBuilder(symlinks=True).create(folder / "env")
    python, doctor = folder / "env" / "bin" / "python", folder / "env" / "bin" / "doctor"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True)
    (folder / "train.py").write_bytes((ROOT / "sample_models" / "gradients_pile_up.py").read_bytes())
    for arguments, code in COMMANDS.items():
        done = subprocess.run([doctor, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode != code:
            yield f"doctor {' '.join(arguments)}: exit code {done.returncode} instead of {code}\n{done.stderr}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
