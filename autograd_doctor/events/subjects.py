"""Events that introduce parameters, modules and optimizers, with the names that the user gave them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class ParameterSeen(Event, frozen=True):
    """A leaf that can learn came into view; seen again under the same number when a better name is known.

    module/module_kind: the module that ran, and the class of that part of it, of which a plain tensor is an attribute.
    series: the same for parameters at the same place in the members of one container of modules or of parameters (a
    `ModuleList`, `ModuleDict`, `ParameterList` …), any of which may be called; "" for all others.
    replaces: the parameter that was seen before at the same path from the same module object, or that was
    reparametrized there.
    registered_at: the line that gave it to a module, or built the layer that it belongs to. called_from: the outermost
    call of the program that led there, if it is another line. of_library: it is of a layer that a library other than
    torch built. elsewhere: other ranks hold all of its values.
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
    of_library: bool = False
    elsewhere: bool = False


class DevicesUsed(Event, frozen=True):
    """The kinds of devices on which parameters are, such as "cuda": said of the first backward, and once they moved."""

    kinds: list[str]


class ParameterCopied(Event, frozen=True):
    """The program gave a parameter values of other parameters for the first time: a copy of them, or an average."""

    parameter: int
    location: Location | None


class ValuesShared(Event, frozen=True):
    """The values of a parameter that no optimizer holds lie within one that this optimizer steps."""

    parameter: int
    optimizer: int


class ParameterFrozen(Event, frozen=True):
    """A parameter was told to require no gradient; said once for each line that does it, unknown if in a light step.

    callers: the calls that led to that line, outermost first.
    """

    parameter: int
    location: Location | None
    callers: list[Location] = []


class ParameterGroup(Struct, frozen=True):
    """What an optimizer does to one group of parameters. eps: what keeps its divisors from 0, None if it has none.

    highest_lr: the highest rate that it was seen to have earlier in the run, 0 where nobody looked. climbs: it goes up
    the gradient (`maximize=True`).
    """

    parameters: list[int]
    lr: float | None
    momentum: float = 0.0
    weight_decay: float = 0.0
    eps: float | None = None
    highest_lr: float = 0.0
    climbs: bool = False


class OptimizerBuilt(Event, frozen=True):
    """An optimizer was constructed. `rebuilds` is an earlier optimizer over (some of) the same parameters.

    has_tolerance: a setting of its own lets it leave parameters as they are, once gradients or changes are small.
    in_loop: a loop of the program's went round it, or round the calls that led there, so that another may follow.
    own_step: where the program defines its `step` by itself.
    """

    optimizer: int
    name: str
    kind: str
    location: Location | None
    groups: list[ParameterGroup]
    rebuilds: int | None = None
    duplicates: list[int] = []
    has_tolerance: bool = False
    in_loop: bool = False
    own_step: Location | None = None

    @property
    def climbs(self) -> bool:
        """Whether a loss is meant to rise by its steps."""
        return any(group.climbs for group in self.groups)


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
    through `modules()`. `holder` says where it was found then ("self.layers[0]"), `built_at` where it was built,
    `kept_at` the line of the parent's class that assigns the attribute in which it was found.
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
    kept_at: Location | None = None
    mode_dependent: list[str] = []
    parts: list[ModulePart] = []
