"""How numbers, tensors and errors are put into words, the same in every rule."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograd_doctor.events.facts import TensorFacts

_LONGEST_ERROR = 200
_NODE = re.compile(r"Backward\d*$")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def in_bytes(count: float) -> str:
    """A number of bytes as people read it: "1.5 MiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"


def shape(sizes: Sequence[int]) -> str:
    """A shape as torch prints it, "(16, 8)"."""
    return str(tuple(sizes))


def tensor(facts: TensorFacts) -> str:
    """A tensor by name, origin, shape and dtype: "`hidden` (from `tanh`, shape (16, 8), float32)"."""
    known = [f"from `{operation(facts)}`"] if facts.operation else []
    known += [f"shape {shape(facts.shape)}", *([facts.dtype] if facts.dtype else [])]
    known += [facts.device] if facts.device != "cpu" else []
    return f"{f'`{facts.name}`' if facts.name else 'a tensor'} ({', '.join(known)})"


def operation(facts: TensorFacts) -> str:
    """The operation that made a tensor; the name of a graph node ("MseLossBackward0") becomes the operation's."""
    name = facts.operation
    return _HUMP.sub("_", _NODE.sub("", name)).lower() if _NODE.search(name) else name


def plural(count: int, noun: str) -> str:
    """ "1 step", "2 steps", "1,024 batches"."""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith(('tch', 's', 'x')) else 's'}"


def value_range(facts: TensorFacts) -> str:
    """The range of a tensor's finite values: "0 to 9"."""
    return "unknown" if facts.low is None or facts.high is None else f"{facts.low:g} to {facts.high:g}"


def values(facts: TensorFacts) -> str:
    """The range as a tensor's description: "values 0 to 9", or "value 0.5" where all are the same."""
    return (
        f"value {facts.low:g}" if facts.low is not None and facts.low == facts.high else f"values {value_range(facts)}"
    )


def first_line(error: str) -> str:
    """The first line of an error, without colours, cut to a readable length."""
    line = _COLOUR.sub("", error).strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_ERROR else line[: _LONGEST_ERROR - 1] + "…"
