"""What a whole check costs beside the program alone, and how it grows with operations, parameters and steps.

    python benchmarks/growth.py [--rounds 3] [--only steps]

Each row runs the same program by itself and under `doctor check`, one after the other, as often as asked for. Printed
are medians: seconds of both, what a training step costs under the doctor relative to one alone, peak memory of the
program under the doctor relative to that of it alone, the size of the trace, and the seconds that judging it takes.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from autograd_doctor import recording
from autograd_doctor.engine import judge
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.rules import all_rules

PROGRAM = """
import resource
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
operations, parameters, steps = {operations}, {parameters}, {steps}
weights = nn.ParameterList([nn.Parameter(torch.randn(8, 8) / 8) for _ in range(parameters)])
optimizer = torch.optim.SGD(weights.parameters(), lr=1e-3)
began = time.perf_counter()
for _ in range(steps):
    x = torch.randn(4, 8)
    for number in range(operations // 2):
        x = torch.tanh(x @ weights[number % parameters])
    loss = x.square().mean() + sum(weight.sum() for weight in weights[operations // 2 :]) * 0.0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("seconds", time.perf_counter() - began)
print("kilobytes", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


class Size(NamedTuple):
    """Operations in each step, parameters, and steps of a program."""

    operations: int
    parameters: int
    steps: int


TABLES = {
    "operations": [Size(n, 4, 30) for n in (10, 100, 1_000, 10_000)],
    "parameters": [Size(20, n, 30) for n in (10, 100, 1_000, 10_000)],
    "steps": [Size(20, 4, n) for n in (30, 100, 1_000, 10_000)],
}


class Run(NamedTuple):
    """Seconds of the process, seconds of its training, and its peak memory in KiB."""

    whole: float
    training: float
    memory: float


def run(command: list[str], folder: str) -> Run:
    root = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    whole = time.perf_counter() - began
    told = dict(re.findall(r"^(seconds|kilobytes) ([\d.]+)$", done.stdout + done.stderr, re.MULTILINE))
    if len(told) < 2:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return Run(whole, float(told["seconds"]), float(told["kilobytes"]))


def judging(trace: Path) -> float:
    """Seconds from a saved trace to a report."""
    rules = all_rules()
    began = time.perf_counter()
    judge(
        recording.load(trace),
        rules,
        {rule.code: rule.tunables for rule in rules},
        target=Target("script", "train.py"),
        fail_on="error",
        min_steps=1,
        outcome=Outcome(),
    )
    return time.perf_counter() - began


def row(size: Size, rounds: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(PROGRAM.format(**size._asdict()))
        trace = Path(folder, "trace")
        options = ["--seconds", "100000", "--max-seconds", "100000", "--timeout", "0", "--save-trace", str(trace)]
        alone, checked = [sys.executable, "train.py"], [sys.executable, "-m", "autograd_doctor", "check", "--isolated"]
        pairs = [(run(alone, folder), run([*checked, *options, "train.py"], folder)) for _ in range(rounds)]
        bytes_kept, judged = trace.stat().st_size, judging(trace)
    plain = statistics.median(one.whole for one, _ in pairs)
    doctor = statistics.median(two.whole for _, two in pairs)
    per_step = statistics.median(two.training / one.training for one, two in pairs)
    memory = statistics.median(two.memory / one.memory for one, two in pairs)
    sizes = "".join(f"{number:>12,}" for number in size)
    costs = f"{plain:9.2f} s{doctor:9.2f} s{per_step:9.2f}x{memory:9.2f}x"
    return f"{sizes}{costs}{bytes_kept / 2**20:9.2f} MiB{judged:8.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    options = parser.parse_args()
    head = ("operations", "parameters", "steps")
    print(
        "".join(f"{name:>12}" for name in head) + "      alone     doctor  per step    memory         trace   judging"
    )
    for name, sizes in TABLES.items():
        for size in sizes if options.only in (None, name) else ():
            print(row(size, options.rounds), flush=True)


if __name__ == "__main__":
    main()
