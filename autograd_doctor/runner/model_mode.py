"""Model mode: the training loop that the doctor runs for a file that defines a model and does not train it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_doctor.calling import required
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.mistakes import nearest
from autograd_doctor.plan import OWN_OPTIMIZERS, OWN_OUTPUT, OWN_STEP, Build, LossPlan, ModelPlan, Target, own_object
from autograd_doctor.reading.function_signature import signature
from autograd_doctor.reading.places import is_own
from autograd_doctor.runner import synthetic
from autograd_doctor.runner.model_outputs import entry
from autograd_doctor.runner.program import search_first
from autograd_doctor.runner.synthetic import Batch


class ConfigMistake(Exception):
    """What only running could tell is wrong with the configuration; the message names file and key."""


class ModelProgram:
    """Builds what the plan asks for and trains it for so many steps. The loop is ours, the lines in it are not."""

    def __init__(self, target: Target, plan: ModelPlan, steps: int, parameters: Parameters | None) -> None:
        self._target = target
        self._plan = plan
        self._steps = steps
        self._parameters = parameters
        self._file = ModuleType("")
        self._parts: dict[str, Any] = {}

    def execute(self) -> None:
        self._file = import_file(self._target.name, self._target.arguments)
        if "train" in self._plan.functions:
            self._call_train()
        else:
            self._train()

    # --------------------------------------------------------------------------------------------------- the loop

    def _train(self) -> None:
        model, optimizers = self.part("model"), self.part("optimizers")
        loss_of = self._loss_of()
        for _, batch in zip(range(self._steps), self._batches(), strict=False):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss_of(model, batch).backward()
            for optimizer in optimizers:
                optimizer.step()

    def _loss_of(self) -> Callable[[nn.Module, Any], torch.Tensor]:
        if "training_step" in self._plan.functions:
            training_step: Callable[[nn.Module, Any], torch.Tensor] = self._file.training_step
            return training_step
        if [loss.name for loss in self._plan.losses] == [OWN_STEP]:
            return _own_step
        losses = self.part("losses")
        return lambda model, batch: self._compare(losses, _predict(model, batch), batch)

    def _compare(self, losses: list[Callable[..., Any]], output: Any, batch: Any) -> Any:
        targets, named = (batch.targets, batch.named_targets) if isinstance(batch, Batch) else ([batch[-1]], {})
        shapes = f"an output {_shape(output)} and targets {', '.join(map(_shape, [*targets, *named.values()]))}"

        def compared() -> Any:
            if len(losses) == 1:
                return losses[0](output, *targets, **named)
            remaining = iter(targets)
            terms = zip(self._plan.losses, losses, strict=True)
            return sum(loss(output, *(() if plan.name == OWN_OUTPUT else (next(remaining),))) for plan, loss in terms)

        return self._configured("loss", f"it cannot be computed from {shapes}", compared)

    def _batches(self) -> Iterator[Any]:
        """Batches without end, round and round."""
        while True:
            found = False
            for batch in self._one_pass():
                found = True
                yield batch
            if not found:
                raise self._mistake("data", "it gave no batch")

    def _one_pass(self) -> Any:
        if "batches" in self._plan.functions:
            return self._file.batches()
        if self._plan.data is None:
            raise self._mistake("data", "it is missing")
        if self._plan.data.function:
            return self._named_in_file("data.batches", self._plan.data.function)()
        return synthetic.batches(self._plan.data)

    # -------------------------------------------------------------------------------------------------- the parts

    def part(self, name: str) -> Any:
        """`model`, `optimizers` and `losses`, each built once, when it is first asked for."""
        if name not in self._parts:
            builders = {"model": self._build_model, "optimizers": self._build_optimizers, "losses": self._build_losses}
            self._parts[name] = builders[name]()
        return self._parts[name]

    def _build_model(self) -> nn.Module:
        build = self._plan.model
        key = "factory" if self._plan.factory else "class"
        if build is None:
            raise self._mistake(key, "it is missing")
        construct = self._named_in_file(key, build.name)
        problem = f"`{build.name}` does not accept them"
        model = self._configured("arguments", problem, lambda: construct(**self._arguments(build)))
        if not isinstance(model, nn.Module):
            raise self._mistake(key, f"`{build.name}` made a `{type(model).__name__}`, not an `nn.Module`")
        if self._parameters is not None:
            self._parameters.name_module(model, "model")
        return model

    def _arguments(self, build: Build) -> dict[str, Any]:
        """Those that name a class are objects of it."""
        given = dict(build.arguments)
        for name, value in given.items():
            own = own_object(value)
            if own is not None:
                given[name] = self._named_in_file(f"arguments.{name}.class", own.name)(**own.arguments)
        return given

    def _build_optimizers(self) -> list[Optimizer]:
        model = self.part("model")
        if "configure_optimizers" in self._plan.functions:
            return self._optimizers_of(self._file.configure_optimizers(model))
        if self._plan.optimizer and self._plan.optimizer.name == OWN_OPTIMIZERS:
            return self._optimizers_of(model.configure_optimizers())
        build = self._plan.optimizer or Build("AdamW")
        kind = getattr(torch.optim, build.name, None)
        if not (isinstance(kind, type) and issubclass(kind, Optimizer)):
            raise self._mistake(
                "optimizer", f"`torch.optim` has no `{build.name}`{nearest(build.name, dir(torch.optim))}"
            )
        problem = f"`torch.optim.{build.name}` does not accept them"
        return [self._configured("optimizer.arguments", problem, lambda: kind(model.parameters(), **build.arguments))]

    def _optimizers_of(self, made: Any) -> list[Optimizer]:
        optimizers = list(_without_schedules(made))
        wrong = next((each for each in optimizers if not isinstance(each, Optimizer)), None)
        if wrong is not None or not optimizers:
            raise ConfigMistake(
                f"{self._target.name}: configure_optimizers: expected an optimizer or a list of them, "
                f"found `{type(wrong if optimizers else made).__name__}`"
            )
        return optimizers

    def _build_losses(self) -> list[Callable[..., Any]]:
        if not self._plan.losses:
            raise self._mistake("loss", "it is missing")
        return [self._on_output(plan, self._build_loss(plan)) for plan in self._plan.losses]

    def _on_output(self, plan: LossPlan, loss: Callable[..., Any]) -> Callable[..., Any]:
        """A loss on that part of what the model returns that it is meant for, with its classes where PyTorch looks."""

        def on_output(output: Any, *targets: Any, **named: Any) -> Any:
            found = entry(output, plan.output)
            return loss(found if plan.classes_axis is None else found.movedim(plan.classes_axis, 1), *targets, **named)

        return on_output

    def _build_loss(self, build: LossPlan) -> Callable[..., Any]:
        if build.name == OWN_OUTPUT:
            return lambda output: output
        found = getattr(self._file, build.name, getattr(nn, build.name, getattr(nn.functional, build.name, None)))
        if not callable(found):
            known = [*vars(self._file), *dir(nn), *dir(nn.functional)]
            where = f"neither {self._target.name} nor `torch.nn` nor `torch.nn.functional` has"
            raise self._mistake("loss", f"{where} `{build.name}`{nearest(build.name, known)}")
        if isinstance(found, type):
            problem = f"`{build.name}` does not accept them"
            return self._configured("loss.arguments", problem, lambda: found(**build.arguments))  # type: ignore[no-any-return]
        return lambda *values, **named: found(*values, **named, **build.arguments)

    def _call_train(self) -> None:
        """Call the file's own `train`, with those of its parameters that have the name of something we can build."""
        makers: dict[str, Callable[[], Any]] = {
            "model": lambda: self.part("model"),
            "optimizer": lambda: self.part("optimizers")[0],
            "optimizers": lambda: self.part("optimizers"),
            "loss": lambda: self.part("losses")[0],
            "batches": self._batches,
            "steps": lambda: self._steps,
        }
        taken = signature(self._file.train)
        given = {name: makers[name]() for name in taken.parameters if name in makers}
        unknown = [each.name for each in required(taken) if each.name not in given]
        if unknown:
            raise ConfigMistake(f"{self._target.name}: train: there is no argument `{unknown[0]}` to pass")
        self._file.train(**given)

    # ------------------------------------------------------------------------------------------------- mistakes

    def _named_in_file(self, key: str, name: str) -> Callable[..., Any]:
        found = getattr(self._file, name, None)
        if not callable(found):
            raise self._mistake(key, f"{self._target.name} defines no `{name}`{nearest(name, list(vars(self._file)))}")
        return found  # type: ignore[no-any-return]

    def _configured(self, key: str, problem: str, call: Callable[[], Any]) -> Any:
        """Call something as the configuration says: what it raises without reaching the user's code is a mistake."""
        try:
            return call()
        except Exception as error:
            if reached_own_code(error):
                raise
            raise self._mistake(key, f"{problem}: {_first_line(error)}") from error

    def _mistake(self, key: str, problem: str) -> ConfigMistake:
        return ConfigMistake(f"{self._plan.config or self._target.name}: model.{key}: {problem}")


