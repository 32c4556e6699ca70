"""Model mode: the `model:` section checked against the file, in the shape that the child reads."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograd_doctor.config import DataSection, ModelSection
from autograd_doctor.config_file import describe
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import DTYPES, OWN_STEP, Build, DataPlan, LossPlan, ModelPlan, TensorPlan, own_object
from autograd_doctor.settings.model_file import FUNCTIONS, GIVEN_TO_TRAIN, ModelFile, initializer, required


def plan(file: ModelFile, section: ModelSection, config: str) -> ModelPlan:
    """The `model:` section in the shape that the child reads. Raises `Mistake` for what the source disproves."""
    check = _Check(file, config)
    functions = [name for name in FUNCTIONS if name in file.functions and _can_be_called(file, name)]
    planned = ModelPlan(
        model=check.model(section),
        factory=bool(section.factory),
        losses=check.losses(section.loss),
        optimizer=check.build("optimizer", section.optimizer),
        data=check.data(section.data) if section.data else None,
        functions=functions,
        config=config,
    )
    check.complete(planned)
    return planned


def _can_be_called(file: ModelFile, name: str) -> bool:
    """Whether a `train` needs nothing but what there is; one for data of its own is another program's."""
    return name != "train" or set(required(file.functions[name].args)) <= GIVEN_TO_TRAIN


