"""One walk over the graph of a backward about to run: what it reaches, how far back, and hooks that watch gradients."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.steps import Cut, NonFiniteGradient, Zeroing
from autograd_doctor.findings import Location
from autograd_doctor.reading.conditions import depends_on_a_choice
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.low_precision import FINITE_SLOPES, is_low, overflows_only_by_range
from autograd_doctor.reading.own_backward import OwnBackward, Spoiling, is_own
from autograd_doctor.reading.places import Place, lines_of, locate
from autograd_doctor.reading.provenance import Provenance, leaf_of
from autograd_doctor.reading.subclasses import gradient_of, node_of
from autograd_doctor.reading.tensor_facts import describe, extent, is_remote, read_together, readable

NODE_KEY = "autograd_doctor"
"""The key under which a backward node's `metadata` holds the `Provenance` of its output."""
ROOT_KEY = "autograd_doctor.root"
"""The key under which the node of a loss holds the number of the newest backward that began there."""
RAN_KEY = "autograd_doctor.ran"
"""The key under which it holds the numbers of the backwards that went through it."""
CHOICES = frozenset({"Gather", "Index", "IndexSelect", "MaskedSelect", "Sort", "Topk"})
"""Operations that choose rows, or one value of each, as nodes spell them."""

_ZERO_BY_DEFINITION = frozenset({"RoundBackward", "SignBackward", "FloorBackward", "CeilBackward", "TruncBackward",
                                 "HeavisideBackward", "SgnBackward", "FloorDivideBackward"})  # fmt: skip
_MULTIPLIES = frozenset({"Addmm", "Addmv", "Baddbmm", "Bmm", "Convolution", "Dot", "Mm", "Mul", "Mv"})

Node = Any
Way = tuple[int, int]
"""From the node with this key to the operand at this place."""
Look = Callable[[], AbstractContextManager[None]]


def mark(output: torch.Tensor, made: Provenance) -> None:
    """Let the backward node of an output know how it was made; that of a gradient stays known as such."""
    node: Node = node_of(output)
    if node is not None:
        metadata: dict[str, Any] = node.metadata
        before: Provenance | None = metadata.get(NODE_KEY)
        if before is not None and made.of_backward is None:
            made.of_backward = before.of_backward
        metadata[NODE_KEY] = made


def lineage_of(node: Node) -> Provenance | None:
    """What `mark` left on a node."""
    made: Provenance | None = node.metadata.get(NODE_KEY)
    return made


