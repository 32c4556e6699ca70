"""The plan: what the parent process asks of the child, validated in the parent and handed over as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

STACKS = "stacks.txt"
"""In the scratch folder: where the child's `faulthandler` writes all stacks when it receives SIGUSR2."""


Looked = Literal["closely", "pulse", "urgent"]
"""How far a chapter of a run that is monitored had come when it is judged.

closely: all that watched has said what there was to say. pulse: so has what only took the pulse from then on. urgent:
something of it cannot wait.
"""


class Target(Struct, frozen=True):
    """What to run: `script` is a path as typed, `module` a dotted name (`-m`), `model` a file for model mode.

    `notebook` is the path of a notebook, `call` a function that trains, as "pkg.train:main" or "train.py:main".
    `function` is a custom `autograd.Function`, as "ops.py:Cube" or "package.ops:Cube". `block` is a piece of a program
    that watched itself, as "train.py:12".
    """

    kind: Literal["script", "module", "notebook", "call", "model", "function", "block"]
    name: str
    arguments: list[str] = []


DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)
"""What a tensor to make up may consist of."""


class Build(Struct, frozen=True, forbid_unknown_fields=True):
    """Something to call by its name: a class or function of the file, or one of PyTorch's."""

    name: str
    arguments: dict[str, Any] = {}


def own_object(argument: Any) -> Build | None:
    """The class of the program's, and its arguments, where an argument of a model is an object of it.

    It is written as the model itself is: `{class: Config}` or `{class: Config, arguments: {width: 32}}`.
    """
    if not isinstance(argument, dict) or not {"class"} <= argument.keys() <= {"class", "arguments"}:
        return None
    name, given = argument["class"], argument.get("arguments", {})
    return Build(name, given) if isinstance(name, str) and isinstance(given, dict) else None


OWN_OUTPUT, OWN_STEP, OWN_OPTIMIZERS = "output", "training_step", "configure_optimizers"
"""Names of losses and optimizers that are the model's own: what it returns, and two of its methods."""


class LossPlan(Build, frozen=True, forbid_unknown_fields=True):
    """A loss, or one of several that are added up.

    name: a loss of the file or of PyTorch, `OWN_OUTPUT` where the output is the loss itself, or `OWN_STEP`. output:
    where it is found in what the model returns, names and indices with dots between them; "" is the whole.
    classes_axis: the axis of the classes, which PyTorch expects after that of the batch; it is moved there.
    """

    output: str = ""
    classes_axis: int | None = None


class TensorPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tensor to make up. `shape` is that of one sample, without the batch dimension.

    classes: whole numbers from 0 up to, not including, this (then the default `dtype` is int64). range: uniform
    between two bounds; neither: normal for floating-point dtypes, 0 and 1 for the others. name: the keyword under
    which it is passed; "" passes it by position. batch_axis: where the batch dimension is; None: there is none.
    input: a target that is itself the input of this number.
    """

    shape: list[int] = []
    dtype: str = ""
    classes: int | None = None
    range: tuple[float, float] | None = None
    name: str = ""
    batch_axis: int | None = 0
    input: int | None = None


class InputPlan(TensorPlan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tensor that a custom function is called with: here `shape` is the whole one."""

    requires_grad: bool = True


class FunctionPlan(Struct, frozen=True, kw_only=True):
    """What a custom function is called with, to be judged by `doctor gradcheck`.

    values: plain values for the parameters of these names. inputs: tensors for the others, in their order.
    double: second derivatives are asked for as well.
    """

    inputs: list[InputPlan] = []
    values: dict[str, Any] = {}
    double: bool = False


class Written(Struct, frozen=True):
    """A value as it was typed, and as a settings file would have it, in JSON."""

    text: str
    json: str


class CallPlan(Struct, frozen=True, kw_only=True):
    """A function that trains: a file or module, the dotted name in it, and values by parameter."""

    where: str
    function: str
    given: dict[str, Written] = {}


class DataPlan(Struct, frozen=True, kw_only=True):
    """The batches of model mode: made up from `inputs` and `targets`, or yielded by `function` of the file.

    batches: how many different ones are made up; training goes round through them again and again.
    """

    inputs: list[TensorPlan] = []
    targets: list[TensorPlan] = []
    batch_size: int = 16
    batches: int = 8
    function: str = ""


class ModelPlan(Struct, frozen=True, kw_only=True):
    """The validated `model:` section. Names exist in the file as far as its source can tell.

    model: what builds the module, a class of the file or, if `factory`, a function. losses: names of `torch.nn`, of
    `torch.nn.functional`, or functions of the file; one is called with the output and all targets, several are called
    with one target each and added up. optimizer: a name of `torch.optim`, or `OWN_OPTIMIZERS`. functions: which of
    `training_step(model, batch)`, `configure_optimizers(model)`, `batches()` and `train(…)` the file defines: they win
    over the keys they replace. config: the file that the section came from, for messages.
    """

    model: Build | None = None
    factory: bool = False
    losses: list[LossPlan] = []
    optimizer: Build | None = None
    data: DataPlan | None = None
    functions: list[str] = []
    config: str = ""


