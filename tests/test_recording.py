"""The trace as a file: stamped in one place, whole or seen not to be, never read as what it is not."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import training

from autograd_doctor import __version__, cli, recording
from autograd_doctor.events import all_events
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import (
    CheckEnded,
    InstrumentAttached,
    Noted,
    ProgramRaised,
    RecordingDamaged,
    RecordingStarted,
    RunEnded,
)
from autograd_doctor.plan import Outcome, Plan, Target
from autograd_doctor.ranks import this_rank
from autograd_doctor.recording import FORMAT_LINE, TraceError, TraceReader, encoded, missing
from autograd_doctor.rules import all_rules
from autograd_doctor.runner.recorder import Recorder
from autograd_doctor.trace import Trace


def stamped(happened: Sequence[Event], *, rank: int = 0, world_size: int = 1, began: float = 100.0) -> Trace:
    """Events as a recorder would have written them, a second apart, behind a header."""
    header = RecordingStarted(tool="1", began=began, world_size=world_size)
    numbered = enumerate([header, *happened], start=1)
    return Trace(tuple(msgspec.structs.replace(e, sequence=n, rank=rank, time=n - 1.0) for n, e in numbered))


def saved(trace: Trace, *last: Event) -> bytes:
    file = io.BytesIO()
    recording.save(trace, file, *last)
    return file.getvalue()


def texts(trace: Trace) -> list[str]:
    return [event.text for event in trace.of(Noted)]


END = RunEnded(reason="finished")


# --------------------------------------------------------------------------------------------------------- recording


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    asked = {"selected": ["AD101"], "needs": ["BackwardRan"], "steps": 7, "max_seconds": 3.0, "batches_per_epoch": 2}
    target = Target("script", "t.py")
    return Plan(target=target, trace=str(tmp_path / "trace"), scratch=str(tmp_path), **asked)  # type: ignore[arg-type]


def test_the_recorder_stamps_and_says_who_and_what(plan: Plan) -> None:
    ranks = this_rank({"RANK": "3", "WORLD_SIZE": "8"})
    recorder = Recorder(msgspec.structs.replace(plan, ranks=ranks))
    recorder.write(Noted(text="a", sequence=99))
    recorder.write(END)
    trace = recording.load(Path(plan.trace))
    header = trace.events[0]
    assert isinstance(header, RecordingStarted)
    assert (header.tool, header.world_size, header.rules, header.needs) == (__version__, 8, ["AD101"], ["BackwardRan"])
    assert (header.steps, header.max_seconds, header.batches_per_epoch) == (7, 3.0, 2)
    assert [(event.sequence, event.rank) for event in trace.events] == [(1, 3), (2, 3), (3, 3)]
    times = [event.time for event in trace.events]
    assert times == sorted(times)
    assert times[-1] > 0
    assert missing(trace) == []


def test_the_recorder_outlives_the_loss_of_its_descriptor(plan: Plan, tmp_path: Path) -> None:
    recorder = Recorder(plan)
    number = recorder._descriptor
    os.close(number)
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    assert other == number
    recorder.write(END)
    os.close(other)
    assert (tmp_path / "other").read_bytes() == b""
    assert missing(recording.load(Path(plan.trace))) == []


def test_what_cannot_be_written_ends_the_recording_only(plan: Plan, capfd: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder(plan)
    Path(plan.trace).unlink()
    Path(plan.trace).symlink_to("/dev/full")
    os.close(recorder._descriptor)
    for _ in range(3):
        recorder.write(END)
    assert capfd.readouterr().err.count("stopped: ") == 1


# --------------------------------------------------------------------------------------------------- what is missing


def test_a_whole_trace_comes_back_and_lacks_nothing(tmp_path: Path) -> None:
    trace = stamped(training())
    (tmp_path / "trace").write_bytes(saved(trace))
    assert recording.load(tmp_path / "trace") == trace
    assert missing(trace) == []
    assert missing(Trace(tuple(training()))) == []
    assert missing(Trace(())) == ["nothing was recorded"]


def test_what_no_file_can_hold_is_spelt_out(tmp_path: Path) -> None:
    path = tmp_path / "t.trace"
    crash = ProgramRaised(kind="Odd", message="caf\udce9.py", frames=[], step=3)
    with path.open("wb") as file:
        recording.save(Trace.of_events(crash, RunEnded(reason="raised", seconds=math.inf)), file)
    read, ended = recording.load(path).events
    assert read == msgspec.structs.replace(crash, message="caf\\udce9.py")
    assert isinstance(ended, RunEnded)
    assert ended.seconds == math.inf


def test_a_gap_a_missing_end_and_a_missing_header_are_told() -> None:
    events = stamped([Noted(text="a"), Noted(text="b"), END]).events
    assert missing(Trace(events[:2] + events[3:])) == ["the recording lacks 1 event"]
    assert missing(Trace(events[:-1])) == ["the end of the run was not recorded"]
    assert missing(Trace(events[1:])) == ["the recording lacks 1 event"]


def test_growing_files_are_read_as_they_grow(tmp_path: Path) -> None:
    file, reader = tmp_path / "trace", TraceReader(tmp_path / "trace")
    data = FORMAT_LINE + encoded(Noted(text="a")) + encoded(Noted(text="b"))
    read: list[Event] = []
    for end in range(len(data) + 1):
        file.write_bytes(data[:end])
        read += reader.new_events()
    assert read == [Noted(text="a"), Noted(text="b")]
    assert list(reader.ended()) == []


def test_an_unfinished_record_is_damage_only_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(saved(stamped([]))[:-3])
    reader = TraceReader(tmp_path / "trace")
    assert list(reader.new_events()) == []
    (damage,) = reader.ended()
    assert isinstance(damage, RecordingDamaged)
    assert "cut off in the middle of a record" in damage.reason
    assert list(reader.ended()) == []


def test_a_file_that_is_gone_is_damage(tmp_path: Path) -> None:
    (damage,) = recording.load(tmp_path / "nowhere").events
    assert missing(Trace((damage,))) == [
        "the recording is damaged: at byte 0 it cannot be read: No such file or directory"
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"autograd_doctor trace 12\nwhatever", "a trace of version 12, but this version of the doctor reads 3"),
        (b"\x13\0\0\0 an old trace", "not a saved trace, or saved by an older version of the doctor"),
        (b"autograd_doctor trace x\n", "not a saved trace, or saved by an older version of the doctor"),
    ],
)
def test_other_files_and_other_versions_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "trace").write_bytes(data)
    with pytest.raises(TraceError, match=message):
        recording.load(tmp_path / "trace")


# ------------------------------------------------------------------------------------------------------ several ranks


def test_what_one_rank_lacks_the_trace_of_all_lacks() -> None:
    ranks = [stamped([Noted(text="x"), END], rank=rank, world_size=3) for rank in (0, 2)]
    broken = Trace(ranks[1].events[:-1])
    assert missing(Trace((*ranks[0].events, *broken.events))) == [
        "the end of the run of rank 2 was not recorded",
        "the trace of rank 1 is missing",
    ]


# ----------------------------------------------------------------------------------------------------- whatever happens

ATTACHED = InstrumentAttached(instrument="all", emits=[kind.__name__ for kind in all_events()])
SAVED = saved(
    stamped([ATTACHED, *training(4)]), CheckEnded(target=Target("script", "train.py"), outcome=Outcome(stacks="é"))
)


@contextlib.contextmanager
def command(*arguments: str) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    before = sys.argv
    sys.argv = ["doctor", *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            yield out, err
    finally:
        sys.argv = before


def report_on(data: bytes) -> tuple[int, str, str]:
    """Exit code and output of `doctor report`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.trace")
        file.write_bytes(data)
        options = ("--isolated", "--select", "AD101,AD104,AD304", "--output-format", "concise")
        with command("report", *options, str(file)) as (out, err), pytest.raises(SystemExit) as ended:
            cli.main()
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def test_the_whole_trace_is_green() -> None:
    assert all_rules()
    assert report_on(SAVED)[0] == 0


