"""Events about whether the loss reaches every parameter."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.events.steps import Cut
from autograd_doctor.findings import Location


class CopyKept(Event, frozen=True):
    """A model that nothing trains was called while others learned, and something gave it new weights.

    location: the newest line that called it. written_at: that was last seen to write to it, if one was. changes: how
    often its weights had changed from one look to the next; longest: the most steps that were between two changes.
    changed, seen: the steps of the newest change, and of the newest call. calls: looks since then, each in another
    step. by_remainder: a remainder decides whether it is written to, and no order of two values does.
    """

    module: int
    location: Location | None
    written_at: Location | None
    changes: int
    longest: int
    changed: int
    seen: int
    calls: int
    by_remainder: bool = False


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


class MaskedValuesMoved(Event, frozen=True):
    """The program set a part of gradients to exactly 0, and how much of that part the step moved all the same.

    masked: of each parameter, the values whose gradient was 0 then and not before. moved: those of them that the next
    backward found where the step had put them. decayed: parameters of which all of those have shrunk by one share.
    lifted: parameters of which a value that was masked in an earlier step had a gradient in this one. location: of the
    newest write that made the zeros.
    """

    optimizer: int
    masked: dict[int, int]
    moved: dict[int, int]
    lifted: list[int]
    decayed: list[int] = []
    location: Location | None = None


class SettingIgnored(Event, frozen=True):
    """A setting was given to an optimizer as an attribute, which nobody read, and its next step took others.

    held: what its parameter groups held under that name.
    """

    optimizer: int
    name: str
    asked: float
    held: list[float]
    location: Location | None


class WritesTakenBack(Event, frozen=True):
    """Parameters that a forward had written to held again, when an optimizer began its step, what they had held before.

    `left` did not, and less than half of the rows of `parts` were written; `rescaled` were only made longer or shorter,
    and their gradient is orthogonal to them. Said when it becomes so.
    """

    parameters: list[int]
    left: list[int] = []
    rescaled: list[int] = []
    parts: list[int] = []


class WriteWeighed(Struct, frozen=True):
    """What a write left of what steps had done to some values of a parameter since the last forward of its module.

    moved: how many of them the steps had changed; free: the write left as they were; held: it put back to a bound, or
    to zero. Of the others, but for those that may have a bound of their own, sums of squares and of the product: `done`
    by the steps, `left` after the write, and `kept`, which is as large as `done` where all is kept. turned: the part of
    what was there that the write changed. rescaled: it made rows, or the whole, only longer or shorter. flat: all
    values are one. heeds: what it writes depends on what is there, None where that was not tried.
    """

    parameter: int
    moved: int
    free: int
    held: int
    done: float
    kept: float
    left: float
    turned: float
    rescaled: bool = False
    flat: bool = False
    heeds: bool | None = None


class WritesWeighed(Event, frozen=True):
    """A forward of a root wrote to parameters that it, or another one, had written to in an earlier step."""

    module: int
    writes: list[WriteWeighed]


class ForwardsWithoutBackward(Event, frozen=True):
    """Forward passes of a root module in one step built graphs that no backward ever used.

    bytes_held: most that the graph of one pass kept, beside parameters, buffers and inputs. seconds: all passes took.
    called_from: the outermost line on the way to them that passes which a backward used do not come along. unsettled:
    they came after the last step, in train mode, so that a backward may have been about to use them.
    """

    module: int
    location: Location | None
    training: bool
    passes: int
    bytes_held: int
    seconds: float = 0.0
    called_from: Location | None = None
    unsettled: bool = False


class IdleOutputSeen(Event, frozen=True):
    """What a root module gave in train mode, where no backward had come through its passes, was followed until the next
    step.

    compared: with data that it was not made of, as a score is, or it left torch where it may have been; elsewhere: no
    operation of torch did so. borrowed: the module ran with other weights in the place of its own. grad_enabled: it may
    have had a graph. meant: what came of it had a part in training, or nothing took it, or its inputs came again before
    the next step: at the same line, in eval mode, or in a pass that trains. Said once of each line and answer.
    """

    module: int
    location: Location | None
    compared: bool
    elsewhere: bool = False
    borrowed: bool = False
    grad_enabled: bool = False
    meant: bool = False


class HeldOutScored(Event, frozen=True):
    """A line that trains a module, in training mode with gradients on, gave it samples that no step learns from.

    passes: of these samples, which no backward came through; some were seen to be compared with data. times: how often
    they came, each time between two backwards. trained: passes of the line that a backward came through.
    """

    module: int
    location: Location | None
    passes: int
    times: int
    trained: int


class IdleForwardUsed(Event, frozen=True):
    """A backward came through a pass from where others had been reported as `ForwardsWithoutBackward`."""

    module: int
    location: Location | None
    training: bool


class ModeSet(Event, frozen=True):
    """`train()` or `eval()` on a module that is a root, or became one. optimizers: how many there were by then."""

    module: int
    training: bool
    location: Location | None
    optimizers: int = 0


class ModeNotHeeded(Event, frozen=True):
    """A function that takes the mode did what it does in training inside a root in eval mode, and was not told to.

    module: the root. Told once for each line.
    """

    module: int
    function: str
    location: Location | None
    grad_enabled: bool


class GradModeLeftOff(Event, frozen=True):
    """Gradients were switched off globally by a bare call, and work of the program ran under it afterwards."""

    switch: GradSwitch
    work: Location | None


class ConstantTerm(Struct, frozen=True):
    """A summand of a loss without a gradient, computed in the same step from the values of `parameters`.

    location: the line that added it to terms with a gradient. name: the user's variable. operation, made_at: what made
    it. cuts: where the gradient paths ended. copied: the values left torch on the way, and came back; guessed: which of
    them did was not seen. value, sum: of it and of the sum that it was added to, over all elements. numel: how many
    these are. was_live: in an earlier step, all that was added at this line had a graph. drawn: it depends on the
    parameters by samples and choices alone. rewritten: the program has changed all of them by itself since the first
    step.
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
    drawn: bool = False
    rewritten: bool = False


