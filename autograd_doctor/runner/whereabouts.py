"""Where a thread of the program is, as another thread sees it."""

from __future__ import annotations

import os
import platform
import sys
import threading

from autograd_doctor.reading.places import own_frames
from autograd_doctor.system import PROCESSES

_SLEEPS = {"x86_64": ("35", "230"), "aarch64": ("101", "115")}
"""The numbers of `nanosleep` and `clock_nanosleep` on Linux."""


def sleeps(thread: threading.Thread) -> bool:
    """Whether it waits for nothing but the time, which ends by itself; False where the system does not tell.

    `/proc/PID/task/TID/syscall` begins with the number of the system call in which a thread is blocked: proc(5).
    """
    # After a fork, Python 3.11 has the parent's `native_id` for the main thread; on Linux it is the process's own.
    task = os.getpid() if thread is threading.main_thread() else thread.native_id
    try:
        blocked_in = (PROCESSES / f"self/task/{task}/syscall").read_text().split()[0]
    except OSError:
        return False
    return blocked_in in _SLEEPS.get(platform.machine(), ())


def line_of(thread: threading.Thread) -> str:
    """The innermost line of the program that the thread is at: "/home/me/train.py:6"; empty if it is at none."""
    running = sys._current_frames().get(thread.ident or 0)
    frame = next(own_frames(running), None) if running is not None else None
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