class Assumption(Struct, frozen=True, kw_only=True):
    """How to train the model of a file that says nothing of it, as far as that was found out.

    section: the `model:` section of the settings. said: what was assumed, in words. parts: what the doctor made up,
    "data", "loss", "loop" or "axes", so that no rule can judge it. problem: what is lacking, empty if nothing is.
    settings: the section as a settings file says it.
    """

    section: dict[str, Any] = {}
    said: list[str] = []
    parts: list[str] = []
    problem: str = ""
    settings: str = ""


class Ranks(Struct, frozen=True, kw_only=True):
    """One of `size` processes that train together.

    folder: where those on this machine, which are then all, can leave each other word; else empty. began: the time at
    which this one was started, in seconds.
    """

    rank: int = 0
    size: int = 1
    folder: str = ""
    began: float = 0.0

    @property
    def are_several(self) -> bool:
        """Whether there are others."""
        return self.size > 1

    @property
    def hands_in(self) -> bool:
        """Whether rank 0 reports for this one as well."""
        return self.rank > 0 and bool(self.folder)


class Plan(Struct, frozen=True, kw_only=True):
    """Everything the child needs to know.

    steps_before: how many the run had taken, of which a chapter is to be recorded.
    steps, seconds: a check goes on until it has seen so many optimizer steps, and so many seconds of training.
    max_seconds: and no longer than this. batches_per_epoch: how many batches of a long pass over a `DataLoader` are
    seen at least before it is cut (0: it never is). full_from: a step about which everything is recorded. waits: each
    line is to wait for what it asks of an accelerator.
    runs_again: where more detail is needed, the parent runs the program once more, so that this run ends there. ranks:
    which one of several this process is.
    trace, scratch: a file to append events to, and a folder for the journal of files and for `STACKS`. polite: keep a
    journal, so that files can be put back, and switch trackers off. stdout_to_stderr: descriptor 1 is the parent's
    report, so the program's output goes to descriptor 2.
    seed: with what the generators of Python and NumPy begin, so that a second run draws the same numbers (None: as they
    are). reseeds: torch begins with it, too, and not with what it always does. model: the validated model-mode section
    of the configuration. call, function: how to call a target of that kind. members: a folder in which processes that
    the program starts write traces of their own; empty where they are not watched. is_member: this is the plan of one
    of those. assumes: where the program trains nothing, find out how to train the model that it defines. assumed: what
    an earlier run found out so. selected: codes of the rules that will judge. needs: names of the events that they
    need. overlay: what Python is to read in place of files of the program's, by their absolute paths; the files
    themselves stay as they are.
    """

    target: Target
    trace: str
    scratch: str
    selected: list[str] = []
    needs: list[str] = []
    steps_before: int = 0
    steps: int = 30
    seconds: float = 10.0
    max_seconds: float = 60.0
    batches_per_epoch: int = 10
    full_from: int | None = None
    waits: bool = False
    runs_again: bool = False
    ranks: Ranks = Ranks()
    members: str = ""
    is_member: bool = False
    polite: bool = True
    stdout_to_stderr: bool = False
    seed: int | None = None
    reseeds: bool = False
    call: CallPlan | None = None
    model: ModelPlan | None = None
    assumes: bool = False
    assumed: Assumption | None = None
    function: FunctionPlan | None = None
    overlay: dict[str, bytes] = {}

    @property
    def stacks(self) -> Path:
        """Where the stacks of this process go."""
        return Path(f"{self.trace}.{STACKS}") if self.is_member else Path(self.scratch, STACKS)


def plan_of_members(members: str) -> Path:
    """Where, in the folder of their traces, the plan of processes is that the program starts."""
    return Path(members, "plan.json")


class FirstRun(Struct, frozen=True, kw_only=True):
    """Why the program was run again: how the first run went, and what it `lacked` to tell why.

    step: in which one it happened, where operations were lacking, of a loss or of an evaluation: the second run records
    those about it.
    passes: how many had ended over each loader that was cut, where whole ones were lacking.
    """

    how: str
    lacked: Literal["whole passes", "operations", "an evaluation"]
    step: int = 0
    passes: dict[int, int] = {}

    @property
    def wanted(self) -> str:
        """What the second run has."""
        return "whole passes" if self.lacked == "whole passes" else f"every operation around step {self.step} recorded"


class Outcome(Struct, frozen=True, kw_only=True):
    """How the child ended, as its parent saw it.

    exit_code: None when `signal` killed it. timed_out: it was ended because it outlived the timeout. lingered: the same
    of its process, when the program had come to its end. stacks: its Python
    stacks if it hung, at the moment when it was ended. interrupted: the person pressed Ctrl-C. first_run: what an
    earlier run showed, and could not explain; this is the second.
    """

    exit_code: int | None = 0
    signal: int | None = None
    timed_out: bool = False
    lingered: bool = False
    interrupted: bool = False
    stacks: str = ""
    first_run: FirstRun | None = None
    seconds: float = 0.0