@dataclass(frozen=True)
class _Check:
    file: ModelFile
    config: str

    def wrong(self, key: str, problem: str) -> Mistake:
        return Mistake(f"{self.config}: model.{key}: {problem}" if key else f"{self.config}: model: {problem}")

    def model(self, section: ModelSection) -> Build | None:
        """The class or factory; a lone `nn.Module` that needs no arguments may be left out."""
        if section.class_name and section.factory:
            raise self.wrong("factory", "expected either `class` or `factory`, found both")
        key = "factory" if section.factory else "class"
        name = section.factory or section.class_name
        if not name:
            return Build(self.file.modules[0], section.arguments) if len(self.file.modules) == 1 else None
        self._check_kind(key, name)
        self._check_arguments("arguments", section.arguments, self._signature(name))
        return Build(name, _json(section.arguments, self.wrong, "arguments"))

    def _check_kind(self, key: str, name: str) -> None:
        self.check_name(key, name)
        if key == "class" and name in self.file.functions:
            raise self.wrong(key, f"`{name}` is a function of {self.file.name}; did you mean `factory: {name}`?")
        if key == "factory" and name in self.file.classes:
            raise self.wrong(key, f"`{name}` is a class of {self.file.name}; did you mean `class: {name}`?")

    def check_name(self, key: str, name: str) -> None:
        if name not in self.file.names and not self.file.open:
            raise self.wrong(key, f"{self.file.name} defines no `{name}`{nearest(name, self.file.names)}")

    def _signature(self, name: str) -> ast.arguments | None:
        if name in self.file.functions:
            return self.file.functions[name].args
        return initializer(self.file.classes[name]) if name in self.file.classes else None

    def _check_arguments(self, key: str, given: dict[str, Any], signature: ast.arguments | None) -> None:
        if signature is None:
            return
        known = [argument.arg for argument in (*signature.args, *signature.kwonlyargs)]
        for name, value in given.items():
            if name not in known and not signature.kwarg:
                raise self.wrong(f"{key}.{name}", f"no such argument{nearest(name, known)}")
            own = own_object(value)
            if own is not None:
                self.check_name(f"{key}.{name}.class", own.name)
        missing = [name for name in required(signature) if name not in given]
        if missing:
            raise self.wrong(key, f"the argument `{missing[0]}` is missing")

    def build(self, key: str, given: str | Build | None) -> Build | None:
        """A name with its arguments. Names of PyTorch are left to the child, which can ask PyTorch."""
        if given is None:
            return None
        if isinstance(given, str):
            return Build(given)
        return Build(given.name, _json(given.arguments, self.wrong, f"{key}.arguments"))

    def losses(self, given: str | LossPlan | list[str | LossPlan] | None) -> list[LossPlan]:
        """One loss or several, checked as far as they are the model's own."""
        several = given if isinstance(given, list) else [] if given is None else [given]
        losses = [LossPlan(loss) if isinstance(loss, str) else loss for loss in several]
        for loss in losses:
            _json(loss.arguments, self.wrong, "loss.arguments")
        if len(losses) > 1 and any(loss.name == OWN_STEP for loss in losses):
            raise self.wrong("loss", f"`{OWN_STEP}` computes the whole loss, but other losses are given")
        return losses

    def data(self, section: DataSection) -> DataPlan:
        if isinstance(section.batches, str):
            self.check_name("data.batches", section.batches)
            return DataPlan(function=section.batches)
        return DataPlan(
            inputs=(inputs := self._tensors("inputs", section.inputs)),
            targets=self._copies(self._tensors("targets", section.targets), len(inputs)),
            batch_size=section.batch_size,
            batches=section.batches,
        )

    def _tensors(self, key: str, given: TensorPlan | list[TensorPlan]) -> list[TensorPlan]:
        tensors = given if isinstance(given, list) else [given]
        for tensor in tensors:
            self._check_tensor(f"data.{key}", tensor)
        return tensors

    def _copies(self, targets: list[TensorPlan], inputs: int) -> list[TensorPlan]:
        """Targets that are inputs themselves are one of those that there are."""
        for target in targets:
            if target.input is not None and not 0 <= target.input < inputs:
                raise self.wrong("data.targets.input", f"expected 0 to {inputs - 1}, found {describe(target.input)}")
        return targets

    def _check_place(self, key: str, tensor: TensorPlan) -> None:
        axis = tensor.batch_axis
        if axis is not None and not 0 <= axis <= len(tensor.shape):
            raise self.wrong(f"{key}.batch_axis", f"expected 0 to {len(tensor.shape)}, found {describe(axis)}")

    def _check_tensor(self, key: str, tensor: TensorPlan) -> None:
        self._check_place(key, tensor)
        bad = next((size for size in tensor.shape if size < 1), None)
        if bad is not None:
            raise self.wrong(f"{key}.shape", f"expected whole numbers >= 1, found {describe(bad)}")
        if tensor.classes is not None and tensor.range is not None:
            raise self.wrong(f"{key}.range", "expected either `classes` or `range`, found both")
        if tensor.classes is not None and tensor.classes < 1:
            raise self.wrong(f"{key}.classes", f"expected a whole number >= 1, found {describe(tensor.classes)}")
        if tensor.range and not (all(map(math.isfinite, tensor.range)) and tensor.range[0] <= tensor.range[1]):
            low, high = tensor.range
            raise self.wrong(f"{key}.range", f"expected two numbers, the smaller first, found `[{low:g}, {high:g}]`")
        if tensor.dtype and tensor.dtype not in DTYPES:
            raise self.wrong(f"{key}.dtype", f"no such dtype: {describe(tensor.dtype)}{nearest(tensor.dtype, DTYPES)}")

    def complete(self, planned: ModelPlan) -> None:
        """Say which key is missing, counting what the functions of the file take over."""
        if "train" in planned.functions:
            return
        if planned.model is None:
            raise self.wrong("", f"expected the key `class` or `factory`: {self._why_no_model()}")
        if not planned.losses and "training_step" not in planned.functions:
            raise self.wrong("", f"expected the key `loss`, or a function `training_step` in {self.file.name}")
        makes_batches = planned.data is not None and (planned.data.inputs or planned.data.function)
        if not makes_batches and "batches" not in planned.functions:
            raise self.wrong("", f"expected the key `data`, or a function `batches` in {self.file.name}")

    def _why_no_model(self) -> str:
        count = len(self.file.modules)
        return f"{self.file.name} defines {count or 'no'} `nn.Module` classes that need no arguments"


def _json(value: Any, wrong: Callable[[str, str], Mistake], key: str) -> Any:
    """Arguments travel to the child as JSON, which has no NaN and no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(key, f"expected a finite number, found {describe(value)}")
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        _json(part, wrong, f"{key}.{name}")
    return value


def needs_nothing(file: ModelFile) -> bool:
    """Whether the functions of a file say all that the settings would."""
    try:
        plan(file, ModelSection(), "")
    except Mistake:
        return False
    return True
