"""The vocabulary between instruments and rules: past-tense facts, small and frozen, with numbers but no tensors.

Parameters, optimizers, modules, backwards and loaders are referred to by small integers; the `…Seen` and `…Built`
events introduce them with the names that the user gave them. Lists of parameters are lists of those integers.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.findings import Location
from autograd_doctor.plan import Assumption, Outcome, Target


class Event(Struct, frozen=True, tag=True, kw_only=True):
    """Something that happened. `step` is the number of optimizer steps that had taken effect before it.

    The recorder alone stamps what it writes: `sequence` counts the events of one rank from 1 without a gap, and `time`
    is in seconds since its recording began. 0 in all three: not written by a recorder.
    """

    step: int = 0
    sequence: int = 0
    rank: int = 0
    time: float = 0.0


# --------------------------------------------------------------------------------------------------------- the run


class RecordingStarted(Event, frozen=True):
    """The header of a trace: who recorded it, and what was asked for.

    tool: version of the doctor. began: seconds since 1970. rules: codes of those selected. needs: names of the events
    that they ask for. steps, seconds, max_seconds, batches_per_epoch: see `Plan`.
    """

    tool: str
    began: float
    world_size: int = 1
    rules: list[str] = []
    needs: list[str] = []
    steps: int = 0
    seconds: float = 0.0
    max_seconds: float = 0.0
    batches_per_epoch: int = 0


class RecordingDamaged(Event, frozen=True):
    """Stated by whoever reads a trace: from here on it cannot be read, and what followed is lost.

    full: because there was no more room for it where it was written.
    """

    reason: str
    full: bool = False


class RunStarted(Event, frozen=True):
    """The child process is about to run the program. `packages` maps the frameworks present to their versions.

    device: the kind of the best one that there is, whether or not the program will use it.
    """

    target: str
    arguments: list[str]
    cwd: str
    python: str
    torch: str
    device: str
    packages: dict[str, str] = {}


class RunEnded(Event, frozen=True):
    """The program is over, or was stopped. `exit_code` is what the program itself would have returned.

    "time": the time was up while it moved. "hung": it was training, and then nothing of it moved any more.
    """

    reason: Literal["finished", "steps", "time", "hung", "exited", "raised", "interrupted"]
    exit_code: int = 0
    seconds: float = 0.0


class Noted(Event, frozen=True):
    """Something that the doctor changed or left out, or that torch said, which the person should know (say it once)."""

    text: str


class ModelAssumed(Event, frozen=True):
    """A file that trains nothing defines a model: how it can be trained, which is how it is trained from here on."""

    assumption: Assumption


class InstrumentAttached(Event, frozen=True):
    """An instrument began to watch.

    emits: names of the events that it states. requires: names of the instruments that it reads.
    """

    instrument: str
    emits: list[str]
    requires: list[str] = []


class InstrumentDetached(Event, frozen=True):
    """An instrument watched up to here, as long as it was meant to."""

    instrument: str


class InstrumentFailed(Event, frozen=True):
    """A look of an instrument raised, or it could not be attached: our own failure, never the program's. Said once.

    look: what failed ("attach", or the name of a signal). error: type and message of the exception.
    """

    instrument: str
    look: str
    error: str


class InstrumentLimited(Event, frozen=True):
    """An instrument gave way: from here on it saw less than its events promise (an accelerator, a size limit …)."""

    instrument: str
    reason: str


class DetailTurned(Event, frozen=True):
    """From here on the operations of the program are recorded (`full`), or only what costs next to nothing."""

    full: bool


class LightStepsCounted(Event, frozen=True):
    """Steps of which only was seen that they were like those before, and what is new in them.

    first: the number of the first. backwards: how many ran in them. by_optimizer: how many steps each optimizer took,
    and by_hand the program without one. loss: of the last backward.
    """

    first: int
    steps: int
    backwards: int = 0
    by_optimizer: dict[int, int] = {}
    by_hand: int = 0
    loss: float | None = None


class MoreDetailNeeded(Event, frozen=True):
    """Something happened of which only the values of operations could have told the cause, and they were not read."""

    what: Literal["non-finite loss"]


class ProcessStarted(Event, frozen=True):
    """The program started another process, which is not watched: forked, spawned, or Python as a command."""

    how: Literal["fork", "spawn", "forkserver", "command"]


class CheckEnded(Event, frozen=True):
    """The parent's last word, at the end of a saved trace: what it was asked to run, and how the child ended."""

    target: Target
    outcome: Outcome


class GradSwitch(Struct, frozen=True):
    """What switched gradients off.

    `form` tells how: a `with` block, a decorator (then `function` names the decorated function), a bare call
    (`set_grad_enabled(False)`, never undone by a block), or a framework that did it by itself.
    """

    kind: Literal["no_grad", "inference_mode", "set_grad_enabled"]
    form: Literal["block", "decorator", "call", "framework"]
    location: Location | None
    function: str = ""


class TensorFacts(Struct, frozen=True, omit_defaults=True):
    """What is worth saying about a tensor. `low` and `high` are taken over its finite values.

    `name` is the variable that held it, empty if none was found; `made_at` the user's line that computed it;
    `parameter` its number if it is a parameter; `made_under` what had switched inference mode on when it was made;
    `drawn_from` where in a data set's code, or in what made the data, a field of a batch came from.
    """

    shape: list[int]
    dtype: str
    name: str = ""
    device: str = "cpu"
    requires_grad: bool = False
    is_leaf: bool = True
    operation: str = ""
    made_at: Location | None = None
    low: float | None = None
    high: float | None = None
    nan: int = 0
    inf: int = 0
    numel: int = 0
    parameter: int | None = None
    made_under: GradSwitch | None = None
    drawn_from: Location | None = None

    @property
    def described(self) -> str:
        """Name, shape and range in a few words: "`x` of shape [32, 1] from -0.3 to 1.2"."""
        words = [f"`{self.name}`" if self.name else "a tensor", f"of shape {self.shape}"]
        if self.low is not None and self.high is not None:
            words.append(f"from {self.low:.4g} to {self.high:.4g}" if self.low != self.high else f"at {self.low:.4g}")
        spoiled = " and ".join(f"{count} {name}" for name, count in (("NaN", self.nan), ("Inf", self.inf)) if count)
        return " ".join(words) + (f" with {spoiled}" if spoiled else "")


