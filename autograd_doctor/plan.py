"""The plan: what the parent process asks of the child, validated in the parent and handed over as one file."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class Target(Struct, frozen=True):
    """What to run: `script` is a path as typed, `module` a dotted name (`-m`), `model` a file for model mode."""

    kind: Literal["script", "module", "model"]
    name: str
    arguments: list[str] = []


class Plan(Struct, frozen=True, kw_only=True):
    """Everything the child needs to know.

    steps: optimizer steps to watch. max_seconds: seconds of training to watch. batches_per_epoch: where each pass
    over a `DataLoader` is cut (0: never). probes: names of the probe files to install. trace, scratch: a file to
    append events to, and a folder for what the program saves. polite: redirect saves and switch trackers off.
    stdout_to_stderr: descriptor 1 is the parent's report, so the program's output goes to descriptor 2.
    model: the validated model-mode section of the configuration.
    """

    target: Target
    trace: str
    scratch: str
    probes: list[str]
    steps: int = 30
    max_seconds: float = 60.0
    batches_per_epoch: int = 10
    polite: bool = True
    stdout_to_stderr: bool = False
    model: dict[str, Any] | None = None