def _is_never_green(data: bytes) -> None:
    code, out, err = report_on(data)
    assert code in (2, 4), out
    assert "Traceback" not in out + err
    assert "itself failed" not in err
    assert code == 4 or (out == "" and err.startswith("error: ") and err.count("\n") == 1)


@settings(max_examples=150)
@given(st.integers(0, len(SAVED) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_never_green(position: int, change: int) -> None:
    _is_never_green(SAVED[:position] + bytes([SAVED[position] ^ change]) + SAVED[position + 1 :])


@settings(max_examples=100)
@given(st.integers(0, len(SAVED) - 1))
def test_a_trace_that_was_cut_is_never_green(end: int) -> None:
    _is_never_green(SAVED[:end])


@settings(max_examples=50)
@given(st.integers(0, len(SAVED) - 1), st.binary(min_size=1, max_size=40))
def test_bytes_in_between_are_never_green(position: int, more: bytes) -> None:
    _is_never_green(SAVED[:position] + more + SAVED[position:])


def _records(data: bytes) -> list[bytes]:
    """The records of a trace, each whole."""
    rest, found = data[len(FORMAT_LINE) :], []
    while rest:
        end = 8 + int.from_bytes(rest[:4], "little")
        found.append(rest[:end])
        rest = rest[end:]
    return found


*RECORDS, CHECK_ENDED = _records(SAVED)
"""What the program's process wrote, and what the check added to it, which has no number."""
_positions = st.integers(0, len(RECORDS) - 1)


@settings(max_examples=60)
@given(st.permutations(RECORDS), _positions, _positions)
def test_records_left_out_doubled_or_in_another_order_are_never_green(order: list[bytes], one: int, other: int) -> None:
    swapped = list(RECORDS)
    swapped[one], swapped[other] = RECORDS[other], RECORDS[one]
    for records in (
        [*RECORDS[:one], *RECORDS[one + 1 :]],
        [*RECORDS[:one], *RECORDS[one + 1 : other]],
        [*RECORDS[: one + 1], RECORDS[one], *RECORDS[one + 1 :]],
        order,
        swapped,
    ):
        if records != RECORDS:
            _is_never_green(FORMAT_LINE + b"".join([*records, CHECK_ENDED]))
    _is_never_green(FORMAT_LINE + b"".join(RECORDS))
