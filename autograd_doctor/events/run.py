"""Events of the run itself: what was asked for, who watched, how it went and how it ended."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.plan import Assumption, Outcome, Target


class RecordingStarted(Event, frozen=True):
    """The header of a trace: who recorded it, and what was asked for.

    tool: version of the doctor. process: its number on this machine, `host`. began: seconds since 1970. rules: codes of
    those selected. needs: names of the events that they ask for. steps, seconds, max_seconds, batches_per_epoch: see
    `Plan`. steps_before: how many the run had taken, of which this is a chapter.
    """

    tool: str
    began: float
    world_size: int = 1
    process: int = 0
    host: str = ""
    rules: list[str] = []
    needs: list[str] = []
    steps: int = 0
    seconds: float = 0.0
    max_seconds: float = 0.0
    batches_per_epoch: int = 0
    steps_before: int = 0


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
    files: the files of the program's own modules. before_libraries: places at which they call an installed library
    other than torch, in which what was seen there happened.
    """

    reason: Literal["finished", "steps", "time", "hung", "exited", "raised", "interrupted"]
    exit_code: int = 0
    seconds: float = 0.0
    files: list[str] = []
    before_libraries: list[Location] = []


class Noted(Event, frozen=True):
    """Something that the doctor changed or left out, or that torch said, which the person should know (say it once)."""

    text: str


class CellRan(Event, frozen=True):
    """A cell of a notebook that was running in IPython holds places of the program.

    file: the name by which Python knows it. number: that of its latest execution. text: its source, as Python got it.
    """

    file: str
    number: int
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
    """An instrument watched up to here, before the others had ended, as long as it was meant to."""

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


class CloseLookEnded(Event, frozen=True):
    """Instruments that watch closely have said what they had seen; from here on only the pulse of the run is taken."""


Missed = Literal["non-finite loss", "non-finite number of an evaluation"]


class MoreDetailNeeded(Event, frozen=True):
    """Something happened of which only the values of operations could have told the cause, and they were not read."""

    what: Missed


class ProcessStarted(Event, frozen=True):
    """The program started another process: forked, spawned, or Python as a command.

    watched: it writes a trace of its own, should it train.
    """

    how: Literal["fork", "spawn", "forkserver", "command"]
    watched: bool = False


class ProcessEnded(Event, frozen=True):
    """The program learned that a process of its own did not end well. exit_code: minus the signal that killed it."""

    process: int
    exit_code: int


class RankJoined(Event, frozen=True):
    """This process is one rank of several: as its launcher says, or the group of processes that it has joined.

    local_rank: among those on its machine, -1 where nobody says.
    """

    joined: int
    world_size: int
    local_rank: int = -1


class CheckEnded(Event, frozen=True):
    """The parent's last word, at the end of a saved trace: what it was asked to run, and how the child ended."""

    target: Target
    outcome: Outcome


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
    missing: the module that an import did not find. late: it tells of what an accelerator was asked for on this line or
    before, and was raised where the program next waited for it. stated: a `raise` of the program made it.
    """

    kind: str
    message: str
    frames: list[StackFrame]
    in_backward: bool = False
    caught: bool = False
    missing: MissingModule | None = None
    late: bool = False
    stated: bool = False