class StackFrame(Struct, frozen=True):
    """One frame of a traceback; `own` frames belong to the user's program."""

    location: Location
    own: bool
    tensors: list[TensorFacts] = []


class MissingModule(Struct, frozen=True):
    """A module that an import did not find.

    python: the Python that looked for it. folder: one of the project that holds it, and where Python does not look.
    package: the file of the package, or of the module of that name, which was found and has no such module.
    """

    name: str
    python: str
    folder: str = ""
    package: str = ""


class ProgramRaised(Event, frozen=True):
    """The program died of an exception. Frames go from the outermost to the one that raised.

    caught: the program caught it, and then ended by itself with an exit code other than 0.
    missing: the module that an import did not find.
    """

    kind: str
    message: str
    frames: list[StackFrame]
    in_backward: bool = False
    caught: bool = False
    missing: MissingModule | None = None


# ------------------------------------------------------------------------------- parameters, modules and optimizers


class ParameterSeen(Event, frozen=True):
    """A leaf that can learn came into view; seen again under the same number when a better name is known.

    module/module_kind: the module that ran, and the class of that part of it, of which a plain tensor is an attribute.
    series: the same for parameters at the same place in the members of one container of modules or of parameters (a
    `ModuleList`, `ModuleDict`, `ParameterList` …), any of which may be called; "" for all others.
    replaces: the parameter that was seen before at the same path from the same module object.
    registered_at: the line that gave it to a module, or built the layer that it belongs to. called_from: the outermost
    call of the program that led there, if it is another line.
    """

    parameter: int
    name: str
    shape: list[int]
    dtype: str
    requires_grad: bool
    kind: Literal["parameter", "tensor"] = "parameter"
    module: int | None = None
    module_kind: str = ""
    series: str = ""
    replaces: int | None = None
    registered_at: Location | None = None
    called_from: Location | None = None


class DevicesUsed(Event, frozen=True):
    """The kinds of devices on which parameters are, such as "cuda": said of the first backward, and once they moved."""

    kinds: list[str]


class ParameterCopied(Event, frozen=True):
    """The program gave a parameter values of other parameters for the first time: a copy of them, or an average."""

    parameter: int
    location: Location | None


class CopyKept(Event, frozen=True):
    """A model that nothing trains was called while others learned, and something gave it new weights every so often.

    location: the newest line that called it. written_at: that was last seen to write to it, if one was. changes: how
    often its weights had changed from one look to the next; longest: the most steps that were between two changes.
    changed, seen: the steps of the newest change, and of the newest call. calls: looks since then, each in another
    step.
    """

    module: int
    location: Location | None
    written_at: Location | None
    changes: int
    longest: int
    changed: int
    seen: int
    calls: int


class FlagIgnored(Event, frozen=True):
    """An attribute that torch does not read was set to say whether parameters learn, and a step later they do not heed
    it.

    holder: the kind of object that it was set on. asked: what it was set to. parameters: those that it was to concern
    and that still require a gradient if it was False, or still require none if it was True.
    """

    holder: str
    name: str
    asked: bool
    parameters: list[int]
    location: Location | None


class ParameterFrozen(Event, frozen=True):
    """A parameter was told to require no gradient; said once for each line that does it, unknown if in a light step.

    callers: the calls that led to that line, outermost first.
    """

    parameter: int
    location: Location | None
    callers: list[Location] = []


class ParameterGroup(Struct, frozen=True):
    """What an optimizer does to one group of parameters. eps: what keeps its divisors from 0, None if it has none."""

    parameters: list[int]
    lr: float | None
    momentum: float = 0.0
    weight_decay: float = 0.0
    eps: float | None = None


class OptimizerBuilt(Event, frozen=True):
    """An optimizer was constructed. `rebuilds` is an earlier optimizer over (some of) the same parameters.

    has_tolerance: a setting of its own lets it leave parameters as they are, once gradients or changes are small.
    """

    optimizer: int
    name: str
    kind: str
    location: Location | None
    groups: list[ParameterGroup]
    rebuilds: int | None = None
    duplicates: list[int] = []
    has_tolerance: bool = False


class ParametersAdded(Event, frozen=True):
    """`add_param_group` after construction."""

    optimizer: int
    group: ParameterGroup
    location: Location | None


class ModulePart(Struct, frozen=True, omit_defaults=True):
    """A module below another one, under the user's name for it, its class, and the parameters that it holds itself."""

    name: str
    kind: str
    parameters: list[int] = []


class ModuleSeen(Event, frozen=True):
    """A module was called for the first time.

    `parent` is the module in whose forward it was called; `registered` is False when that parent does not reach it
    through `modules()`. `holder` says where it was found then ("self.layers[0]"), `built_at` where it was built.
    `mode_dependent` lists its own sub-modules whose forward depends on train/eval: dropout and batch-norm kinds.
    `parts` are those of it that it registers, itself first; up to a thousand, and none of the hundredth root.
    """

    module: int
    name: str
    kind: str
    parameters: list[int]
    location: Location | None
    parent: int | None = None
    registered: bool = True
    holder: str = ""
    built_at: Location | None = None
    mode_dependent: list[str] = []
    parts: list[ModulePart] = []


class ForwardRan(Event, frozen=True):
    """A root module (one not called by another) ran forward, for the first time in this step under these conditions.

    `training` is the root's own flag; `in_eval` and `in_train` name the mode-dependent sub-modules that ran in each
    mode (dropout with p=0 and batch-norm without running statistics left out). `statistics_moved` names the
    batch-norms whose running statistics the call changed, `rewritten_norms` those of them that are frozen and have had
    other weights at such a call. `builds_graph` is true if its output has a graph.
    `undone_parameters` are those written that hold, bit for bit, what an earlier call had left in them, although an
    optimizer step lies between.
    """

    module: int
    location: Location | None
    training: bool
    grad_enabled: bool
    inference: bool = False
    switch: GradSwitch | None = None
    in_eval: list[str] = []
    in_train: list[str] = []
    statistics_moved: list[str] = []
    rewritten_norms: list[str] = []
    builds_graph: bool = False
    mode_set_at: Location | None = None
    written_parameters: list[int] = []
    written_at: Location | None = None
    undone_parameters: list[int] = []


