"""AD124 micro-batches-weighed-alike: means over very different numbers of elements count the same within a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, permutations
from math import isclose, sqrt
from typing import no_type_check

from autograd_doctor.events.losses import MeanCounted
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside
from autograd_doctor.views.step_cycle import called, ordinal, share, steps_by_optimizer

_SEQUENCES = 2
"""Dimensions of a batch of them: of pictures, larger ones have more elements, which is no reason to weigh more."""
_BY_CHANCE = 4
"""Deviations of a count that is drawn."""


@dataclass(frozen=True)
class _Window:
    """The micro-batches of one step, in their order, of one loss with one weight."""

    step: OptimizerStepped
    means: list[MeanCounted]

    @property
    def counts(self) -> list[int]:
        """Of those micro-batches that hold as many samples as most do."""
        alike = [(each.shape[:1] if len(each.shape) <= _SEQUENCES else each.shape, each) for each in self.means]
        groups = [[mean.counted for shape, mean in alike if shape == kind] for kind, _ in alike]
        return max(groups, key=len)

    @property
    def ratio(self) -> float:
        """How many times as many elements the largest has; 1 where that may be by chance, as of few."""
        low, high = min(self.counts), max(self.counts)
        return high / max(low, 1) if high - low > _BY_CHANCE * sqrt(high) else 1.0

    def larger(self, ratio: float) -> set[tuple[int, int]]:
        """The places of which the first holds so many times as many as the second."""
        counts = [each.counted for each in self.means]
        return {(i, j) for i, j in permutations(range(len(counts)), 2) if counts[i] >= ratio * counts[j]}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    counted = {event.backward: event for event in trace.of(MeanCounted)}
    for optimizer, steps in steps_by_optimizer(trace).items():
        windows = [window for step in steps if (window := _window(trace, step, counted)) is not None]
        for _, each in groupby(sorted(windows, key=_line), key=_line):
            seen = list(each)
            uneven = [window for window in seen if window.ratio >= tunables["ratio"]]
            enough = len(uneven) >= max(tunables["steps"], tunables["share"] * len(seen))
            if enough and _is_by_element(seen) and _is_any_place(uneven, tunables["ratio"]):
                yield _finding(trace, optimizer, uneven, len(seen), tunables["ratio"])


def _line(window: _Window) -> str:
    return str(window.means[0].location)


def _window(trace: Trace, step: OptimizerStepped, counted: dict[int, MeanCounted]) -> _Window | None:
    """One loss, of one model, on batches of one source."""
    if step.in_closure:
        return None
    histories = [use.backwards for use in step.uses if len(use.backwards) > 1 and not (use.consumed or use.reworked)]
    history = max(histories, key=len, default=[])
    if not history or not all(number in counted and number in trace.backwards for number in history):
        return None
    means, ran = [counted[number] for number in history], [trace.backwards[number] for number in history]
    first, *others = means
    alike = all(
        (each.location, each.drawn_by) == (first.location, first.drawn_by)
        and isclose(each.factor, first.factor, rel_tol=1e-4)
        for each in others
    )
    is_one = all(each.wrote == ran[0].wrote and not each.hooked and not each.reused for each in ran)
    return _Window(step, means) if alike and is_one and first.shape[0] > 1 else None


def _is_by_element(windows: list[_Window]) -> bool:
    """Whether within micro-batches of several samples some count for more of these: each element counts the same."""
    return sum(mean.uneven for window in windows for mean in window.means) > 1


def _is_any_place(windows: list[_Window], ratio: float) -> bool:
    """Whether now one micro-batch of a step is the larger, now another: the first of two tasks would always be."""
    larger = {pair for window in windows for pair in window.larger(ratio)}
    return any((j, i) in larger for i, j in larger)


def _finding(trace: Trace, optimizer: int | None, uneven: list[_Window], total: int, ratio: float) -> Finding:
    widest = max(uneven, key=lambda window: window.ratio)
    first = widest.means[0]
    low, high = min(widest.counts), max(widest.counts)
    number = len(widest.means)
    location = trace.backwards[first.backward].location
    return RULE.finding(
        f"each of {number} micro-batches counts the same in a step of {called(trace, optimizer)}, though one holds "
        f"{low:,} elements that count and another {high:,}: an element of the small one weighs {widest.ratio:.2g} "
        f"times as much. They differ {ratio:g} times or more in {share(len(uneven), total)} looked at closely",
        subject=trace.optimizer_name(optimizer),
        location=location,
        help='add up the losses of the elements (`reduction="sum"`) and divide each micro-batch\'s sum by the number '
        "of elements in all micro-batches of the step",
        confidence="medium",
        evidence={"micro_batches": number, "fewest": low, "most": high, "steps": len(uneven), "of_steps": total},
        related=beside(
            location, ("the mean is taken here", first.location), ("the sum is used by this step", widest.step.location)
        ),
        step_first=ordinal(uneven[0].step),
        step_count=len(uneven),
    )


@no_type_check
def bad() -> None:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    torch.manual_seed(0)
    lengths = torch.randint(2, 30, (16,))
    texts = [torch.randint(1, 12, (8, int(n) + 2)) for n in lengths]
    for text in texts:
        text[::2, -2:] = 0
    model = nn.Sequential(nn.Embedding(12, 16), nn.Linear(16, 12))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        for batch in torch.randperm(16)[:4].tolist():
            tokens = texts[batch]
            scores = model(tokens[:, :-1]).flatten(0, 1)
            loss = cross_entropy(scores, tokens[:, 1:].flatten(), ignore_index=0)
            (loss / 4).backward()  # <- AD124
        optimizer.step()


@no_type_check
def good() -> None:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    torch.manual_seed(0)
    lengths = torch.randint(2, 30, (16,))
    texts = [torch.randint(1, 12, (8, int(n) + 2)) for n in lengths]
    for text in texts:
        text[::2, -2:] = 0
    model = nn.Sequential(nn.Embedding(12, 16), nn.Linear(16, 12))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        window = [texts[batch] for batch in torch.randperm(16)[:4].tolist()]
        total = sum(int((tokens[:, 1:] != 0).sum()) for tokens in window)
        for tokens in window:
            scores = model(tokens[:, :-1]).flatten(0, 1)
            loss = cross_entropy(scores, tokens[:, 1:].flatten(), ignore_index=0, reduction="sum")
            (loss / total).backward()
        optimizer.step()


RULE = Rule(
    code="AD124",
    name="micro-batches-weighed-alike",
    severity="warning",
    title="micro-batches of very different numbers of elements count the same",
    observes="Steps that use the gradients of several backwards of one loss, each of them the mean over what targets "
    "or a mask leave in of a micro-batch, with the same weight; and how many elements these leave in.",
    why="Within a micro-batch each element counts the same, across them it does not: tokens of short texts, or pixels "
    "of pictures with few labels, weigh several times as much as others, and what the model learns depends on how many "
    "micro-batches a step is made of.",
    fix="Divide the sum of each micro-batch by the number of elements in all micro-batches of the step, which is "
    "counted before the first backward.",
    fine="Sums that are divided by the number of all elements, means that are weighed by their numbers, numbers that "
    "differ less than twofold, a last batch with fewer samples, means over each sample by itself, micro-batches of one "
    "sample, or such in which all samples have as many elements; pictures of several sizes; losses at several lines, "
    "of several models, or on batches of several loaders; steps in which the same place always has the fewest; masks "
    "that a model made, classes or samples with weights, hooks, and gradients that the program scales before the step.",
    needs=(BackwardRan, MeanCounted, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad,),
    good=(good,),
    tunables={
        "ratio": Tunable(
            2,
            "how many times as many elements the largest micro-batch of a step has as the smallest",
            "chosen: less comes of chance, and changes little",
        ),
        "steps": Tunable(2, "fewest steps with micro-batches that differ so", MORE_THAN_ONCE),
        "share": Tunable(0.6, "smallest share of the steps looked at closely in which they do", "chosen: most of them"),
    },
    about="loop",
)
