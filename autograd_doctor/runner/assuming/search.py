"""Finding inputs that a model takes: a guess is tried, and what failed says what to try next."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from torch import nn
from torch.nn.parameter import is_lazy

from autograd_doctor.clock import CLOCK
from autograd_doctor.runner.assuming.corrections import corrections
from autograd_doctor.runner.assuming.guess import BATCH, LENGTH, SIDES, Guess, Guesses, changed
from autograd_doctor.runner.assuming.leaves import SEQUENCES, taken_in, vocabulary
from autograd_doctor.runner.assuming.trial import Bench, Call, Result

_TRIALS = 400
_EVERY = 4
"""Trials, of which one is not the most promising but the oldest, so that none waits for ever."""
_SECONDS = 15.0
_FIRST_LEAVES = 6
"""Layers in the order of registration that an input may go to first."""
_NEAR = 0.2
"""Of the side of an image, up to which a usual one is taken for what was meant."""
_ANYTHING = (Guess((8,)), Guess((3, 32, 32)), Guess((LENGTH,), 10), Guess(()), Guess((LENGTH, 8)))


class Found:
    """Inputs that a model takes, and what it did with them; or how far the best of those that it does not take came."""

    def __init__(self, guesses: Guesses, result: Result) -> None:
        self.guesses = guesses
        self.result = result

    @property
    def works(self) -> bool:
        return self.result.error is None


class _Waiting:
    """Guesses to try: those that follow from the one that came furthest, and in between those that wait longest."""

    def __init__(self) -> None:
        self._order = count()
        self._best: list[tuple[int, int, int, Guesses]] = []
        self._oldest: deque[Guesses] = deque()
        self._taken: set[Guesses] = set()

    def add(self, several: Iterable[Guesses], progress: tuple[int, int] = (-1, 0)) -> None:
        modules, operations = progress
        for guesses in several:
            if guesses not in self._taken and all(guess.is_possible for _, guess in guesses):
                heapq.heappush(self._best, (-modules, -operations, next(self._order), guesses))
                self._oldest.append(guesses)

    def next(self) -> Guesses | None:
        """None when all have been tried, or enough of them."""
        while self._best and self._oldest and len(self._taken) < _TRIALS:
            in_turn = len(self._taken) % _EVERY == _EVERY - 1
            guesses = self._oldest.popleft() if in_turn else heapq.heappop(self._best)[3]
            if guesses not in self._taken:
                self._taken.add(guesses)
                return guesses
        return None


def search(model: nn.Module, bench: Bench, names: dict[str, str], first: Iterable[Guesses] = ()) -> Found:
    """The first guess that the model takes; those that came far are corrected first.

    names: the parameters, each with the keyword under which it is passed, "" by position. first: what is tried first.
    """
    began, waiting = CLOCK.monotonic(), _Waiting()
    best: Found | None = None
    waiting.add(first)
    waiting.add(_beginnings(model, names))
    while (guesses := waiting.next()) and CLOCK.monotonic() - began < _SECONDS:
        result = bench.tried(guesses)
        if best is None or result.error is None or result.progress > best.result.progress:
            best = Found(guesses, result)
        if result.error is None:
            return _settled(bench, best)
        waiting.add(corrections(guesses, result), result.progress)
    return best or Found((), Result(error=TypeError("it takes no inputs")))


def _beginnings(model: nn.Module, names: dict[str, str]) -> Iterator[Guesses]:
    """What the first modules take in; then shapes of the model's own parameters; then anything."""
    leaves = [part for part in model.modules() if next(taken_in(part), None)]
    firsts = [guess for part in leaves[:_FIRST_LEAVES] for guess in list(taken_in(part))[:2]]
    known = [value for value in model.parameters() if not is_lazy(value)]
    own = [Guess((size,)) for value in known for size in value.shape[:2] if value.dim() > 1]
    for guess in dict.fromkeys([*firsts, *own[:_FIRST_LEAVES], *_ANYTHING]):
        yield tuple((name, replace(guess, name=keyword)) for name, keyword in names.items())


def _settled(bench: Bench, found: Found) -> Found:
    """With indices that every table has, images of a usual size, and the batch where sequences have it."""
    for refined in (_within_tables, _of_usual_size, _turned):
        for guesses in refined(found):
            result = bench.tried(guesses) if guesses != found.guesses else found.result
            if result.error is None:
                found = Found(guesses, result)
                break
    return found


def _within_tables(found: Found) -> Iterator[Guesses]:
    guesses = found.guesses
    for name, guess in guesses:
        sizes = [
            vocabulary(call.module)
            for call in found.result.calls
            if vocabulary(call.module) and guess.classes and call.origins[:1] == [frozenset([name])]
        ]
        if sizes:
            guesses = changed(guesses, name, replace(guess, classes=min(sizes)))
    yield guesses


def _of_usual_size(found: Found) -> Iterator[Guesses]:
    """Images whose side was computed: the nearest usual one, if the model takes it as well."""
    sides = {guess.shape[-1] for _, guess in found.guesses if len(guess.shape) == 3 and _is_square(guess)}
    if sides <= set(SIDES):
        return
    for side in sorted(SIDES, key=lambda each: abs(each - max(sides))):
        if abs(side - max(sides)) <= _NEAR * max(sides):
            yield tuple(
                (name, guess.with_shape(guess.shape[0], side, side) if _is_square(guess) else guess)
                for name, guess in found.guesses
            )


def _is_square(guess: Guess) -> bool:
    return len(guess.shape) == 3 and guess.shape[1] == guess.shape[2]


def _turned(found: Found) -> Iterator[Guesses]:
    """Where a sequence module got the batch on its first axis and takes it on the second, inputs have it there."""
    turned = {name for call in found.result.calls if _is_crossed(call) for name in call.origins[0]}
    yield tuple(
        (name, replace(guess, batch_axis=1) if name in turned and len(guess.shape) > 0 else guess)
        for name, guess in found.guesses
    )


def _is_crossed(call: Call) -> bool:
    if not isinstance(call.module, SEQUENCES) or not call.shapes:
        return False
    first = getattr(call.module, "batch_first", None)
    if first is None:
        first = call.module.self_attn.batch_first  # type: ignore[union-attr]
    return not first and len(call.shapes[0]) == 3 and call.shapes[0][0] == BATCH != call.shapes[0][1]
