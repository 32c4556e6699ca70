"""Events about values that are not finite, too large, too small, or lost."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.findings import Location


class GrownWithin(Struct, frozen=True, omit_defaults=True):
    """An operation at a line whose results grew from call to call within one step.

    sizes: of the mean of a result, at the calls 1, 2, 4, 8 and so on, and at the last one.
    """

    operation: str
    location: Location | None
    calls: int
    sizes: list[float]


class NonFiniteProduced(Event, frozen=True):
    """The first forward operation whose output held NaN or Inf while its inputs were finite, and that mattered.

    rows: first-dimension indices, at most eight. reached: what it spoiled: a loss that went backward, the backward of
    one that left it out, a gradient that the program changed, a parameter in the step of an optimizer (the operation,
    then), or a loss that was only read. low_precision: the same operation is finite in float32 (None: not tried).
    from_graph: nobody recorded the operation; it was found by computing the nodes of the graph once more.
    at_backward: its line is not known either; `location` is that of the backward. written_at:
    where infinities that went in were written down by the program itself, as masks are. grown: what grew before, in the
    same step.
    """

    operation: str
    location: Location | None
    output: TensorFacts
    operands: list[TensorFacts]
    rows: list[int]
    reached: Literal["loss", "backward", "gradient", "parameter", "read"]
    module: str = ""
    low_precision: bool | None = None
    from_graph: bool = False
    at_backward: bool = False
    written_at: Location | None = None
    grown: GrownWithin | None = None


class NonFiniteInput(Event, frozen=True):
    """A tensor that no traced operation made held NaN or Inf, and that mattered."""

    tensor: TensorFacts
    location: Location | None
    rows: list[int]


class EvaluationSpoiled(Event, frozen=True):
    """What the program read at a line of numbers that it computed of a model without gradients was NaN or Inf.

    born: where the first of them was spoiled. read_at: the line. evaluations: in how many it read any, told apart by
    the backwards before. spoiled: how many of these were: for a forward of its own, or in all that was read. nan: the
    last that was spoiled gave NaN. lasts: it is the last of all. in_training: backwards came before it, and after.
    partly: each evaluation that was spoiled gave finite numbers at that line as well. counted: the numbers are counts
    of what a model chose, and not one was finite.
    """

    born: NonFiniteProduced | NonFiniteInput
    read_at: Location | None
    evaluations: int
    spoiled: int
    nan: bool
    lasts: bool
    in_training: bool
    partly: bool = False
    counted: bool = False


class ArrayWarned(Event, frozen=True):
    """NumPy warned at this line of a result that is not finite."""

    text: str
    location: Location


class LossesFollowed(Event, frozen=True):
    """The losses of some backwards in a row that ran at one line, of one number each.

    first: the step of the first of them. opening, last, low, high: of those that are finite, None if none is.
    non_finite: how many are not. early: steps and losses one by one, as long as the run is young.
    """

    location: Location | None
    first: int
    backwards: int
    opening: float | None
    last: float | None
    low: float | None
    high: float | None
    non_finite: int = 0
    early: list[tuple[int, float]] = []


class UpdatesMeasured(Event, frozen=True):
    """What a step of an optimizer did to the values of its parameters.

    weights: root mean squares of their values before the step. updates: of what the step added to them. Both are taken
    over the same values, of a large parameter over some that are spread evenly. still: of parameters of 16 bits, by
    number, the share of those with a gradient that it left as they were, bit for bit. arrived: the share of these that
    have moved since the first such step, in whichever. dtypes: of the same, as they are now.
    """

    optimizer: int
    parameters: list[int]
    weights: list[float]
    updates: list[float]
    still: dict[int, float] = {}
    arrived: dict[int, float] = {}
    dtypes: dict[int, str] = {}


class UpdatesRounded(Event, frozen=True):
    """Between two steps of an optimizer, parameters were set to what the first had left, rounded to fewer bits.

    back: of each, the share of the values that the step had moved which are what they were before it. arrived: the
    share of these values that have been others since it was seen first. dtype: of so many bits. location: of the write.
    """

    optimizer: int
    back: dict[int, float]
    arrived: dict[int, float]
    dtype: str
    location: Location | None = None


class SumStoodStill(Event, frozen=True):
    """A line added something to a single number that it had made itself before, and adding it again changed nothing.

    name: the user's variable. value: of the number; added: what was. Told in the first few steps for each line.
    """

    location: Location | None
    name: str
    dtype: str
    value: float
    added: float


class PhaseTaken(Event, frozen=True):
    """A sine, cosine, tangent or remainder was taken of data that are off what they were made of, by rounding.

    made_at: where the data became numbers of this dtype, or where rates came in; None where that is not known. period:
    of the operation, as what remainders are taken by. largest: of the data, by size; error: by how much eight of them
    are off, at the least. Told at most four times for each line, and not of results that are only compared.
    """

    location: Location | None
    made_at: Location | None
    operation: str
    dtype: str
    period: float
    largest: float = 0.0
    error: float = 0.0


class CarriedValueMeasured(Event, frozen=True):
    """How large a value is, in one step, that the program keeps and computes anew from what it was in the step before.

    Stated again when it has changed by half. value: its number. operation, location: what computes it; kept_at: the
    line that keeps it, if another does. size: its largest entry. given: the largest entry of what else flows into it
    in this step, None if nothing that was seen does. in_loss: it has flowed into a loss.
    """

    value: int
    operation: str
    location: Location | None
    kept_at: Location | None
    numel: int
    size: float
    given: float | None
    in_loss: bool


class Layer(Struct, frozen=True):
    """A matrix of weights, or several that work together, on the way of a gradient.

    location, operation: of the forward. gradients: 2-norms of the gradients that arrived at its output; a layer that is
    applied several times, as that of a recurrent network, has one for each time, the one nearest to the loss first.
    """

    parameters: list[int]
    location: Location | None
    operation: str
    gradients: list[float]


class LayersMeasured(Event, frozen=True):
    """The gradients of one backward along the longest way through layers, from the loss to the first of them."""

    backward: int
    location: Location | None
    layers: list[Layer]


class UnitsCounted(Event, frozen=True):
    """How many units of a rectifier, as ReLU is one, were active on some sample. Stated again when that has changed.

    parameters: the weights in front of it. units: channels of a convolution, otherwise entries of the last dimension.
    silent: those that were active on no sample in any of the `looks`, one for each step looked at. lost: those that
    were, and then on no sample of the last three. samples: of each unit, seen in the last three. filled_at: the lines
    that gave the parameters their first values, where they were seen.
    """

    location: Location | None
    operation: str
    parameters: list[int]
    units: int
    silent: int
    lost: int
    looks: int
    samples: int
    filled_at: dict[int, Location] = {}


class SaturationMeasured(Event, frozen=True):
    """How much of the output of a squashing function lay at its limits, in each of several steps.

    shares: of the values of sigmoid or tanh, or of the rows of a softmax, that have next to no slope. at_low: the part
    of these values that lay at the lower limit; None for a softmax. low, high: the range of what went in.
    filled_at: the lines that gave the parameters their first values, where they were seen.
    """

    location: Location | None
    operation: str
    parameters: list[int]
    shares: list[float]
    at_low: float | None
    low: float
    high: float
    filled_at: dict[int, Location] = {}


class UnitsAlike(Event, frozen=True):
    """The units (rows) of a weight began equal, got equal gradients and were still equal after several updates.

    filled_at: the line that gave them these values, if it was seen.
    """

    parameter: int
    units: int
    updates: int
    filled_at: Location | None


class GradientMeasured(Event, frozen=True):
    """The gradients that a step of an optimizer found, measured although the step was not recorded: its loss stood out.

    norms: 2-norms in the order of `parameters`.
    """

    optimizer: int
    location: Location | None
    parameters: list[int]
    norms: list[float]
    loss: float


class ChoiceSwallowed(Event, frozen=True):
    """All elements of a term of a loss, which a hinge or the like had made of a choice from what was masked, were as
    the mask decided. swallowed: False where that ended, or others at the line were not.

    value: what the choice took in each row, though it had others; None if that is infinite. chosen_by, chosen_at: the
    choice. location, operation: what made one finite number of it. written_at: the line that masked, if it was seen.
    parameters: those that the term would teach.
    """

    location: Location | None
    operation: str
    chosen_by: str
    chosen_at: Location | None
    written_at: Location | None
    value: float | None
    elements: int
    parameters: list[int]
    swallowed: bool
