"""Events about losses, about what they are given, and about the model that they teach."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.findings import Location


class LastBatchKept(Event, frozen=True):
    """A root was called in eval mode that holds batch-norms which were trained before, and whose momentum, the weight
    of the newest batch, is close to 1; not where all training was on the same tensors. momentum: the smallest of
    theirs. location: of the call.
    """

    module: int
    norms: list[str]
    momentum: float
    location: Location | None


class Shaping(Struct, frozen=True, omit_defaults=True):
    """The operation that gave a tensor its values, behind views, copies and what hardly changes them.

    shape: of its result. dim: over which a softmax ran. low, high: bounds of what it can give, None where there is
    none. behind: what gave its own input its values, if that is bounded as well.
    """

    operation: str
    location: Location | None
    shape: list[int]
    dim: int | None = None
    low: float | None = None
    high: float | None = None
    behind: Shaping | None = None


class LossOperand(Struct, frozen=True, omit_defaults=True):
    """The prediction or the target as it reached a loss.

    sums: the smallest and the largest sum over the dimension of classes; log_sums: the same of the logarithm of the sum
    of exponentials. sums_over_softmax: the smallest and the largest sum over the dimension over which the softmax of
    the prediction ran. binary: there are only zeros and ones. outside: the share of its values that lie beyond the
    bounds of the other side. Where that has one bound only, mirrored: how many lie within it for each beyond, of those
    near it; reach: how many times further from it those within are.
    """

    facts: TensorFacts
    shaping: Shaping | None = None
    sums: list[float] = []
    log_sums: list[float] = []
    sums_over_softmax: list[float] = []
    binary: bool = False
    outside: float = 0.0
    mirrored: float = 0.0
    reach: float = 0.0


class LossComputed(Event, frozen=True):
    """A loss was computed from a prediction and a target, and a backward went through it.

    operation: a loss function, or what a loss that is written by hand begins with: a difference, or the product of a
    logarithm with weights. class_dim: the dimension of the classes, as far as the operation tells. softmax_dim: where
    the dimension over which the softmax ran lies in the prediction, if that is a view of its result. log_target: of
    `kl_div`. in_order: the targets are 0, 1, 2 … by row, as those of a contrastive loss. normalised_elsewhere: the
    logarithm of the sum of exponentials of the same prediction was taken as well. target_of_parameters: values of
    parameters flow into the target. whole: all of its values count alike; none was weighted or left out before the sum.
    """

    backward: int
    location: Location | None
    operation: str
    prediction: LossOperand
    target: LossOperand
    class_dim: int | None = None
    softmax_dim: int | None = None
    log_target: bool = False
    in_order: bool = False
    normalised_elsewhere: bool = False
    target_of_parameters: bool = False
    whole: bool = True


class ScoresConfined(Event, frozen=True):
    """A loss over classes took similarities of unit vectors for scores, of which none is further from 0 than `bound`.

    scaled_at: where a number that is not learned has set that, None for similarities as they are. location: of the
    loss. Told for the first few losses of a line.
    """

    location: Location | None
    scaled_at: Location | None
    bound: float
    classes: int


class NormalisedAcross(Event, frozen=True):
    """A loss over classes took products of vectors for scores, both normalised over the other dimension than the one
    that is summed up: each column has length 1, and rows have lengths from `low` to `high`.

    location: of the loss. normalised_at: where the first of the factors was made. shape: of that factor.
    """

    location: Location | None
    normalised_at: Location | None
    shape: list[int]
    low: float
    high: float


class SoftmaxOfOne(Event, frozen=True):
    """A softmax ran over a dimension of size one, or of another size, after that, at the same line (`varies`).

    Or something was divided by its own sum (`div`) over such a dimension; `cross_entropy` takes a softmax, and so does
    attention. parameters: those that flow into it. chosen: the program chose it of several. for_none: what came of it
    takes the dimension for none, as by stretching it over features; told once a backward begins.
    """

    location: Location | None
    operation: str
    shape: list[int]
    dim: int
    varies: bool = False
    parameters: list[int] = []
    chosen: bool = False
    for_none: bool = False


class WeightsApart(Event, frozen=True):
    """A product of matrices took in what a softmax had made, over a dimension that the product goes through slice by
    slice and never sums up over. location: of the product. Told in two steps for each line with such a softmax.

    Or a `logsumexp` took in the logarithms of what a softmax had made, with others added to them; over: the dimensions
    that it ran over, none of them that of the softmax.
    """

    softmax: Shaping
    operation: str
    location: Location | None
    over: list[int] = []


class PairsReduced(Event, frozen=True):
    """Two tensors of as many values, in different shapes, were combined into all pairs of these, and summed up.

    location, operation: what combined them. left, right: its operands. shape: of the pairs. reduced_at: the line that
    summed them up. backward: that went through the sum; None for a comparison, which has no gradient. even: each pair
    was the sum of its two values, and all were averaged, which gives what the values one by one would have given.
    of_parameters: one side was made of as many values of parameters, and of numbers drawn for it, alone, which may
    belong to no sample.
    """

    location: Location | None
    operation: str
    left: TensorFacts
    right: TensorFacts
    shape: list[int]
    reduced_at: Location | None
    backward: int | None = None
    even: bool = False
    of_parameters: bool = False


class PairsMeant(Event, frozen=True):
    """The pairs that were compared at this line are meant: what came of it was put beside as many other values, to
    choose some, or the pairs of one of the two with itself were taken as well, as in a distance between samples."""

    location: Location | None


class WeightedTooLate(Event, frozen=True):
    """A loss function, or a mean, had made one number of `values` values when data of as many, or one for each sample,
    multiplied it; a backward went through the product.

    location: of the product. operation, reduced_at: the loss function, or what took the mean.
    """

    backward: int
    location: Location | None
    operation: str
    reduced_at: Location | None
    values: int
    weights: TensorFacts


class MeanCounted(Event, frozen=True):
    """A backward went through the mean over what targets or a mask leave in of a micro-batch, times a factor.

    location: of the loss. counted: how many they leave in, of as many as `shape` says, with a row for each sample.
    uneven: they leave in more of some rows than of others. drawn_by: the pass of the loader that yielded last, or 0.
    """

    backward: int
    location: Location | None
    counted: int
    shape: list[int]
    uneven: bool
    factor: float
    drawn_by: int = 0


class PositivesCompared(Event, frozen=True):
    """A loss was to find, for each of `rows` rows, the other view of its sample among all other rows.

    taken: how its targets take the two views of n samples to lie: as "halves", one after the other, or in "turns".
    likeness: the mean share of all other rows that have a lower score with a row than the one that it is to find;
    other_likeness: than the one that would be its other view if they lay the other way; neighbour_likeness: than the
    row beside that. By chance, it is one half. split_at: where two views were split that are to find each other row by
    row; None where all rows are to find one another.
    """

    location: Location | None
    rows: int
    taken: Literal["halves", "turns"]
    likeness: float
    other_likeness: float
    neighbour_likeness: float = 0.5
    split_at: Location | None = None


class PositiveRepeated(Event, frozen=True):
    """A loss was given `columns` scores for each row, of its positive and of others, and some other equals that.

    Told is each look at a line since the first in which that was so in most rows. repeated: the share of rows in which
    it is so, up to rounding; by_chance: that of other scores that have an equal one likewise. fixed: the share of those
    rows in which the two columns are equal for other rows as well, as two classes that cannot be told apart; level: the
    largest share of them in which the positive has one and the same score. joined_at: where scores, or what they are
    made of, were put together, None where nobody saw, or where some are kept for all rows.
    """

    location: Location | None
    loss: str
    rows: int
    columns: int
    repeated: float
    by_chance: float
    fixed: float
    level: float
    joined_at: Location | None = None


class OutputsAligned(Event, frozen=True):
    """A loss that goes backward consists of nothing but comparisons that bring outputs of modules together.

    comparison: the first of them. spreads: the distance of samples from their mean, of one side and the other of each
    comparison in turn; by_angle: of vectors of length 1. apart: the distance of the two sides of each. inputs: how far
    what went into the modules lies from its mean. stopped: some side has no graph. alone: no loss with anything else
    in it has taught the same parameters since the first step with this one.
    """

    location: Location | None
    comparison: str
    by_angle: bool
    spreads: list[float]
    apart: list[float]
    inputs: list[float]
    stopped: bool
    alone: bool


class FreeWeight(Event, frozen=True):
    """The loss of a backward depends on a parameter by factors of its terms, and by nothing else.

    sizes: of the factors, without their signs. location: of a product with one of them.
    """

    backward: int
    parameter: int
    sizes: list[float]
    location: Location | None


class ReductionsMixed(Event, frozen=True):
    """A backward went through the sum of two numbers for one batch: a sum over its samples, and a mean over them.

    location: where they were added. summed, averaged: how many values were reduced, and by which operation (sum_of,
    mean_of). samples: of the batch. divergence: its size, where what was added up are the divergences of each sample's
    distribution, and the mean over samples was taken of that.
    """

    backward: int
    location: Location | None
    sum_of: str
    summed: int
    sum_at: Location | None
    mean_of: str
    averaged: int
    mean_at: Location | None
    samples: int
    divergence: float | None = None


class NoiseApart(Event, frozen=True):
    """A target was normal noise that no model had been given, in a step in which one was given data with other noise.

    shape: of both. location: of the loss; drawn_at: of the noise in the target, added_at: of that in the data;
    called_at: of the model.
    """

    location: Location | None
    name: str
    shape: list[int]
    drawn_at: Location | None
    added_at: Location | None
    called_at: Location | None


class BootstrappedBesideMark(Event, frozen=True):
    """A prediction was compared with a bootstrapped target, in a step in which nothing used a tensor of zeros and ones.

    location: where data and the discounted prediction were added up; compared_at: of the loss. name: of the target.
    mark_at: where the tensor was made, with as many `values` as the target has, and so many `ones`. keeps: it was used
    for one thing, and the target holds the prediction just where it is 1.
    """

    location: Location | None
    compared_at: Location | None
    name: str
    mark_at: Location | None
    values: int
    ones: int
    keeps: bool = False


class PredictionsLeftOut(Event, frozen=True):
    """A bootstrapped target leaves the prediction out in some rows, and keeps it in others.

    location: where it is left out. followed: rows of each kind whose next state is, bit for bit, one that the other
    side of the loss was computed from, in any step that was looked at: after those, something came.
    """

    location: Location | None
    compared_at: Location | None
    kept: int
    kept_followed: int
    left_out: int
    left_out_followed: int


class EntropyInLoss(Event, frozen=True):
    """A loss with log-probabilities weighted by what came of a draw holds the entropy of a distribution, too.

    location: where that was asked for. added_at: where it met the other terms. minimised: the loss falls when the
    entropy does.
    """

    backward: int
    location: Location | None
    added_at: Location | None
    minimised: bool


class WeightLearns(Event, frozen=True):
    """A loss holds log-probabilities of what was drawn, or ratios of these, times something that has a graph.

    location: of the product. parameters: those to which the weight has a graph.
    """

    backward: int
    location: Location | None
    parameters: list[int]


class LayersChained(Event, frozen=True):
    """A layer took in what another one had made, with nothing nonlinear in between; told once for each pair.

    first, second: the parameters that are their weights. width_in, width, width_out: features or channels in front of
    the first, between the two and behind all that takes in the same. positions: of those the second takes in at a time,
    where the first is a projection at each of them, a convolution of one pixel. in_container: both were called by one
    `Sequential`. shared: several layers take in what the first made. of_data: no parameter flowed into its input.
    dropped: dropout lies in between. depthwise: either works on groups of channels. factors: they are convolutions
    along different axes. from_zero: the weight of the second was zero. idle: an operation on what the first made, the
    result of which nobody used.
    """

    first: int
    second: int
    first_at: Location | None
    second_at: Location | None
    width_in: int
    width: int
    width_out: int
    positions: int = 1
    convolutions: int = 0
    in_container: bool = False
    shared: bool = False
    of_data: bool = False
    dropped: bool = False
    depthwise: bool = False
    factors: bool = False
    from_zero: bool = False
    idle: str = ""
    idle_at: Location | None = None


class BlockRepeated(Event, frozen=True):
    """A list of modules holds one of them at several places, under these names; told when it had run.

    kind: its class. location: where the list was made.
    """

    names: list[str]
    kind: str
    parameters: list[int]
    location: Location | None


class LayersMerged(Event, frozen=True):
    """The weights of a pair that was told, and maybe of more layers, were multiplied by one another."""

    parameters: list[int]


class LayerUsedOtherwise(Event, frozen=True):
    """After a pair with it was told, what the layer with the weight `first` had made went into something else."""

    first: int


class AxesMixed(Event, frozen=True):
    """A `view` or `reshape` made an axis of the size of another one, the values of which it spread over the result.

    how: "permuted" (the result has the sizes of its input in another order), "samples" (the first axis got the size of
    the batch, which was another one), "channels" (the last one got the number of channels, which was another one),
    "merged", "split" (axes below the first were merged, or one was split, as only another order of them allows).
    size: of that axis, or of the second. learns: a graph came with it. Told in each step of those that are looked at
    closely.
    """

    operation: str
    location: Location | None
    how: Literal["permuted", "samples", "channels", "merged", "split"]
    before: list[int]
    after: list[int]
    size: int
    made_by: str = ""
    made_at: Location | None = None
    learns: bool = False


class AxesRestored(Event, frozen=True):
    """The shorter rows that a view had cut the rows of a table into came back to these, each to its own.

    location: of the view that cut them.
    """

    location: Location | None


class BatchLeakJudged(Event, frozen=True):
    """A copy of a module that trains was called in evaluation mode, with a batch of the program's and with one in which
    all samples but one were replaced by that one.

    verdict: "independent" (its output stayed the same), "leaks", "knows places" (where all samples were the same
    one, not all got the same), "not judged" (with `reason`). samples: of the batch. change: largest difference of
    an output of that sample, relative to the largest of its outputs. inner: the innermost module whose output
    changed while its inputs had not; inner_kind: its class, if that is torch's own. operation: the first one whose
    output changed, at `location`. time_first: the inner module takes the first axis for time. axes: of the input of
    the inner module. shape, output: of the first input and of the first output of the module. tokens: the first
    input holds whole numbers. inputs: how many tensors it takes. related: another one of them has a value for each
    pair of samples, or an order of them. collated: a loader put the samples of a batch one after the other along the
    first axis. varied: it was called with other values later on. called_at: where it was called. pairs: the operation
    was given the samples along the first axis and along the second, as for the forces between them.
    """

    module: int
    verdict: Literal["independent", "leaks", "knows places", "not judged"]
    reason: str = ""
    samples: int = 0
    change: float = 0.0
    inner: str = ""
    inner_kind: str = ""
    operation: str = ""
    location: Location | None = None
    time_first: bool = False
    axes: int = 0
    shape: list[int] = []
    output: list[int] = []
    tokens: bool = False
    inputs: int = 0
    related: bool = False
    collated: bool = False
    varied: bool = False
    pairs: bool = False
    called_at: Location | None = None


class TargetLearned(Event, frozen=True):
    """A difference that went backward had a graph to parameters on both sides, from passes of their own.

    target_at: where plain data were added to one side, which had been scaled down by a number or by data: the target.
    compared_at, comparison: the operation that took the difference. parameters: of both sides; where they have none in
    common, those of the target, and those of the other side are `chasing`. target_pass_at, other_pass_at: where the two
    predictions were made. Told in two steps for each line.
    """

    backward: int
    target_at: Location | None
    compared_at: Location | None
    comparison: str
    parameters: list[int]
    chasing: list[int] = []
    target_pass_at: Location | None = None
    other_pass_at: Location | None = None


class TargetsAhead(Event, frozen=True):
    """The targets of a loss were the tokens that a root took in, so many positions further along (`ahead`).

    module: the root. location: of the loss; called_at: of the root. dim: along which time runs. backward: the next one.
    read_at: the line of a data set's code that the targets came from. mask: of targets that are the very tokens, the
    token at places of which the targets do not count, if it stands at most of these, and at no other; made_at: where
    these tokens were made.
    """

    module: int
    ahead: int
    dim: int
    location: Location | None
    called_at: Location | None
    backward: int
    read_at: Location | None = None
    mask: int | None = None
    made_at: Location | None = None


class PartialSlopeNorm(Event, frozen=True):
    """Norms of a derivative that has a graph were compared with a number, and there were too many or too few of them.

    shape: of the derivative; rows: the first of its sizes. outputs: of how many numbers it is the derivative. norms:
    more than both, or fewer than both. location: where the norms were computed.
    """

    shape: list[int]
    rows: int
    outputs: int
    norms: int
    location: Location | None
    taken_at: Location | None
    compared_at: Location | None


class PaddedTargetsSeen(Event, frozen=True):
    """A loss over classes had targets at positions at which a root was given sequences that were filled up at the end.

    filled_with: what these hold there. padded: how many of their targets count, of all that do (`counted`). target:
    the class that all of these are; None if they differ, or if most are ignored, weighed with zero or not reduced.
    positions: of each sequence, with those that are filled up. is_end: each is followed by `target`, at least once, and
    nothing else marks its end. called_at: of the root.
    """

    module: int
    operation: str
    name: str
    filled_with: float
    target: int | None
    padded: int
    counted: int
    location: Location | None
    called_at: Location | None
    positions: int = 0
    is_end: bool = False


class PaddingCompared(Event, frozen=True):
    """A backward came through one number that was made of errors, `padded` of which, and not zero, are those at
    positions at which both what was predicted and the target are only filled up, of `counted` in all.

    declared: what said so, at `declared_at`, as of `PaddingRead`.
    """

    padded: int
    counted: int
    declared: str
    location: Location | None
    declared_at: Location | None


class PaddingRead(Event, frozen=True):
    """The last position was read of sequences that are filled up at the end, and a backward came through what was read.

    padded: in how many of the `sequences` this position is only filled up. is_state: it is the final state of a
    recurrent layer that went through it. declared: what said so, at `declared_at`: an "embedding" by its `padding_idx`,
    "pad_sequence", "filling up" by the program itself, or "pad_packed_sequence" by the lengths.
    """

    name: str
    sequences: int
    padded: int
    is_state: bool
    declared: str
    location: Location | None
    declared_at: Location | None


class MaskInverted(Event, frozen=True):
    """Attention inside a root that was given sequences filled up at the end was to see just these positions.

    operation: what took the mask, at `location`. hides: how many positions that hold something; shows: how many that
    hold `filled_with`. means: what True says in such a mask; "" where it holds numbers that are added. called_at: of
    the root.
    """

    module: int
    operation: str
    filled_with: float
    hides: int
    shows: int
    means: Literal["hidden", "shown", ""]
    location: Location | None
    called_at: Location | None


class LookAheadJudged(Event, frozen=True):
    """A copy of a root that predicts the next token was called in evaluation mode with other tokens in the last place.

    verdict: "blind" (what it returned for earlier positions stayed the same), "looks ahead", "not judged" (with
    `reason`); "copies", of a root whose targets are its own tokens: it reads them one after the other, and each makes a
    difference to what is returned in its place; "sees itself", of one whose targets are its tokens where these were not
    masked: what it returns for a place depends on the token there. change: of these, relative to the largest value.
    inner: the innermost module that made a difference; location: the line that calls it. called_at: that of the root.
    """

    module: int
    verdict: Literal["blind", "copies", "looks ahead", "not judged", "sees itself"]
    reason: str = ""
    change: float = 0.0
    inner: str = ""
    location: Location | None = None
    called_at: Location | None = None


class SeriesReadBackwards(Event, frozen=True):
    """A root is to predict, for each place of a series, the value at the next one, and reads what comes later alone.

    A copy was called in evaluation mode: with other values in the last place, what it returned for earlier ones changed
    by `change`, relative to the largest value; with others in the first, nothing changed behind it. location: where the
    root is called. compared_at: the loss.
    """

    module: int
    change: float
    location: Location | None
    compared_at: Location | None


class OutputStoodStill(Event, frozen=True):
    """What a module returned had the same values, to the bit, for all samples of a batch, whose inputs differed.

    operation, at: the last one that made such a result of samples that differed; empty if none did. zero: its weights,
    if all of them are 0. zeroed_at: what gave them this value. reads: whether an operation of the call took in an input
    that differs between samples, None where nobody watched. Told for each step that was seen, up to a few.
    """

    module: int
    location: Location | None
    samples: int
    shape: list[int]
    operation: str = ""
    at: Location | None = None
    zero: list[int] = []
    zeroed_at: Location | None = None
    reads: bool | None = None


class OutputMoved(Event, frozen=True):
    """After `OutputStoodStill`, a module returned different values for different samples."""

    module: int


class LossSignSeen(Event, frozen=True):
    """The sign with which a backward went down, or up, something that is never below zero.

    negated: what is minimised is its negative, up to constants, positive weights and what is made of parameters alone.
    operation, bounded_at: what made it. is_loss: that is a loss function of torch. negated_at: where its sign was
    changed last. maximises: the optimizer that holds the parameters and climbs. limited: it cannot grow for ever, as
    the distance of unit vectors cannot. alone: what can is a summand of which all parameters are taught. Told when it
    is new for a line.
    """

    backward: int
    location: Location | None
    negated: bool
    operation: str
    is_loss: bool
    bounded_at: Location | None = None
    negated_at: Location | None = None
    maximises: int | None = None
    limited: bool = False
    alone: bool = False


class TermWeightTurned(Event, frozen=True):
    """The weight of a summand of a loss that is never below zero fell from step to step, through zero.

    location: where the summand is weighed. operation, computed_at: what made it; "" for a divergence that is written
    out. backward_at: where the loss went backward. since: the first step with a weight below zero. before, looks: steps
    that were looked at before and since. first, last: weights.
    """

    location: Location | None
    operation: str
    computed_at: Location | None
    backward_at: Location | None
    since: int
    looks: int
    before: int
    first: float
    last: float


class TermWeightGrew(Event, frozen=True):
    """The plain number that a summand of a loss is weighed with, which is never below zero, grew and never fell.

    computed_at: what made the summand. backward_at: where the loss went backward. first, last: weights without signs.
    size_first, size_last: of the summand before it is weighed, None where that was not seen as one number.
    """

    computed_at: Location | None
    backward_at: Location | None
    first: float
    last: float
    size_first: float | None = None
    size_last: float | None = None


class ObjectiveMinimised(Event, frozen=True):
    """A loss holds the lower of a ratio times data and the same of a ratio that is kept near 1, and goes down with it.

    higher: it is the higher one, with a minus. location: where one of the two is chosen. backward_at: where the loss
    went backward.
    """

    backward: int
    location: Location | None
    higher: bool
    backward_at: Location | None


class HessianRowsSummed(Event, frozen=True):
    """`grad` of a gradient of several columns, by what that was taken by, gave the sums of the rows of the Hessian, of
    which a loss picks columns or takes sums.

    columns: of the gradient. mixed: the largest derivative of one column by another coordinate, as a share of the
    largest by its own. location: of the call or, of a function that takes other derivatives at the same line
    (taken_at), where that was called. used_at: where columns are picked, or summed up (used: the operation).
    """

    location: Location | None
    taken_at: Location | None
    used_at: Location | None
    used: str
    shape: list[int]
    mixed: float
