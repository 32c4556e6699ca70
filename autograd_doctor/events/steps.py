"""Events of training as such: batches, forwards, backwards, gradients and steps, for rules of all families."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import GradSwitch, TensorFacts
from autograd_doctor.findings import Location


class ForwardRan(Event, frozen=True):
    """A root module (one not called by another) ran forward, for the first time in this step under these conditions.

    `training` is the root's own flag; `in_eval` and `in_train` name the mode-dependent sub-modules that ran in each
    mode (dropout with p=0 and batch-norm without running statistics left out). `statistics_moved` names the batch-norms
    whose running statistics the call changed, `rewritten_norms` those of them that are frozen and have had other
    weights at such a call, `new_norms` those that are frozen at a scale of one and a shift of zero, were met with the
    statistics that they are built with, and had nothing loaded into them. `unreached` counts those in train mode that a
    root in eval mode does not register, and whose own mode no line has ever set. `builds_graph` is true if its output
    has a graph. `undone_parameters` are those written that hold, bit for bit, what an earlier call had left in them,
    although an optimizer step lies between.
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
    new_norms: list[str] = []
    unreached: int = 0
    builds_graph: bool = False
    mode_set_at: Location | None = None
    written_parameters: list[int] = []
    written_at: Location | None = None
    undone_parameters: list[int] = []


class Cut(Struct, frozen=True):
    """An operation through which the values of `parameters` went on, but their gradient path did not.

    `reason`: "operation" (detach, item, argmax, a cast …), "grad-mode" (gradients were off; see `switch`), "function"
    (a custom function without a gradient for it), "zero-derivative" (round, sign, floor: gradient zero everywhere).
    `tensor` is the user's variable that was cut. `guessed`: it took values out of torch, and which values came back was
    not seen; never so with "zero-derivative", which the graph itself shows. `conditional`: a choice of the program's
    lies on the way to it, as with a switch of the grad mode.
    """

    operation: str
    location: Location | None
    parameters: list[int]
    reason: Literal["operation", "grad-mode", "function", "zero-derivative"]
    tensor: str = ""
    switch: GradSwitch | None = None
    guessed: bool = False
    conditional: bool = False


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
    sent_to: of those it wrote, where gradients were looked at, those to which a nonzero one was sent.
    of_one: the others of those it wrote that the root depends on only by way of softmaxes over a single number, or of
    other shares of one, which are constant.
    cuts: where the paths of `values` minus `reached` were dropped.
    rewrapped_at: the line that turned the root into a fresh leaf.
    inputs: how many tensors were asked for (`grad(…, inputs)`), 0 for an ordinary backward.
    inside_step: the optimizer in whose unfinished step, by its closure, it ran.
    reaches_back: how many earlier steps the graph goes back to, with the line of the oldest operation crossed into.
    handed_on_at: the line that, in this step, called a module on what an earlier step had computed with its graph.
    reused: backwards that had already run through part of the graph.
    contains: those of them whose root lies in this graph, so that their whole loss went backward once more.
    divisor: by how much the means were divided of which the root is the sum, 0 where it is something else, or where
    gradients may have been scaled beside it.
    hooked: there was a hook on a root, or on a leaf, which may have given another gradient on.
    nested_at: the line of a backward that ran within it, as a hook or a custom function may run it.
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
    sent_to: list[int] = []
    of_one: list[int] = []
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
    handed_on_at: Location | None = None
    carried_by: str = ""
    reused: list[int] = []
    contains: list[int] = []
    divisor: float = 0.0
    error: str = ""
    hooked: bool = False
    nested_at: Location | None = None


class GradientUse(Struct, frozen=True):
    """Parameters whose gradient has the same history at a step.

    backwards: those that contributed since the gradient was last cleared, in order.
    consumed: those of them that an earlier step of the same optimizer had already used.
    foreign: those of them that an earlier step of *another* optimizer followed, before the newest backward.
    altered: the gradient was changed in place after an earlier step used it (scaled, decayed, zeroed by hand …).
    reworked: it was changed in place since it was last cleared, and not by clipping.
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
    reworked: bool = False
    left_over: bool = False


class OptimizerStepped(Event, frozen=True):
    """An optimizer stepped; `optimizer` is None for an update written by hand.

    uses: the gradients it found, grouped by history. missing: its parameters that require a gradient and have none.
    frozen: its parameters that do not require one. moved: parameters whose values changed (None: not looked at).
    skipped: a gradient scaler suppressed the update. scaled_by: loss scale still multiplied into the gradients.
    divided: the program itself has divided them by the scale of a scaler that does not know this optimizer.
    undone: parameters whose values, bit for bit, were those before the last step of this optimizer, which moved them;
    or that the first forward since met as the one before it had, and that were not put back to what that step left.
    at_bound: those of undone that hold no more than two different values, as at the bounds of a projection.
    tried: a forward had met what that step left, as where the program measures what a step would gain.
    rewritten: parameters whose values were not those that the last step of any optimizer had left, where that is
    known, or were written to in place since. brought: those of them of which other values are known.
    in_closure: the optimizer was given a closure. keeps_state: it held a state for its parameters after the step.
    given_state: it held one although this was its first step.
    inside: the optimizer that called this one in a step of its own.
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
    at_bound: list[int] = []
    tried: bool = False
    rewritten: list[int] = []
    brought: list[int] = []
    skipped: bool = False
    scaled_by: float = 1.0
    divided: bool = False
    in_closure: bool = False
    in_backward: bool = False
    keeps_state: bool = False
    given_state: bool = False
    inside: int | None = None
    learning_rates: list[float | None] = []
    loss: float | None = None
    graph_kept: int = 0


class ParametersMovedLater(Event, frozen=True):
    """Parameters that none of the steps of an optimizer moved that were looked at have other values at the end."""

    optimizer: int | None
    parameters: list[int]


class UpdatesDiscarded(Event, frozen=True):
    """New values were computed from parameters and their gradients, and died before any operation took them in.

    It is said when the next gradients are taken, again of these very parameters. location: of the first.
    """

    parameters: list[int]
    location: Location | None


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


class PassesCounted(Event, frozen=True):
    """All passes over a loader, told when the run ends.

    batches: that were drawn in them. length: of one, if it has one. batch_size, samples: of a batch, and of one pass.
    """

    loader: int
    passes: int
    batches: int
    length: int | None = None
    batch_size: int | None = None
    samples: int | None = None


class LengthShortened(Event, frozen=True):
    """A framework that plans by `len(loader)` was told that a loader holds fewer batches than it does."""

    loader: str
    length: int
    told: int


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


class GradientNormsMeasured(Event, frozen=True):
    """The gradients that a step of an optimizer found which was not recorded: each of the first, then ever fewer.

    norms: 2-norms, unscaled, in the order of `parameters`.
    """

    optimizer: int
    parameters: list[int]
    norms: list[float]


class GradientsFoundBefore(Event, frozen=True):
    """Parameters for which steps have found gradients other than zero, in earlier chapters of the run."""

    parameters: list[int]


class MemoryMeasured(Event, frozen=True):
    """What the process held when a step was over: each of the first steps, then ever fewer of them.

    resident: bytes of main memory, what the doctor keeps included. allocated: bytes of tensors on accelerators, None
    where there is none in use.
    """

    resident: int
    allocated: int | None = None


class WeightsFingerprinted(Event, frozen=True):
    """What the weights were, to the last bit, when a step was over: each of the first, then ever fewer.

    fingerprints: one for each parameter that an optimizer holds and that could be read, in ascending order.
    """

    fingerprints: list[int]
