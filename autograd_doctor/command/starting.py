"""`doctor init`: settings to change and a workflow for CI, written once and never over anything."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

from autograd_doctor import config_file
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.settings.model_file import look
from autograd_doctor.target import nearest_script
from autograd_doctor.wording import plural

CI = Literal["github", "gitlab", "none"]
WORKFLOWS: Mapping[str, str] = {"github": ".github/workflows/doctor.yml", "gitlab": ".gitlab/doctor.yml"}
SETTINGS = config_file.NAMES[0]

_NO_TARGETS = "#targets: []\n"
"""The line of the settings whose place the targets take."""
_TEMPLATES = Path(__file__).parent / "templates"
_DISTRIBUTION = "autograd-doctor"
_REQUIREMENTS = {
    "requirements.txt": "python -m pip install -r requirements.txt",
    "pyproject.toml": "python -m pip install .",
}


def start(folder: Path, script: str, ci: str) -> str:
    """Write the files for a project; returns what to say of them. Raises `Mistake` before anything is written."""
    if ci not in (*WORKFLOWS, "none"):
        known = ", ".join(f"`{name}`" for name in (*WORKFLOWS, "none"))
        raise Mistake(f"--ci: expected one of {known}, found `{ci}`{nearest(ci, [*WORKFLOWS, 'none'])}")
    if script and not (folder / script).exists():
        raise Mistake(f"{script}: no such file{nearest_script(folder / script)}")
    _check_settings(folder)
    programs = [script] if script else list(candidates(folder))
    files = {SETTINGS: settings(programs)}
    if ci in WORKFLOWS:
        files[WORKFLOWS[ci]] = workflow(folder, ci, requirement())
    for name in files:
        if (folder / name).exists():
            raise Mistake(f"{name}: already exists; nothing was written")
    for name, text in files.items():
        _write(folder / name, text)
    return "\n".join(_said(folder, list(files), ci, programs)) + "\n"


def candidates(folder: Path) -> Iterator[str]:
    """The files of a folder that import torch and do something when they are run."""
    for path in sorted(folder.glob("*.py")):
        try:
            program = look(str(path))
        except Mistake:
            continue
        if not program.only_defines and _imports_torch(path):
            yield path.name


def settings(programs: Sequence[str]) -> str:
    """The settings with every key explained, in which these programs are the targets."""
    text = (_TEMPLATES / SETTINGS).read_text(encoding="utf-8")
    rows = [f"  - {{script: {json.dumps(program, ensure_ascii=False)}, arguments: []}}\n" for program in programs]
    return text.replace(_NO_TARGETS, f"targets:\n{''.join(rows)}") if rows else text


def workflow(folder: Path, ci: str, doctor: str) -> str:
    """The workflow of a CI service, as far as it can be filled in."""
    file = next((name for name in _REQUIREMENTS if _installs(folder / name)), "")
    install = _REQUIREMENTS.get(file, 'echo "nothing to install, as far as is known"')
    text = (_TEMPLATES / f"{ci}.yml").read_text(encoding="utf-8")
    values = {
        "SETTINGS": SETTINGS,
        "DOCTOR": _quoted(doctor),
        "REQUIREMENTS": install,
        "DEPENDENCIES": file or WORKFLOWS[ci],
    }
    for name, value in values.items():
        text = text.replace(f"%{name}%", value)
    return text


def requirement() -> str:
    """What pip would install this very doctor from elsewhere, empty if that is not known."""
    try:
        installed = metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return ""
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if not origin:
        return f"{_DISTRIBUTION}=={installed.version}"
    revision = origin.get("vcs_info", {})
    return f"{_DISTRIBUTION} @ {revision['vcs']}+{origin['url']}@{revision['commit_id']}" if revision else ""


def _check_settings(folder: Path) -> None:
    there = config_file.in_folder(folder)
    if there is not None:
        raise Mistake(f"{there.name}: already has settings; nothing was written")


def _imports_torch(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if any(name.partition(".")[0] == "torch" for name in names):
            return True
    return False


def _installs(file: Path) -> bool:
    if not file.is_file():
        return False
    return file.name != config_file.PYPROJECT or "project" in config_file.parse_toml(file)


def _quoted(text: str) -> str:
    """Inside the double quotes of YAML."""
    return json.dumps(text)[1:-1]


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except OSError as error:
        raise Mistake(f"{file}: cannot be written: {error.strerror}") from None


# --------------------------------------------------------------------------------------------------- what to do next


def _said(folder: Path, files: list[str], ci: str, programs: list[str]) -> Iterator[str]:
    for name in files:
        yield f"wrote {name}"
    yield "next"
    if programs:
        found = programs[0] if len(programs) == 1 else f"these {plural(len(programs), 'program')}"
        yield f"  write under `targets` in {SETTINGS} which arguments {found} need"
    else:
        yield f"  write under `targets` in {SETTINGS} what to check"
    yield "  doctor check"
    yield "  doctor check --write-baseline   to accept current findings and fail on new ones"
    if ci not in WORKFLOWS:
        return
    if not requirement():
        yield f"  say in {WORKFLOWS[ci]} where pip can find the doctor (DOCTOR): it was installed from a folder"
    if ci == "gitlab":
        yield f"  add `include: [{{local: {WORKFLOWS[ci]}}}]` to .gitlab-ci.yml"
    if not (folder / ".git").exists():
        top = WORKFLOWS[ci].partition("/")[0]
        yield f"  {top}/ must be in the root of your repository, and this folder is not the root: move it there"
