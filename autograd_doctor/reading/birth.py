"""Where a value that is not finite was born in a graph that nobody recorded.

A graph that no backward has run over still holds what its nodes saved of the forward. A node of torch is named after
its operation and saves arguments under the names that they have in the operation's schema, so that most nodes can be
computed once more.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction

from autograd_doctor.reading.low_precision import is_low
from autograd_doctor.reading.provenance import leaf_of
from autograd_doctor.reading.subclasses import node_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.torch_versions import packed
from autograd_doctor.reading.without_running import is_a

Node = Any

_MOVES_VALUES = frozenset({
    "alias", "asstrided", "cat", "clone", "constantpadnd", "expand", "flip", "gather", "index", "indexselect",
    "maskedfill", "maskedselect", "permute", "repeat", "roll", "select", "slice", "split", "splitwithsizes", "squeeze",
    "stack", "t", "transpose", "tril", "triu", "unbind", "unsafeview", "unsqueeze", "view", "where",
})  # fmt: skip
"""They compute nothing: what they give is finite if what went in was, and infinities that masks fill in are meant."""
_WRITES = frozenset({
    "cat", "constantpadnd", "copyslices", "fill", "indexfill", "indexput", "maskedfill", "maskedscatter", "stack",
    "where",
})  # fmt: skip
"""They put numbers, or data, beside or in place of what was computed."""
_UNSIGNED = 2**63
"""torch hands out negative dimensions that a node saved as 64-bit numbers without a sign."""


class Birth(NamedTuple):
    """A node that made values that are not finite out of finite ones.

    low_precision: whether it gives finite values in float32, None if that is not known.
    """

    node: Node
    operands: Sequence[torch.Tensor]
    output: torch.Tensor
    low_precision: bool | None = None


def birth(nodes: Sequence[Node]) -> Birth | None:
    """The first such node of a graph, None if the graph does not tell.

    Random operations, custom functions, and nodes that saved too little are not computed: they are never accused, nor
    is what follows on them. Call it in a look.
    """
    graph = _Graph(nodes)
    return next((born for node in graph.nodes if (born := graph.visit(node)) is not None), None)


class Brought(NamedTuple):
    """A node into which NaN came with data, as a target or an input: nothing in the graph made it, and all else was
    finite."""

    node: Node
    data: torch.Tensor


def brought_in(nodes: Sequence[Node]) -> Brought | None:
    """The first such node of a graph, None if something was born before it, or if the graph does not tell.

    Infinities may be meant, as in masks. Call it in a look.
    """
    graph = _Graph(nodes)
    for node in graph.nodes:
        if graph.visit(node) is not None:
            return None
        data = graph.spoiled_data(node)
        if data is not None:
            return Brought(node, data)
    return None


def only_written(nodes: Sequence[Node], *, is_one: bool) -> bool:
    """Whether a graph that gave infinities has nodes that write them down, and none that made any of finite values.

    is_one: a single number, which is one of them only if nothing was computed of it last. Call it in a look.
    """
    if not nodes or (is_one and _key(nodes[0]) not in _MOVES_VALUES):
        return False
    return any(_key(node) in _WRITES for node in nodes) and birth(nodes) is None


class _Graph:
    """Its nodes in the order of the forward. What is known of their outputs is kept until all have taken it."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._leaves = {node: leaf for node in nodes if (leaf := leaf_of(node)) is not None}
        self.nodes = sorted((node for node in nodes if node not in self._leaves), key=lambda node: node._sequence_nr())
        self._finite: dict[Node, bool | None] = {node: _is_finite(leaf) for node, leaf in self._leaves.items()}
        self._saved: dict[Node, dict[str, Any]] = {node: dict(_saved_by(node)) for node in self.nodes}
        self._outputs: dict[Node, dict[int, torch.Tensor]] = {node: {} for node in self.nodes}
        for value in (value for saved in self._saved.values() for value in saved.values()):
            if is_a(value, torch.Tensor) and (maker := node_of(value)) in self._outputs:
                self._outputs[maker][value.output_nr] = value
        self._takers = Counter(source for node in self.nodes for source, _ in node.next_functions)

    def visit(self, node: Node) -> Birth | None:
        """Find out whether the outputs of a node are finite; those of all before it are known."""
        operands = self._operands(node)
        outputs = list(self._outputs[node].values()) or self._computed(node, operands)
        self._let_go(node)
        finite = [_is_finite(output) for output in outputs]
        sources_are_finite = all(self._finite.get(source) for source, _ in node.next_functions if source is not None)
        if _key(node) in _MOVES_VALUES:
            self._finite[node] = (sources_are_finite and False not in finite) or None
            return None
        self._finite[node] = all(finite) if finite and None not in finite else None
        given = [value for value in operands.values() if value is not None]
        if False in finite and sources_are_finite and self._are_finite(node, operands):
            spoiled = outputs[finite.index(False)]
            return Birth(node, given, spoiled, self._fits_float32(node, operands) if is_low(spoiled) else None)
        return None

    def spoiled_data(self, node: Node) -> torch.Tensor | None:
        """What alone spoiled a node that was visited, if that has no graph of its own."""
        sources_are_finite = all(self._finite.get(source) for source, _ in node.next_functions if source is not None)
        if self._finite[node] is not False or not sources_are_finite:
            return None
        tensors = (value for value in self._saved[node].values() if is_a(value, torch.Tensor))
        data = (value for value in tensors if node_of(value) is None and not value.requires_grad and readable(value))
        return next((value for value in data if bool(value.isnan().any())), None)

    def _are_finite(self, node: Node, operands: Mapping[str, torch.Tensor | None]) -> bool:
        """Whether what went into a node is finite. Data that nothing holds any more may have been spoiled."""
        given = [*operands.values(), *self._optional(node)]
        if not all(_is_finite(value) for value in given if value is not None):
            return False
        sources = [source for source, _ in node.next_functions]
        gone = [source for value, source in zip(operands.values(), sources, strict=False) if value is None]
        return len(operands) != len(sources) or None not in gone

    def _fits_float32(self, node: Node, operands: Mapping[str, torch.Tensor | None]) -> bool | None:
        """Whether a node, computed in float32, gives finite values."""
        wide = {
            name: value.float() if value is not None and is_low(value) else value for name, value in operands.items()
        }
        outputs = self._computed(node, wide)
        return all(map(_is_finite, outputs)) if outputs else None

    def _let_go(self, node: Node) -> None:
        """What was computed need not stay in memory when all have taken it."""
        for source, _ in node.next_functions:
            self._takers[source] -= 1
            if not self._takers[source]:
                self._outputs.pop(source, None)

    def _operands(self, node: Node) -> dict[str, torch.Tensor | None]:
        """The tensors that went into a node, by their names; None where nothing holds them any more."""
        saved, operation = self._saved[node], _operation(node)
        if operation is None:
            return {
                name: value for name, value in saved.items() if is_a(value, torch.Tensor) and node_of(value) != node
            }
        names = [argument.name for argument in operation._schema.arguments if _takes_tensor(argument)]
        edges = node.next_functions if len(names) == len(node.next_functions) else [(None, 0)] * len(names)
        return {
            name: saved[name] if is_a(saved.get(name), torch.Tensor) else self._given_by(*edge)
            for name, edge in zip(names, edges, strict=True)
        }

    def _optional(self, node: Node) -> Iterator[torch.Tensor]:
        """What a node saved of tensors that its operation can do without, as the weights of classes."""
        operation = _operation(node)
        for argument in operation._schema.arguments if operation is not None else ():
            value = self._saved[node].get(argument.name)
            if not _takes_tensor(argument) and value is not None and is_a(value, torch.Tensor):
                yield value

    def _given_by(self, source: Node | None, position: int) -> torch.Tensor | None:
        leaf = self._leaves.get(source)
        return self._outputs.get(source, {}).get(position) if leaf is None else leaf

    def _computed(self, node: Node, operands: Mapping[str, torch.Tensor | None]) -> list[torch.Tensor]:
        """The output of a node, computed once more.

        With a 1 for an operand that is gone, as the dividend of a quotient, only an output that is spoiled all the same
        says anything.
        """
        operation = _operation(node)
        known = next((value for value in operands.values() if value is not None), None)
        if operation is None or known is None:
            return []
        one = torch.ones((), dtype=known.dtype, device=known.device)
        arguments = {name: one if value is None else value for name, value in operands.items()}
        for argument in operation._schema.arguments:
            if argument.name in self._saved[node] and argument.name not in arguments:
                arguments[argument.name] = self._saved[node][argument.name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the forward has given them already
            try:
                output = operation(**arguments)
            except (RuntimeError, TypeError, ValueError, IndexError):  # other shapes than those of the forward
                return []
        if not is_a(output, torch.Tensor):
            return []
        if None in operands.values():
            return [] if _is_finite(output) else [output]
        self._outputs[node][0] = output
        return [output]


def _is_finite(value: torch.Tensor) -> bool | None:
    return bool(torch.isfinite(value.detach()).all()) if readable(value) else None


def _saved_by(node: Node) -> Iterator[tuple[str, Any]]:
    """What a node of torch saved, by its names; nothing that a hook of the program would have to unpack."""
    if is_a(node, BackwardCFunction):
        return
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            is_packed = hasattr(node, f"_raw{attribute}")
            if is_packed and any(entry.unpack_hook is not None for entry in packed(node, attribute)):
                continue
            try:
                value = getattr(node, attribute)
            except RuntimeError:  # freed, or changed in place since
                continue
            yield attribute.removeprefix("_saved_"), _signed(value)


def _signed(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_signed, value))
    return value - 2 * _UNSIGNED if type(value) is int and value >= _UNSIGNED else value


