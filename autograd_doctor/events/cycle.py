"""Events of the step life cycle, beyond the steps themselves: clipping, scaling, schedules, averages."""

from __future__ import annotations

from typing import Literal

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class AverageEvaluated(Event, frozen=True):
    """An equal average of weights, in which batch-norms keep statistics, was called in eval mode, and never in training
    mode. averaged: how many models it is made of. location: of the newest call. called_from: the line that called the
    function of this line. by_hand: the program averaged by itself, and the last update may not have been heard. Told at
    the end of the run.
    """

    module: int
    norms: list[str]
    averaged: int
    location: Location | None
    called_from: Location | None = None
    by_hand: bool = False


class ParametersCompared(Event, frozen=True):
    """The values of parameters were compared with those that they had when they first came into view, in step `since`.

    parameters: those that an optimizer holds, or that a backward wrote a gradient to. changed: those that had another
    value at this look or at an earlier one.
    """

    parameters: list[int]
    changed: list[int]
    since: int = 0


class GradientsRead(Event, frozen=True):
    """Before any step, the program got hold of gradients behind `read` of its `backwards`.

    exchanged: behind how many of them it gave parameters to a collective, as for weights that another rank has stepped.
    """

    read: int
    backwards: int
    exchanged: int = 0


class GradientsTakenIn(Event, frozen=True):
    """The program computed something from a gradient of this backward, and not just to change it in place. Told in
    steps that are looked at closely.
    """

    backward: int


class GradientsIgnored(Event, frozen=True):
    """An optimizer that the program has written stepped twice, and did not so much as look at a gradient."""

    optimizer: int


class AveragesDiscarded(Event, frozen=True):
    """New values for parameters that no optimizer holds were computed from them and from ones that learn, and died.

    No operation had taken them in, and the parameters were as before. location: of the first.
    """

    parameters: list[int]
    location: Location | None


class GradientsClipped(Event, frozen=True):
    """Gradients were clipped. norm: total norm before, as the function returned it (None for clipping by value).

    fresh: parameters whose gradient a backward wrote and no step has consumed yet. missing: those without gradient.
    loss_scale: scale still multiplied into the gradients (1.0 when unscaled or no scaler is in use). callers: the lines
    of the program that led to `location`, the outermost first.
    """

    parameters: list[int]
    fresh: list[int]
    missing: list[int]
    location: Location | None
    limit: float
    norm: float | None = None
    loss_scale: float = 1.0
    kind: Literal["norm", "value"] = "norm"
    callers: list[Location] = []


class ScalerUsed(Event, frozen=True):
    """A call on a `GradScaler` that is enabled. `scale` is the loss scale at that time."""

    scaler: int
    call: Literal["scale", "unscale_", "step", "update"]
    scale: float
    location: Location | None
    optimizer: int | None = None
    found_inf: bool = False


class StepsSkipped(Event, frozen=True):
    """Steps of an optimizer that its accelerator has prepared were asked for, and none was passed on to it: each came
    within an accumulation. Told at the end of the run.

    name: what the program calls the prepared one. location: where the first was asked for. times: how many were.
    asked_in, due_in: behind which backwards, by their number from 1, a step was asked for, and would have been taken;
    the first few of each.
    """

    optimizer: int
    name: str
    location: Location | None
    times: int
    asked_in: list[int]
    due_in: list[int]


class SchedulerStepped(Event, frozen=True):
    """A learning-rate scheduler stepped. `first` marks the call that its constructor makes.

    `length` is the number of its steps after which the schedule has run through (`T_max`, `total_steps`, the last
    milestone), None if it has no end or tells none. `follows_metric`: the rate depends on a value that it is given.
    `count`: how often it was stepped so far, by its own count. `unprepared`: what of "optimizer" and "scheduler" the
    program's accelerator was not given to prepare, none where it has none. `base_rate`: the highest rate that a group
    had when its first schedule was made (`initial_lr`), None where it is not at hand. highest: the highest rate that
    its calls so far have left, also those of light steps; None where none is at hand.
    """

    scheduler: int
    name: str
    kind: str
    optimizer: int | None
    location: Location | None
    learning_rates: list[float | None] = []
    first: bool = False
    length: int | None = None
    follows_metric: bool = False
    count: int = 0
    unprepared: list[str] = []
    base_rate: float | None = None
    highest: float | None = None


class MetricFollowed(Event, frozen=True):
    """What a schedule was given that lowers the rate when a metric stands still, or what a framework chooses by: which
    model it keeps, and whether training goes on. Told at the end of the run.

    kind: the class that was told which way is better, by which argument. monitor: what a framework calls the metric.
    refused: how often its not being better had consequences there. mode: "min" where the metric is to fall, else "max".
    metrics, at, learning_rates: of each call, the steps taken by then, and the first group's rate after it. losses: the
    mean loss of the backwards since the call before, None where not all were read. rows: how many a model took in
    without gradients since the newest step before an evaluation. equal: how many values were found equal then, and of
    how many, by each line that compares two tensors and was seen. evaluated, sizes: of each line that was seen to
    compute a loss without gradients then, what it may have been averaged to, over its results, over rows, and over
    both, and how many rows these were.
    """

    scheduler: int
    name: str
    optimizer: int | None
    location: Location | None
    mode: str
    metrics: list[float]
    learning_rates: list[float | None]
    losses: list[float | None]
    rows: list[int]
    equal: list[list[tuple[int, int]]]
    evaluated: list[list[tuple[float, float, float]]] = []
    sizes: list[list[int]] = []
    kind: str = "ReduceLROnPlateau"
    argument: str = "mode"
    monitor: str = ""
    refused: int = 0
    at: list[int] = []


