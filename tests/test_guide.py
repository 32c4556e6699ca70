"""The guide and the tutorial keep their promises: programs are written and mended, commands run, screens are real."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.commands import doctor
from tests.golden_files import check_golden
from tests.harness import ROOT

DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (?P<name>[\w./-]+\.py)\n")
_EXIT_CODE = re.compile(r"  # exit code (\d+)$")
_SCREEN = re.compile(r"\$ (?P<command>.+)\n")


class Session:
    """A reader who does what the page says, in a folder of their own."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.exit_codes: list[int] = []
        (home / ".git").mkdir()
        for folder in ("sample_models", "configs"):
            (home / folder).symlink_to(ROOT / folder)
        self._home = home
        self._environment = environment

    def block(self, block: re.Match[str]) -> str:
        """The block as it should be: a screen with what its command prints now, if that differs in more than times."""
        language, text = block["language"], block["text"]
        screen = _SCREEN.match(text) if not language else None
        if named := _FILE.match(text):
            path = self._home / named["name"]
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif language == "diff":
            self._change(text)
        elif screen:
            done = self._run(screen["command"])
            printed = f"$ {screen['command']}\n{(done.stdout or done.stderr).rstrip()}\n"
            return text if _as_it_always_is(text) == _as_it_always_is(printed) else printed
        elif language == "console":
            for line in text.splitlines():
                implied = _EXIT_CODE.search(line)
                done = self._run(line)
                assert done.returncode == int(implied[1] if implied else 0), f"{line}\n{done.stdout}{done.stderr}"
        return text

    def _change(self, diff: str) -> None:
        """Replace lines of a file, named on the first one, by those that a block marks with a plus."""
        head, *lines = diff.splitlines()
        path = self._home / head.removeprefix(" # ")
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        source = path.read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{before} in {source}"
        path.write_text(source.replace(before, after), encoding="utf-8")

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        words = command.partition("  #")[0].split()[1:]
        always = {"PYTHONPATH": str(ROOT), "COLUMNS": "92", "OMP_NUM_THREADS": "1"}
        done = doctor(*words, cwd=self._home, env={**os.environ, **always, **self._environment})
        assert "Traceback" not in done.stderr
        self.exit_codes.append(done.returncode)
        return done


def _as_it_always_is(screen: str) -> str:
    """Without versions, times, the number of rules, which grows, and the ends of lines, which move with them."""
    screen = re.sub(r"\d+ (checks|more\n)", r"0 \1", screen)
    screen = re.sub(r"torch \S+ on \S+ · Python \S+", "torch · Python", screen)
    return " ".join(re.sub(r"\d+(\.\d+)? s\b|\d+\.\d+", "0.0", screen).split())


def test_the_guide(tmp_path: Path) -> None:
    _follow("guide.md", Session(tmp_path, AUTOGRAD_DOCTOR_SECONDS="0"), [1, 0, 4, 0, 0, 2, 0, 0, 0, 0])


def test_the_tutorial(tmp_path: Path) -> None:
    _follow("tutorial.md", Session(tmp_path), [1, 1, 1, 1, 0, 0])


def _follow(name: str, session: Session, exit_codes: list[int]) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    now = _BLOCK.sub(lambda block: block[0].replace(block["text"], session.block(block), 1), page)
    assert session.exit_codes == exit_codes
    check_golden(DOCS / name, now)
