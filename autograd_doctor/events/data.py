"""Events about data and about what is loaded."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class BatchRepeated(Event, frozen=True):
    """One training step after the other saw the same samples, to the bit, although they were fetched anew.

    how: each step took the first batch of a new pass over a loader, or the same slice, or rows, of a tensor, or asked a
    pass that was over for another batch, and went on with one that it had. location:
    where the pass began, the rows were taken or the module was called. name: of the loader or the module. steps: in how
    many so far, from `since` on. samples: in the batch. of: in all. rest_used: a module was called with other rows of
    the tensor, or may have been, or with other data beside them, or the program read other rows itself.
    """

    how: Literal["new pass", "same slice", "used up"]
    location: Location | None
    name: str
    since: int
    steps: int
    samples: int
    of: int
    rest_used: bool = False


class BatchKept(Event, frozen=True):
    """A line that trained a module on other data from step to step trains it on the very same ones since.

    Of steps that were recorded. location: of the call. name: of the module. changes: steps with other data than the one
    before, until step `since`; steps: those on the same ones since then, the latest after `until`. longest: the most
    steps between two looks at the same data before. samples: in the batch; largest: in the largest one before.
    same_optimizer: it is stepped by none but those that stepped before.
    """

    location: Location | None
    name: str
    changes: int
    since: int
    until: int
    steps: int
    longest: int
    samples: int
    largest: int
    same_optimizer: bool


class IteratorUsedUp(Event, frozen=True):
    """A loop came back to an iterator that had come to its end, and no step was taken in it any more.

    name: of the variable that holds the iterator. kind: its type. location: the loop over it. fed: whether steps were
    taken while it had something to give. rounds: how often the loop came back in vain, at least. turns: how often, in
    the first rounds, the loop around it went on with it.
    """

    name: str
    kind: str
    location: Location | None
    fed: bool
    rounds: int
    turns: int = 0


class TargetsSeen(Event, frozen=True):
    """What the targets of a loss were at one line, over all steps that were looked at so far.

    operation: the loss. steps, elements: how many. classes: how often each came, of whole numbers, with the most
    frequent first. class_count: how many there were. low, high: extremes. logits: classes that the model tells apart.
    all_ignored: steps in which each target was the ignored one. weighted: classes or samples have weights.
    weights: of the classes, or of those that are of the only one, where these were the same in all steps; weights_at:
    the line that gave them to a module.
    per_sample: there is one target for each sample. summed: the loss was added to something else.
    stateful: the model was given what it computed in an earlier step.
    source: whether they came from a loader, or a larger tensor, of `rows` in all, read `in_order`; `loader` names it.
    chosen_at: the line that built the loader, or took them out of the tensor; made_at: that which made what they are a
    part of. clustered, deviations: see
    `reading.clustering`. made_of: the parameters of the models that said what they are, if any did.
    varied: looks at batches whose targets differed; varied_at: the step of the latest. alike: the value of all targets
    since the step `alike_since`, if they differed in each look before; alike_source: they are from where those were;
    alike_steps, alike_elements: how many were looked at since.
    """

    location: Location | None
    operation: str
    name: str
    since: int
    steps: int
    elements: int
    classes: dict[int, int]
    class_count: int
    low: float | None
    high: float | None
    logits: int
    all_ignored: int
    ignore_index: int | None
    weighted: bool
    per_sample: bool
    stateful: bool
    source: Literal["", "drawn", "chosen"]
    chosen_at: Location | None
    rows: int
    in_order: bool
    loader: str
    clustered: float
    deviations: float
    summed: bool = False
    weights: list[float] = []
    weights_at: Location | None = None
    made_at: Location | None = None
    made_of: list[int] = []
    varied: int = 0
    varied_at: int = -1
    alike: float | None = None
    alike_since: int = -1
    alike_source: bool = False
    alike_steps: int = 0
    alike_elements: int = 0


class TargetScaleSeen(Event, frozen=True):
    """How large predictions were, at the first and the last look at a line that compares them with targets from data.

    Sizes are medians of absolute values: of predictions (first, last), and of the targets of all steps.
    """

    location: Location | None
    operation: str
    name: str
    target: float
    first_step: int
    first: float
    last_step: int
    last: float


class MaskedOut(Event, frozen=True):
    """A boolean mask left nothing of a tensor with a graph, of which a loss, a sum or a mean was then computed.

    empty: in how many of the steps in which the mask was used. in_a_row: in how many of the latest without a break,
    since which step. weights: it was multiplied by losses of elements.
    """

    location: Location | None
    name: str
    shape: list[int]
    empty: int
    steps: int
    in_a_row: int = 0
    since: int = 0
    weights: bool = False


class FirstLayerFed(Event, frozen=True):
    """A layer with weights took in data that no weight had worked on, and no normalisation took its output over.

    Of a second step, if both were alike. location: the line that called the module, applied_at: that of the layer.
    made_at: the line that made the data. mean, deviation: of the step in which each was smaller. low, high: of both.
    """

    location: Location | None
    applied_at: Location | None
    operation: str
    name: str
    shape: list[int]
    mean: float
    deviation: float
    low: float
    high: float
    made_at: Location | None = None


class SamplesMetAgain(Event, frozen=True):
    """Samples that a module was trained on came again, at the line of a loss.

    kept: how often with the target that they had had; others: with another one.
    """

    module: int
    location: Location | None
    kept: int
    others: int


class InputScaleTurned(Event, frozen=True):
    """A layer with weights takes in data that differ far more, or far less, than those that it was given before.

    Data out of a loader or a larger tensor, on which no weight had worked. location: the line that called the module,
    applied_at: that of the layer. since: the first step with the new scale; looks, before: how often the new one and
    the old one were seen, one after the other and without exception. spread: the root mean square, over all features,
    of their standard deviation in a batch, now and before. mean: of all values.
    """

    location: Location | None
    applied_at: Location | None
    operation: str
    name: str
    shape: list[int]
    since: int
    looks: int
    before: int
    spread: float
    spread_before: float
    mean: float
    mean_before: float
    made_at: Location | None = None


class StoredDataChanged(Event, frozen=True):
    """Reading samples of a data set has changed what it stores in a field.

    location: the line that did, if it was `seen`, else the one that reads. samples: how many were changed so far;
    again: those of them that another reading changed once more. index, times: one of them; size_before, size: the mean
    of its absolute values at first and after its latest reading. assigned: the line says that it puts something there.
    asked: a module with parameters was called in such a reading. shuffled: all that readings did was to put the parts
    of samples, as the points of a cloud, in orders that differ. in_series: what they gave out are several values of the
    shape of what is stored, one after the other.
    """

    dataset: str
    field: str
    location: Location | None
    seen: bool
    samples: int
    again: int
    index: int
    times: int
    size_before: float
    size: float
    assigned: bool = False
    asked: bool = False
    shuffled: bool = False
    in_series: bool = False


class GivenRowsChanged(Event, frozen=True):
    """The training loop wrote to parts of data that are kept, and found them again later as it had left them.

    location, operation: what wrote. name: of the data. parts: how many were given to a model. again: how many times
    one of them was written to that an earlier step had left so. size_before, size: of one of these, the mean of its
    absolute values when it was first given, and in the latest of those steps. is_target: the loss compares with them.
    """

    location: Location | None
    operation: str
    name: str
    parts: int
    again: int
    size_before: float
    size: float
    is_target: bool


class RowsCompared(Event, frozen=True):
    """Samples that a module was evaluated on, beside those that it had been trained on before, told apart bit for bit.

    location: the line that called the module. split_at: the line that chose the samples, or read them, if known.
    loader: that they were drawn from, if any. own_loader: training drew from another. evaluated, trained: different
    samples of each. shared: how many of the former were trained on. complete: training had gone through all of its
    samples. tells_apart: samples are so rich that equal ones are so for a reason. first, last: the steps after which it
    was evaluated on them. again: how many of them are among others that the same line evaluated before. alike: the
    share of the samples of a first pass over training data that equal one before them. copied: how many of the shared
    ones had been copied for training, many times each, as few others were. teaches: what it returned here flowed into a
    root of a backward, as targets of another model do. passed_on: samples that the module had been evaluated on came
    among those of training later, when training had gone through all of its own. unlabelled: how many of the shared
    ones were trained on without a target: what the module returned for them met no data.
    """

    module: int
    location: Location | None
    loader: str
    own_loader: bool
    evaluated: int
    trained: int
    shared: int
    complete: bool
    tells_apart: bool
    first: int = 0
    last: int = 0
    again: int = 0
    alike: float = 0.0
    copied: int = 0
    teaches: bool = False
    passed_on: bool = False
    split_at: Location | None = None
    unlabelled: int = 0


class InputsAlike(Event, frozen=True):
    """All samples that a line trained a module on were the same, bit for bit, in all that it was called with.

    constant: so were all values in them, and this was the value. read: they came out of arrays in
    each step anew, and of no loader or larger tensor. made_at: the line that made the data. beside: the same steps gave
    another module data that differ. varied: samples had differed before, in so many looks at batches, until the step
    `since`; same_source: they came from the same loader, or tensor; each_its_own: since then each batch holds one
    sample, and not that of the others.
    """

    module: int
    location: Location | None
    name: str
    shape: list[int]
    steps: int
    samples: int
    constant: float | None
    read: bool = False
    made_at: Location | None = None
    beside: bool = False
    since: int = 0
    varied: int = 0
    same_source: bool = False
    each_its_own: bool = False


class WorkersAlike(Event, frozen=True):
    """Workers of a loader delivered the same batch one after the other, to the bit; those of other rounds differed.

    alike: in how many of the rounds in which each had its turn, and in which they were not asked for the same samples.
    location: the line that built the loader. stream: its data set is of the iterable kind. copied: reading a sample
    draws from a generator that each worker has a copy of, or they were set up by a function of the program's.
    """

    location: Location | None
    name: str
    dataset: str
    workers: int
    rounds: int
    alike: int
    stream: bool
    copied: bool


class GeneratorCopied(Event, frozen=True):
    """A loader gave each of its workers a copy of a generator that reading a sample draws from, and nothing seeds them.

    location: the line that built the loader. held_by, attribute: the class that holds it, and where. made_at: the line
    of that class which assigns it. passes: how many began from the state that it had at first.
    """

    location: Location | None
    name: str
    workers: int
    held_by: str
    attribute: str
    made_at: Location | None
    passes: int


class WorkersLeftBehind(Event, frozen=True):
    """The data set of a loader was changed after its workers were started, which stay: what they read is not what it
    would be with the change.

    location: the line that built the loader. changed_at: that of the change, where it is known. name: of the loader.
    dataset: the class. attribute: what changed, as a path from the data set on; before, now: what it was when
    the workers started, and as a pass began, in words. passes: over the loader until then, with this one.
    """

    location: Location | None
    changed_at: Location | None
    name: str
    workers: int
    dataset: str
    attribute: str
    before: str
    now: str
    passes: int


class FieldsTurned(Event, frozen=True):
    """Samples of a loader came again: pictures that a model was given, and those that its output was compared with.

    location: the line that built the loader. given, target: which tensors of its batches. compared: how often both were
    the same as before, or turned over. apart: how often one was turned in another way than the other. samples, targets:
    of how many, and how many different targets these have.
    """

    location: Location | None
    name: str
    given: int
    target: int
    compared: int
    apart: int
    samples: int
    targets: int


class RowsNeverDrawn(Event, frozen=True):
    """Rows of a tensor were drawn by random indices from a range that leaves some out, and nothing else took those.

    location: the line that drew the indices. chosen_at: the one that took the rows. low, high: the range. rows: of the
    tensor. name: of the variable that holds it. samples: how many rows were seen to be taken. evaluated: a module was
    evaluated on the whole tensor, on the rows that are drawn and on the others alike. draws: how often indices were
    drawn there, 0 where that was not counted; once, they may be the data, and no batch.
    """

    location: Location | None
    chosen_at: Location | None
    name: str
    low: int
    high: int
    rows: int
    samples: int
    evaluated: bool = False
    draws: int = 0


class SamplerRepeats(Event, frozen=True):
    """A sampler drew the same samples in each pass, and no loader drew the others of a data set of as many.

    location: the line of the sampler that drew at random, the sampler, or the line that built the loader. sampler: its
    class. at_random: it was seen to draw by itself. rows: samples in the data set. drawn: how many of them came.
    passes: whole ones. evaluated: a module was evaluated on the whole that the data set stores.
    """

    location: Location | None
    sampler: str
    at_random: bool
    rows: int
    drawn: int
    passes: int
    evaluated: bool


class LengthOfAnother(Event, frozen=True):
    """A data set has as many samples as one of its sequences, `counted`, has entries, and reads each of them by its
    index from another, `read`, which has more. Nobody asked for the others. location: of what tells its length."""

    location: Location | None
    rows: int
    counted: str
    read: str
    entries: int


class SamplerFallsShort(Event, frozen=True):
    """A sampler of torch was made for fewer samples than the data set of its loader has.

    location: the line that built the loader. sampler: its class. rows: samples in the data set. reach: it can draw only
    the first so many. weighted: it was given so many weights.
    """

    location: Location | None
    sampler: str
    rows: int
    reach: int
    weighted: bool


class PairsMisaligned(Event, frozen=True):
    """Inputs and targets of a loss were taken from tensors of as many rows in different orders, of which one is random.

    location: of the loss. input_at, target_at: the lines that took their rows, None where all rows went in as they are.
    rows: of these tensors. steps: in how many of the steps that were looked at closely (`of`), and had both. control:
    other models learned from pairs that go together at the same line, and none of these. drawn: each side comes of a
    loader, which the line built. kept: inputs come of a loader, and targets are slices of what an earlier pass over its
    data set gave. turned: it is not the rows that were taken so, but what is within them, as pictures are turned, by
    draws at these lines.
    """

    location: Location | None
    input_at: Location | None
    target_at: Location | None
    target: str
    rows: int
    steps: int
    of: int
    control: bool = False
    drawn: bool = False
    kept: bool = False
    turned: bool = False


class WindowsShared(Event, frozen=True):
    """Windows that a line evaluates end with moments that lie in the midst of windows that were trained on.

    location: of the evaluation. split_at: the line that chose its samples. loader, trained: the variables of both
    loaders. windows: that were held out and end with values that tell a place; shared: those of them.
    """

    module: int
    location: Location | None
    split_at: Location | None
    loader: str
    trained: str
    windows: int
    shared: int


class OutputRowsCompared(Event, frozen=True):
    """Rows of what a module answers for all of its samples at once, trained on in part, that an evaluation chose.

    location: the line that compared them. split_at: the line that made the index or mask. trained_at: the line that
    compared those of the loss. rows: of all that is answered. trained, evaluated, shared: of the loss, of this
    evaluation, and of both. unseen_too: those evaluated and not trained on that other evaluations have as well.
    held_out: the most rows of another evaluation that has hardly any that were trained on; unseen: the most that were
    not trained on in any other. covered: in any evaluation of a part. all_too: all rows were evaluated at once, too.
    is_part: the rows are a part of an order drawn at random that was cut into several, or were put together with others
    for training.
    """

    module: int
    location: Location | None
    split_at: Location | None
    trained_at: Location | None
    rows: int
    trained: int
    evaluated: int
    shared: int
    unseen_too: int = 0
    held_out: int = 0
    unseen: int = 0
    covered: int = 0
    all_too: bool = False
    is_part: bool = False


class LabelsLost(Event, frozen=True):
    """Samples that came again had kept their label, and since some step they get another each time, as by chance.

    location: of the loss. before: samples that came again with their label. again: those that came twice since then,
    of which `agreeing` had the same label both times. chance: the share of which that is to be expected.
    """

    module: int
    location: Location | None
    target: str
    since: int
    before: int
    again: int
    agreeing: int
    chance: float


class TargetsReassigned(Event, frozen=True):
    """Samples that came again had the target of another sample each time, and no prediction went with its target.

    location: of the loss. read_at: where the targets were made of arrays. stored_at: where what holds these, or the
    inputs, was given another array. again: samples that came again, of which `agreeing` had the target of their last
    time, as many as `chance`, a share, lets one expect; of_others: targets that had been another sample's before.
    """

    module: int
    location: Location | None
    target: str
    read_at: Location | None
    stored_at: Location | None
    again: int
    agreeing: int
    of_others: int
    chance: float


class SamplesMisordered(Event, frozen=True):
    """A collate function put one field of its samples into another order than another field.

    moved: the tensor of a batch that is not in the order of the samples; left: one that belongs to it, in another
    order. Both by where they stand in the batch. rows: of the batch; apart: how many of them do not go together.
    """

    location: Location | None
    moved: str
    left: str
    rows: int
    apart: int


class SeedRepeated(Event, frozen=True):
    """A line went on to give a global generator the same seed, in one training step after the other.

    steps: in how many so far, from `since` on. times: how often in all of them, and in_closures: of optimizers, which
    may call theirs several times in a step. repeated: after how many of these steps
    the generator stood just where it stood after the step before, although numbers had been drawn since the seed.
    called_from: the line that called the function of this line. shared: that function was called from elsewhere, too;
    others: how often one line elsewhere had it set one and the same other seed, or how many other seeds with no step in
    between.
    """

    location: Location | None
    called_from: Location | None
    shared: bool
    generator: Literal["torch", "Python", "NumPy"]
    seed: str
    since: int
    steps: int
    times: int
    repeated: int
    in_closures: int = 0
    others: int = 0


class DrawsRepeated(Event, frozen=True):
    """A line drew the same numbers in all `steps` that were recorded, by a generator that it was given.

    used_at: where `rows` rows of something that learns were looked up by them. others_vary: what models were given was
    another in some of these steps. first: how many steps had been taken before the first of them.
    """

    location: Location | None
    used_at: Location | None
    rows: int
    first: int
    steps: int
    others_vary: bool


class SeedReturned(Event, frozen=True):
    """A line gave a global generator the same seed every few steps, and these steps drew the very numbers again.

    times: how often, one after the other, from step `since` on. steps: that followed the first time and were compared,
    of which `drawing` drew numbers. repeated: after how many of the other times all were drawn again, for the same
    optimizers. location, called_from, shared: as of `SeedRepeated`.
    """

    location: Location | None
    called_from: Location | None
    shared: bool
    generator: Literal["torch", "Python", "NumPy"]
    seed: str
    since: int
    times: int
    steps: int
    drawing: int
    repeated: int


class WeightsLoaded(Event, frozen=True):
    """Parameters got values that were learned elsewhere, after `step` steps: those that came into view by the next.

    A `load_state_dict` gave them; before the first step, also a file that was read, or what nobody saw made.
    """

    parameters: list[int]


class OlderCheckpointUsed(Event, frozen=True):
    """A module got its state from a file, and training went on: of those in a folder that the program had just listed,
    and that are named alike but for numbers, it is the last by name as text, and not the newest.

    step: the one before which it was read. location: the line that read it. newest: the file with the largest number,
    which was written last. files: how many there are of that kind.
    """

    location: Location | None
    name: str
    newest: str
    files: int


class CheckpointsReadInTurn(Event, frozen=True):
    """After the one that an `OlderCheckpointUsed` of this line tells of, others of the same list were read."""

    location: Location | None


class ArrayWrittenOver(Event, frozen=True):
    """A step used several tensors of the memory of one array at a time, and they were made of different contents.

    location, operation: what made most of them; used_at, used_by: what took the last of them. memory: a number for it.
    contents: how many different ones. newest: the number of the latest of the tensors; made: that of the latest of
    all which had been made by then. held: a number for what the memory held when they were used.
    """

    location: Location | None
    operation: str
    used_at: Location | None
    used_by: str
    memory: int
    tensors: int
    contents: int
    newest: int
    made: int
    held: int


class IntegersWrapped(Event, frozen=True):
    """A sum, a difference, a product or a negation of whole numbers wrapped round, and the loss came of the result.

    wrapped: how many of the values that were looked at. should_be, is_now: one of these, as it would be in 64 bits.
    """

    location: Location | None
    operation: str
    dtype: str
    wrapped: int
    values: int
    should_be: int
    is_now: int


class ClassesAveraged(Event, frozen=True):
    """Whole numbers were averaged, and the result, in whole numbers again, was the target of a loss over classes.

    classes: of the loss. places: averages that were looked at, of which so many were of more than one class; regions:
    the classes that the others are of. invented: those that are a class which was not averaged there. one, other,
    became: one of these. distance: how far two classes that were averaged are apart, on the average; by_chance: how far
    they would be if any could lie beside any other. rising: how often the second of two that were mixed was the larger
    one, None for other averages.
    """

    location: Location | None
    operation: str
    classes: int
    places: int
    differing: int
    invented: int
    one: int
    other: int
    became: int
    distance: float
    by_chance: float
    regions: int
    rising: int | None


class SortedRowsMet(Event, frozen=True):
    """Rows of a batch were taken in the order in which data of it were sorted, and what came of them met, row by row,
    what came of other data of the same batch, in the order of the batch.

    location: of the line that took them; sorted_at: of the one that sorted; met_at: of `operation`, where they met.
    rows: of the batch, of which so many were `moved`. Told of two steps for each line.
    """

    location: Location | None
    sorted_at: Location | None
    met_at: Location | None
    operation: str
    rows: int
    moved: int


class IndicesJoined(Event, frozen=True):
    """Indices of several samples were joined, and picked from the joined rows of these samples, each of them a row of
    the first ones: nobody had moved them by the number of rows before theirs.

    location: of the line that joins them; used_at: of the first that picks, by `operation`. batches: in which that was
    seen, in all that were looked at. parts: samples behind the first of a batch, `rows` of which there are; reach: how
    many of these there would be if each ended with the highest of its own indices. others_moved: the program moves
    other indices as it should, so that these may be meant for the first sample.
    """

    location: Location | None
    used_at: Location | None
    operation: str
    batches: int
    parts: int
    rows: int
    reach: int
    others_moved: bool = False


class StateOfOthersUsed(Event, frozen=True):
    """States that one batch had left went into the loss of another, whose rows were drawn at random, so that each row
    went on with the state of another sample.

    location: where the state met the rows; kept_at: where what is kept was made, as `name`. by: what drew the rows.
    rows: of a batch. steps: in which that was seen, from `step` on; it was so in all that were looked at closely.
    """

    location: Location | None
    kept_at: Location | None
    name: str
    by: Literal["loader", "index"]
    rows: int
    steps: int


class OutputsOfOthersMet(Event, frozen=True):
    """What a model made of other samples in an earlier pass, and the program has kept, was compared in a loss with what
    was made of these.

    location: of the comparison; kept_at: the line that called the model, `module`. name: of what was compared. by: what
    it was looked up by: the place of a sample in its own pass, or its number. rows: those of other samples, of all that
    were known, in all these steps. steps: in which that was seen, from `step` on; it was so in all that were looked at
    closely.
    """

    location: Location | None
    kept_at: Location | None
    name: str
    module: int
    by: Literal["position", "index"]
    rows: int
    of: int
    steps: int


class StateLoaded(Event, frozen=True):
    """`load_state_dict` went through. It names the first few of the keys that found no counterpart.

    module: the number of what it was loaded into, among such modules. keys, elements: of the module; loaded: those of
    them that the state gave a value to; given: what the state held. renamed: how keys of the state would have to begin,
    or not to begin, for so many of them to fit (`fitting`); nested_in: the entry of the state that holds such keys.
    alike: how many of the missing have the shape of one that was unexpected. looked_at: the program goes on with what
    `load_state_dict` returned, which names them all. parts: the first few modules of which the state held all that they
    have, under names of their own. shifted: what was loaded, what is missing and what was not expected are places of
    one sequence, which only number its modules.
    """

    module: int
    name: str
    location: Location | None
    keys: int
    elements: int
    loaded_keys: int
    loaded_elements: int
    given_keys: int
    given_elements: int
    missing: list[str] = []
    unexpected: list[str] = []
    missing_keys: int = 0
    unexpected_keys: int = 0
    renamed: Literal["", "remove", "add"] = ""
    prefix: str = ""
    fitting: int = 0
    nested_in: str = ""
    alike: int = 0
    looked_at: bool = False
    parts: list[str] = []
    shifted: bool = False


class OwnStateLoaded(Event, frozen=True):
    """A module that had learned nothing was loaded with the values that it had, as they were, and with nothing else.

    name: of the module, which has so many keys. at_hand: the variable that held a state of which nothing was given to
    any module, with so many keys (`given_keys`), none of them the module's. Of these `fitting` fit, if what they begin
    with, `theirs`, gives way to `ours`.
    """

    name: str
    location: Location | None
    keys: int
    at_hand: str
    given_keys: int
    theirs: str
    ours: str
    fitting: int


class StatisticsLeft(Event, frozen=True):
    """Normalisations were used with running statistics as they are at first, and with weights of others.

    module: the root that was called; used_at: where. norms: the first few of them, of so many (`count`). location: the
    line that copied the weights, has them follow (`averaged`), or loaded them without statistics (`loaded`), None where
    that was not seen. source:
    whose weights they are, "" where that is not known, or (`guessed`) what has the same place in another such model;
    mean: the largest mean there, without its sign; lowest, highest: the extremes of its variances.
    """

    module: int
    location: Location | None
    used_at: Location | None
    norms: list[str]
    count: int
    loaded: bool = False
    averaged: bool = False
    guessed: bool = False
    source: str = ""
    mean: float | None = None
    lowest: float | None = None
    highest: float | None = None


class ScaledByItself(Event, frozen=True):
    """All samples of an evaluation together had mean 0 and standard deviation 1, to the last digits.

    name: of the argument. samples: how many there were; none had been trained on. fields: channels or features that
    were so, 1 if it is all values together. mean: of these, the one furthest from 0. trained: different samples that
    the module was trained on. other_units: the means and deviations that were taken out of these samples and of those
    of training are so unlike that the ones would not do for the others. Told at the end of the run.
    """

    module: int
    name: str
    samples: int
    fields: int
    mean: float
    trained: int
    location: Location | None
    other_units: bool = False


class ScaledAgain(Struct, frozen=True):
    """Data that were scaled as those of training are, and at `location` once more. A quarter of the numbers is beyond
    all of training then, or three quarters beyond nearly all of it, and nearly none was before.

    whole: from where to where all of training goes; most: nine of ten of the evaluation; before: likewise, when
    they had been scaled once. All of a typical feature. calls: that were looked at closely.
    """

    location: Location | None
    calls: int
    whole: tuple[float, float]
    most: tuple[float, float]
    before: tuple[float, float]


class EvaluationOffScale(Event, frozen=True):
    """All that a line evaluated a module on was much larger, or much smaller, than what the module was trained on.

    name: of the argument. calls: of the line that were looked at. batches: of training, likewise. times: by how much,
    in a quarter of the features at least, the medians of one were above the largest of the other, in each of the calls;
    `above` if it was the evaluation's. trained, evaluated: median and largest absolute value of a typical feature.
    drawn_alike: both were drawn by the same lines, which have been given other numbers.
    scaled: in each of the calls that were looked at closely, the data went twice through arithmetic that those of
    training go through once, and were as these in between.
    """

    module: int
    name: str
    location: Location | None
    calls: int
    batches: int
    times: float
    above: bool
    trained: tuple[float, float]
    evaluated: tuple[float, float]
    drawn_alike: bool = False
    scaled: ScaledAgain | None = None


class RowsAlike(Event, frozen=True):
    """All rows that a root was given in training were equal bit for bit, in each of the `steps` that were looked at.

    name: of the argument. different: how many such rows there were, over all steps. whole: they were whole numbers, as
    tokens are. repeated: the program has put them together of one, at `location`, and nothing else in these steps has
    rows that differ, neither what was returned nor what that met. Told at the end of the run.
    """

    module: int
    name: str
    location: Location | None
    rows: int
    since: int
    steps: int
    different: int
    whole: bool = False
    repeated: bool = False


class TwinPasses(Event, frozen=True):
    """Two passes of a root in one step were given equal values, returned equal values, and both went into the loss of a
    backward. first_at, second_at: the lines that call it. same_tensor: they were given the very same one, and what they
    returned is compared with each other in the loss. written_at: the line that last wrote into one tensor, which they
    were given, or which the samples of a batch held as both. Told in a few steps for each pair.
    """

    backward: int
    module: int
    first_at: Location | None
    second_at: Location | None
    same_tensor: bool = False
    written_at: Location | None = None


class NextStatesTheSame(Event, frozen=True):
    """What a model was given for a bootstrapped target was compared with what one was given for the prediction.

    same: it is equal, in all of these rows, but another tensor. made_at: where it was made. masked: data tell of each
    row how it goes on. Told in the first looks at each line of a loss.
    """

    location: Location | None
    made_at: Location | None
    rows: int
    same: bool
    masked: bool


class EndIgnored(Event, frozen=True):
    """A loss over classes counted tokens that a root was given, and ignored the token with which these sequences end.

    token: it is also what fills the positions that a mask hides from the root. rows: of the batch; ended: how many of
    them end with it. counted: how many targets count. called_at: of the root. marked_at: where the program marked
    targets to be ignored by this value, if that was seen.
    """

    module: int
    name: str
    token: int
    rows: int
    ended: int
    counted: int
    location: Location | None
    called_at: Location | None
    marked_at: Location | None = None


class TargetInWindow(Event, frozen=True):
    """The targets that something was compared with were the last values of the sequences that a root was given.

    rows: of the batch; length: of the sequences. channel: which of the values of a moment, None if there is only one,
    or they are all wanted. recurring: how many values were met in several rows, as they are in windows of one series.
    called_at: of the root.
    """

    module: int
    name: str
    rows: int
    length: int
    channel: int | None
    recurring: int
    location: Location | None
    called_at: Location | None
