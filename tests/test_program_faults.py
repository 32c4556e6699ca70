"""Whatever a program does to itself: a check ends, with a report of what was seen, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.checks import Check, marked_below, soon

PROGRAM = """
import os, shutil, signal, sys, threading, time
import torch
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight], lr=0.1)
def step():
    optimizer.zero_grad()
    weight.pow(2).sum().backward()
    optimizer.step()
for _ in range(3):
    step()
open("kept.txt", "w").write("new")
torch.save(weight, "new.pt")
FAULT
"""
FAULTS = {
    "crashes": ("raise ValueError('broken')", 1),
    "exits": ("sys.exit(3)", 1),
    "exits below Python's exit": ("os._exit(3)", 1),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", 1),
    "runs out of memory": ("bytearray(1 << 60)", 1),
    "hangs": ("threading.Event().wait()", 1),
    "hangs and ignores signals": (
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
        "threading.Event().wait()",
        1,
    ),
    "deadlocks in a worker": (
        """
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, index):
                open("from_worker", "w").write("x")
                threading.Lock().acquire() and threading.Event().wait()
        next(iter(torch.utils.data.DataLoader(Data(), num_workers=2)))""",
        1,
    ),
    "closes its output": ("os.close(1); os.close(2); [step() for _ in range(9)]", 0),
    "floods its output": ("print('x' * (20 << 20))", 0),
    "prints what is no text": ("os.write(1, bytes(range(256)) * 99); os.write(2, b'\\xff\\x00')", 0),
    "swallows every exception": (
        """
        while True:
            try: step()
            except: pass""",
        0,
    ),
    "forks": ("if os.fork() == 0: os.setsid(); time.sleep(300)", 0),
    "changes signal handlers": (
        "for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_DFL)\n"
        "[step() for _ in range(9)]",
        0,
    ),
    "deletes its working folder": ("shutil.rmtree(os.getcwd()); open('/proc/self/cwd/x', 'w')", 1),
    "leaves threads running": ("threading.Thread(target=lambda: [time.sleep(0.1) for _ in iter(int, 1)]).start()", 0),
}


OPTIONS = ("--steps", "5", "--max-seconds", "3", "--timeout", "30", "--select", "AD1,AD5")


@pytest.fixture
def check(tmp_path: Path) -> Iterator[Check]:
    yield Check(tmp_path)
    for process in marked_below(tmp_path):
        os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_check_ends_with_a_report_and_leaves_nothing(check: Check, fault: str) -> None:
    source, is_at_fault = FAULTS[fault]
    options = ("--output-format", "json", *OPTIONS)
    out, errors = check.run(PROGRAM.replace("FAULT", dedent(source)), *options)
    report = json.loads(out)
    assert report["verdict"], errors
    assert report["run"]["steps"] >= 3
    assert (report["exit_code"] != 0) == bool(is_at_fault), report["verdict"]
    assert check.is_clean(), os.listdir(check.folder)
    assert soon(lambda: not marked_below(check.folder))
