"""Events about graphs and memory that stay alive."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class GraphRetained(Event, frozen=True):
    """A graph kept by `retain_graph` or `create_graph` came to its end. `used_again`: a later backward ran through."""

    backward: int
    location: Location | None
    create_graph: bool
    used_again: bool
    bytes_held: int


class WeightsAdapted(Event, frozen=True):
    """A line made weights of weights and of their gradients, which have a graph. Told at the end of the run.

    location: of that line; taken_at: where the gradients were taken. made: how many weights that were looked at until
    an optimizer stepped. idle: of these, those that nothing had used by then.
    """

    location: Location | None
    taken_at: Location | None
    made: int
    idle: int


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
    number, whatever the size of its storage. read_in_steps: in how many of the steps that were looked at closely an
    operation took in one that an earlier step had made there; of those without a graph.
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
    read_in_steps: int = 0


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
    others_used: some that the line took were used at once. computed_with: in a later step, an operation took it in that
    was no copy of a weight, nor made one of it, or a number of it alone. met_itself: one took it in beside what lies in
    its own storage. read_in_a_row: in how many steps, one after the other, the program took in what it holds, weight by
    weight, as an average or a mirror does. together: how many that one line took in different steps are held at once.
    """

    holder: str
    location: Location | None
    taken_in_step: int
    parameters: list[int]
    used_at_once: bool = False
    loaded_back: bool = False
    regular: bool = False
    others_used: bool = False
    computed_with: bool = False
    met_itself: bool = False
    read_in_a_row: int = 0
    together: int = 1


class WeightsMetThemselves(Event, frozen=True):
    """Tensors that are kept in the storage of these parameters were updated by, or compared with, these very ones, or
    copied back into them; or these were loaded into another module that holds them as well, or, as they were, into
    their own.

    kept_at: the line that made them, or the other module, if it was seen. location: that of the update, the comparison,
    the copy or the load. for_good: told at the end, of a line that copied back what had been made of these parameters
    in an earlier step, and never anything else.
    """

    parameters: list[int]
    kept_at: Location | None
    location: Location | None
    how: Literal["updated", "compared", "put back", "loaded", "reloaded"] = "updated"
    for_good: bool = False
