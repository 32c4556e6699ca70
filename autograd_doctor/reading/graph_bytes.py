"""How many bytes a graph keeps: its saved tensors that no backward has freed, each storage counted once.

Saved tensors are read in the form in which they were packed, because unpacking them could recompute a checkpoint or
copy an offloaded tensor back. Attributes of custom functions' `ctx` count too: no backward ever frees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.provenance import has_graph, leaf_of
from autograd_doctor.reading.subclasses import is_leaf, is_parameter, node_of, storages_of
from autograd_doctor.reading.torch_versions import Packed, checkpointed, packed
from autograd_doctor.reading.without_running import attributes, is_a

_NESTING = 3
"""Of containers: a pack hook returns a tuple, and a custom function keeps a list or a dict."""


class GraphBytes(NamedTuple):
    """bytes: of unfreed saved storages. nodes: reached in all. freed: a backward has freed buffers of some node."""

    bytes: int
    nodes: int
    freed: bool


def saved_bytes(roots: Iterable[torch.Tensor], held_anyway: Iterable[torch.Tensor] = ()) -> GraphBytes:
    """Measure the graphs of `roots` together.

    Parameters (leaves that require a gradient, and any `nn.Parameter`) are left out with all their views, and so are
    the storages and the graphs of `held_anyway`: they would live without what is measured.
    """
    walk = _Walk()
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for tensor in held_anyway:
            walk.hold(tensor)
        walk.run(map(node_of, roots))
    return GraphBytes(walk.total(), len(walk.nodes), walk.freed)


def activations_of(nodes: Iterable[Any]) -> Iterator[tuple[Any, int]]:
    """Nodes that keep something for their backward, and the bytes of it that none before them keeps.

    Parameters and other leaves that learn are left out, with all their views.
    """
    walk, several = _Walk(), list(nodes)
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for leaf in map(leaf_of, several):
            if leaf is not None:
                walk.exclude(leaf)
        for node in several:
            if saved := walk.newly_kept(node):
                yield node, saved


def savers(
    roots: Iterable[torch.Tensor], is_known: Callable[[Any], bool] = lambda node: True
) -> Iterator[tuple[Any, int, int]]:
    """Each storage that the graphs of `roots` keep, but parameters: a node that saved it, its address, its bytes.

    One that is known, if any is; else the nearest of those that it was computed for: of an operation that is made of
    others, the last of these may be the only one.
    """
    walk = _Walk()
    with torch._C.DisableTorchFunction(), torch.no_grad():
        walk.run(map(node_of, roots))
        met: set[int] = set()
        for node in sorted(walk.nodes.values(), key=lambda node: not is_known(node)):
            for tensor in saved_by(node):
                for address, size in storages_of(tensor):
                    if address not in met and not walk.is_excluded(address):
                        met.add(address)
                        yield walk.known_from(node, is_known), address, size


def saved_by(node: Any) -> Iterator[torch.Tensor]:
    """The tensors that a node keeps for its backward, as packed; none after a backward has freed them."""
    yield from _tensors(_saved(node)[0])


class _Walk:
    """One traversal. Nodes are kept until its end, so that their Python faces keep their identity."""

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.freed = False
        self._consumers: dict[int, Any] = {}
        self._waiting: list[Any] = []
        self._sizes: dict[int, int] = {}
        self._excluded: set[int] = set()
        self._beyond: dict[int, Any] = {}

    def run(self, nodes: Iterable[Any]) -> None:
        self._waiting.extend(nodes)
        while self._waiting:
            node = self._waiting.pop()
            if node is not None and id(node) not in self.nodes and id(node) not in self._beyond:
                self.nodes[id(node)] = node
                self._visit(node)

    def total(self) -> int:
        return sum(size for storage, size in self._sizes.items() if storage not in self._excluded)

    def hold(self, tensor: torch.Tensor) -> None:
        """Leave out a tensor, and the graph that made it."""
        self.exclude(tensor)
        if has_graph(tensor):
            self._beyond[id(tensor.grad_fn)] = tensor.grad_fn

    def is_excluded(self, storage: int) -> bool:
        return storage in self._excluded

    def exclude(self, tensor: torch.Tensor) -> None:
        self._excluded.update(address for address, _ in storages_of(tensor))

    def known_from(self, node: Any, is_known: Callable[[Any], bool]) -> Any:
        """A node, or the nearest known one on the way from the roots to it."""
        found = node
        while found is not None and not is_known(found):
            found = self._consumers.get(id(found))
        return node if found is None else found

    def _visit(self, node: Any) -> None:
        for following, _ in node.next_functions:
            self._waiting.append(following)
            self._consumers.setdefault(id(following), node)
        leaf = leaf_of(node)
        if leaf is not None:
            self.exclude(leaf)
            return
        saved, freed = _saved(node)
        self.freed = self.freed or freed
        for tensor in _tensors([saved, attributes(node)]):
            self._count(tensor)

    def newly_kept(self, node: Any) -> int:
        """The bytes that a node keeps, and none that was counted before."""
        fresh: dict[int, int] = {}
        for tensor in _tensors([_saved(node)[0], attributes(node)]):
            fresh.update({address: size for address, size in storages_of(tensor) if address not in self._sizes})
            self._count(tensor)
        return sum(size for address, size in fresh.items() if address not in self._excluded)

    def _count(self, tensor: torch.Tensor) -> None:
        base = tensor._base if tensor._is_view() else tensor
        if is_parameter(base) or (base is not None and base.requires_grad and is_leaf(base)):
            self.exclude(tensor)
            return
        self._sizes.update(storages_of(tensor))
        self._waiting.append(node_of(tensor))


def _saved(node: Any) -> tuple[list[Packed], bool]:
    """What a node saved, as packed, and whether a backward has freed it."""
    names = [name.removeprefix("_raw") for name in dir(node) if name.startswith("_raw_saved_")]
    try:
        found = [entry for name in names for entry in packed(node, name)]
    except RuntimeError:  # how a custom function says that its tensors were freed
        return [], True
    holds = any(entry.data is not None for entry in found)
    return found, bool(names) and not holds and _refuses(node, names[0])


def _refuses(node: Any, name: str) -> bool:
    """Whether a node that holds nothing holds nothing *any more*: it then refuses to hand out its saved tensors."""
    try:
        getattr(node, name, None)
    except RuntimeError:
        return True
    return False


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in what a node keeps; a saved tensor may have been packed with its values in a closure."""
    for entry in _flat(value):
        if is_a(entry, torch.Tensor):
            yield entry
        elif type(entry) is Packed:
            yield from _tensors(entry.data)
            yield from _tensors(_enclosed(entry.unpack_hook))


def _flat(value: Any, depth: int = _NESTING) -> Iterator[Any]:
    if is_a(value, dict):
        value = list(dict.values(value))
    if is_a(value, (list, tuple)) and type(value) is not Packed:
        kind: Any = list if is_a(value, list) else tuple
        for entry in kind.__iter__(value) if depth else ():
            yield from _flat(entry, depth - 1)
    else:
        yield value


def _enclosed(hook: object) -> list[Any]:
    """What the closure of an unpack hook holds: for a checkpoint, the inputs of its segment."""
    cells = hook.__closure__ or () if type(hook) is FunctionType else ()
    values = [cell.cell_contents for cell in cells if cell != CellType()]  # an empty one has none
    return [checkpointed(value) for value in values]