class LossExamined(Event, frozen=True):
    """A loss that went backward was followed down to the terms of which it is the sum, all of which were seen made.

    terms: those that have no gradient, and that no other backward teaches; most losses have none.
    """

    backward: int
    location: Location | None
    terms: list[ConstantTerm]


class CopyJoined(Event, frozen=True):
    """A loss that went backward holds a join of what has a graph and of values rebuilt from numbers of the same step.

    name: the variable of what was rebuilt. cuts: where its values left the graph. parameters: those that flow into it,
    and that the rest of the join teaches. guessed: that they do was concluded from the numbers. Told in two steps for
    each line.
    """

    backward: int
    location: Location | None
    operation: str
    name: str
    cuts: list[Cut]
    parameters: list[int]
    guessed: bool


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


class TermIdle(Event, frozen=True):
    """A scalar with a graph is made of trained parameters once in a step, and nothing takes it in before it dies.

    Or a number for each sample, which a line has added up over several calls. idle: in how many steps so far, of so
    many that were listened to since it was first made (`steps`). name: the user's variable, if a backward found it
    there. named_at: where that took it from a function that made it. parameters: those that it was computed from, with
    a gradient. by_library: it was a library that called the operation.
    """

    location: Location | None
    operation: str
    name: str
    parameters: list[int]
    idle: int
    steps: int
    named_at: Location | None = None
    by_library: bool = False


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


class LeafCollected(Event, frozen=True):
    """Backwards wrote to the `.grad` of a leaf that the program made itself, and not as a parameter, in a second step.

    location: the line that made it or had it require a gradient.
    """

    parameter: int
    location: Location | None


class LeafUsed(Event, frozen=True):
    """The program has a use for such a leaf or its gradient, or for a parameter that no optimizer holds.

    how: it read `.grad`; asked `torch.autograd.grad` for a gradient at the leaf or at what was made of it alone; left a
    hook on it; changed its values; or passed it to a checkpoint, which needs something that requires a gradient.
    """

    parameter: int
    how: Literal["read", "asked", "hooked", "changed", "checkpointed"]
    location: Location | None = None


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


class ReferenceCompared(Event, frozen=True):
    """A loss that went backward holds differences, at one line, between what has a graph and what the same parameters
    gave without one, in a forward of its own. equal: all of them were zero in every element. itself: it is terms of the
    loss that compare one result with itself, or what has no gradient with what the same parameters gave otherwise.

    reference_at: where the side without a graph was made. Told of each line for the first few backwards, and when the
    two sides differ.
    """

    location: Location | None
    reference_at: Location | None
    parameters: list[int]
    equal: bool
    itself: bool = False


class RatioOfItself(Event, frozen=True):
    """A loss that went backward holds a ratio, which weighs data, of what parameters gave to what the same ones gave in
    the same step: it is 1. All that they were given was used in an earlier step as well.

    reference_at: where the second side was made. own: whether this is so; told again of a line at which, after that,
    there was another ratio. Told of each line for a few steps.
    """

    location: Location | None
    reference_at: Location | None
    parameters: list[int]
    own: bool


class FirstRatioSeen(Event, frozen=True):
    """A loss that went backward holds ratios, which weigh data, of what parameters gave to what the same ones gave in
    the same step, by the same operations: `apart` of these `ratios` are not 1. largest: the logarithm of the farthest.

    reference_at: where the second side was made. differs: what the two were given. operation, operation_at: what made
    the action, or another input, of the one that of the other; or the dropout that was active on one side. Told once
    for each line.
    """

    location: Location | None
    reference_at: Location | None
    parameters: list[int]
    ratios: int
    apart: int
    largest: float
    differs: Literal["action", "input", "order", "mode"]
    operation: str = ""
    operation_at: Location | None = None


class EntriesAreOne(Event, frozen=True):
    """A module that was put into one list or dictionary several times was called on as many different data in a step.

    location: the line that put it in once more. parameters: those of the module.
    """

    location: Location | None
    times: int
    parameters: list[int]
