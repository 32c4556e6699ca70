"""What is said of an exception that ended the program: frames of ours peeled off, tensors of the user's frames."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType

import torch

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised, StackFrame
from autograd_doctor.findings import Location
from autograd_doctor.instruments.errors.memory_shortages import MemoryShortages
from autograd_doctor.instruments.session import Session
from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.places import is_own, locate
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.reading.torch_versions import is_late, waits_for_kernels
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.runner.missing_module import missing_module
from autograd_doctor.signals.guard import Guard

_PACKAGE = str(Path(__file__).parent.parent) + "/"
_TENSORS_PER_FRAME = 12
_RANGE_LIMIT = 1_000_000


def peel(error: BaseException) -> None:
    """Take the frames of ours out of the tracebacks of an exception and of those that led to it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _without_ours(current.__traceback__)
        waiting += [current.__cause__, current.__context__]
        if is_a(current, BaseExceptionGroup):
            waiting += BaseExceptionGroup.exceptions.__get__(current)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    peeled: TracebackType | None = None
    for entry in reversed(list(_entries(traceback))):
        if not _is_ours(entry):
            peeled = TracebackType(peeled, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return peeled


def _is_ours(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(_PACKAGE)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def report(error: BaseException) -> None:
    """Tell the person as Python would, through the program's own `sys.excepthook` if it has set one."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception as second:
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(second), second, second.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


def tell(error: BaseException, session: Session) -> None:
    """State that an exception ended the program, and what held the memory if that ran out."""
    shortages = session.find(MemoryShortages)
    if shortages is not None:
        with session.signals.guard.looking():
            try:
                if not is_stated(error):
                    shortages.died_of(error)
            except Exception as failure:
                session.failed(shortages, "died_of", failure)
    session.emit(raised(error, session.signals.guard, session.step))


def raised(error: BaseException, guard: Guard, step: int, *, caught: bool = False) -> ProgramRaised:
    """The event for an exception that ended the program, or that the program `caught` and ended because of."""
    entries = [entry for entry in _entries(error.__traceback__) if not _is_ours(entry)]
    with guard.looking():
        frames = [_frame(entry) for entry in entries]
    return ProgramRaised(
        step=step,
        kind=type(error).__qualname__,
        message=_message(error),
        frames=[*frames, *_where_it_does_not_parse(error)],
        caught=caught,
        missing=missing_module(error),
        late=is_late(error) and not waits_for_kernels(),
        stated=is_stated(error),
        in_backward=any(entry.tb_frame.f_code.co_name == "_engine_run_backward" for entry in entries),
    )


def is_stated(error: BaseException) -> bool:
    """Whether a `raise` of the program made it: what one raises once more has come from further inside."""
    entries = [entry for entry in _entries(error.__traceback__) if not _is_ours(entry)]
    if not entries or not is_own(entries[-1].tb_frame.f_code.co_filename):
        return False
    return dis.opname[entries[-1].tb_frame.f_code.co_code[entries[-1].tb_lasti]] == "RAISE_VARARGS"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _frame(entry: TracebackType) -> StackFrame:
    frame = entry.tb_frame
    where = locate((frame.f_code, entry.tb_lasti)) or Location(path=frame.f_code.co_filename, line=entry.tb_lineno)
    own = is_own(frame.f_code.co_filename)
    return StackFrame(location=where, own=own, tensors=list(islice(_tensors(frame), _TENSORS_PER_FRAME)) if own else [])


def _tensors(frame: FrameType) -> Iterator[TensorFacts]:
    """Tensors that the frame's line can name. Those on an accelerator are not read: it may be what failed."""
    named = set(frame.f_code.co_names) | set(frame.f_code.co_varnames) | set(frame.f_code.co_freevars)
    for name, value in variables(frame):
        if is_a(value, torch.Tensor) and name.removeprefix("self.") in named:
            small = value.device.type == "cpu" and value.numel() <= _RANGE_LIMIT
            operation = value.grad_fn.name() if value.grad_fn is not None else ""
            yield describe(value, name=name, operation=operation, ranges=small)


def _where_it_does_not_parse(error: BaseException) -> list[StackFrame]:
    if not isinstance(error, SyntaxError) or error.filename is None or error.lineno is None:
        return []
    where = Location(path=error.filename, line=error.lineno, column=error.offset or 0)
    return [StackFrame(location=where, own=is_own(error.filename))]