class GraphWalk:
    """The nodes between the roots and the leaves, each with the user's line that made it.

    A node inside a composite operation has no line of its own and takes that of its consumer. `reused` are earlier
    backwards that ran over the same nodes, `differentiated` those whose gradients flow into the roots.
    """

    def __init__(self, roots: Sequence[torch.Tensor], inputs: Sequence[Any] = (), *, backward: int, step: int) -> None:
        self.backward = backward
        self.step = step
        self.nodes: dict[int, Node] = {id(node): node for node in nodes_of(roots, inputs)}
        self.made: dict[int, Provenance | None] = {}
        self.leaves: dict[int, torch.Tensor] = {}
        self.consumers: dict[int, list[tuple[int, int]]] = {}
        self.reused: set[int] = set()
        self.differentiated: set[int] = set()
        self.contains: set[int] = set()
        self.oldest_step = step
        self.crossing: Place | None = None
        self.carrier: Provenance | None = None
        for key, node in self.nodes.items():
            self._visit(node, self._made_for(key))
            for position, (following, _) in enumerate(node.next_functions):
                if id(following) in self.nodes:
                    self.consumers.setdefault(id(following), []).append((key, position))
        begins: list[Node] = [node for root in roots if (node := node_of(root)) is not None]
        for node in begins:
            node.metadata[ROOT_KEY] = backward

    def _made_for(self, key: int) -> Provenance | None:
        """What is known of the node from which a node was met."""
        consumers = self.consumers.get(key)
        return self.made[consumers[-1][0]] if consumers else None

    def _visit(self, node: Node, consumer: Provenance | None) -> None:
        leaf = leaf_of(node)
        if leaf is not None:
            self.leaves[id(node)] = leaf
            return
        metadata = node.metadata
        own = lineage_of(node)
        made = own or consumer
        self.made[id(node)] = made
        ran = metadata.get(RAN_KEY)
        if ROOT_KEY in metadata:
            self.contains.add(metadata[ROOT_KEY])
        if ran is None:
            metadata[RAN_KEY] = (self.backward,)
        else:
            self.reused.update(ran)
            metadata[RAN_KEY] = (*ran[-3:], self.backward)
            self.carrier = self.carrier or own
        if own is not None:
            if own.of_backward is not None:
                self.reused.add(own.of_backward)
                self.differentiated.add(own.of_backward)
            if own.step < self.oldest_step:
                self.oldest_step = own.step
                self.crossing = consumer.place if consumer is not None else own.place
                self.carrier = own

    @cached_property
    def forward_order(self) -> list[Node]:
        """The nodes but for the leaves, in the order in which the forward made them."""
        inner = (node for key, node in self.nodes.items() if key not in self.leaves)
        return sorted(inner, key=lambda node: node._sequence_nr())

    @cached_property
    def lineages(self) -> list[Provenance]:
        """What is known of how the nodes came to be, each once."""
        return list(dict.fromkeys(made for made in self.made.values() if made is not None))

    def leaves_around(self, avoided: Set[int] = frozenset(), closed: Set[Way] = frozenset()) -> set[int]:
        """Keys of the leaf nodes that gradients of the roots flow into by ways through none of these nodes, and by none
        of these ways from a node to an operand."""
        met: set[int] = set()
        pending = [key for key in self.nodes if key not in self.consumers]
        while pending:
            key = pending.pop()
            if key not in met and key not in avoided:
                met.add(key)
                sources = enumerate(self.nodes[key].next_functions)
                open_ones = (id(source) for place, (source, _) in sources if (key, place) not in closed)
                pending += [source for source in open_ones if source in self.nodes]
        return met & self.leaves.keys()

    def meeting_of(self, key: int) -> Node | None:
        """The last node that all gradients pass through which arrive at a node by several ways, None if there is none.

        It is the first in the forward that takes in all that was made of the node's output.
        """
        ahead = {consumer for consumer, _ in self.consumers.get(key, ())}
        while len(ahead) > 1:
            oldest = min(ahead, key=lambda each: self.nodes[each]._sequence_nr())
            after = {consumer for consumer, _ in self.consumers.get(oldest, ())}
            if not after:
                return None
            ahead = (ahead - {oldest}) | after
        return self.nodes[ahead.pop()] if ahead else None

    def leaves_below(self, node: Node) -> set[int]:
        """Keys of the leaf nodes that gradients of `node` flow into."""
        seen: set[int] = set()
        pending = [node]
        while pending:
            current = pending.pop()
            if id(current) not in seen:
                seen.add(id(current))
                pending.extend(following for following, _ in current.next_functions if following is not None)
        return seen & self.leaves.keys()


class BadGradient(NamedTuple):
    """A node that passed on gradients that are not finite, what it saved, and whether they only left their range.

    hook: of the program, which made them so before they arrived at the node. inside: the operation of the program's own
    `backward` that did.
    """

    node: Node
    operands: list[TensorFacts]
    low_precision: bool
    hook: Location | None = None
    inside: Spoiling | None = None


