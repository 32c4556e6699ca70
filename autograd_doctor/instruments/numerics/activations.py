"""Activations that have stopped to react: units of rectifiers that nothing activates, functions at their limits."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import SaturationMeasured, UnitsCounted
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns, GradientsSeen
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.operations import ADDING, DIFFERENCES
from autograd_doctor.reading.layers import before_layers
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.squashing import (
    RECTIFIERS,
    SQUASHERS,
    active_units,
    certain_rows,
    flatness,
    is_rectifier,
    is_sharpened,
    weights_before,
)
from autograd_doctor.reading.tensor_facts import read_together, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

LAST_LOOKS = 3
"""Looks in a row in which a unit must not be active to count as lost: steps of a sample each."""
_FEW_UNITS = 4
"""Fewer are no layer: a score behind a ReLU, as in a hinge loss, may well be zero for a while."""
_FLAT_SHARE = 0.5
"""A function of which less is flat is not followed any further."""
_MOST_LOOKS = 20
"""Steps in which one is followed at most: what is flat in all of them is so for long."""
_MOST_FIXED = 2**20
"""Numbers of a term that nothing learns, to see what it does alone."""
_MASKS = frozenset({"masked_fill", "masked_fill_", "where"})
_MOST_PLACES = 1000
"""Activations to follow: more than the deepest models have."""

Key = tuple[Place | None, str, tuple[int, ...]]


@dataclass(eq=False)
class _Rectifier:
    """active_in: for each unit the last look in which it was active, 0 for none. told: silent and lost, as stated.

    feeds: whether a layer takes in what it gives out. A limit, as `relu(x - 3)` in a loss, rests while all is well.
    """

    active_in: torch.Tensor
    looks: int = 0
    samples: deque[int] = field(default_factory=lambda: deque(maxlen=LAST_LOOKS))
    step: int = -1
    told: tuple[int, int] = (0, 0)
    feeds: bool = False

    def counts(self) -> torch.Tensor:
        """How many units were never active, and how many were, but in none of the last looks."""
        never = self.active_in == 0
        return torch.stack([never.sum(), (~never & (self.active_in <= self.looks - LAST_LOOKS)).sum()])


@dataclass(eq=False)
class _Squasher:
    """counts: of flat values, of those at the lower limit, and of all, in the present step. ranges: of what went in.

    shares: of flat values in each step so far. at_low, all_flat: sums over these steps. flat: most were in all of them;
    that they are no longer is the last thing to be said.
    """

    counts: list[torch.Tensor] = field(default_factory=list)
    ranges: list[torch.Tensor] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    at_low: float = 0.0
    all_flat: float = 0.0
    flat: bool = True

    def summed(self) -> torch.Tensor:
        """Counts and range over all calls of the present step."""
        lows, highs = torch.stack(self.ranges).double().unbind(1)
        return torch.cat([torch.stack(self.counts).sum(0).double(), torch.stack([lows.min(), highs.max()])])


class Activations(Instrument):
    """Looks at activations in the forwards of training, in steps that are looked at closely.

    A layer is told by the weights in front of its activation, because a whole model may run at one line. What was found
    in a step is read from its device in one go when the step is over.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (UnitsCounted, SaturationMeasured)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        parameters: Parameters,
        lineage: Lineage,
        backward_runs: BackwardRuns,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._lineage = lineage
        self._backward_runs = backward_runs
        self._rectifiers: dict[Key, _Rectifier] = {}
        self._squashers: dict[Key, _Squasher] = {}
        self._decided: IdentityTable[torch.Tensor] = IdentityTable()
        """Of scores with a fixed term, whether that alone decides most rows of a softmax; left on its device."""
        self._looked = False

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded, names=RECTIFIERS | SQUASHERS)
        self.listen(self._lineage.recorded, self._summed, names=ADDING | _MASKS)
        self.listen(self._backward_runs.gradients_seen, self._gradients_seen)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def _recorded(self, recorded: Recorded) -> None:
        operation, output = recorded.made.operation, recorded.output
        self._looked = True
        if not (output.dim() > 0 and output.numel() and has_graph(output) and readable(output)):
            return
        if operation not in RECTIFIERS:
            self._squashed(recorded)
        elif output.dim() > 1 and is_rectifier(output.grad_fn):
            self._rectified(recorded)

    def _gradients_seen(self, seen: GradientsSeen) -> None:
        """Learn which rectifiers stand before a layer."""
        if all(rectifier.feeds for rectifier in self._rectifiers.values()):
            return
        for node in before_layers(seen.walk):
            made = seen.walk.made.get(node)
            if made is not None and made.operation in RECTIFIERS:
                known = self._rectifiers.get(self._key(seen.walk.nodes[node], made)[0])
                if known is not None:
                    known.feeds = True

    def _key(self, node: Any, made: Provenance) -> tuple[Key, bool]:
        weights, convolution = weights_before(node)
        numbers = tuple(sorted({self._parameters.number(weight) for weight in weights}))
        return (made.place, made.operation, numbers), convolution

    # ---------------------------------------------------------------------------------------------------- rectifiers

    def _rectified(self, recorded: Recorded) -> None:
        key, channels = self._key(recorded.output.grad_fn, recorded.made)
        if not key[2]:
            return
        active = active_units(recorded.output, channels=channels)
        known = self._rectifiers.get(key)
        if known is None or known.active_in.shape != active.shape or known.active_in.device != active.device:
            if active.numel() < _FEW_UNITS or len(self._rectifiers) >= _MOST_PLACES:
                return
            known = self._rectifiers[key] = _Rectifier(torch.zeros_like(active, dtype=torch.int32))
        if known.step != self._course.steps:
            known.step = self._course.steps
            known.looks += 1
            known.samples.append(0)
        known.samples[-1] += recorded.output.numel() // active.numel()
        known.active_in.masked_fill_(active, known.looks)

    # ----------------------------------------------------------------------------------------------------- squashers

    def _summed(self, recorded: Recorded) -> None:
        """Scores that learn, and a fixed term beside them, as of positions: whether that alone saturates a softmax."""
        output, inputs = recorded.output, recorded.inputs
        known = next((self._decided.get(each) for each in inputs if each in self._decided), None)
        if known is not None:
            self._decided.put(output, known)
        fixed = [each for each in inputs if not each.requires_grad]
        if known is not None or recorded.name in _MASKS or len(fixed) != 1 or len(inputs) != 2 or not has_graph(output):
            return
        term, negated = fixed[0], recorded.name in DIFFERENCES and inputs[1] is fixed[0]
        is_matrix = term.dim() > 1 and term.is_floating_point() and 0 < term.numel() <= _MOST_FIXED
        if is_matrix and term.shape[-1] == output.shape[-1] > 1 and readable(term):
            share = certain_rows((-term if negated else term).softmax(-1), -1).float().mean()
            self._decided.put(output, share > _FLAT_SHARE)

    def _squashed(self, recorded: Recorded) -> None:
        key, _ = self._key(recorded.output.grad_fn, recorded.made)
        known = self._squashers.get(key)
        if known is None:
            if len(self._squashers) >= _MOST_PLACES or is_sharpened(recorded.output.grad_fn):
                return
            known = self._squashers[key] = _Squasher()
        if not known.flat or len(known.shares) >= _MOST_LOOKS:
            return
        given = next(iter(recorded.inputs), None)
        if given is None or not given.is_floating_point() or not readable(given):
            return
        counts = flatness(key[1], recorded.output, given)
        if counts is not None:
            decided = self._decided.get(given) if key[1] == "softmax" else None
            if decided is not None:
                counts[0] *= ~decided
            known.counts.append(counts)
            known.ranges.append(torch.stack(torch.aminmax(given.detach().float())))

    # ----------------------------------------------------------------------------------------------------- each step

    def _step_taken(self, course: Course) -> None:
        if not self._looked:
            return
        self._looked = False
        step = course.steps - 1
        rectifiers = [(key, each) for key, each in self._rectifiers.items() if each.step == step]
        squashers = [(key, each) for key, each in self._squashers.items() if each.counts]
        parts = [*(each.counts() for _, each in rectifiers), *(each.summed() for _, each in squashers)]
        for _, squasher in squashers:
            squasher.counts.clear()
            squasher.ranges.clear()

        def tell(values: Sequence[torch.Tensor]) -> None:
            units, flatness = values[: len(rectifiers)], values[len(rectifiers) :]
            for (key, rectifier), (silent, lost) in zip(rectifiers, read_together(units), strict=True):
                self._tell_units(key, rectifier, int(silent), int(lost))
            for (key, squasher), numbers in zip(squashers, read_together(flatness), strict=True):
                self._tell_flatness(key, squasher, numbers)

        self._late_values.ask(self, parts, tell, in_place=True)

    def _filled_at(self, parameters: Sequence[int]) -> dict[int, Location]:
        """The lines that gave these parameters, and others of their modules, as a bias, their first values."""
        modules = {self._module_of(number) for number in parameters} - {""}
        places = {
            number: locate(place)
            for number, place in self._lineage.filled.items()
            if number in parameters or self._module_of(number) in modules
        }
        return {number: place for number, place in places.items() if place is not None}

    def _module_of(self, number: int) -> str:
        return self._parameters.known_name(number).rpartition(".")[0]

    def _tell_units(self, key: Key, rectifier: _Rectifier, silent: int, lost: int) -> None:
        if not rectifier.feeds or rectifier.looks < LAST_LOOKS or (silent, lost) == rectifier.told:
            return
        rectifier.told = (silent, lost)
        place, operation, parameters = key
        self.emit(
            UnitsCounted(
                step=self._course.steps,
                location=locate(place),
                operation=operation,
                parameters=list(parameters),
                units=rectifier.active_in.numel(),
                silent=silent,
                lost=lost,
                looks=rectifier.looks,
                samples=sum(rectifier.samples),
                filled_at=self._filled_at(parameters),
            )
        )

    def _tell_flatness(self, key: Key, squasher: _Squasher, numbers: list[float]) -> None:
        flat, at_low, everything, low, high = numbers
        if not everything:
            return
        squasher.shares.append(flat / everything)
        squasher.at_low += at_low
        squasher.all_flat += flat
        squasher.flat = squasher.shares[-1] >= _FLAT_SHARE
        looks = len(squasher.shares)
        if looks < LAST_LOOKS or (looks == LAST_LOOKS and not squasher.flat):
            return
        place, operation, parameters = key
        self.emit(
            SaturationMeasured(
                step=self._course.steps,
                location=locate(place),
                operation=operation,
                parameters=list(parameters),
                shares=list(squasher.shares),
                at_low=None if operation == "softmax" else squasher.at_low / squasher.all_flat,
                low=low,
                high=high,
                filled_at=self._filled_at(parameters),
            )
        )
