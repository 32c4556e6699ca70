"""A census of survivors: tensors that outlive the step in which they were made, what holds them, and what they keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.loaders import Loaders
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.graph_walk import lineage_of
from autograd_doctor.reading.holders import Holder, Holders
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.store_watch import Store, StoreWatch
from autograd_doctor.reading.subclasses import node_of, storages_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_CENSUS_STEPS = frozenset((4, 6, *range(8, 40, 2), *range(40, 1000, 10)))
"""In steps that were recorded in full: three among the first ten, so that short runs show growth; then after each pair
of samples, so that what grows from a later epoch on has shown it a hundred steps on; then ever rarer."""
_SETTLED = 2
"""A tensor that is older than this many steps is no leftover of the last batch or of a double buffer."""
_MOST_GROUPS = 6
"""Looked at in one census, those that keep most first: finding a holder visits every object of the process."""
_MOST_SEARCHES = 2
"""For how many censuses to look for the line that stores: what is stored so rarely does not pile up fast."""
_MOST_REMEMBERED = 200
"""Groups, of which a later chapter of the run knows the holder: finding it takes longer than the rest of a chapter."""
_WALKED_NODES = 5_000
"""Of one graph: about the size of that of a deep network in one step, times the steps that would show."""

Group = tuple[Place | None, str, bool]
Members = list[tuple[torch.Tensor, Provenance]]
_Memory = dict[Group, tuple[Holder | None, int]]
"""Who held a group, and how many there were at most."""


class Census(Instrument):
    """Counts at a few step boundaries; between them it costs nothing. The lineage says what is alive."""

    emits: ClassVar[tuple[type[Event], ...]] = (SurvivorsCounted,)

    def __init__(
        self, site: Site, course: Course, detail: Detail, tensors: Tensors, lineage: Lineage, loaders: Loaders
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._lineage = lineage
        self._loaders = loaders
        self._holders: dict[Group, Holder | None] = {}
        self._most: dict[Group, int] = {}
        """How many survivors of a group there were at most."""
        self._earlier: _Memory = {}
        self._counted: set[int] = set()
        self._read: dict[Group, set[int]] = {}
        """The steps in which operations took in what was made two steps before, or earlier, without a graph."""
        self._storing = StoreWatch(site.signals.guard)
        self._sought: Counter[str] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)
        self.listen(self._lineage.operated, self._operated)

    def memory(self) -> _Memory:
        found = {group: (holder, self._most[group]) for group, holder in self._holders.items()}
        return dict(list((self._earlier | found).items())[-_MOST_REMEMBERED:])

    def remember(self, memory: _Memory) -> None:
        self._earlier = memory

    def detach(self) -> None:
        self._storing.stop()
        super().detach()

    def _step_taken(self, course: Course) -> None:
        self._storing.let_go()
        recorded = self._detail.full_steps
        if recorded not in _CENSUS_STEPS or recorded in self._counted:
            return
        self._counted.add(recorded)
        self._storing.stop()
        sought: dict[Hashable, tuple[Store, ...]] = {}
        self._take_census(course, sought)
        self._storing.start(sought)

    def _operated(self, operation: Operation) -> None:
        now = self._course.steps
        for tensor in operation.inputs if now >= _SETTLED else ():
            made = self._tensors.get(tensor) if not tensor.requires_grad else None
            if made is not None and made.step <= now - _SETTLED:
                self._read.setdefault((made.place, made.operation, False), set()).add(now)

    def _take_census(self, course: Course, sought: dict[Hashable, tuple[Store, ...]]) -> None:
        """Count; into `sought` goes what holds the survivors by a line that was not seen yet."""
        groups, live = self._groups()
        self._find_holders(groups, sought)
        survivors = [self._survivor(group, members) for group, members in groups]
        self.emit(
            SurvivorsCounted(
                step=course.steps,
                survivors=[survivor for survivor in survivors if survivor is not None],
                live_bytes=live,
                recorded_steps=self._detail.full_steps,
                steps_per_epoch=self._loaders.steps_per_epoch,
            )
        )

    def _groups(self) -> tuple[list[tuple[Group, Members]], int]:
        """Survivors by the line that made them, those that keep most first; and the bytes of all living tensors."""
        grouped: dict[Group, Members] = {}
        live = 0
        for tensor, made in self._tensors.held_by_program():
            live += tensor.nbytes if tensor.layout is torch.strided else 0
            old = made.step <= self._course.steps - _SETTLED
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
        for group, members in groups:
            self._most[group] = max(len(members), self._most.get(group, 0))
            holder, most = self._earlier.get(group, (None, 0))
            if len(members) <= most:  # those that become more may pile up elsewhere
                self._holders.setdefault(group, holder)
        unknown = [(group, members) for group, members in groups if self._is_unknown(group)]
        if not unknown:
            return
        samples = [members[len(members) // 2][0] for _, members in unknown]
        for (group, _), found in zip(unknown, Holders().search(samples), strict=True):
            holder = self._holders.setdefault(group, None if found is None else found.holder)
            if found is not None and holder is not None and found.stores:
                self._sought[holder.name] += 1
                sought[holder.name] = found.stores

    def _is_unknown(self, group: Group) -> bool:
        """Whether the holder, or the line that stores in it, is still to be found."""
        if group not in self._holders:
            return True
        holder = self._holders[group]
        if holder is None or holder.kind in ("cache", "variable") or holder.name in self._storing.found:
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
        storages = dict(storage for tensor in tensors for storage in storages_of(tensor))
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
            limit=holder.limit,
            read_in_steps=len(self._read.get(group, ())),
            stored_at=holder.at or self._storing.found.get(holder.name),
            module=holder.name.split("[")[0].rpartition(".")[0] if holder.in_module else "",
            scalars=all(tensor.numel() == 1 for tensor in tensors),
        )


def _steps_in_graph(tensor: torch.Tensor) -> set[int]:
    """The steps in which the nodes behind a tensor were made."""
    steps: set[int] = set()
    seen: dict[int, object] = {}
    pending = [node_of(tensor)]
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
