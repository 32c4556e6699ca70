"""How gradients flow: parameters in the order of the model, steps, and the norm in each of them."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_doctor.run_course import Flow, FlowRow, told
from autograd_doctor.trace import Trace
from autograd_doctor.views.gradients import Norms, rounds, total
from autograd_doctor.views.networks import network_of, networks
from autograd_doctor.views.thinning import height

MOST_ROWS = 120
MOST_STEPS = 100
_FIRST_STEPS = 30


def flow(trace: Trace) -> Flow:
    """What optimizers hold or were given a gradient for; parameters without any have a row of their own, too."""
    columns = rounds(trace)
    if not columns:
        return Flow()
    known = trace.optimized.union(*columns.values())
    known_networks = networks(trace)
    groups = _grouped([(trace.parameter_name(number), number) for number in sorted(known)])
    steps = _chosen(columns)
    return Flow(
        steps=steps,
        rows=[
            FlowRow(
                name=name,
                parameters=len(members),
                norms=[_norm(columns[step], members) for step in steps],
                network=network_of(members, known_networks),
            )
            for name, members in groups.items()
        ],
    )


def _norm(norms: Norms, members: Sequence[int]) -> float | str | None:
    found = [norms[member] for member in members if member in norms]
    return told(total(found)) if found else None


def _grouped(named: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    """By name; where there are too many, by as much of the front of the names as leaves few enough."""
    for depth in range(max(name.count(".") for name, _ in named) + 1, 0, -1):
        groups: dict[str, list[int]] = {}
        for name, number in named:
            groups.setdefault(".".join(name.split(".")[:depth]), []).append(number)
        if len(groups) <= MOST_ROWS:
            return groups
    kept = dict(list(groups.items())[: MOST_ROWS - 1])
    rest = [number for members in list(groups.values())[MOST_ROWS - 1 :] for number in members]
    return {**kept, f"{len(rest)} more": rest}


def _chosen(columns: dict[int, Norms]) -> list[int]:
    """The first steps; of the later ones in each of as many parts as there is room for, that of the largest norm."""
    steps = list(columns)
    chosen, later = steps[:_FIRST_STEPS], steps[_FIRST_STEPS:]
    parts = min(len(later), MOST_STEPS - _FIRST_STEPS)
    for part in range(parts):
        some = later[len(later) * part // parts : len(later) * (part + 1) // parts]
        chosen.append(max(some, key=lambda step: height(total(columns[step].values()))))
    return chosen
