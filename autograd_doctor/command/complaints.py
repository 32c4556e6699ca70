"""What a person reads of a mistake: one line on standard error, and what is worth showing below it."""

from __future__ import annotations

import os
import sys

from autograd_doctor.mistakes import Mistake


def complain(mistake: Mistake) -> None:
    """Say what is wrong."""
    from autograd_doctor.command.outputs import colored

    red, plain = ("\x1b[1;31m", "\x1b[0m") if colored("auto", sys.stderr, os.environ) else ("", "")
    print(f"{red}error{plain}: {mistake}", file=sys.stderr)
    if mistake.detail:
        print(mistake.detail, file=sys.stderr)