class ForwardsWithoutBackward(Event, frozen=True):
    """Forward passes of a root module in one step built graphs that no backward ever used.

    bytes_held: most that the graph of one pass kept, beside parameters, buffers and inputs. seconds: all passes took.
    called_from: the outermost line on the way to them that passes which a backward used do not come along.
    """

    module: int
    location: Location | None
    training: bool
    passes: int
    bytes_held: int
    seconds: float = 0.0
    called_from: Location | None = None


class IdleForwardUsed(Event, frozen=True):
    """A backward came through a pass from where others had been reported as `ForwardsWithoutBackward`."""

    module: int
    location: Location | None
    training: bool


class ModeSet(Event, frozen=True):
    """`train()` or `eval()` on a module that is a root, or became one."""

    module: int
    training: bool
    location: Location | None


class ModeNotHeeded(Event, frozen=True):
    """A function that takes the mode did what it does in training inside a root in eval mode, and was not told to.

    module: the root. Told once for each line.
    """

    module: int
    function: str
    location: Location | None
    grad_enabled: bool


class LastBatchKept(Event, frozen=True):
    """A root was called in eval mode that holds batch-norms which were trained before, and whose momentum, the weight
    of the newest batch, is close to 1. momentum: the smallest of theirs. location: of the call.
    """

    module: int
    norms: list[str]
    momentum: float
    location: Location | None


class AverageEvaluated(Event, frozen=True):
    """An equal average of weights, in which batch-norms keep statistics, was called in eval mode, and never in training
    mode. averaged: how many models it is made of. location: of the newest call. Told at the end of the run.
    """

    module: int
    norms: list[str]
    averaged: int
    location: Location | None


class GradModeLeftOff(Event, frozen=True):
    """Gradients were switched off globally by a bare call, and work of the program ran under it afterwards."""

    switch: GradSwitch
    work: Location | None


# --------------------------------------------------------------------------------------------- lineage and backward


class Cut(Struct, frozen=True):
    """An operation through which the values of `parameters` went on, but their gradient path did not.

    `reason`: "operation" (detach, item, argmax, a cast …), "grad-mode" (gradients were off; see `switch`), "function"
    (a custom function without a gradient for it), "zero-derivative" (round, sign, floor: gradient zero everywhere).
    `tensor` is the user's variable that was cut. `guessed`: it took values out of torch, and which values came back was
    not seen; never so with "zero-derivative", which the graph itself shows.
    """

    operation: str
    location: Location | None
    parameters: list[int]
    reason: Literal["operation", "grad-mode", "function", "zero-derivative"]
    tensor: str = ""
    switch: GradSwitch | None = None
    guessed: bool = False


class Zeroing(Struct, frozen=True):
    """A backward node that turned a nonzero incoming gradient into zeros for every parameter below it.

    cancels: it passed nonzero gradients on, which cancelled out further down, as where a value is subtracted from what
    was computed in the same way. zero_factors: how many tensors it multiplied, where all of these were zero.
    """

    operation: str
    location: Location | None
    parameters: list[int]
    cancels: bool = False
    zero_factors: int = 0


class Accumulation(Struct, frozen=True):
    """Gradients that an earlier step had consumed were still there, nonzero, and this backward added to them.

    `relative_error` is ‖leftover‖ / ‖fresh gradient‖ over all `parameters`, measured once per run (None otherwise).
    """

    parameters: list[int]
    relative_error: float | None = None


class BackwardRan(Event, frozen=True):
    """`backward()` or `grad()` was run, and went through unless `error` is given.

    values: parameters whose values flow into the roots (None if operations were not being traced).
    guessed: those of `values` that had left torch, and that nobody saw come back.
    reached: parameters in the graph of the roots. wrote: parameters whose `.grad` it wrote.
    behind: those reached that no optimizer holds, and that work on what was computed from some that one does.
    before: those from which something was computed that some that one holds work on.
    ahead: where it reached parameters of several optimizers, those none of whose parameters works on the others'.
    cuts: where the paths of `values` minus `reached` were dropped.
    rewrapped_at: the line that turned the root into a fresh leaf.
    inputs: how many tensors were asked for (`grad(…, inputs)`), 0 for an ordinary backward.
    inside_step: the optimizer in whose unfinished step, by its closure, it ran.
    reaches_back: how many earlier steps the graph goes back to, with the line of the oldest operation crossed into.
    reused: backwards that had already run through part of the graph.
    contains: those of them whose root lies in this graph, so that their whole loss went backward once more.
    reduction: how the operation that made the root reduced its elements, where its node tells.
    """

    backward: int
    location: Location | None
    kind: Literal["backward", "grad"]
    root: TensorFacts
    loss: float | None = None
    values: list[int] | None = None
    guessed: list[int] = []
    reached: list[int] = []
    behind: list[int] = []
    before: list[int] = []
    ahead: list[int] = []
    wrote: list[int] = []
    cuts: list[Cut] = []
    zeroings: list[Zeroing] = []
    accumulated: Accumulation | None = None
    rewrapped_at: Location | None = None
    rewrapped_by: str = ""
    retain_graph: bool = False
    create_graph: bool = False
    inputs: int = 0
    inside_step: int | None = None
    nodes: int = 0
    reaches_back: int = 0
    reaches_back_at: Location | None = None
    carried_by: str = ""
    reused: list[int] = []
    contains: list[int] = []
    reduction: Literal["", "mean", "sum"] = ""
    error: str = ""


class ConstantTerm(Struct, frozen=True):
    """A summand of a loss without a gradient, computed in the same step from the values of `parameters`.

    location: the line that added it to terms with a gradient. name: the user's variable. operation, made_at: what made
    it. cuts: where the gradient paths ended. copied: the values left torch on the way, and came back; guessed: which of
    them did was not seen. value, sum: of it and of the sum that it was added to, over all elements. numel: how many
    these are. was_live: in an earlier step, all that was added at this line had a graph.
    """

    location: Location | None
    name: str
    operation: str
    made_at: Location | None
    parameters: list[int]
    cuts: list[Cut]
    copied: bool = False
    guessed: bool = False
    value: float | None = None
    sum: float | None = None
    numel: int = 1
    was_live: bool = False