class ScheduleLeftBehind(Event, frozen=True):
    """An optimizer stepped for the first time since it got its state from a file, in the middle of a schedule, and its
    scheduler had not taken a step.

    entry: of the file, in which the state of the schedule is. steps: how many that had taken, 0 where the file has no
    schedule, but rates that one had set. learning_rates: of
    each group now. loaded_at: where the optimizer got its state; made_at: where its scheduler was made. level: the new
    schedule goes by a function that no file keeps, and begins at the very rates that the file has.
    """

    optimizer: int
    entry: str
    steps: int
    learning_rates: list[float | None]
    loaded_at: Location | None
    made_at: Location | None
    level: bool = False


class StateUnused(Event, frozen=True):
    """An optimizer without a state took its first step while another one, `loaded`, held a state that it had been given
    at `loaded_at`, and had not stepped since.
    """

    optimizer: int
    loaded: int
    loaded_at: Location | None


class StateRenewed(Event, frozen=True):
    """A step of an optimizer of the program's own was looked at, which had kept something from the one before.

    parameters: those of which an entry of its state held nothing afterwards but the newest gradient, or its square,
    times 1 - a decay of its group; none where all held more. location: of the step; once such were found, of the line
    in it that first changes one.
    """

    optimizer: int
    parameters: list[int]
    entries: list[str]
    location: Location | None


class WeightsDrawnAnew(Event, frozen=True):
    """Matrices of weights that an optimizer holds, and has taken steps with, were initialised again before a step.

    loaded: they were given the very values that they had been given before, by `load_state_dict`. parameters: those.
    of: how many matrices the optimizer teaches in all. location: of the first of them. steps: since they were
    initialised before, or since the beginning. keeps_state: the optimizer still holds a state for each.
    """

    optimizer: int
    parameters: list[int]
    location: Location | None
    steps: int
    keeps_state: bool
    of: int
    loaded: bool = False


class EvaluatedWeightsKept(Event, frozen=True):
    """A module was evaluated with weights that had been written since the last step, and training went on from them.

    times: how often, of so many `evaluations` between two steps. location: where it is evaluated. parameters: of the
    module, those that an optimizer holds.
    """

    module: int
    location: Location | None
    times: int
    evaluations: int
    parameters: list[int]


class EvaluationChangedModel(Event, frozen=True):
    """Evaluations left a module another one, so that it computes something else in training, and training went on.

    tensors: that it holds and that differ, by their paths, most first; parameters: those among them, of which an
    optimizer holds some if it is `trained`. change: of what it computes for the same input, relative to the largest
    value, tried on copies that were put into evaluation mode and back. alike: an evaluation of them computes what it
    would if nothing but the mode had been set. again: a second evaluation changes it once more. times: how often it
    happened to the module itself, of so many returns from an evaluation that were looked at. since: which step was the
    first that went on so, from 1. written_at: the line that writes to the first of the tensors. back_at: of the methods
    that switch the mode there, the line that only the way back runs. evaluated_at: the one that puts it into evaluation
    mode. Told at the end of the run.
    """

    module: int
    tensors: list[str]
    change: float
    alike: bool
    again: bool
    trained: bool
    parameters: list[int]
    times: int
    returns: int
    since: int
    written_at: Location | None
    back_at: Location | None
    evaluated_at: Location | None


class SpectralVectorsOff(Event, frozen=True):
    """A module was evaluated with vectors of spectral norms, in these layers, that are shorter than one.

    share: the smallest product of both lengths, by which a norm is then too low. location: the line that averages such
    vectors, or that last wrote to one of them, if it was seen. evaluated_at: that of the call.
    """

    module: int
    layers: list[str]
    share: float
    location: Location | None
    evaluated_at: Location | None


class SchedulerIdle(Event, frozen=True):
    """A learning-rate scheduler was built, at this line, and neither it nor one that holds it stepped until the end."""

    kind: str
    optimizer: int
    location: Location | None


class AverageWeighed(Event, frozen=True):
    """A step put a weighted sum of itself and of a parameter into what no optimizer holds.

    own, new: the weights of what it was, and of the parameter. parameters: those of all such sums of the line.
    """

    location: Location | None
    parameters: list[int]
    own: float
    new: float


class AverageRounded(Event, frozen=True):
    """Numbers of averages in half precision that should have moved far since they were seen first: `due`, of which
    `same` are the same to the bit, as what each update adds is lost to rounding. since: the steps before the first of
    them was seen. new: the share of the weights in an update. parameters: those averaged. Told once for each line.
    """

    location: Location | None
    parameters: list[int]
    dtype: str
    new: float
    since: int
    due: int = 0
    same: int = 0


class TrainedAveraged(Event, frozen=True):
    """A step put a weighted sum into what an optimizer holds: of itself, and of a parameter that none holds.

    own, new: the weights of what it was, and of the other one. parameters, towards: the two sides of all such sums of
    the line. moved: those of `towards` that had other values than when this was seen first.
    """

    location: Location | None
    parameters: list[int]
    towards: list[int]
    moved: list[int]
    own: float
    new: float


class UntaughtAveraged(Event, frozen=True):
    """A step put weighted sums of themselves, and of parameters that no optimizer holds, into what none holds either.

    own, new: the weights of what they were, and of the parameters. parameters: those of all such sums of the line.
    moved: those of them that had other values than when this was seen first.
    """

    location: Location | None
    parameters: list[int]
    moved: list[int]
    own: float
    new: float


class FactorRenewed(Event, frozen=True):
    """A number that a loss is made with, by a product or quotient of what learns, is another one under this optimizer
    than under the one that the same line had built before, and the same in all steps of each that were looked at.

    location: of the product. before, after: the number.
    """

    optimizer: int
    location: Location | None
    before: float
    after: float