def import_file(file: str, arguments: Sequence[str] = ()) -> ModuleType:
    """Import a file under its own name, so that what it guards with `__name__ == "__main__"` does not run."""
    path = os.path.abspath(file)
    search_first(os.path.dirname(path))
    sys.argv[:] = [file, *arguments]
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigMistake(f"{file}: it cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _own_step(model: Any, batch: Batch) -> Any:
    """The loss of a `LightningModule`, which may lie among other things."""
    loss = model.training_step((*batch.inputs, *batch.targets), 0)
    return loss["loss"] if isinstance(loss, Mapping) else loss


def _predict(model: nn.Module, batch: Any) -> Any:
    if isinstance(batch, Batch):
        return model(*batch.inputs, **batch.named_inputs)
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(*batch[:-1])


def _without_schedules(made: Any) -> Iterator[Any]:
    """The optimizers in what a `configure_optimizers` may return: one, some, with schedules beside or below them."""
    if isinstance(made, Mapping) and "optimizer" in made:
        yield made["optimizer"]
    elif isinstance(made, Sequence) and len(made) == 2 and all(isinstance(part, Sequence) for part in made):
        yield from made[0]
    elif isinstance(made, Sequence) and not isinstance(made, str):
        for part in made:
            yield from _without_schedules(part)
    else:
        yield made


def _shape(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"of shape {tuple(value.shape)} and dtype {str(value.dtype).removeprefix('torch.')}"
    return f"of type `{type(value).__name__}`"


def reached_own_code(error: Exception) -> bool:
    """Whether an exception came out of the user's code, or passed through it."""
    traceback = error.__traceback__
    while traceback is not None:
        if is_own(traceback.tb_frame.f_code.co_filename):
            return True
        traceback = traceback.tb_next
    return False


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