class GradientWatch:
    """Hooks on every node of a walk: the first non-finite gradient, and gradients that become zero.

    One norm per gradient tells both. Hooks are removed after the backward. What lies on an accelerator is known once
    `settle` is given the values of `parts`. magnitudes: for each node, by its key, the 2-norms of the gradients that it
    passed on, in the order of its `next_functions`. zero_factors: how many tensors a node that passed on zeros had
    multiplied, where all of these are zero; not known on an accelerator.
    """

    def __init__(self, walk: GraphWalk, *, looking: Look, made_of: Callable[[torch.Tensor], Provenance | None]) -> None:
        self._walk = walk
        self._looking = looking
        self._made_of = made_of
        self.magnitudes: dict[int, list[float]] = {}
        self.first_bad: BadGradient | None = None
        self.without_answer: set[int] = set()
        self.zero_factors: dict[int, int] = {}
        self._cancelled: set[int] = set()
        self._handles: list[Any] = []
        self._waiting: list[_Waiting] = []
        self._left: dict[int, torch.Tensor] = {}
        self._is_left_zero: dict[int, bool] = {}
        """Of leaves at which several gradients met on an accelerator, whether they left nothing but zeros there."""
        self._inside: dict[int, OwnBackward] = {}

    def attach(self) -> None:
        for key, node in self._walk.nodes.items():
            if key in self._walk.leaves:
                continue
            if is_own(node):
                inside = self._inside[key] = OwnBackward(self._looking)
                self._handles.append(node.register_prehook(lambda gradients, mode=inside: mode.put_on()))
            self._handles.append(node.register_hook(self._hook(key, node)))

    def detach(self) -> None:
        for inside in self._inside.values():
            inside.take_off()
        for handle in self._handles:
            handle.remove()
        self._handles = []
        met = filter(self._is_met_by_several, self._walk.leaves) if self._waiting else ()
        sizes = ((key, _left_there(gradient_of(self._walk.leaves[key]))) for key in met)
        self._left = {key: size for key, size in sizes if size is not None}

    @property
    def parts(self) -> list[torch.Tensor]:
        """Norm and largest absolute value of each gradient that was left on an accelerator."""
        passed_on = [each for look in self._waiting for each in (*look.gradients, *look.arrived) if each is not None]
        return [*passed_on, *self._left.values()]

    def _hook(self, key: int, node: Node) -> Callable[[Any, Any], None]:
        looking, magnitudes = self._looking, self.magnitudes
        inside = self._inside.get(key)

        def look(given: tuple[torch.Tensor | None, ...], arrived: tuple[torch.Tensor | None, ...]) -> None:
            if inside is not None:
                inside.take_off()
            if self.first_bad is not None:
                return
            with looking():
                if any(gradient is not None and is_remote(gradient) for gradient in given):
                    self._put_off(key, node, given, arrived)
                    return
                found = [_magnitude(gradient) for gradient in given]
                if not any(isinstance(gradient, torch.Tensor) for gradient in given):
                    self.without_answer.add(key)
                magnitudes[key] = found
                if not any(found):
                    self.zero_factors[key] = _zero_factors(node)
                    if self._is_met_by_several(key) and not any(map(_magnitude, arrived)):
                        self._cancelled.add(key)
                if not all(map(math.isfinite, found)):
                    by_range = overflows_only_by_range(operation_of(node), given)
                    hook = None if all(map(math.isfinite, map(_magnitude, arrived))) else self._hook_before(key)
                    operands = [] if hook else _operands(node, self._made_of)
                    self.first_bad = BadGradient(node, operands, by_range, hook, inside.found() if inside else None)

        return look

    def _is_met_by_several(self, key: int) -> bool:
        return len(self._walk.consumers.get(key, ())) > 1

    def _hook_before(self, key: int) -> Location | None:
        """A hook of the program on the tensor whose gradient arrives at a node: all that sent it were finite."""
        made = self._walk.made.get(key)
        tensor = made.reference() if made is not None and made.reference is not None else None
        hooks = tensor._backward_hooks if tensor is not None else None
        codes = (getattr(hook, "__code__", None) for hook in (hooks or {}).values())
        return next((lines_of(code, code.co_firstlineno) for code in codes if code is not None), None)

    def _put_off(
        self,
        key: int,
        node: Node,
        given: tuple[torch.Tensor | None, ...],
        arrived: tuple[torch.Tensor | None, ...],
    ) -> None:
        """Leave the numbers on the accelerator until the backward is over. What nodes have saved is gone by then."""
        by_range = operation_of(node) in FINITE_SLOPES and all(each is None or is_low(each) for each in given)
        hook = self._hook_before(key)
        matters = hook is not None or self._is_met_by_several(key)
        before = [_left_there(gradient) for gradient in arrived] if matters else []
        self._waiting.append(_Waiting(key, node, [_left_there(gradient) for gradient in given], by_range, hook, before))

    def settle(self, values: Sequence[torch.Tensor]) -> None:
        """Judge what was put off, by the values of all parts."""
        waiting, self._waiting = self._waiting, []
        numbers = iter(read_together(values))
        for look in waiting:
            found, before = (
                [0.0 if each is None else _told_by(*next(numbers)) for each in gradients]
                for gradients in (look.gradients, look.arrived)
            )
            if self.first_bad is not None:
                continue
            self.magnitudes[look.key] = found
            if before and not any(found) and not any(before):
                self._cancelled.add(look.key)
            if not all(map(math.isfinite, found)):
                hook = None if all(map(math.isfinite, before)) else look.hook
                inside = self._inside.get(look.key)
                self.first_bad = BadGradient(look.node, [], look.by_range, hook, inside.found() if inside else None)
        self._is_left_zero = {key: not _told_by(*next(numbers)) for key in self._left}

    def zeroings(self) -> list[tuple[Node, set[int]]]:
        """Nodes that got a nonzero gradient and passed on nothing but zeros, with the leaf nodes below them."""
        if self.first_bad is not None:
            return []
        found = []
        for key, passed_on in self.magnitudes.items():
            node = self._walk.nodes[key]
            edges = [value for value, (following, _) in zip(passed_on, node.next_functions, strict=False) if following]
            if edges and not any(edges) and self._arrived(key):
                found.append((node, self._walk.leaves_below(node)))
        return found

    def cancellations(self) -> list[tuple[Node, set[int]]]:
        """Nodes on both sides of which the same was computed, so that the gradients that they passed on cancelled out
        where they met, with the leaf nodes that no way leads to but by that place."""
        if self.first_bad is not None:
            return []
        walk, found = self._walk, dict[int, tuple[Node, set[int]]]()
        around = walk.leaves_around(self._cancelled) if self._cancelled else set()
        for key in [*self._cancelled, *filter(self._is_cancelled_leaf, walk.leaves)]:
            node = walk.meeting_of(key) if self._was_sent(key) else None
            if node is not None:
                below = {key} if key in walk.leaves else walk.leaves_below(walk.nodes[key]) - around
                found.setdefault(id(node), (node, set()))[1].update(below)
        return [(node, below) for node, below in found.values() if below]

    def sent_to(self) -> list[torch.Tensor]:
        """Leaves that a nonzero gradient was sent to, and did not cancel out with another one."""
        leaves = self._walk.leaves.items()
        return [leaf for key, leaf in leaves if self._was_sent(key) and not self._is_cancelled_leaf(key)]

    def _is_cancelled_leaf(self, key: int) -> bool:
        """Whether gradients of the same size arrived at a leaf, and left nothing there."""
        consumers = self._walk.consumers.get(key, ())
        sizes = {self.magnitudes.get(consumer, [0.0] * (position + 1))[position] for consumer, position in consumers}
        if len(consumers) < 2 or len(sizes) > 1 or not any(sizes):
            return False
        if key in self._is_left_zero:
            return self._is_left_zero[key]
        gradient = gradient_of(self._walk.leaves[key])
        return gradient is not None and not _magnitude(gradient)

    def _arrived(self, key: int) -> bool:
        """Whether a node received a nonzero gradient; a root did."""
        consumers = self._walk.consumers.get(key)
        if not consumers:
            return True
        return key not in self._cancelled and self._was_sent(key)

    def _was_sent(self, key: int) -> bool:
        consumers = self._walk.consumers.get(key, ())
        return any(self.magnitudes.get(consumer, [0.0] * (position + 1))[position] for consumer, position in consumers)


