"""The picture of the HTML page in README: the report on the program of the tutorial, as it is before it is mended.

    python -m tests.page_picture

writes `docs/images/page.png`. It needs Chromium (`apt-get install chromium`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.harness import ROOT

PICTURE = ROOT / "docs" / "images" / "page.png"
_SIZE = "1200,1160"


def main() -> int:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium was found", file=sys.stderr)
        return 2
    program = re.search(r"^```python\n(# train\.py\n.*?)^```$", _tutorial(), re.MULTILINE | re.DOTALL)
    assert program is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(program[1], encoding="utf-8")
        check = [sys.executable, "-m", "autograd_doctor", "check", "--isolated", "--output-format", "html:report.html"]
        subprocess.run([*check, "train.py"], cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=False)
        flags = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        )
        PICTURE.parent.mkdir(exist_ok=True)
        shot = [browser, *flags, f"--window-size={_SIZE}", f"--screenshot={PICTURE}", f"file://{folder}/report.html"]
        subprocess.run(shot, check=True, capture_output=True)
    print(PICTURE.relative_to(ROOT))
    return 0


def _tutorial() -> str:
    return (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
