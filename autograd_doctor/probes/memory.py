"""A census of survivors: tensors that outlive the step in which they were made, what holds them, and what they keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import ClassVar, Self

import torch

from autograd_doctor.events import Event, Survivor, SurvivorsCounted
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.graph_bytes import saved_bytes
from autograd_doctor.watching.graph_walk import lineage_of
from autograd_doctor.watching.holders import Holder, Holders
from autograd_doctor.watching.lineage import Made, has_graph
from autograd_doctor.watching.places import Place, locate
from autograd_doctor.watching.store_watch import Store, StoreWatch
from autograd_doctor.watching.watch import Watch

_CENSUS_STEPS = frozenset({4, 6, 8, 11, 15, 20, 28, 40})
"""Three before step 10, so that short runs show growth; then ever rarer."""
_SETTLED = 2
"""A tensor that is older than this many steps is no leftover of the last batch or of a double buffer."""
_MOST_GROUPS = 6
"""Looked at in one census, those that keep most first: finding a holder visits every object of the process."""
_MOST_SEARCHES = 2
"""For how many censuses to look for the line that stores: what is stored so rarely does not pile up fast."""
_WALKED_NODES = 5_000
"""Of one graph: about the size of that of a deep network in one step, times the steps that would show."""

Group = tuple[Place | None, str, bool]
Members = list[tuple[torch.Tensor, Made]]


class Memory:
    """Counts at a few step boundaries; between them it costs nothing."""

    yields: ClassVar[tuple[type[Event], ...]] = (SurvivorsCounted,)
    order: ClassVar[int] = 50

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._holders: dict[Group, Holder | None] = {}
        self._counted: set[int] = set()
        self._storing = StoreWatch(watch)
        self._sought: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._watch.stepped.insert(0, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.stepped.remove(self._count)
        self._stop_tracing()

    def _count(self) -> None:
        self._storing.let_go()
        if self._watch.step not in _CENSUS_STEPS or self._watch.step in self._counted:
            return
        self._counted.add(self._watch.step)
        self._stop_tracing()
        sought: dict[Hashable, tuple[Store, ...]] = {}
        self._take_census(sought)
        self._storing.start(sought)

    @careful
    def _stop_tracing(self) -> None:
        self._storing.stop()

    @careful
    def _take_census(self, sought: dict[Hashable, tuple[Store, ...]]) -> None:
        """Count; into `sought` goes what holds the survivors by a line that was not seen yet."""
        groups, live = self._groups()
        self._find_holders(groups, sought)
        survivors = [self._survivor(group, members) for group, members in groups]
        self._watch.emit(
            SurvivorsCounted(
                step=self._watch.step,
                survivors=[survivor for survivor in survivors if survivor is not None],
                live_bytes=live,
                steps_per_epoch=self._watch.steps_per_epoch,
            )
        )

    def _groups(self) -> tuple[list[tuple[Group, Members]], int]:
        """Survivors by the line that made them, those that keep most first; and the bytes of all living tensors."""
        grouped: dict[Group, Members] = {}
        live = 0
        for tensor, made in self._watch.tensors.held_by_program():
            live += tensor.nbytes if tensor.layout is torch.strided else 0
            old = made.step <= self._watch.step - _SETTLED
            if old or (has_graph(tensor) and self._reaches_back(tensor)):
                grouped.setdefault((made.place, made.operation, has_graph(tensor)), []).append((tensor, made))
        several = [
            (group, members)
            for group, members in grouped.items()
            if len(members) > 1 or (group[2] and self._reaches_back(members[0][0]))
        ]
        several.sort(key=lambda entry: (entry[0][2], len(entry[1])), reverse=True)
        return several[:_MOST_GROUPS], live

    def _reaches_back(self, tensor: torch.Tensor) -> bool:
        """Whether the graph of a tensor holds nodes from several earlier steps."""
        return len(_steps_in_graph(tensor)) > _SETTLED

    def _find_holders(self, groups: list[tuple[Group, Members]], sought: dict[Hashable, tuple[Store, ...]]) -> None:
        unknown = [(group, members) for group, members in groups if self._is_unknown(group)]
        for (group, _), found in zip(unknown, Holders().search([members[0][0] for _, members in unknown]), strict=True):
            holder = self._holders.setdefault(group, None if found is None else found.holder)
            if found is not None and holder is not None and found.stores:
                self._sought[holder.name] += 1
                sought[holder.name] = found.stores

    def _is_unknown(self, group: Group) -> bool:
        """Whether the holder, or the line that stores in it, is still to be found."""
        if group not in self._holders:
            return True
        holder = self._holders[group]
        if holder is None or holder.kind == "variable" or holder.name in self._storing.found:
            return False
        return 0 < self._sought[holder.name] < _MOST_SEARCHES

    def _survivor(self, group: Group, members: Members) -> Survivor | None:
        place, operation, has_graph = group
        tensors = [tensor for tensor, _ in members]
        holder = self._holders[group]
        if holder is None:
            return None
        graph = saved_bytes(tensors)
        made_at = locate(place)
        steps = {made.step for _, made in members}
        chain = _steps_in_graph(tensors[-1]) if has_graph else set()
        storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors
                    if tensor.layout is torch.strided}  # fmt: skip
        return Survivor(
            made_at=made_at,
            operation=operation,
            holder=holder.name,
            holder_kind=holder.kind,
            count=len(members),
            made_in_steps=len(steps | chain),
            tensor_bytes=sum(storages.values()),
            graph_bytes=graph.bytes,
            nodes=graph.nodes,
            has_graph=has_graph,
            freed=graph.freed,
            chained=len(chain) > _SETTLED,
            bounded=holder.bounded,
            stored_at=self._storing.found.get(holder.name),
            module=holder.name.split("[")[0].rpartition(".")[0] if holder.in_module else "",
            scalars=all(tensor.numel() == 1 for tensor in tensors),
        )


def _steps_in_graph(tensor: torch.Tensor) -> set[int]:
    """The steps in which the nodes behind a tensor were made."""
    steps: set[int] = set()
    seen: dict[int, object] = {}
    pending = [tensor.grad_fn]
    while pending and len(seen) < _WALKED_NODES:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        made = lineage_of(node)
        if made is not None:
            steps.add(made.step)
        pending.extend(following for following, _ in node.next_functions)
    return steps


PROBE = Memory
