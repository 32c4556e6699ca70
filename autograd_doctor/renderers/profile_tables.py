"""A profile as tables of words, the dearest first, for all formats that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autograd_doctor.profiling import (
    Alike,
    Beside,
    CheckpointOffer,
    CodeLine,
    EvaluationModes,
    GraphSize,
    LoaderRead,
    Measured,
    Memory,
    Part,
    Profile,
    Waiting,
    alike,
)
from autograd_doctor.renderers.wording import listed
from autograd_doctor.wording import in_bytes, plural

_ROWS = 10
"""Of a table; the JSON has them all."""
_NEGLIGIBLE = 0.005
"""A share of the time below which a row says nothing."""
_NAMES = 4
_WORTH_KEEPING_LESS = 2**20
"""Bytes kept for the backward, below which nobody asks what checkpoints would do."""
_ON_WAITING = "an accelerator that was waited for has nothing to do until it is asked for more"


class Table(NamedTuple):
    """Rows of cells: a name, then numbers, then, under a last column without a head, words.

    shares: of each row, to be drawn as bars; empty where there are none. notes: what stands below.
    """

    title: str
    head: list[str]
    rows: list[list[str]]
    shares: list[float]
    notes: list[str]
    has_words: bool


def pace(profile: Profile) -> str:
    """How long an iteration takes, and what that makes a second."""
    made = [f"{profile.samples:,.0f} samples"] * bool(profile.samples)
    made += [f"{profile.tokens:,.0f} tokens"] * bool(profile.tokens)
    per_second = f", {' or '.join(made)} a second" if made else ""
    said = f"an iteration takes {_interval(profile.seconds)}{per_second}"
    of = f"median of {plural(profile.iterations, 'iteration')}"
    return f"{said} ({of}{', all of them slowed down by being recorded' * profile.while_recorded})"


def tables(profile: Profile) -> Iterator[Table]:
    """Where the time goes, by module and by line; what is held in memory; what checkpoints would change."""
    yield _time_table(profile)
    whole = profile.seconds.median
    modules = [each for each in alike(profile.modules) if each.cost >= _NEGLIGIBLE * whole]
    lines = [each for each in profile.lines if each.forward + each.backward >= _NEGLIGIBLE * whole]
    if modules:
        head = ["module", "calls", "forward", "of its own", "backward", "saved"]
        yield _cut("by module", head, list(map(_module, modules)), has_words=False)
    if lines:
        head = ["line", "forward", "backward", "saved", "operations"]
        yield _cut("by line", head, list(map(_line, lines)), has_words=True)
    if profile.waiting:
        head = ["line", "times", "waits", "share"]
        rows = [_waits(each, whole) for each in profile.waiting]
        table = _cut("waiting for the accelerator", head, rows, has_words=False)
        yield table._replace(notes=[*table.notes, _ON_WAITING])
    if profile.memory is not None:
        yield _memory_table(profile.memory, profile.graphs)
        if profile.checkpoints and profile.memory.activations >= _WORTH_KEEPING_LESS:
            yield _checkpoint_table(profile.checkpoints)


def _time_table(profile: Profile) -> Table:
    parts = [part for part in profile.parts if part.share >= _NEGLIGIBLE]
    return Table(
        "time",
        ["", "time", "share", "lines"],
        [_part(part, profile.seconds.median) for part in parts],
        [part.share for part in parts],
        [*map(_beside, profile.beside), *map(_loader, profile.loaders), *map(_evaluation, profile.evaluations)],
        has_words=True,
    )


def _cut(title: str, head: list[str], rows: list[list[str]], *, has_words: bool) -> Table:
    """The first rows of a table, and how many more there are."""
    more = len(rows) - _ROWS
    notes = [f"and {plural(more, head[0])} more: `--output-format json` has all"] if more > 0 else []
    return Table(title, head, rows[:_ROWS], [], notes, has_words)


def _interval(measured: Measured) -> str:
    low, high = _time(measured.low), _time(measured.high)
    return _time(measured.median) + (f" ({low} to {high})" if low != high else "")


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.9995 * size:  # what would be written as 1000 of the next unit
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _part(part: Part, whole: float) -> list[str]:
    return [part.activity, _time(part.share * whole), f"{part.share:.0%}", ", ".join(part.lines)]


def _beside(beside: Beside) -> str:
    where = f" ({', '.join(beside.lines)})" if beside.lines else ""
    slower = ", while operations were recorded, which takes longer" if beside.while_recorded else ""
    return f"and {beside.activity}: {_time(beside.seconds)} in {plural(beside.iterations, 'iteration')}{slower}{where}"


def _evaluation(tried: EvaluationModes) -> str:
    kept = f" (keeping {in_bytes(tried.saved)})" if tried.saved else ""
    return (
        f"tried: a forward of {tried.module} in evaluation takes {_time(tried.recording.median)} with gradients{kept}, "
        f"{_time(tried.no_grad.median)} under no_grad, {_time(tried.inference_mode.median)} under inference_mode"
    )


def _loader(read: LoaderRead) -> str:
    by = plural(read.workers, "worker") if read.workers else "the process that trains"
    waits = f"a batch is waited for {_time(read.wait.median)}, " if read.wait is not None else ""
    return f"{read.line} is read by {by}: {waits}the first of a pass {_time(read.start.median)}"


def _module(same: Alike) -> list[str]:
    backward, saved = same.sum(lambda module: module.backward), same.sum(lambda module: module.saved)
    return [
        f"{same.name} ({same.kind})",
        f"{same.sum(lambda module: module.calls):.3g}",
        _time(same.sum(lambda module: module.seconds.median)),
        _time(same.own.median),
        _time(backward) if backward else "",
        in_bytes(saved) if saved else "",
    ]


def _line(line: CodeLine) -> list[str]:
    return [
        line.line,
        _time(line.forward),
        _time(line.backward) if line.backward else "",
        in_bytes(line.saved) if line.saved else "",
        listed(line.operations, _NAMES),
    ]


def _waits(waiting: Waiting, whole: float) -> list[str]:
    return [waiting.line, f"{waiting.times:.3g}", _time(waiting.seconds), f"{waiting.seconds / whole:.0%}"]


def _memory_table(memory: Memory, graphs: Sequence[GraphSize]) -> Table:
    held = {
        "parameters": memory.parameters,
        "buffers": memory.buffers,
        "gradients": memory.gradients,
        "optimizer state": memory.optimizer,
        "saved for backward": memory.activations,
        "together": memory.together,
    }
    told = {name: size for name, size in held.items() if size}
    return Table(
        "memory when a backward begins",
        ["", "held", ""],
        [[name, in_bytes(size), ""] for name, size in told.items()],
        [size / memory.together for size in told.values()],
        [*_most(memory), *_graph_note(graphs)],
        has_words=True,
    )


def _checkpoint_table(offers: Sequence[CheckpointOffer]) -> Table:
    notes = {note: None for offer in offers for note in _reservations(offer)}
    head = ["blocks", "keep", "instead of", "times as long"]
    return Table("what checkpoints would do", head, list(map(_offer, offers)), [], list(notes), has_words=False)


def _offer(offer: CheckpointOffer) -> list[str]:
    sizes, about = offer.saved or offer.predicted, "about " * (offer.saved is None)
    before, after = (f"{about}{in_bytes(size)}" for size in sizes) if sizes else ("", "")
    cost = f"{offer.cost.low:.2f} to {offer.cost.high:.2f}" if offer.cost is not None else ""
    return [offer.blocks.replace("`", ""), after, before, cost]


def _reservations(offer: CheckpointOffer) -> Iterator[str]:
    if offer.untried:
        yield f"not tried: {offer.untried}"
    if offer.moved:
        yield f"what a forward writes would be written twice: {listed(offer.moved, 1)}"


def _most(memory: Memory) -> Iterator[str]:
    if memory.peak is not None:
        where = f"the backward of {memory.peak_line}" if memory.peak_during == "backward" else memory.peak_line
        yield f"at least {in_bytes(memory.peak)} at once in an iteration{f', in {where}' if memory.peak_line else ''}"
    if memory.highest:
        yield f"most in use on the accelerator: {in_bytes(memory.highest)}"


def _graph_note(graphs: Sequence[GraphSize]) -> Iterator[str]:
    """From the largest graph that went backward: how large it and its like are, and what becomes of it."""
    if not graphs:
        return
    largest = max(graphs, key=lambda graph: (graph.saved, graph.nodes))
    freed = f"leaves {in_bytes(largest.left)} of that" if largest.left else "frees it all"
    yield (
        f"the largest graph: {plural(largest.nodes, 'node')}, {largest.depth} in a row, {in_bytes(largest.saved)} "
        f"saved; its backward {freed}"
    )