class LossExamined(Event, frozen=True):
    """A loss that went backward was followed down to the terms of which it is the sum, all of which were seen made.

    terms: those that have no gradient, and that no other backward teaches; most losses have none.
    """

    backward: int
    location: Location | None
    terms: list[ConstantTerm]


class SamplesUsed(Event, frozen=True):
    """What `sample()` had drawn at a line in the same step went by value into a loss that went backward.

    The distribution has `rsample()`, its parameters required gradients, and gradients were on. kind: its class.
    parameters: for each of its tensors, the parameters to which that one had a graph. estimated: the log-probability of
    what was drawn is in a loss of the step, weighted by what came of it.
    """

    backward: int
    location: Location | None
    kind: str
    parameters: list[list[int]]
    estimated: bool


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
    bounds of the other side.
    """

    facts: TensorFacts
    shaping: Shaping | None = None
    sums: list[float] = []
    log_sums: list[float] = []
    sums_over_softmax: list[float] = []
    binary: bool = False
    outside: float = 0.0


class LossComputed(Event, frozen=True):
    """A loss was computed from a prediction and a target, and a backward went through it.

    operation: a loss function, or what a loss that is written by hand begins with: a difference, or the product of a
    logarithm with weights. class_dim: the dimension of the classes, as far as the operation tells. log_target: of
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


class BlankTargets(Event, frozen=True):
    """Targets of a CTC loss with a graph held the index of the blank, within the lengths that they were given.

    blanks: how many of `labels`; samples: how many have one. classes: of the prediction, the blank among them. Told for
    the first few losses of a line.
    """

    location: Location | None
    blank: int
    blanks: int
    labels: int
    samples: int
    classes: int


class SoftmaxOfOne(Event, frozen=True):
    """A softmax ran over a dimension of size one, or of another size, after that, at the same line (`varies`)."""

    location: Location | None
    operation: str
    shape: list[int]
    dim: int
    varies: bool = False


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
    """

    location: Location | None
    operation: str
    left: TensorFacts
    right: TensorFacts
    shape: list[int]
    reduced_at: Location | None
    backward: int | None = None
    even: bool = False


class WeightedTooLate(Event, frozen=True):
    """A loss function had made one number of `values` values when data of as many, or one for each sample, multiplied
    it; a backward went through the product.

    location: of the product. operation, reduced_at: the loss function.
    """

    backward: int
    location: Location | None
    operation: str
    reduced_at: Location | None
    values: int
    weights: TensorFacts


class TermIdle(Event, frozen=True):
    """A scalar with a graph is made of trained parameters once in a step, and nothing takes it in before it dies.

    Or a number for each sample, which a line has added up over several calls. idle: in how many steps so far, of so
    many that were listened to since it was first made (`steps`). name: the user's variable, if a backward found it
    there. named_at: where that took it from a function that made it. parameters: those that it was computed from, with
    a gradient.
    """

    location: Location | None
    operation: str
    name: str
    parameters: list[int]
    idle: int
    steps: int
    named_at: Location | None = None


class LossDropped(Event, frozen=True):
    """A scalar with a graph, made of trained parameters once in a step, was read and died: no operation with a graph
    took it in, and no backward came through it. Said once for each operation and line. The fields are those of
    `TermIdle`. derived: a second derivative that was taken with `create_graph=True` is in it.
    """

    location: Location | None
    operation: str
    name: str
    parameters: list[int]
    named_at: Location | None = None
    derived: bool = False


class TermUsed(Event, frozen=True):
    """Such a scalar, idle or dropped, made by the same operation at the same place, was of use after all."""

    location: Location | None
    operation: str


class GraphRetained(Event, frozen=True):
    """A graph kept by `retain_graph` or `create_graph` came to its end. `used_again`: a later backward ran through."""

    backward: int
    location: Location | None
    create_graph: bool
    used_again: bool
    bytes_held: int


# ----------------------------------------------------------------------------------- the life of a gradient, in order


class GradientUse(Struct, frozen=True):
    """Parameters whose gradient has the same history at a step.

    backwards: those that contributed since the gradient was last cleared, in order.
    consumed: those of them that an earlier step of the same optimizer had already used.
    foreign: those of them that an earlier step of *another* optimizer followed, before the newest backward.
    altered: the gradient was changed in place after an earlier step used it (scaled, decayed, zeroed by hand …).
    left_over: it is as the step before left it, and of which backward it comes was not seen.
    norms: 2-norms of the gradients, unscaled, in the order of `parameters`.
    """

    parameters: list[int]
    backwards: list[int]
    norms: list[float]
    consumed: list[int] = []
    foreign: list[int] = []
    foreign_step_at: Location | None = None
    altered: bool = False
    left_over: bool = False


class OptimizerStepped(Event, frozen=True):
    """An optimizer stepped; `optimizer` is None for an update written by hand.

    uses: the gradients it found, grouped by history. missing: its parameters that require a gradient and have none.
    frozen: its parameters that do not require one. moved: parameters whose values changed (None: not looked at).
    skipped: a gradient scaler suppressed the update. scaled_by: loss scale still multiplied into the gradients.
    undone: parameters whose values, bit for bit, were those before the last step of this optimizer, which moved them.
    rewritten: parameters whose values were not those that the last step of any optimizer had left, where that is known.
    in_closure: the optimizer was given a closure. keeps_state: it held a state for its parameters after the step.
    learning_rates: of each group, None where it tells none. graph_kept: for an update by hand, how many in a row made
    new values that have a graph, which leads to the older ones.
    """

    optimizer: int | None
    location: Location | None
    uses: list[GradientUse] = []
    missing: list[int] = []
    frozen: list[int] = []
    moved: list[int] | None = None
    undone: list[int] = []
    rewritten: list[int] = []
    skipped: bool = False
    scaled_by: float = 1.0
    in_closure: bool = False
    in_backward: bool = False
    keeps_state: bool = False
    learning_rates: list[float | None] = []
    loss: float | None = None
    graph_kept: int = 0


class ParametersCompared(Event, frozen=True):
    """The values of parameters were compared with those that they had when they first came into view, in step `since`.

    parameters: those that an optimizer holds, or that a backward wrote a gradient to. changed: those that had another
    value at this look or at an earlier one.
    """

    parameters: list[int]
    changed: list[int]
    since: int = 0


class UpdatesDiscarded(Event, frozen=True):
    """New values were computed from parameters and their gradients, and died before any operation took them in.

    It is said when the next gradients are taken, again of these very parameters. location: of the first.
    """

    parameters: list[int]
    location: Location | None


class AveragesDiscarded(Event, frozen=True):
    """New values for parameters that no optimizer holds were computed from them and from ones that learn, and died.

    No operation had taken them in, and the parameters were as before. location: of the first.
    """

    parameters: list[int]
    location: Location | None


class LeafCollected(Event, frozen=True):
    """Backwards wrote to the `.grad` of a leaf that the program made itself, and not as a parameter, in a second step.

    location: the line that made it or had it require a gradient.
    """

    parameter: int
    location: Location | None


class LeafUsed(Event, frozen=True):
    """The program has a use for such a leaf or its gradient.

    how: it read `.grad`; asked `torch.autograd.grad` for a gradient at the leaf or at what was made of it alone; left a
    hook on it; changed its values; or passed it to a checkpoint, which needs something that requires a gradient.
    """

    parameter: int
    how: Literal["read", "asked", "hooked", "changed", "checkpointed"]
    location: Location | None = None


class GradientsCleared(Event, frozen=True):
    """Gradients were set to None or zero. `unused`: those that a finished backward wrote and no step consumed.

    moved: those of the unused whose parameters the program has changed since, in place, as a climb along them does.
    """

    parameters: list[int]
    unused: list[int]
    how: Literal["optimizer.zero_grad", "module.zero_grad", "by hand"]
    location: Location | None
    optimizer: int | None = None
    moved: list[int] = []


class GradientsClipped(Event, frozen=True):
    """Gradients were clipped. norm: total norm before, as the function returned it (None for clipping by value).

    fresh: parameters whose gradient a backward wrote and no step has consumed yet. missing: those without gradient.
    loss_scale: scale still multiplied into the gradients (1.0 when unscaled or no scaler is in use).
    """

    parameters: list[int]
    fresh: list[int]
    missing: list[int]
    location: Location | None
    limit: float
    norm: float | None = None
    loss_scale: float = 1.0
    kind: Literal["norm", "value"] = "norm"


class ScalerUsed(Event, frozen=True):
    """A call on a `GradScaler` that is enabled. `scale` is the loss scale at that time."""

    scaler: int
    call: Literal["scale", "unscale_", "step", "update"]
    scale: float
    location: Location | None
    optimizer: int | None = None
    found_inf: bool = False


class SchedulerStepped(Event, frozen=True):
    """A learning-rate scheduler stepped. `first` marks the call that its constructor makes.

    `length` is the number of its steps after which the schedule has run through (`T_max`, `total_steps`, the last
    milestone), None if it has no end or tells none. `follows_metric`: the rate depends on a value that it is given.
    `count`: how often it was stepped so far, by its own count. `unprepared`: what of "optimizer" and "scheduler" the
    program's accelerator was not given to prepare, none where it has none.
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


