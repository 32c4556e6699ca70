"""What the program died of: its exception put into one kind, here and nowhere else, from its type and torch's words.

PyTorch raises `RuntimeError` for nearly everything, so its messages are all there is to tell its errors apart by. A
test provokes each of them in the torch that is installed, and so notices when a wording changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Location
from autograd_doctor.trace import Trace
from autograd_doctor.wording import first_line

CrashKind = Literal[
    "ended",  # on purpose: `sys.exit()` or Ctrl-C
    "in_place",  # a tensor saved for backward was changed
    "in_place_leaf",
    "freed_graph",
    "non_scalar",
    "no_graph",
    "not_in_graph",  # `torch.autograd.grad` for a tensor that the output does not depend on
    "inference_tensor",
    "custom_gradient",  # autograd refused what a custom function's backward returned
    "checkpoint",
    "out_of_memory",
    "lost_peer",  # another rank was gone while this one waited for it
    "unfinished_reduction",  # `DistributedDataParallel` still waited for gradients of the step before
    "single_value",  # a normalisation in training mode found one value to normalise over
    "scaler_without_update",
    "scaler_without_scale",
    "scaler_without_check",
    "target_index",
    "target_dtype",
    "target_shape",
    "not_a_probability",
    "device",
    "dtype",
    "shape",
    "other",
]

_TORCH_RAISES = frozenset({
    *("RuntimeError", "ValueError", "IndexError", "AssertionError", "NotImplementedError", "AcceleratorError"),
})  # fmt: skip

_MESSAGES: tuple[tuple[CrashKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))  # type: ignore[misc]
    for kind, pattern in (
        ("in_place", r"has been modified by an inplace operation"),
        ("in_place_leaf", r"leaf Variable that requires grad is being used in an in-place operation"),
        ("freed_graph", r"Trying to backward through the graph a second time"),
        ("non_scalar", r"grad can be implicitly created only for scalar outputs"),
        ("no_graph", r"element \d+ of tensors does not require grad and does not have a grad_fn"),
        (
            "not_in_graph",
            r"differentiated Tensors?\b.* (?:not have been used in the graph|does not require grad)",
        ),
        ("inference_tensor", r"[Ii]nference tensor"),
        ("custom_gradient", r"unction \w+Backward returned an (?:incorrect number of gradients|invalid gradient at)"),
        ("out_of_memory", r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory)"),
        (
            "lost_peer",
            r"Connection (?:closed|reset) by (?:remote )?peer|remote process exited|"
            r"Timed out waiting \d+ms for (?:recv|send)",
        ),
        (
            "unfinished_reduction",
            r"Expected to have finished reduction in the prior iteration|"
            r"parameters that were not used in producing the loss returned by training_step",  # as Lightning has it
        ),
        ("single_value", r"Expected more than 1 value per channel when training"),
        ("scaler_without_update", r"has already been called .*since the last update"),
        ("scaler_without_scale", r"_scale is None"),
        ("scaler_without_check", r"No inf checks were recorded"),
        ("target_index", r"Target -?\d+ is out of bounds"),
        ("device", r"same device|expected device|device type|is not on the expected"),
        (
            "target_dtype",
            r"expected target dtype|expected scalar type \w+ but found \w+.*[Tt]arget",
        ),
        (
            "target_shape",
            r"Expected input batch_size|Target size \(|batch size mismatch|Expected target size|"
            r"0D or 1D target tensor expected|only batches of spatial targets|multi-target not supported",
        ),
        (
            "dtype",
            r"same dtype|expected scalar type|dtype mismatch|Input type .* and (?:weight|bias) type|Found dtype|"
            r"one of the following scalar types|result type \w+ can't be cast",
        ),
        (
            "shape",
            r"shapes? (?:cannot be multiplied|mismatch)|must match the size|Sizes of tensors must match|size mismatch|"
            r"is invalid for input of size|expected input\[|[Ee]xpected size|[Ee]xpected \dD|The expanded size|"
            r"doesn't match the broadcast shape|should contain \d+ elements|expected input with shape|"
            r"must be equal to input_size|input\.size\(-1\)|inconsistent tensor size|"
            r"must have the same (?:shape|size|number)|Expected hidden|not broadcastable|[Dd]imension out of range|"
            r"stack expects each tensor",
        ),
    )
)
_SHORTAGES = frozenset({"OutOfMemoryError", "MemoryError", "_ArrayMemoryError"})
"""Of an accelerator, of Python and of NumPy; a `raise` of the program's own may mean a budget of its own."""
_FUNCTION = re.compile(r"unction (?P<function>\w+)Backward returned")
_CLASS_INDEX = re.compile(r"Target (-?\d+) is out of bounds")
_OF_AN_INDEX = re.compile(r"device-side assert")
"""What a kernel says of an index that is out of bounds; of a loss that is the target's."""
_OF_THE_PREDICTION = re.compile(r"should be between 0 and 1")
_LOSS = re.compile(r"_loss$|^cross_entropy|^binary_cross_entropy|^kl_div$|_loss_functional$")
"""The losses of `torch.nn.functional`, by the names that they share."""


