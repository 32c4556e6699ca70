"""`python -m autograd_doctor.runner PLAN_FILE`: what the parent starts."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `-m` has put the working folder in front: a file of the user's there must not shadow what is imported below.
    del sys.path[0]

from pathlib import Path

import msgspec

from autograd_doctor.plan import Plan
from autograd_doctor.runner.run import run

__all__ = ["run"]


def main() -> int:
    return run(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan))


if __name__ == "__main__":
    sys.exit(main())
