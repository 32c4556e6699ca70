"""The tree of modules, with what was seen of the parameters and units in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median

from autograd_doctor.events.numerics import SaturationMeasured, UnitsCounted
from autograd_doctor.events.subjects import ModulePart
from autograd_doctor.run_course import Measured, ModuleRow, told
from autograd_doctor.trace import Trace
from autograd_doctor.views.gradients import rounds, total
from autograd_doctor.views.magnitudes import relative_updates
from autograd_doctor.views.networks import trees

MOST_ROWS = 300


class _Seen:
    """What a trace tells of each parameter."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._rounds = list(rounds(trace).values())
        self._norms: dict[int, list[float]] = {}
        for parameter, norm in (each for column in self._rounds for each in column.items()):
            self._norms.setdefault(parameter, []).append(norm)
        self._ratios: dict[int, list[float]] = {}
        for optimizer in trace.optimizers:
            for step in relative_updates(trace, optimizer):
                for parameter, ratio in step.ratios.items():
                    self._ratios.setdefault(parameter, []).append(ratio)
        units = {(each.location, *each.parameters): each for each in trace.of(UnitsCounted)}
        self._dead = _worst((each.parameters, (each.silent + each.lost) / each.units) for each in units.values())
        flat = {(each.location, *each.parameters): each for each in trace.of(SaturationMeasured)}
        self._flat = _worst((each.parameters, sum(each.shares) / len(each.shares)) for each in flat.values())

    def row(self, part: ModulePart, depth: int, below: list[int]) -> ModuleRow:
        return ModuleRow(
            name=part.name,
            kind=part.kind,
            depth=depth,
            values=sum(math.prod(self._trace.parameters[p].shape) for p in below),
            parameters=dict(sorted(Counter(map(self._becomes, below)).items())),
            gradient=self._gradient(below),
            update_ratio=self._ratio(below),
            dead=_share(self._dead, below),
            flat=_share(self._flat, below),
        )

    def _becomes(self, parameter: int) -> str:
        if parameter in self._trace.frozen:
            return "frozen"
        norms = self._norms.get(parameter, [])
        if not norms:
            return "without gradient" if parameter in self._trace.optimized else "in no optimizer"
        if not all(map(math.isfinite, norms)):
            return "gradient not finite"
        return "trained" if any(norms) else "gradient zero"

    def _gradient(self, below: list[int]) -> Measured | None:
        columns = [[column[p] for p in below if p in column] for column in self._rounds]
        norms = [total(found) for found in columns if found]
        bad = next((norm for norm in norms if not math.isfinite(norm)), None)
        return told(bad if bad is not None else median(norms)) if norms else None

    def _ratio(self, below: list[int]) -> Measured | None:
        ratios = [ratio for p in below for ratio in self._ratios.get(p, ())]
        return told(median(ratios)) if ratios else None


def module_rows(trace: Trace) -> list[ModuleRow]:
    """Each root with all below it, unless it lies below another; then parameters that no module registers."""
    seen = _Seen(trace)
    told = list(trees(trace))
    deepest = max((depth for tree in told for _, depth, _ in tree), default=0)
    while deepest and sum(depth <= deepest for tree in told for _, depth, _ in tree) > MOST_ROWS:
        deepest -= 1
    rows = [seen.row(part, depth, below) for tree in told for part, depth, below in tree if depth <= deepest]
    held = {p for tree in told for _, _, below in tree for p in below}
    loose = [p for p in trace.parameters if p not in held and p in trace.optimized | trace.learning]
    rows += [seen.row(ModulePart(trace.parameter_name(p), "tensor"), 0, [p]) for p in loose]
    return rows[:MOST_ROWS]


def _worst(shares: Iterable[tuple[list[int], float]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for parameters, share in shares:
        for parameter in parameters:
            found[parameter] = max(found.get(parameter, 0.0), share)
    return found


def _share(shares: Mapping[int, float], below: list[int]) -> float | None:
    found = [shares[p] for p in below if p in shares]
    return round(max(found), 3) if found else None