# -------------------------------------------------------------------------------------------- what a node computes


def _key(node: Node) -> str:
    """The name of a node's operation without underscores, which the names of nodes lack."""
    return str(node.name()).rpartition("::")[2].rstrip("0123456789").removesuffix("Backward").lower()


def operation_of(node: Node) -> str:
    """What a node's operation is called."""
    key = _key(node)
    return _names().get(key, key)


def _operation(node: Node) -> torch._ops.OpOverload | None:
    """The overload of a node's operation that takes most of what it saved, None if it cannot be called with that."""
    if is_a(node, BackwardCFunction):
        return None
    names = frozenset(name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_"))
    return _overload(_key(node), names, len(node.next_functions))


@cache
def _overload(key: str, saved: frozenset[str], edges: int) -> torch._ops.OpOverload | None:
    name = _names().get(key)
    if name is None:
        return None
    packet = getattr(torch.ops.aten, name)
    fitting = [overload for each in packet.overloads() if _fits(overload := getattr(packet, each), saved)]
    return max(fitting, key=lambda overload: _how_well(overload, saved, edges), default=None)


@cache
def _names() -> dict[str, str]:
    """The operations of torch that write to no argument, under their keys."""
    names = {
        each.removeprefix("aten::").split(".")[0] for each in torch._C._dispatch_get_all_op_names() if "aten::" in each
    }
    return {name.replace("_", ""): name for name in sorted(names) if not name.endswith("_")}


def _fits(overload: torch._ops.OpOverload, saved: frozenset[str]) -> bool:
    schema = overload._schema
    return (
        not schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in overload.tags
        and all(
            argument.name in saved or argument.has_default_value() or _takes_tensor(argument)
            for argument in schema.arguments
        )
    )


def _how_well(overload: torch._ops.OpOverload, saved: frozenset[str], edges: int) -> tuple[bool, int]:
    """Whether it takes as many tensors as flow into the node, and how much of what was saved."""
    arguments = overload._schema.arguments
    return sum(map(_takes_tensor, arguments)) == edges, sum(argument.name in saved for argument in arguments)


def _takes_tensor(argument: Any) -> bool:
    return str(argument.type) == "Tensor"
