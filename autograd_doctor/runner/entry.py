"""What the parent starts, with what names a plan as its argument."""

from __future__ import annotations

import sys

import msgspec

from autograd_doctor.handing_over import received
from autograd_doctor.plan import Plan
from autograd_doctor.runner.run import run
from autograd_doctor.system import end_with_parent


def main() -> int:
    """Run the program of the plan; returns its exit code."""
    end_with_parent()
    return run(msgspec.json.decode(received(sys.argv[1]), type=Plan))
