"""Events of autograd's own complaints, of custom functions and of checkpoints."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.findings import Location


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


class TargetsTooLong(Event, frozen=True):
    """A CTC loss that counts nothing where it is infinite (`zero_infinity`): so many of its samples are not counted, as
    they have more labels, with a blank between two that are the same, than places. most_lacking: places, in the worst.

    Told of the first losses of a line, whether there are such samples or not.
    """

    location: Location | None
    samples: int
    too_long: int
    most_lacking: int


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


class StatementIdle(Event, frozen=True):
    """A statement kept nothing of what an operation in it did.

    The operation gave a result that is thrown away, or it changed a copy in place that nothing can have read: one that
    was made in the same statement, and was gone at its end, or has a name that nothing else reads.

    written_at: where, if the statement calls a function that writes to the copy. copied_by: the operation that made the
    copy, or, where `attribute` says what was read, the last of those by which that was computed; "" where there is no
    copy. parameters: whose values went in. elements: how many were computed or written. Told for the first few at each
    line.
    """

    location: Location | None
    written_at: Location | None
    operation: str
    copied_by: str
    attribute: str
    parameters: list[int]
    elements: int


class OperationFailed(Event, frozen=True):
    """An operation of torch raised: its operands as they reached it, with the variables and lines they came from."""

    operation: str
    location: Location | None
    error: str
    operands: list[TensorFacts]
    module: str = ""


class SavedAt(Struct, frozen=True):
    """What the operations of a line have saved for the backward. step: of the oldest of them. modules: the innermost
    modules that ran it, as far as steps were looked at closely."""

    operation: str
    location: Location | None
    bytes: int
    tensors: int
    step: int
    modules: list[str] = []


class MemoryRanOut(Event, frozen=True):
    """The program died because a device had no memory left for what it asked for: what held it at that moment.

    asked: bytes that were asked for, None if the error does not tell. allocated: bytes of all tensors on accelerators,
    None where there is none in use. saved: for the backward, by the lines whose operations were recorded, those that
    hold most first; saved_bytes: of all. older_bytes: of these, what operations of earlier steps saved. other_bytes:
    of tensors that the program holds besides.
    """

    device: str
    asked: int | None
    allocated: int | None
    parameters: int
    gradients: int
    optimizer_state: int
    saved_bytes: int
    older_bytes: int
    other_bytes: int
    saved: list[SavedAt]


class FunctionJudged(Event, frozen=True):
    """A custom `autograd.Function` was put through gradcheck on the inputs it met, cut to a small size.

    verdict: "right", "wrong" (`reason` says by what a mistake shows), "differs" (it may be an estimator), "surrogate"
    (an estimator by design), "not judged" (with `reason`). input: position of the worst input, error: largest absolute
    difference. double: gradgradcheck was run instead. judged_on: the tensors that it was called with, under the names
    of the parameters of its forward. requested: the run was for its sake (`doctor gradcheck`). hands_on: positions of
    inputs that get the gradient of an output as it came in.
    """

    function: str
    location: Location | None
    applied_at: Location | None
    verdict: Literal["right", "wrong", "differs", "surrogate", "not judged"]
    reason: str = ""
    input: int | None = None
    error: float | None = None
    expected: float | None = None
    found: float | None = None
    double: bool = False
    judged_on: list[TensorFacts] = []
    requested: bool = False
    hands_on: list[int] = []


class InputChangedUnmarked(Event, frozen=True):
    """A custom function changed an input in place without `ctx.mark_dirty`, and its new values went into a loss.

    input: its position, by the name of the forward's parameter. location: of the forward; used_by: the operation that
    worked on it afterwards. Told for each use that a backward goes through, of the calls that were looked at.
    """

    function: str
    input: int
    name: str
    location: Location | None
    applied_at: Location | None
    used_by: str = ""
    used_at: Location | None = None


class GradientChangedInPlace(Event, frozen=True):
    """The backward of a custom function changed the gradient that it was given, which a branch that ran later got, too.

    location: the line of the change, or of the backward. shared_by: the operation that handed it to both.
    """

    function: str
    location: Location | None
    shared_by: str
    shared_at: Location | None


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
    difference between the first and the recomputed output (None: not compared). statistics_moved_twice: batch-norms
    to which the two updates are more than one was meant to be.
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
