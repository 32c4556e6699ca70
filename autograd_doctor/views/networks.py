"""The trees of modules, and the networks in them: what is trained as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from autograd_doctor.events.subjects import ModulePart
from autograd_doctor.trace import Trace

Tree = list[tuple[ModulePart, int, list[int]]]
"""Each module with its depth and the parameters in it and below, the root first."""


def networks(trace: Trace) -> dict[int, str]:
    """The name of the network of each parameter that a module holds."""
    holders: dict[int, set[int]] = {}
    for optimizer, held in trace.optimizer_parameters.items():
        for parameter in held:
            holders.setdefault(parameter, set()).add(optimizer)
    found: dict[int, str] = {}
    for tree in trees(trace):
        for part, below in _networks(tree, holders):
            found |= {parameter: part.name for parameter in below if parameter not in found}
    return found


def network_of(parameters: Iterable[int], known: Mapping[int, str]) -> str:
    """The one that all of these belong to; empty if there is none."""
    names = {known.get(parameter, "") for parameter in parameters}
    return names.pop() if len(names) == 1 else ""


def _networks(tree: Tree, holders: Mapping[int, set[int]]) -> list[tuple[ModulePart, list[int]]]:
    """The root, or its parts where these have optimizers of their own: one module may hold both sides of a game."""
    (root, _, whole), *inner = tree
    parts = [(part, below) for part, depth, below in inner if depth == 1 and below]
    held_by = [{frozenset(holders.get(parameter, ())) for parameter in below} for _, below in parts]
    kinds = {each for found in held_by for each in found if each}
    apart = len(kinds) > 1 and all(len(found) == 1 for found in held_by)
    return parts if apart else [(root, whole)]


def trees(trace: Trace) -> Iterator[Tree]:
    """Roots that train something, or are made of several modules: a loss is of no interest here."""
    told_already: set[str] = set()
    for root in sorted(trace.modules.values(), key=lambda root: (-len(root.parts), root.module)):
        if not root.parameters or not root.parts or root.name in told_already:
            continue
        told_already.update(part.name for part in root.parts)
        yield [(part, _depth(part, root.parts[0]), _below(part, root.parts, trace)) for part in root.parts]


def _depth(part: ModulePart, root: ModulePart) -> int:
    return 0 if part is root else part.name.removeprefix(f"{root.name}.").count(".") + 1


def _below(part: ModulePart, parts: list[ModulePart], trace: Trace) -> list[int]:
    inner = parts if part is parts[0] else [each for each in parts if f"{each.name}.".startswith(f"{part.name}.")]
    return sorted({p for each in inner for p in each.parameters if p in trace.parameters})
