"""Does the suite pass with other releases of torch?

    python -m tests.versions 2.4.1 2.15.0 -- tests/instruments tests/test_examples.py

makes an environment for each release (kept in `.ci/`, 3 to 6 GB each) with this project and the frameworks that run
with it, calls pytest with what follows `--`, or the whole suite, and says at the end what came of each. Without
releases: the oldest that is supported, the pinned and the newest. `--python python3.13` takes another Python.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_RELEASES = ("2.4.1", "2.13.0", "2.15.0")
_TOOLS = ("hypothesis", "jsonschema", "numpy>=2", "pytest", "pytest-xdist", "selenium", "xmlschema")
_FRAMEWORKS = ("accelerate", "lightning", "transformers")
_FRAMEWORKS_BEFORE = {(2, 7): ("accelerate<1.12", "lightning<2.6", "transformers<4.54")}
"""The last that were made for a torch older than this."""


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description="The suite with other releases.")
    parser.add_argument("releases", nargs="*", default=_RELEASES)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args(arguments[:at])
    outcomes = {release: _outcome(asked.python, release, arguments[at + 1 :]) for release in asked.releases}
    print(*(f"torch {release}: {outcome}" for release, outcome in outcomes.items()), sep="\n")
    return int(any(outcome != "passed" for outcome in outcomes.values()))


def _outcome(python: str, release: str, tests: list[str]) -> str:
    folder = ROOT / ".ci" / f"torch-{release}-{Path(python).name}"
    own = folder / "bin" / "python"
    print(f"== torch {release}", flush=True)
    try:
        if not own.exists():
            subprocess.run([python, "-m", "venv", folder], check=True)
        wanted = [f"torch=={release}", *_TOOLS, *_frameworks(release), "-e", str(ROOT)]
        subprocess.run([own, "-m", "pip", "install", "--quiet", *wanted], check=True)
    except subprocess.CalledProcessError:
        return "could not be installed"
    return "passed" if subprocess.run([own, "-m", "pytest", *tests], cwd=ROOT).returncode == 0 else "failed"


def _frameworks(release: str) -> tuple[str, ...]:
    number = tuple(int(part) for part in release.split("+")[0].split(".")[:2])
    return next((names for first, names in _FRAMEWORKS_BEFORE.items() if number < first), _FRAMEWORKS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
