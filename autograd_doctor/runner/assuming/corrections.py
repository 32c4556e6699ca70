"""What to try next where a guess failed: read off the module that refused, or the numbers in PyTorch's complaint."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, zip_longest

from torch import nn

from autograd_doctor.runner.assuming.guess import BATCH, LENGTH, LENGTHS, SIDES, Guess, Guesses, changed
from autograd_doctor.runner.assuming.leaves import COLOURS, channels, taken_in, vocabulary, width
from autograd_doctor.runner.assuming.trial import Call, Result

_TIMES = 1000
"""Numbers of steps, such as those of a diffusion, that no table bounds."""
_FEW_SIDES = 10
"""Of those that models are made for, to be tried one after the other; the larger ones take long."""


def corrections(guesses: Guesses, result: Result) -> Iterator[Guesses]:
    """Guesses that differ in one input, or in all alike, the most likely first."""
    concerned = _concerned(guesses, result)
    by_input = [
        [changed(guesses, name, replace(better, name=guess.name)) for better in _better(guess, result)]
        for name, guess in guesses
        if name in concerned
    ]
    yield from (better for in_turn in zip_longest(*by_input) for better in in_turn if better is not None)
    if len(guesses) > 1:
        yield from _by_what_others_are(guesses)


def _concerned(guesses: Guesses, result: Result) -> list[str]:
    """The inputs that the module or function which failed had to do with; all where none did."""
    call = result.failed_in
    known = frozenset().union(*call.origins) if call and call.origins else result.refused
    return [name for name, _ in guesses if name in known] or [name for name, _ in guesses]


def _better(guess: Guess, result: Result) -> Iterator[Guess]:
    call = result.failed_in
    if call is not None and call.shapes:
        yield from _for_module(guess, call)
    yield from _by_complaint(guess, str(result.error))
    yield from _other_sizes(guess)
    yield from _other_kinds(guess)


# ------------------------------------------------------------------------------------------------- a module refused


def _for_module(guess: Guess, call: Call) -> Iterator[Guess]:
    got, module = call.shapes[0], call.module
    as_given = got == (BATCH, *guess.shape)
    if as_given:
        yield from _as_the_module_takes_it(guess, module)
    elif vocabulary(module):
        yield replace(guess, classes=vocabulary(module))
    elif width(module):
        yield from _for_width(guess, got[-1] if got else 1, width(module))
    elif channels(module)[0]:
        yield from _for_channels(guess, got, *channels(module))
    for index, shape in enumerate(call.shapes[1:], start=1):
        yield from _for_further(guess, call, index, shape)


def _as_the_module_takes_it(guess: Guess, module: nn.Module) -> Iterator[Guess]:
    classes = vocabulary(module)
    if classes and len(guess.shape) < 2:
        yield replace(guess, classes=classes)
    yield from taken_in(module)
    if classes:
        yield replace(guess, classes=classes)
    if wanted := width(module):
        yield guess.with_shape(*guess.shape[:-1], wanted)
    if isinstance(module, nn.Bilinear):
        yield Guess((module.in2_features,))


def _for_width(guess: Guess, got: int, wanted: int) -> Iterator[Guess]:
    """The last axis of what a module got has another length than it takes: the input had another shape."""
    shape = guess.shape
    if len(shape) >= 3:
        yield from _of_another_side(guess, got, wanted)
    if shape:
        yield guess.with_shape(*shape[:-1], shape[-1] + wanted - got)
        if shape[-1] * wanted % max(got, 1) == 0:
            yield guess.with_shape(*shape[:-1], shape[-1] * wanted // max(got, 1))
        yield guess.with_shape(*shape[:-1], wanted)
        yield guess.with_shape(wanted, *shape[1:])
    yield Guess((wanted,))
    yield Guess((LENGTH, wanted))


def _of_another_side(guess: Guess, got: int, wanted: int) -> Iterator[Guess]:
    """An image whose features, flattened, are as many as wanted: their number goes with the area."""
    axes = len(guess.shape) - 1
    side = guess.shape[-1] * (wanted / max(got, 1)) ** (1 / axes)
    near = round(side)
    usual = sorted(SIDES, key=lambda each: abs(each - side))[:3]
    for each in dict.fromkeys([*usual, near, *(near + by for by in (1, -1, 2, -2, 3, -3, 4, -4, 6, 8, -6, -8))]):
        yield guess.with_shape(guess.shape[0], *[each] * axes)


def _for_channels(guess: Guess, got: tuple[int, ...], wanted: int, axes: int) -> Iterator[Guess]:
    """The input was turned or gained an axis on its way to a convolution."""
    shape = guess.shape
    side = SIDES[0] if axes == 2 else LENGTHS[1]
    yield guess.with_shape(*[side] * axes, wanted)
    yield guess.with_shape(wanted, *[side] * axes)
    if len(got) > 1 and got[1] in shape:
        place = shape.index(got[1])
        yield guess.with_shape(*shape[:place], wanted, *shape[place + 1 :])
    if len(got) > 1 and shape and shape[0] + wanted - got[1] > 0:
        yield guess.with_shape(shape[0] + wanted - got[1], *shape[1:])
    if len(shape) >= 3:
        yield guess.with_shape(min(COLOURS, wanted), *shape[1:])
    if wanted == 1:
        yield guess.with_shape(*[side] * axes)
    yield guess.with_shape(LENGTH, wanted, *[side] * axes)


def _for_further(guess: Guess, call: Call, index: int, shape: tuple[int, ...]) -> Iterator[Guess]:
    """The second thing that a module takes: a state, another operand, keys and values."""
    if isinstance(call.module, nn.Bilinear):
        yield Guess((call.module.in2_features,))
    if isinstance(call.module, nn.RNNBase) and len(call.shapes) == index + 1:
        layers = call.module.num_layers * (2 if call.module.bidirectional else 1)
        yield Guess((layers, call.module.hidden_size), batch_axis=1)
    if isinstance(call.module, nn.RNNCellBase):
        yield Guess((call.module.hidden_size,))
    if isinstance(call.module, nn.MultiheadAttention):
        yield Guess((LENGTH, (call.module.kdim, call.module.vdim)[index == 2]))


# --------------------------------------------------------------------------------------- numbers in the complaint


_AXES = re.compile(r"to unpack \(expected (\d+)")
_NUMBERS = re.compile(r"(?<![\w.])\d+")


def _by_complaint(guess: Guess, said: str) -> Iterator[Guess]:
    if axes := _AXES.search(said):
        yield from _with_axes(guess, int(axes[1]))
    numbers = [int(number) for number in _NUMBERS.findall(said)][:8]
    numbers += [int(part) for pair in re.findall(r"\b(\d+)x(\d+)\b", said) for part in pair]
    differences = [(one, other) for one, other in pairwise(numbers) if one != other]
    for one, other in differences:
        yield from _instead(guess, one, other)
        yield from _instead(guess, other, one)


def _with_axes(guess: Guess, axes: int) -> Iterator[Guess]:
    """As many axes, that of the batch included, as the program takes apart; or as many things along the first."""
    shape, missing = guess.shape, axes - 1 - len(guess.shape)
    if missing > 0:
        yield guess.with_shape(*[LENGTH] * missing, *shape)
        yield guess.with_shape(*shape[:1], *[shape[-1] if shape else SIDES[0]] * missing, *shape[1:])
    elif missing < 0:
        yield guess.with_shape(*shape[-missing:])
        yield guess.with_shape(*shape[: axes - 1])
    yield replace(guess, shape=(axes, *shape), batch_axis=None)
    yield Guess((axes, 2 * LENGTH), classes=BATCH, batch_axis=None)


def _instead(guess: Guess, one: int, other: int) -> Iterator[Guess]:
    """The length of an axis gave `one`, and `other` was wanted: it may go with the length, its square, or a part."""
    shape = guess.shape
    for place in range(len(shape)):
        size = shape[place]
        sizes = [other if size == one else 0, size + other - one]
        sizes += [size * other // one] if one and size * other % one == 0 else []
        for better in sizes:
            if better != size:
                yield guess.with_shape(*shape[:place], better, *shape[place + 1 :])
    if len(shape) == 3 and one > 1 and other > 1:
        for less in (0, 1):
            if one > less and other > less:
                side = round(shape[-1] * math.sqrt((other - less) / (one - less)))
                yield guess.with_shape(shape[0], side, side)


# ------------------------------------------------------------------------------------------------- other guesses


def _other_sizes(guess: Guess) -> Iterator[Guess]:
    shape = guess.shape
    if len(shape) >= 3:
        for side in SIDES[:_FEW_SIDES]:
            yield guess.with_shape(shape[0], *[side] * (len(shape) - 1))
    elif len(shape) == 2 or guess.classes:
        for length in LENGTHS:
            if len(shape) == 2:
                yield guess.with_shape(shape[0], length)
                yield guess.with_shape(length, shape[1])
            elif len(shape) == 1:
                yield guess.with_shape(length)


def _other_kinds(guess: Guess) -> Iterator[Guess]:
    """Whole numbers for floating-point ones, one number for each sample, a longer sequence, the axes turned."""
    if not guess.classes:
        yield replace(guess, classes=2)
        yield Guess((), _TIMES)
    yield Guess(())
    yield Guess((1,))
    if len(guess.shape) > 1:
        yield guess.with_shape(guess.shape[0])
    if len(guess.shape) == 1:
        yield guess.with_shape(LENGTH, *guess.shape)
    if len(guess.shape) == 2:
        yield guess.with_shape(guess.shape[1], guess.shape[0])


def _by_what_others_are(guesses: Guesses) -> Iterator[Guesses]:
    """One input like another; a single number for each sample; a square as long as another is: what goes with it."""
    for name, guess in guesses:
        for other, pattern in guesses:
            if other == name:
                continue
            yield changed(guesses, name, replace(pattern, name=guess.name))
            for each in (Guess(()), Guess((), _TIMES), Guess((1,))):
                yield changed(guesses, name, replace(each, name=guess.name))
            if pattern.shape:
                along = pattern.shape[-2] if len(pattern.shape) > 1 else pattern.shape[-1]
                yield changed(guesses, name, Guess((along, along), name=guess.name))
            yield changed(guesses, name, Guess((BATCH,), name=guess.name))
            yield changed(guesses, name, Guess((2, 2 * LENGTH), classes=BATCH, batch_axis=None, name=guess.name))
            sequence = Guess((LENGTH, *pattern.shape[-1:]), pattern.classes, name=pattern.name)
            yield changed(changed(guesses, other, sequence), name, Guess((LENGTH, LENGTH), name=guess.name))
