"""The guide keeps its promises: programs are written and commands run, in order, and its screens are real ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from golden_files import check_golden
from harness import PATIENCE, ROOT

PAGE = ROOT / "docs" / "guide.md"
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (?P<name>[\w./-]+\.py)\n")
_EXIT_CODE = re.compile(r"  # exit code (\d+)$")
_SCREEN = re.compile(r"\$ (?P<command>.+)\n")


class Session:
    """A reader who does what the page says, in a folder of their own."""

    def __init__(self, home: Path) -> None:
        self.ran: list[str] = []
        self.exit_codes: list[int] = []
        self._home = home

    def block(self, block: re.Match[str]) -> str:
        """The block as it should be: a screen with what its command prints now, if that differs in more than times."""
        language, text = block["language"], block["text"]
        screen = _SCREEN.match(text)
        if named := _FILE.match(text):
            path = self._home / named["name"]
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif screen:
            printed = f"$ {screen['command']}\n{self._run(screen['command']).stdout.rstrip()}\n"
            return text if _without_what_varies(text) == _without_what_varies(printed) else printed
        elif language == "console":
            for line in text.splitlines():
                implied = _EXIT_CODE.search(line)
                done = self._run(line)
                assert done.returncode == int(implied[1] if implied else 0), f"{line}\n{done.stdout}{done.stderr}"
        return text

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        words = command.partition("  #")[0].split()[1:]
        done = subprocess.run(
            [sys.executable, "-m", "autograd_doctor", *words],
            cwd=self._home,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "AUTOGRAD_DOCTOR_SECONDS": "0",
                "COLUMNS": "92",
                "OMP_NUM_THREADS": "1",
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert "Traceback" not in done.stderr
        self.ran.append(command)
        self.exit_codes.append(done.returncode)
        return done


def _without_what_varies(screen: str) -> str:
    """Without versions and times, and without the number of rules, which grows."""
    screen = re.sub(r"\d+ (checks|more\n)", r"0 \1", screen)
    screen = re.sub(r"torch \S+ on \S+ · Python \S+", "torch · Python", screen)
    return re.sub(r"\d+\.\d+", "0.0", screen)


def test_the_session_of_the_guide(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    session = Session(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    now = _BLOCK.sub(lambda block: block[0].replace(block["text"], session.block(block), 1), page)
    assert session.exit_codes[:3] == [1, 0, 4]
    assert len(session.ran) == 6
    check_golden(PAGE, now)
