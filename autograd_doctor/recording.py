"""A trace as a file: written as it happens, told when anything of it is missing.

The file begins with a line that names its format and version. Records follow, each with its length, a checksum of
length and content, and one event in MessagePack, which keeps NaN and Inf apart. The first event is
`RecordingStarted`, the last of the program `RunEnded`. What cannot be read ends the trace with `RecordingDamaged`.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from autograd_doctor import system
from autograd_doctor.events import all_events
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import RecordingDamaged, RecordingStarted, RunEnded
from autograd_doctor.surrogate_pairs import spelt_out
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

VERSION = 3
NAME = b"autograd_doctor trace "
FORMAT_LINE = NAME + b"%d\n" % VERSION

_ANY_EVENT: Any = reduce(or_, all_events())
_LENGTH = 4
_HEAD = 2 * _LENGTH
_LONGEST_LINE = 64
_encoder = msgspec.msgpack.Encoder()


_ROOM = 400


def last_word(trace: Path) -> Path:
    """Where a recorder that cannot go on says why: a file of blanks, so that a word finds room on a full disk."""
    return trace.with_name(f"{trace.name}.last-word")


def make_room(trace: Path) -> None:
    """What must be there for a recorder to leave a last word. Raises `OSError`."""
    last_word(trace).write_bytes(b" " * _ROOM)


def leave_word(trace: Path, error: OSError) -> None:
    """Say why the recording does not go on. Where there is no room for it, the recording merely lacks its end."""
    reason = RecordingDamaged(
        reason=f"recording in {trace.parent} stopped: {error.strerror}",
        full=error.errno in system.NO_ROOM,
    )
    with suppress(OSError):
        descriptor = os.open(last_word(trace), os.O_WRONLY | system.BINARY)
        os.write(descriptor, msgspec.json.encode(reason)[:_ROOM])
        os.close(descriptor)


def _word_left(trace: Path) -> RecordingDamaged | None:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(last_word(trace).read_bytes(), type=RecordingDamaged)
    return None


class TraceError(Exception):
    """A file that is no trace, or one of another version; the message names the file and what is wrong with it."""


def encoded(event: Event) -> bytes:
    """An event as a record of the file."""
    try:
        content = _encoder.encode(event)
    except UnicodeEncodeError:
        content = _encoder.encode(spelt_out(msgspec.to_builtins(event)))
    length = len(content).to_bytes(_LENGTH, "little")
    return length + _checksum(length, content) + content


def _checksum(length: bytes, content: bytes) -> bytes:
    return zlib.crc32(content, zlib.crc32(length)).to_bytes(_LENGTH, "little")


class TraceWriter:
    """Writes a trace to a file that is empty so far; each event is flushed as it comes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(FORMAT_LINE)

    def write(self, event: Event) -> None:
        self._file.write(encoded(event))
        self._file.flush()