def _magnitude(gradient: torch.Tensor | None) -> float:
    if gradient is None or not gradient.is_floating_point() or gradient.numel() == 0 or not readable(gradient):
        return 0.0
    norm = float(torch.linalg.vector_norm(gradient))
    if norm == 0.0:  # squares of very small numbers vanish
        return float(gradient.abs().max())
    if not math.isfinite(norm) and bool(torch.isfinite(gradient).all()):  # squares of very large ones overflow
        return sys.float_info.max
    return norm


def _zero_factors(node: Node) -> int:
    """How many tensors a node multiplies, if there is nothing but zeros in any of them."""
    saved = list(_saved(node)) if operation_of(node) in _MULTIPLIES else []
    are_zero = all(value.numel() and readable(value) and not bool(value.any()) for _, value in saved)
    return len(saved) if are_zero else 0


class _Waiting(NamedTuple):
    """The gradients that a node passed on: norm and largest absolute value of each, on the accelerator.

    hook: of the program, on the tensor whose gradients arrived at the node; arrived: these, where there is such a hook,
    or where they are the sum of several.
    """

    key: int
    node: Node
    gradients: list[torch.Tensor | None]
    by_range: bool
    hook: Location | None
    arrived: list[torch.Tensor | None]


def _left_there(gradient: torch.Tensor | None) -> torch.Tensor | None:
    if gradient is None or not gradient.is_floating_point() or gradient.numel() == 0 or not readable(gradient):
        return None
    return torch.stack([torch.linalg.vector_norm(gradient).float(), extent(gradient)])


