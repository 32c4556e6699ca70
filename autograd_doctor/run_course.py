"""The course of a run, as plain frozen data: what a report holds beyond its findings, and what pages draw.

Steps count from 1, as they do in findings. Numbers have four digits; those that are not finite are the strings "nan",
"inf" and "-inf", and what was not measured is None. Every list is bounded, however long the run and large the model.
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

Measured = float | str
Quantity = Literal["loss", "gradient norm", "update ratio", "learning rate", "memory"]


class Series(Struct, frozen=True, kw_only=True):
    """A quantity over steps; `name` tells which of its kind, as the program calls it where that is known.

    `place` is the line that it belongs to, where there is one and the name does not say it. Of long ones, the lowest
    and highest points are there. `network` is the module that it is of, where it is of one alone.
    """

    quantity: Quantity
    name: str
    steps: list[int]
    values: list[Measured]
    place: str = ""
    network: str = ""


class FlowRow(Struct, frozen=True, kw_only=True):
    """The gradients of a parameter, or of `parameters` of them below one name, in each of the steps of the flow.

    `network` is the module that they are of: a root, or a part of one that has an optimizer of its own.
    """

    name: str
    parameters: int
    norms: list[Measured | None]
    network: str = ""


class Flow(Struct, frozen=True, kw_only=True):
    """2-norms of the gradients that steps found, in the order of the model."""

    steps: list[int] = []
    rows: list[FlowRow] = []


class ModuleRow(Struct, frozen=True, kw_only=True):
    """A module of the tree, told in the order of the model; all numbers are of it and of all below.

    values: numbers in its parameters. parameters: how many of these there are, by what becomes of them. gradient: its
    2-norm in a typical step. update_ratio: of a typical step to the weights. dead: share of the units behind its
    weights that no sample activates; flat: share of what a squashing function behind them gives that lies at its
    limits.
    """

    name: str
    kind: str
    depth: int
    values: int
    parameters: dict[str, int]
    gradient: Measured | None = None
    update_ratio: Measured | None = None
    dead: float | None = None
    flat: float | None = None


class Lane(Struct, frozen=True):
    """What was recorded to happen in steps; each span is its first and its last."""

    name: str
    spans: list[list[int]]


class Moment(Struct, frozen=True, kw_only=True):
    """Something that happened in a step, in the order in which it did; `times` in a row."""

    step: int
    what: str
    detail: str = ""
    place: str = ""
    times: int = 1


class Timeline(Struct, frozen=True, kw_only=True):
    """The run from its first step to its last.

    light: steps that were seen to be as those before, and not recorded. cycle: one round of training, in its order.
    moments: what happened once.
    """

    lanes: list[Lane] = []
    light: list[list[int]] = []
    cycle: list[Moment] = []
    moments: list[Moment] = []


class Course(Struct, frozen=True, kw_only=True):
    """All of it; empty where nothing was recorded."""

    steps: int = 0
    series: list[Series] = []
    flow: Flow = Flow()
    modules: list[ModuleRow] = []
    timeline: Timeline = Timeline()


def told(value: float) -> Measured:
    """A number as JSON can hold it, to four digits. The largest there are would become infinite by rounding."""
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.4g}")
    return rounded if math.isfinite(rounded) else value
