"""Log-probabilities of choices that a program computes of scores itself, what it draws by them, and their entropy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from autograd_doctor.operations import ADDING, MULTIPLICATIONS, PICKS, REARRANGEMENTS
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals.operations import Operation

_EPSILON = 1e-3
"""What keeps a logarithm finite is no more."""
_SAME = frozenset({"clone", "contiguous", "data", "detach"})
NAMES = frozenset({"exp", "log", "log_softmax", "multinomial", "softmax"}) | _SAME | ADDING | MULTIPLICATIONS | PICKS
What = Literal["log", "probability", "draw"]
_TURNED: dict[tuple[What, str], What] = {
    ("log", "exp"): "probability",
    ("probability", "log"): "log",
    ("probability", "multinomial"): "draw",
}


@dataclass(frozen=True)
class Known:
    """What a tensor holds, of the choices among scores that have this number."""

    what: What
    scores: int


class LogProbabilities:
    """What came of scores by a softmax: `note` tells of what is left as it was, `score_in` and `entropy_in` of more."""

    def __init__(self, table: Callable[[], ValueTable[Any]]) -> None:
        self._scores: ValueTable[int] = table()
        self._known: ValueTable[Known] = table()
        self._count = 0

    def note(self, operation: Operation) -> None:
        name, args, result = operation.name, operation.args, operation.result
        if not args or not isinstance(args[0], torch.Tensor) or not isinstance(result, torch.Tensor):
            return
        if name in ("softmax", "log_softmax"):
            self._known.put(result, Known("log" if name == "log_softmax" else "probability", self._number(args[0])))
            return
        known = self._known.get(args[0])
        if known is None:
            return
        turned = _TURNED.get((known.what, name))
        if name in _SAME or (known.what == "draw" and name in REARRANGEMENTS) or _adds_little(name, args):
            turned = known.what
        if turned is not None:
            self._known.put(result, Known(turned, known.scores))

    def score_in(self, operation: Operation) -> int | None:
        """The scores of which it picks the log-probabilities of what was drawn by them."""
        if operation.name not in PICKS or not operation.args:
            return None
        known = self._of(operation.args[0])
        drawn = [self._known.get(index) for index in tensors_in(operation.args[1:], nesting=2)]
        is_own = known is not None and known.what == "log" and Known("draw", known.scores) in drawn
        return known.scores if known is not None and is_own else None

    def entropy_in(self, operation: Operation) -> int | None:
        """The scores of which it multiplies each probability with its logarithm: minus an entropy, once added up."""
        if operation.name not in MULTIPLICATIONS or len(operation.args) != 2:
            return None
        both = [self._of(each) for each in operation.args if isinstance(each, torch.Tensor) and each.requires_grad]
        found = [each for each in both if each is not None]
        is_one = len(found) == 2 and found[0].scores == found[1].scores
        return found[0].scores if is_one and {each.what for each in found} == {"log", "probability"} else None

    def _of(self, tensor: object) -> Known | None:
        return self._known.get(tensor) if isinstance(tensor, torch.Tensor) else None

    def _number(self, scores: torch.Tensor) -> int:
        number = self._scores.get(scores)
        if number is None:
            self._count += 1
            number = -self._count
            self._scores.put(scores, number)
        return number


def _adds_little(name: str, args: Sequence[Any]) -> bool:
    return name in ADDING and len(args) == 2 and type(args[1]) in (int, float) and abs(args[1]) <= _EPSILON
