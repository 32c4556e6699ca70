"""Looks at values that lie on an accelerator, put off so that it is waited for once, and not for each operation.

Of each output only the largest absolute value is computed, and stays where it is. Read together, in the order of the
operations, these tell which one made the first value that is not finite. No tensor of the program is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.reading.origin import Origin
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import extent, read_together


@dataclass(eq=False, slots=True)
class Look:
    """An output: how it was made, and of what. given: what nobody has looked at, by place among those put off.

    is_mark: it writes down values that the program has thought of. moves: it only moves values, and is as finite as
    they are. low_precision: on finite numbers only the range of its dtype can fail it. parameter: the number of one
    that was written to.
    """

    made: Provenance
    inherited: Origin | None
    sources: Sequence[Provenance]
    parameters: Sequence[int]
    facts: TensorFacts
    given: Sequence[int]
    is_mark: bool
    moves: bool
    low_precision: bool | None
    parameter: int | None = None


class PutOff:
    """Looks in the order of the operations, with the extents that wait on the accelerator."""

    def __init__(self) -> None:
        self.looks: list[Look] = []
        self.facts: list[TensorFacts] = []
        self._given: dict[int, int] = {}
        self._outputs: list[torch.Tensor] = []
        self._inputs: list[torch.Tensor] = []

    def given(self, tensor: torch.Tensor, describe: Callable[[torch.Tensor], TensorFacts]) -> int:
        """The place of a tensor that nobody has looked at."""
        key = hash((id(tensor), tensor.data_ptr(), version_of(tensor)))
        if key not in self._given:
            self._given[key] = len(self._inputs)
            self._inputs.append(extent(tensor))
            self.facts.append(describe(tensor))
        return self._given[key]

    def add(self, look: Look, output: torch.Tensor) -> None:
        self.looks.append(look)
        if not look.moves:
            self._outputs.append(extent(output))

    @property
    def parts(self) -> list[torch.Tensor]:
        """The extents of all that is looked at."""
        return [*self._inputs, *self._outputs]

    def read(self) -> list[float]:
        """All in one go."""
        return read_together(self.parts)

    def judged(self, spoiled: Mapping[int, Origin], extents: Sequence[float]) -> Iterator[tuple[Look, Origin | None]]:
        """The origin of each output that is not finite, in order, so that sources are known.

        spoiled: what the program has written into parameters. extents: the values of the parts.
        """
        inputs, outputs = extents[: len(self._inputs)], iter(extents[len(self._inputs) :])
        for look in self.looks:
            look.made.origin = _known(look, spoiled) if look.moves else None
            own = 0.0 if look.moves else next(outputs)
            if not math.isfinite(own):
                came_in = next((self.facts[place] for place in look.given if not math.isfinite(inputs[place])), None)
                look.made.origin = _origin(look, came_in, spoiled, is_nan=math.isnan(own))
            yield look, look.made.origin


def _known(look: Look, spoiled: Mapping[int, Origin]) -> Origin | None:
    """The origin that has come in."""
    known = [look.inherited, *(source.origin for source in look.sources), *map(spoiled.get, look.parameters)]
    return next(filter(None, known), None)


def _origin(look: Look, came_in: TensorFacts | None, spoiled: Mapping[int, Origin], *, is_nan: bool) -> Origin | None:
    before = _known(look, spoiled)
    if before is not None and not (before.deliberate and is_nan):
        return before
    if came_in is not None:
        return Origin(None, look.made.place, came_in, (), ())
    if look.is_mark and before is None:
        return None
    written_at = before.place if before is not None else None
    return Origin(look.made.operation, look.made.place, look.facts, (), (), look.low_precision, written_at, is_nan)