class ScheduleLeftBehind(Event, frozen=True):
    """An optimizer stepped for the first time since it got its state from a file that holds a schedule's as well, and
    its scheduler had not taken a step.

    entry: of the file, in which that state is. steps: how many the schedule in the file had taken. learning_rates: of
    each group now. loaded_at: where the optimizer got its state; made_at: where its scheduler was made.
    """

    optimizer: int
    entry: str
    steps: int
    learning_rates: list[float | None]
    loaded_at: Location | None
    made_at: Location | None


class SchedulerIdle(Event, frozen=True):
    """A learning-rate scheduler was built, at this line, and neither it nor one that holds it stepped until the end."""

    kind: str
    optimizer: int
    location: Location | None


# ------------------------------------------------------------------------------------------------------------- data


class BatchDrawn(Event, frozen=True):
    """A `DataLoader` yielded a batch; reported for the first batch of each pass, and when a pass is cut and ends.

    `length` is len(loader) if it has one; `cut` tells that the doctor left batches out from here on. A pass that is cut
    ends after its last batch where that could be delivered, else at once.
    """

    loader: int
    name: str
    location: Location | None
    pass_number: int
    batches: int
    length: int | None = None
    ended: bool = False
    cut: bool = False


class LengthShortened(Event, frozen=True):
    """A framework that plans by `len(loader)` was told that a loader holds fewer batches than it does."""

    loader: str
    length: int
    told: int


class BatchRepeated(Event, frozen=True):
    """One training step after the other saw the same samples, to the bit, although they were fetched anew.

    how: each step took the first batch of a new pass over a loader, or the same slice of a tensor. location: where the
    pass began, or the module was called. name: of the loader or the module. steps: in how many so far, from `since` on.
    samples: in the batch. of: in all. rest_used: a module was called with other rows of the tensor, or may have been.
    """

    how: Literal["new pass", "same slice"]
    location: Location | None
    name: str
    since: int
    steps: int
    samples: int
    of: int
    rest_used: bool = False


class IteratorUsedUp(Event, frozen=True):
    """A loop came back to an iterator that had come to its end, and no step was taken in it any more.

    name: of the variable that holds the iterator. kind: its type. location: the loop over it. fed: whether steps were
    taken while it had something to give. rounds: how often the loop came back in vain, at least.
    """

    name: str
    kind: str
    location: Location | None
    fed: bool
    rounds: int


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
    chosen_at: the line that built the loader, or took them out of the tensor. clustered, deviations: see
    `reading.clustering`. made_of: the parameters of the models that said what they are, if any did.
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
    made_of: list[int] = []


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


class PositivesCompared(Event, frozen=True):
    """A loss was to find, for each of `rows` rows, the other view of its sample among all other rows.

    taken: how its targets take the two views of n samples to lie: as "halves", one after the other, or in "turns".
    likeness: the mean share of all other rows that have a lower score with a row than the one that it is to find;
    other_likeness: than the one that would be its other view if they lay the other way. By chance, it is one half.
    """

    location: Location | None
    rows: int
    taken: Literal["halves", "turns"]
    likeness: float
    other_likeness: float


class ChoiceWithoutGradient(Event, frozen=True):
    """Values were looked up by a choice, and of the loss only what compares them with what they were chosen for teaches
    these parameters, on whose values the other terms depend.

    location: where they were looked up.
    """

    parameters: list[int]
    location: Location | None


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