@dataclass(frozen=True)
class Crash:
    """The exception that ended the program, and the operation or the backward in which it was raised, if either is."""

    raised: ProgramRaised
    kind: CrashKind
    operation: OperationFailed | None
    backward: BackwardRan | None

    @property
    def said(self) -> str:
        """The first line of the message."""
        return first_line(self.raised.message)

    @property
    def site(self) -> Location | None:
        """The user's innermost line."""
        return next((frame.location for frame in reversed(self.raised.frames) if frame.own), None)

    @property
    def location(self) -> Location | None:
        """Where the operation or the backward was called, or else the user's innermost line."""
        event = self.operation or self.backward
        return (event.location if event else None) or self.site

    @property
    def tensors(self) -> list[TensorFacts]:
        """The tensors that the user's innermost line can name."""
        own = [frame for frame in self.raised.frames if frame.own]
        return own[-1].tensors if own else []

    @property
    def step_first(self) -> int:
        """The step in which it died, counted from 1."""
        return self.raised.step + 1

    @property
    def function(self) -> str:
        """The custom function whose gradient was refused."""
        found = _FUNCTION.search(self.raised.message)
        return found["function"] if found else ""

    @property
    def class_index(self) -> int | None:
        """The target that was out of bounds."""
        found = _CLASS_INDEX.search(self.raised.message)
        return int(found[1]) if found else None


def crash_of(trace: Trace) -> Crash | None:
    """What the program died of; failures that it caught do not count."""
    raised = trace.crash
    if raised is None:
        return None
    operations, backwards = reversed(trace.of(OperationFailed)), reversed(trace.of(BackwardRan))
    operation = next((event for event in operations if _is_raised(event.error, raised)), None)
    backward = next((event for event in backwards if _is_raised(event.error, raised)), None)
    return Crash(raised, _kind(raised, operation), operation, backward)


def died_of(trace: Trace, *kinds: CrashKind) -> Crash | None:
    """The crash, if it is of one of these kinds."""
    crash = crash_of(trace)
    return crash if crash is not None and crash.kind in kinds else None


def lacks_graph(backward: BackwardRan) -> bool:
    """Whether a backward failed because its roots, or the tensors asked for, are not in any graph."""
    return _of_message(backward.error) in ("no_graph", "not_in_graph")


def _is_raised(error: str, raised: ProgramRaised) -> bool:
    """Whether an error, as "type: message", is the exception that ended the program."""
    message = error.partition(": ")[2]
    return bool(message) and message == raised.message


def _kind(raised: ProgramRaised, operation: OperationFailed | None) -> CrashKind:
    if raised.kind == "KeyboardInterrupt" or (raised.kind == "SystemExit" and raised.message in ("", "0", "None")):
        return "ended"
    if raised.kind == "CheckpointError":
        return "checkpoint"
    if raised.kind in _SHORTAGES:
        return "other" if raised.stated else "out_of_memory"
    kind = _of_message(raised.message) if raised.kind in _TORCH_RAISES else "other"
    if operation is None or not _LOSS.search(operation.operation) or len(operation.operands) < 2:
        return kind
    return _of_loss(kind, raised.message)


def _of_message(message: str) -> CrashKind:
    return next((kind for kind, pattern in _MESSAGES if pattern.search(message)), "other")


def _of_loss(kind: CrashKind, message: str) -> CrashKind:
    """What a loss refuses is its target, but for its prediction being no probability."""
    if _OF_THE_PREDICTION.search(message):
        return "not_a_probability"
    if _OF_AN_INDEX.search(message):
        return "target_index"
    if kind == "dtype":
        return "target_dtype"
    if kind in ("shape", "other"):
        return "target_shape"
    return kind