def _told_by(norm: float, largest: float) -> float:
    """As `_magnitude`: squares of very small numbers vanish, and those of very large ones overflow."""
    if norm == 0.0:
        return largest
    return sys.float_info.max if math.isinf(norm) and math.isfinite(largest) else norm


def node_name(node: Node) -> str:
    return str(node.name()).removeprefix("torch::autograd::").rstrip("0123456789")


def operation_of(node: Node) -> str:
    """The operation that a node belongs to, as nodes spell it: "NativeLayerNorm"."""
    return node_name(node).removesuffix("Backward")


def zeroing_events(
    walk: GraphWalk, gradients: GradientWatch, number: Callable[[torch.Tensor], int | None]
) -> tuple[list[Cut], list[Zeroing]]:
    """Tell zeros that come of the values met from cuts: derivatives zero everywhere, functions that return `None`."""

    def numbers_at(leaves: set[int]) -> list[int]:
        return sorted(n for n in (number(walk.leaves[leaf]) for leaf in leaves) if n is not None)

    cuts, zeroed = [], []
    zeroings = gradients.zeroings()
    flat = {id(node) for node, _ in zeroings if node_name(node) in _ZERO_BY_DEFINITION}
    around = walk.leaves_around(flat) if flat else set()
    for node, below in zeroings:
        if id(node) in flat:  # what another way leads to is zero there, too, for a reason of its own
            below = below - around
        numbers = numbers_at(below)
        operation, location = _called(node, walk.made.get(id(node)))
        if not numbers:
            continue
        if node_name(node) in _ZERO_BY_DEFINITION:
            cuts.append(_cut(node, walk, numbers, "zero-derivative"))
        elif id(node) in gradients.without_answer and isinstance(node, BackwardCFunction):
            cuts.append(_cut(node, walk, numbers, "function"))
        else:
            factors = gradients.zero_factors.get(id(node), 0)
            zeroed.append(Zeroing(operation=operation, location=location, parameters=numbers, zero_factors=factors))
    for node, below in gradients.cancellations():
        numbers = numbers_at(below)
        operation, location = _called(node, walk.made.get(id(node)))
        if numbers:
            zeroed.append(Zeroing(operation=operation, location=location, parameters=numbers, cancels=True))
    return cuts, zeroed


def _cut(node: Node, walk: GraphWalk, numbers: list[int], reason: Literal["function", "zero-derivative"]) -> Cut:
    made = walk.made.get(id(node))
    operation, location = _called(node, made)
    conditional = depends_on_a_choice(made.place if made is not None else None)
    return Cut(operation=operation, location=location, parameters=numbers, reason=reason, conditional=conditional)


def _called(node: Node, made: Provenance | None) -> tuple[str, Location | None]:
    """The operation of a node, and where the program called it."""
    return (made.operation, locate(made.place)) if made else (operation_of(node).lower(), None)


def _operands(node: Node, made_of: Callable[[torch.Tensor], Provenance | None]) -> list[TensorFacts]:
    """What a node saved of its forward: inputs and result, with their ranges, while they are still there."""
    facts = []
    for name, value in _saved(node):
        made = made_of(value)
        operation, made_at = (made.operation, locate(made.place)) if made else ("", None)
        facts.append(describe(value, name=name, operation=operation, made_at=made_at))
    return facts[:4]


def _saved(node: Node) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a node has saved, by the names that torch gives them."""
    for attribute in dir(node):
        if attribute.startswith("_saved_") and attribute not in ("_saved_tensors",):
            try:
                value = getattr(node, attribute)
            except RuntimeError:  # freed already, or changed in place: then there is nothing true to say about it
                continue
            if isinstance(value, torch.Tensor):
                yield attribute.removeprefix("_saved_"), value


def non_finite_event(walk: GraphWalk, bad: BadGradient, parameters: list[int], absorbed: bool) -> NonFiniteGradient:
    node, inside = bad.node, bad.inside
    operation, called_at = _called(node, walk.made.get(id(node)))
    return NonFiniteGradient(
        step=walk.step,
        node=str(node.name()),
        operation="register_hook" if bad.hook else inside.operation if inside else operation,
        location=bad.hook or (locate(inside.place) if inside else called_at),
        applied_at=called_at if inside else None,
        operands=inside.operands if inside else bad.operands,
        parameters=parameters,
        absorbed=absorbed,
        backward=walk.backward,
        low_precision=bad.low_precision,
    )