class FlatDerivative(Event, frozen=True):
    """`grad(…, create_graph=True)` of what is a derivative itself gave nothing but zeros, `values` of them.

    location: of the call, or, of a function that takes other derivatives at the same line (taken_at), where that was
    called. operation: an activation in the graph the slope of which is constant but at single points; activation_at:
    where it was called.
    """

    location: Location | None
    taken_at: Location | None
    operation: str
    activation_at: Location | None
    values: int


class BootstrappedBesideMark(Event, frozen=True):
    """A prediction was compared with a bootstrapped target, in a step in which nothing used a tensor of zeros and ones.

    location: where data and the discounted prediction were added up; compared_at: of the loss. name: of the target.
    mark_at: where the tensor was made, with as many `values` as the target has, and so many `ones`.
    """

    location: Location | None
    compared_at: Location | None
    name: str
    mark_at: Location | None
    values: int
    ones: int


class EntropyInLoss(Event, frozen=True):
    """A loss with log-probabilities weighted by what came of a draw holds the entropy of a distribution, too.

    location: where that was asked for. minimised: the loss falls when the entropy does.
    """

    backward: int
    location: Location | None
    minimised: bool


class WeightLearns(Event, frozen=True):
    """A loss holds log-probabilities of what was drawn, or ratios of these, times something that has a graph.

    location: of the product. parameters: those to which the weight has a graph.
    """

    backward: int
    location: Location | None
    parameters: list[int]


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
    mean, deviation: of the step in which each was smaller. low, high: of both.
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


class StoredDataChanged(Event, frozen=True):
    """Reading samples of a data set has changed what it stores in a field.

    location: the line that did, if it was `seen`, else the one that reads. samples: how many were changed so far;
    again: those of them that another reading changed once more. index, times: one of them; size_before, size: the mean
    of its absolute values at first and after its latest reading.
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


class RowsCompared(Event, frozen=True):
    """Samples that a module was evaluated on, beside those that it had been trained on before, told apart bit for bit.

    location: the line that called the module. loader: that the samples were drawn from, if any. own_loader: training
    drew from another. evaluated, trained: different samples of each. shared: how many of the former were trained on.
    complete: training had gone through all of its samples. tells_apart: samples are so rich that equal ones are so for
    a reason. first, last: the steps after which it was evaluated on them. again: how many of them are among others that
    the same line evaluated before. alike: the share of the samples of a first pass over training data that equal one
    before them. teaches: what it returned here flowed into a root of a backward, as targets of another model do.
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
    teaches: bool = False


class InputsAlike(Event, frozen=True):
    """All samples that a line trained a module on were the same, bit for bit, in all that it was called with.

    constant: so were all values in them, and this was the value. read: they came out of arrays in
    each step anew, and of no loader or larger tensor.
    """

    module: int
    location: Location | None
    name: str
    shape: list[int]
    steps: int
    samples: int
    constant: float | None
    read: bool = False


class WorkersAlike(Event, frozen=True):
    """Workers of a loader delivered the same batch one after the other, to the bit; those of other rounds differed.

    alike: in how many of the rounds in which each had its turn. location: the line that built the loader. stream: its
    data set is of the iterable kind.
    """

    location: Location | None
    name: str
    dataset: str
    workers: int
    rounds: int
    alike: int
    stream: bool


class RowsNeverDrawn(Event, frozen=True):
    """Rows of a tensor were drawn by random indices from a range that leaves some out, and nothing else took those.

    location: the line that drew the indices. chosen_at: the one that took the rows. low, high: the range. rows: of the
    tensor. name: of the variable that holds it. samples: how many rows were seen to be taken. evaluated: a module was
    evaluated on the whole tensor, on the rows that are drawn and on the others alike.
    """

    location: Location | None
    chosen_at: Location | None
    name: str
    low: int
    high: int
    rows: int
    samples: int
    evaluated: bool = False


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
    rows: of these tensors. steps: in how many of the steps that were looked at closely (`of`), and had both.
    """

    location: Location | None
    input_at: Location | None
    target_at: Location | None
    target: str
    rows: int
    steps: int
    of: int


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

    steps: in how many so far, from `since` on. times: how often in all of them. repeated: after how many of these steps
    the generator stood just where it stood after the step before, although numbers had been drawn since the seed.
    called_from: the line that called the function of this line. shared: that function was called from elsewhere, too.
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


class StateLoaded(Event, frozen=True):
    """`load_state_dict` went through. It names the first few of the keys that found no counterpart.

    module: the number of what it was loaded into, among such modules. keys, elements: of the module; loaded: those of
    them that the state gave a value to; given: what the state held. renamed: how keys of the state would have to begin,
    or not to begin, for so many of them to fit (`fitting`); nested_in: the entry of the state that holds such keys.
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


class StatisticsLeft(Event, frozen=True):
    """Normalisations were used with running statistics as they are at first, and with weights of others.

    module: the root that was called; used_at: where. norms: the first few of them, of so many (`count`). location: the
    line that copied the weights, has them follow (`averaged`), or loaded them without statistics (`loaded`), None where
    that was not seen. source:
    whose weights they are, "" where that is not known; mean: the largest mean there, without its sign; lowest, highest:
    the extremes of its variances.
    """

    module: int
    location: Location | None
    used_at: Location | None
    norms: list[str]
    count: int
    loaded: bool = False
    averaged: bool = False
    source: str = ""
    mean: float | None = None
    lowest: float | None = None
    highest: float | None = None


# --------------------------------------------------------------------------------------------------- graph lifetime


class Survivor(Struct, frozen=True):
    """Tensors made at one place that outlived the step in which they were made.

    made_at/operation: where and how they were made. holder: the user's name for what keeps them ("losses",
    "self.history", "hook closure `saved`"); holder_kind: "list", "dict", "deque", "attribute", "variable", "hook", …
    stored_at: the line that put them there, if it was seen. count: how many are alive now; made_in_steps: from how
    many different steps. graph_bytes: bytes that their graphs keep and that would otherwise be free (saved tensors,
    once per storage, parameters excluded). tensor_bytes: bytes of the tensors themselves. nodes: graph nodes kept.
    freed: a backward had freed their buffers. chained: they form one graph that reaches back through earlier steps.
    has_graph: whether they have a `grad_fn`. limit: the holder is a window of this length (`deque(maxlen=…)`), or 0.
    module: the module whose hook, attribute or cache holds them, under the user's name for it. scalars: each is one
    number, whatever the size of its storage.
    """

    made_at: Location | None
    operation: str
    holder: str
    holder_kind: str
    count: int
    made_in_steps: int
    tensor_bytes: int
    graph_bytes: int
    nodes: int
    has_graph: bool
    freed: bool
    chained: bool = False
    limit: int = 0
    stored_at: Location | None = None
    module: str = ""
    scalars: bool = False


