"""The terminal while the program runs: its output goes by above, one status line stays below."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from autograd_doctor.system import module

_fcntl, _pty, _termios, _tty = (module(name) for name in ("fcntl", "pty", "termios", "tty"))
_WIPE = b"\r\x1b[K"
_CHUNK = 1 << 16


class Screen:
    """Stands between the program and the terminal, so that the status line and the output do not tear each other.

    The program gets a pseudo-terminal in place of every standard stream that is a terminal, and prints as if it were
    alone. The status line is drawn only while the cursor is at the start of a line, and wiped before anything else is
    written: a progress bar of the program's own, which keeps the cursor, simply stays.
    """

    def __init__(self, status: Callable[[], str]) -> None:
        self._status = status
        self._master, self._slave = _pty.openpty()
        _tty.setraw(self._slave)
        self._resize()
        self.stdout = self._slave if os.isatty(1) else None
        self.stderr = self._slave
        self._at_line_start = True
        self._drawn = b""

    @staticmethod
    def is_possible() -> bool:
        """Whether standard error is a terminal that can wipe a line, and a program can be given another one."""
        if None in (_fcntl, _pty, _termios, _tty):
            return False
        with suppress(OSError):
            return os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
        return False

    def pump(self, seconds: float) -> None:
        """Pass on what the program prints for up to so many seconds, and bring the status line up to date."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self._forward(left):
            pass
        self._draw()

    def drain(self) -> None:
        """Pass on what is left, take the status line away, and end at the start of a line."""
        while self._forward(0):
            pass
        self._wipe()
        if not self._at_line_start:
            self._write(b"\r\n")
        os.close(self._slave)
        os.close(self._master)

    def _forward(self, seconds: float) -> bool:
        """Whether something was there to pass on."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            data = os.read(self._master, _CHUNK)
            self._wipe()
            self._write(data)
            self._at_line_start = data.endswith(b"\n")
        return bool(ready)

    def _draw(self) -> None:
        columns = self._resize()
        line = self._status()[: columns - 1].encode(sys.stderr.encoding or "ascii", "replace")
        if self._at_line_start and line != self._drawn:
            self._wipe()
            self._write(b"\x1b[2m" + line + b"\x1b[0m")
            self._drawn = line

    def _wipe(self) -> None:
        if self._drawn:
            self._write(_WIPE)
            self._drawn = b""

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(2, data) :]

    def _resize(self) -> int:
        """Give the program's terminal the size of the real one; returns the columns."""
        with suppress(OSError):
            _fcntl.ioctl(self._master, _termios.TIOCSWINSZ, _fcntl.ioctl(2, _termios.TIOCGWINSZ, b"\0" * 8))
        return shutil.get_terminal_size().columns
