"""A group of processes may go while Python's lock is held: none of its threads may need it for what is ours."""

from __future__ import annotations

import threading
import time

from autograd_doctor.signals import Signals


def test_a_thread_that_keeps_the_mode_is_waited_for() -> None:
    signals = Signals(lambda owner, look, error: None)

    def hear(operation: object) -> None:
        pass

    signals.operations.began.connect(hear, owner="test")
    try:
        began = time.monotonic()
        signals.operations.await_threads()
        at_once = time.monotonic() - began
        kept = [signals.operations._mode]
        timer = threading.Timer(0.1, kept.clear)
        timer.start()
        signals.operations.await_threads()
        assert kept == []
        assert at_once < 0.05
    finally:
        signals.operations.began.disconnect(hear)