class SurvivorsCounted(Event, frozen=True):
    """A census at a step boundary. `steps_per_epoch` is known where a loader's length is.

    recorded_steps: the steps so far whose operations were recorded: only what was made in these is counted.
    """

    survivors: list[Survivor]
    recorded_steps: int = 0
    live_bytes: int = 0
    steps_per_epoch: int | None = None


class HooksCounted(Event, frozen=True):
    """How many hooks a module or tensor carries at a step boundary, and the line that added the newest."""

    subject: str
    hooks: int
    location: Location | None


class SnapshotKept(Event, frozen=True):
    """A `state_dict()` (or list of parameters) taken `taken_in_step` still shares storage with weights that changed.

    used_at_once: it was saved to a file or loaded into a module in the very step in which it was taken.
    loaded_back: the program loaded it into the module whose weights it is; also told where none has changed since.
    regular: the line took the last few at even distances, so that each may be a candidate that the next one replaces.
    others_used: some that the line took were used at once.
    """

    holder: str
    location: Location | None
    taken_in_step: int
    parameters: list[int]
    used_at_once: bool = False
    loaded_back: bool = False
    regular: bool = False
    others_used: bool = False


class WeightsMetThemselves(Event, frozen=True):
    """Tensors that are kept in the storage of these parameters were updated by, or compared with, these very ones, or
    copied back into them.

    kept_at: the line that made them, if it was seen. location: that of the update, the comparison or the copy.
    """

    parameters: list[int]
    kept_at: Location | None
    location: Location | None
    how: Literal["updated", "compared", "put back"] = "updated"


# ---------------------------------------------------------------------------------------------------------- numerics


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
    from_graph: nobody recorded the operation; it was found by computing the nodes of the graph once more. written_at:
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
    written_at: Location | None = None
    grown: GrownWithin | None = None


class NonFiniteInput(Event, frozen=True):
    """A tensor that no traced operation made held NaN or Inf, and that mattered."""

    tensor: TensorFacts
    location: Location | None
    rows: list[int]


class NonFiniteGradient(Event, frozen=True):
    """The first backward node that turned finite incoming gradients into NaN or Inf.

    location: the *forward* line that made the node. operands: the forward inputs with their ranges.
    absorbed: every gradient of the backward ended finite all the same.
    skipped: a gradient scaler skipped the step because of it. low_precision: the gradients are of a small dtype and the
    node has finite slopes, so that they left the range of that dtype. applied_at: where the custom function was applied
    whose own `backward` did it; operation, location and operands are those of the line in there, then.
    """

    node: str
    operation: str
    location: Location | None
    operands: list[TensorFacts]
    parameters: list[int]
    absorbed: bool
    backward: int
    skipped: bool = False
    low_precision: bool = False
    applied_at: Location | None = None


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
    number, the share of those with a gradient that it left as they were, bit for bit.
    """

    optimizer: int
    parameters: list[int]
    weights: list[float]
    updates: list[float]
    still: dict[int, float] = {}


class SumStoodStill(Event, frozen=True):
    """A line added something to a single number that it had made itself before, and adding it again changed nothing.

    name: the user's variable. value: of the number; added: what was. Told in the first few steps for each line.
    """

    location: Location | None
    name: str
    dtype: str
    value: float
    added: float


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
    were, and then on no sample of the last three. samples: of each unit, seen in the last three.
    """

    location: Location | None
    operation: str
    parameters: list[int]
    units: int
    silent: int
    lost: int
    looks: int
    samples: int


class SaturationMeasured(Event, frozen=True):
    """How much of the output of a squashing function lay at its limits, in each of several steps.

    shares: of the values of sigmoid or tanh, or of the rows of a softmax, that have next to no slope. at_low: the part
    of these values that lay at the lower limit; None for a softmax. low, high: the range of what went in.
    """

    location: Location | None
    operation: str
    parameters: list[int]
    shares: list[float]
    at_low: float | None
    low: float
    high: float


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


class GradientNormsMeasured(Event, frozen=True):
    """The gradients that a step of an optimizer found which was not recorded: each of the first, then ever fewer.

    norms: 2-norms, unscaled, in the order of `parameters`.
    """

    optimizer: int
    parameters: list[int]
    norms: list[float]


class MemoryMeasured(Event, frozen=True):
    """What the process held when a step was over: each of the first steps, then ever fewer of them.

    resident: bytes of main memory, what the doctor keeps included. allocated: bytes of tensors on accelerators, None
    where there is none in use.
    """

    resident: int
    allocated: int | None = None


# ------------------------------------------------------------------------------------------ autograd's own complaints


class InPlaceChange(Struct, frozen=True):
    """An in-place operation on a tensor: which, where, and the version it left."""

    operation: str
    location: Location | None
    version: int


class SavedTensorChanged(Event, frozen=True):
    """A tensor saved for backward was changed before the backward that needed it.

    silently: autograd's version counter did not see it (`.data`, an alias). relative_error: of the gradient, measured.
    """

    backward: int
    tensor: TensorFacts
    saved_by: str
    saved_at: Location | None
    changed: InPlaceChange
    needed_at: Location | None
    silently: bool
    parameters: list[int] = []
    relative_error: float | None = None


class OperationFailed(Event, frozen=True):
    """An operation of torch raised: its operands as they reached it, with the variables and lines they came from."""

    operation: str
    location: Location | None
    error: str
    operands: list[TensorFacts]
    module: str = ""