class TraceReader:
    """Decodes the records of a file that may still be growing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._damage: RecordingDamaged | None = None
        self._decoder = msgspec.msgpack.Decoder(_ANY_EVENT)

    def new_events(self) -> Iterator[Event]:
        """Events written since the last call; an unfinished last record is left for the next one.

        What follows a damaged record cannot be told apart any more: the damage is the last event. Raises `TraceError`
        for a file that does not begin as a trace of this version does.
        """
        if self._damage:
            return
        try:
            data = self._rest()
        except OSError as error:
            yield self._damaged(f"it cannot be read: {error.strerror}")
            return
        while (record := self._record(data)) is not None:
            content, length = record
            event = self._decoded(content)
            if self._damage is None:
                self._offset += length
                data = data[length:]
            yield event
            if self._damage:
                return

    def ended(self) -> Iterator[Event]:
        """The events that are left, now that nothing will be added, and whether the file ends within a record."""
        yield from self.new_events()
        if self._damage is None and (word := _word_left(self._path)):
            yield word
        elif self._damage is None and (rest := self._rest()):
            yield self._damaged(f"it is cut off in the middle of a record, {plural(len(rest), 'byte')} into it")

    def _rest(self) -> memoryview:
        with self._path.open("rb") as file:
            if self._offset == 0:
                self._offset = _after_format_line(file.read(_LONGEST_LINE), self._path)
            file.seek(self._offset)
            return memoryview(file.read() if self._offset else b"")

    def _record(self, data: memoryview) -> tuple[memoryview, int] | None:
        """The first record with its length, None if it is not there in full."""
        if len(data) < _HEAD:
            return None
        end = _HEAD + int.from_bytes(data[:_LENGTH], "little")
        return (data[:end], end) if end <= len(data) else None

    def _decoded(self, record: memoryview) -> Event:
        content = bytes(record[_HEAD:])
        if _checksum(bytes(record[:_LENGTH]), content) != record[_LENGTH:_HEAD]:
            return self._damaged("a record is damaged")
        try:
            event: Event = self._decoder.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return self._damaged(f"a record is not an event: {error}")
        return event

    def _damaged(self, what: str) -> RecordingDamaged:
        self._damage = RecordingDamaged(reason=f"at byte {self._offset} {what}")
        return self._damage


def _after_format_line(data: bytes, path: Path) -> int:
    """Where the records begin, 0 if the line that comes before them is not there yet. Raises `TraceError`."""
    if data.startswith(FORMAT_LINE):
        return len(FORMAT_LINE)
    if FORMAT_LINE.startswith(data):
        return 0
    version = data.removeprefix(NAME).partition(b"\n")[0]
    if data.startswith(NAME) and version.isdigit():
        raise TraceError(
            f"{path}: a trace of version {version.decode()}, but this version of the doctor reads {VERSION}"
        )
    raise TraceError(f"{path}: not a saved trace, or saved by an older version of the doctor")


def load(path: Path) -> Trace:
    """A trace from its file, whole or as far as it can be read. Raises `TraceError`."""
    return Trace(tuple(TraceReader(path).ended()))


def from_bytes(data: bytes) -> Trace:
    """A trace that was handed over."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace")
        file.write_bytes(data)
        return load(file)


def save(trace: Trace, file: BinaryIO, *last: Event) -> None:
    """Write a trace that was recorded elsewhere, and what there is to add to it. The events keep their stamps."""
    writer = TraceWriter(file)
    for event in (*trace.events, *last):
        writer.write(event)


def save_several(traces: Iterable[tuple[int, Trace, Event]], file: BinaryIO) -> None:
    """The same of several processes, one after the other, each with a number that its events have then."""
    writer = TraceWriter(file)
    for rank, trace, last in traces:
        for event in (*trace.events, last):
            writer.write(msgspec.structs.replace(event, rank=rank))


def missing(trace: Trace) -> list[str]:
    """What a trace lacks of the run that it tells of: damage, gaps between events, the end. Empty if it is whole."""
    lacks = [f"the recording is damaged: {event.reason}" for event in trace.of(RecordingDamaged)]
    for rank in sorted({event.rank for event in trace.events}):
        of_rank = f" of rank {rank}" if rank else ""
        own = [event for event in trace.events if event.rank == rank]
        numbers = [event.sequence for event in own if event.sequence]
        if lost := _gaps(numbers):
            lacks.append(f"the recording{of_rank} lacks {plural(lost, 'event')}")
        if numbers != sorted(set(numbers)):
            lacks.append(f"the events of the recording{of_rank} are out of order")
        if not any(isinstance(event, RunEnded | RecordingDamaged) for event in own):
            lacks.append(f"the end of the run{of_rank} was not recorded")
    return [*lacks, *_absent_ranks(trace)] if trace.events else ["nothing was recorded"]


def _absent_ranks(trace: Trace) -> list[str]:
    """Of the traces of several, the ranks that are not among them."""
    started = trace.of(RecordingStarted)
    absent = sorted(
        {*range(max((event.world_size for event in started), default=0))} - {event.rank for event in started}
    )
    return [f"the trace of rank {rank} is missing" for rank in absent] if len(started) > 1 else []


def _gaps(numbers: Sequence[int]) -> int:
    """How many numbers of 1, 2, 3 … up to the last are not there."""
    return max(numbers, default=0) - len(set(numbers))