class FunctionJudged(Event, frozen=True):
    """A custom `autograd.Function` was put through gradcheck on the inputs it met, cut to a small size.

    verdict: "right", "wrong", "surrogate" (forward piecewise constant, or a straight-through gradient by design),
    "not judged" (with `reason`). input: position of the worst input, error: largest absolute difference.
    double: gradgradcheck was run instead. judged_on: the tensors that it was called with, under the names of the
    parameters of its forward. requested: the run was for its sake (`doctor gradcheck`).
    """

    function: str
    location: Location | None
    applied_at: Location | None
    verdict: Literal["right", "wrong", "surrogate", "not judged"]
    reason: str = ""
    input: int | None = None
    error: float | None = None
    expected: float | None = None
    found: float | None = None
    double: bool = False
    judged_on: list[TensorFacts] = []
    requested: bool = False


class ContextAttributeKept(Event, frozen=True):
    """A custom function stored an input or output tensor as an attribute of `ctx`."""

    function: str
    attribute: str
    which: Literal["input", "output"]
    location: Location | None
    bytes_held: int


class CheckpointRan(Event, frozen=True):
    """An activation checkpoint was recomputed, or could not be.

    no_input_requires_grad: re-entrant, and nothing among its inputs asked for a gradient. difference: largest absolute
    difference between the first and the recomputed output (None: not compared). statistics_moved_twice: batch-norms.
    operation: the first whose output differed, at `differs_at`; magnitude: largest absolute value of that output.
    """

    location: Location | None
    reentrant: bool
    no_input_requires_grad: bool = False
    parameters: list[int] = []
    difference: float | None = None
    statistics_moved_twice: list[str] = []
    function: str = ""
    operation: str = ""
    differs_at: Location | None = None
    magnitude: float | None = None


# ----------------------------------------------------------------------------------------------- losses and the model


class LayersChained(Event, frozen=True):
    """A layer took in what another one had made, with nothing nonlinear in between; told once for each pair.

    first, second: the parameters that are their weights. width_in, width, width_out: features or channels in front of
    the first, between the two and behind all that takes in the same. in_container: both were called by one
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
    pair of samples. collated: a loader put the samples of a batch one after the other along the first axis. varied:
    it was called with other values later on. called_at: where it was called.
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


class FixedSlopeAdded(Event, frozen=True):
    """A loss that went backward holds the sum of a derivative without a graph and of what has one, to the same
    parameters.

    taken_at: where `autograd.grad` gave the derivative with respect to data, without `create_graph`. added_at,
    operation: the sum. parameters: those that it depends on and that get a gradient through the other summand alone.
    Told in two steps for each line.
    """

    backward: int
    taken_at: Location | None
    added_at: Location | None
    operation: str
    parameters: list[int]


class TargetsAhead(Event, frozen=True):
    """The targets of a loss were the tokens that a root took in, so many positions further along (`ahead`).

    module: the root. location: of the loss; called_at: of the root. dim: along which time runs. backward: the next one.
    read_at: the line of a data set's code that the targets came from. mask: of targets that are the very tokens, the
    token at places of which the targets do not count, if it stands at most of these, and at no other.
    """

    module: int
    ahead: int
    dim: int
    location: Location | None
    called_at: Location | None
    backward: int
    read_at: Location | None = None
    mask: int | None = None


class ScaledByItself(Event, frozen=True):
    """All samples of an evaluation together had mean 0 and standard deviation 1, to the last digits.

    name: of the argument. samples: how many there were; none had been trained on. fields: channels or features that
    were so, 1 if it is all values together. mean: of these, the one furthest from 0. trained: different samples that
    the module was trained on. Told at the end of the run.
    """

    module: int
    name: str
    samples: int
    fields: int
    mean: float
    trained: int
    location: Location | None


class EvaluationOffScale(Event, frozen=True):
    """All that a line evaluated a module on was much larger, or much smaller, than what the module was trained on.

    name: of the argument. calls: of the line that were looked at. batches: of training, likewise. times: by how much,
    in a quarter of the features at least, the medians of one were above the largest of the other, in each of the calls;
    `above` if it was the evaluation's. trained, evaluated: median and largest absolute value of a typical feature.
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


class RowsAlike(Event, frozen=True):
    """All rows that a root was given in training were equal bit for bit, in each of the `steps` that were looked at.

    name: of the argument. different: how many such rows there were, over all steps. Told at the end of the run.
    """

    module: int
    name: str
    location: Location | None
    rows: int
    since: int
    steps: int
    different: int


class TwinPasses(Event, frozen=True):
    """Two passes of a root in one step were given equal values, returned equal values, and both went into the loss of a
    backward. first_at, second_at: the lines that call it. same_tensor: they were given the very same one, and what they
    returned is compared with each other in the loss. Told in a few steps for each pair.
    """

    backward: int
    module: int
    first_at: Location | None
    second_at: Location | None
    same_tensor: bool = False


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
    called_at: of the root.
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


class EndIgnored(Event, frozen=True):
    """A loss over classes counted tokens that a root was given, and ignored the token with which these sequences end.

    token: it is also what fills the positions that a mask hides from the root. rows: of the batch; ended: how many of
    them end with it. counted: how many targets count. called_at: of the root.
    """

    module: int
    name: str
    token: int
    rows: int
    ended: int
    counted: int
    location: Location | None
    called_at: Location | None


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


class OutputStoodStill(Event, frozen=True):
    """What a module returned had the same values, to the bit, for all samples of a batch, whose inputs differed.

    operation, at: the last one that made such a result of samples that differed; empty if none did. zero: its weights,
    if all of them are 0. zeroed_at: what gave them this value. Told for each step that was seen, up to a few.
    """

    module: int
    location: Location | None
    samples: int
    shape: list[int]
    operation: str = ""
    at: Location | None = None
    zero: list[int] = []
    zeroed_at: Location | None = None


class OutputMoved(Event, frozen=True):
    """After `OutputStoodStill`, a module returned different values for different samples."""

    module: int


class LossSignSeen(Event, frozen=True):
    """The sign with which a backward went down, or up, something that is never below zero.

    negated: what is minimised is its negative, up to constants and positive weights. operation, bounded_at: what made
    it. is_loss: that is a loss function of torch. negated_at: where its sign was changed last. maximises: the optimizer
    that holds the parameters and climbs. Told when it is new for a line.
    """

    backward: int
    location: Location | None
    negated: bool
    operation: str
    is_loss: bool
    bounded_at: Location | None = None
    negated_at: Location | None = None
    maximises: int | None = None
