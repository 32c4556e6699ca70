"""Model mode without settings: which model a file defines, what it takes in, and how it can be trained.

Everything is found out on copies of the model; the program's random numbers are as before.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
from types import ModuleType
from typing import Any, NamedTuple

from msgspec.structs import replace
from torch import nn

from autograd_doctor.plan import OWN_OPTIMIZERS, OWN_OUTPUT, OWN_STEP, Assumption
from autograd_doctor.reading.function_signature import signature
from autograd_doctor.runner.assuming.apart import Apart
from autograd_doctor.runner.assuming.configs import required
from autograd_doctor.runner.assuming.guess import BATCH, Guess, Guesses
from autograd_doctor.runner.assuming.models import Choice, choose
from autograd_doctor.runner.assuming.objective import Objective, as_guess, objective, own_loss
from autograd_doctor.runner.assuming.search import Found, search
from autograd_doctor.runner.assuming.trial import Bench, in_a_step

_LARGE = 20_000
"""Values of a sample, from which on a batch has fewer: a picture of 82 x 82 in three colours."""
_SMALL_BATCH = 4
_LIGHTNING = ("lightning.pytorch", "pytorch_lightning")
_PATIENCE = 60.0
"""Seconds for all trials together; a search by itself ends much earlier."""
_OPTIONAL = 40
"""Parameters of a `forward` that may be left out, to be tried as targets."""


def defines_model(file: ModuleType) -> bool:
    """Whether a file defines a module of its own."""
    own = (each for each in vars(file).values() if isinstance(each, type) and issubclass(each, nn.Module))
    return any(each.__module__ == file.__name__ for each in own)


def assume(file: ModuleType) -> Assumption | None:
    """How to train the model that a file defines, in the words of the settings; or what is lacking for that.

    None if there is nothing to train: what it defines has no parameters.
    """
    apart = Apart()
    choice = choose(file, apart)
    if choice.model is None:
        return _without_model(file, choice)
    model = choice.model
    trying = Apart(_PATIENCE)
    assumed: Assumption | None = trying.call(lambda: _trained(model, choice))
    if assumed is None:
        assumed = Assumption(section=_named(choice), problem=f"`{choice.name}` could not be tried: {trying.why}")
    if choice.several:
        names = ", ".join(f"`{name}`" for name in choice.several)
        key = "factory" if choice.is_factory else "class"
        return replace(assumed, problem=f"defines several models, {names}: name one of them as `{key}`")
    return assumed


def _named(choice: Choice) -> dict[str, Any]:
    built = {"factory" if choice.is_factory else "class": choice.name}
    return built | ({"arguments": choice.arguments} if choice.arguments else {})


def _without_model(file: ModuleType, choice: Choice) -> Assumption | None:
    if choice.failed:
        # It is built once more where its failure is watched.
        data = {"inputs": {"shape": [1]}, "batch_size": BATCH}
        return Assumption(section=_named(choice) | {"loss": OWN_OUTPUT, "data": data}, said=[_model_said(choice)])
    if not choice.needs:
        return None
    name = choice.needs[0]
    arguments = {each.name: _found_for(each) for each in signature(vars(file)[name]).parameters.values()}
    missing = ", ".join(f"`{each.name}`" for each in required(vars(file)[name]))
    return Assumption(
        section={"class": name, "arguments": arguments}, problem=f"defines the model `{name}`, which needs {missing}"
    )


def _found_for(parameter: inspect.Parameter) -> Any:
    """The default of an argument, or its annotation as what is to be filled in."""
    if parameter.default is not parameter.empty:
        plain = isinstance(parameter.default, bool | int | float | str | None)
        return parameter.default if plain else f"<{type(parameter.default).__name__}>"
    annotation = parameter.annotation
    return f"<{'value' if annotation is parameter.empty else getattr(annotation, '__name__', str(annotation))}>"


def _model_said(choice: Choice) -> str:
    given = ", ".join(f"{name}={config['class']}()" for name, config in choice.arguments.items())
    return f"`{choice.name}({given})`{f', {choice.why}' if choice.why else ''}"


# -------------------------------------------------------------------------------------------------------- training


class _Inputs(NamedTuple):
    """What a model takes, and whether its own training step takes it."""

    found: Found
    bench: Bench
    in_step: bool = False


def _trained(model: nn.Module, choice: Choice) -> Assumption:
    taken = _inputs(model)
    found = taken.found
    if not found.works:
        return _not_taken(model, choice, found)
    batch = _batch_size(found.guesses)
    result = taken.bench.tried(found.guesses, batch) if batch != BATCH else found.result
    if result.error is not None:
        batch, result = BATCH, found.result
    chosen = objective(result.output, found.guesses, batch)
    guesses = found.guesses
    if chosen is None:
        return Assumption(
            section=_named(choice) | {"data": _data(guesses, Objective(), batch)},
            problem=f"`{choice.name}` returns no floating-point tensor to compute a loss from",
        )
    if taken.in_step:
        return _assumed(choice, guesses, _own_step(), batch, _optimizer_of(model))
    if _is_lightning(model) and _takes_step(model, guesses, chosen):
        own = _own_step()
        own.targets = chosen.targets
        return _assumed(choice, guesses, own, batch, _optimizer_of(model))
    if own_loss(result.output) is None:
        guesses, chosen = _with_its_own_loss(model, taken.bench, guesses, chosen)
    return _assumed(choice, guesses, chosen, batch, {})


def _inputs(model: nn.Module) -> _Inputs:
    """What `forward` takes, or what the training step takes where there is no `forward`."""
    bench = Bench(model)
    if not _is_lightning(model) or _has_forward(model):
        return _Inputs(_found(model, bench, _parameters(model)), bench)
    for names in ({"x": "", "y": ""}, {"x": ""}):
        bench = Bench(model, in_a_step)
        found = _found(model, bench, names)
        if found.works:
            break
    return _Inputs(found, bench, in_step=True)


def _found(model: nn.Module, bench: Bench, names: dict[str, str]) -> Found:
    """What was found on the meta device is tried with real numbers, too."""
    found = search(model, bench, names)
    if bench.device == "meta" and found.works:
        bench.device = "cpu"
        found = search(model, bench, names, first=[found.guesses])
    return found


def _parameters(model: nn.Module) -> dict[str, str]:
    """The parameters of `forward` that have to be given, or the first one; with the keyword if they take no other."""
    parameters = list(signature(model.forward).parameters.values())
    needed = [
        each
        for each in parameters
        if (each.default is each.empty and each.kind is not each.VAR_KEYWORD) and each.kind is not each.VAR_POSITIONAL
    ]
    chosen = needed or parameters[:1]
    return {each.name: each.name if each.kind is each.KEYWORD_ONLY else "" for each in chosen}


def _batch_size(guesses: Guesses) -> int:
    """Few samples where each is large; shapes that hold the number of samples settle it."""
    largest = max((math.prod(guess.shape) for _, guess in guesses), default=0)
    return BATCH if largest < _LARGE or _is_tied(guesses) else _SMALL_BATCH


def _is_tied(guesses: Guesses) -> bool:
    """Whether what stands for a batch may be something else, such as the nodes of a graph."""
    return any(guess.batch_axis is None or BATCH in guess.shape for _, guess in guesses)


def _not_taken(model: nn.Module, choice: Choice, found: Found) -> Assumption:
    """A fault that no input changes is the program's; else the inputs have to be said."""
    error, section = found.result.error, _named(choice)
    if _is_its_own(error):
        data = _data(found.guesses, Objective(), BATCH)
        return Assumption(section=section | {"loss": OWN_OUTPUT, "data": data}, said=[_model_said(choice)])
    wanted = ", ".join(f"`{name}`" for name in _parameters(model)) or "nothing"
    last = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    where = f" at {found.result.line}" if found.result.line else ""
    inputs = "; ".join(f"{name} {list(guess.shape)}" for name, guess in found.guesses)
    return Assumption(
        section=section | {"data": _data(found.guesses, Objective(), BATCH)},
        problem=f"found no inputs that `{choice.name}` accepts: its `forward` takes {wanted}; it got furthest with "
        f"{inputs}, and raised{where}: {last}",
    )


def _is_its_own(error: Exception | None) -> bool:
    return isinstance(error, NameError) or (isinstance(error, AttributeError) and isinstance(error.obj, nn.Module))


# ---------------------------------------------------------------------------------------- losses of the model's own


def _with_its_own_loss(
    model: nn.Module, bench: Bench, guesses: Guesses, chosen: Objective
) -> tuple[Guesses, Objective]:
    """A parameter that may be left out, and with which the model returns a loss: it takes the targets.

    They are like those that fit the output without them, or, as the next tokens are, like an input.
    """
    if not chosen.targets:
        return guesses, chosen
    given = {name for name, _ in guesses}
    optional = list(signature(model.forward).parameters.items())[:_OPTIONAL]
    for name in (name for name, each in optional if each.default is None and name not in given):
        fitting = [as_guess(chosen.targets[0], name), *(guess.called(name) for _, guess in guesses if guess.classes)]
        for target in filter(None, fitting):
            own = own_loss(bench.tried((*guesses, (name, target))).output)
            if own is not None:
                return (*guesses, (name, target)), own
    return guesses, chosen


def _is_lightning(model: nn.Module) -> bool:
    return isinstance(model, _lightning_modules())


def _has_forward(model: nn.Module) -> bool:
    return all(type(model).forward is not each.forward for each in _lightning_modules())


def _lightning_modules() -> tuple[type[nn.Module], ...]:
    return tuple(sys.modules[name].LightningModule for name in _LIGHTNING if name in sys.modules)


def _takes_step(model: nn.Module, guesses: Guesses, chosen: Objective) -> bool:
    targets = [(f"target {n}", _as_input(target)) for n, target in enumerate(chosen.targets)]
    if any(target is None for _, target in targets):
        return False
    pairs = [(name, guess) for name, guess in (*guesses, *targets) if guess is not None]
    result = Bench(model, in_a_step)
    result.device = "cpu"
    return own_loss(result.tried(tuple(pairs)).output) is not None


def _as_input(target: dict[str, Any]) -> Guess | None:
    return None if "input" in target else Guess(tuple(target.get("shape", ())), target.get("classes", 0))


def _own_step() -> Objective:
    return Objective(losses=[{"name": OWN_STEP}], said=["the loss of its own `training_step`"])


def _optimizer_of(model: nn.Module) -> dict[str, Any]:
    """The optimizers that the model says itself, if it does."""
    made = Apart().call(lambda: copy.deepcopy(model).configure_optimizers())  # type: ignore[operator]
    return {"optimizer": OWN_OPTIMIZERS} if made is not None else {}


# ----------------------------------------------------------------------------------------------------- as settings


def _assumed(choice: Choice, guesses: Guesses, chosen: Objective, batch: int, optimizer: dict[str, Any]) -> Assumption:
    losses = [loss["name"] if len(loss) == 1 else loss for loss in chosen.losses]
    section = _named(choice) | {"loss": _one_or_all(losses)} | optimizer | {"data": _data(guesses, chosen, batch)}
    inputs = ", ".join(f"`{name}` {_words(guess, batch)}" for name, guess in guesses)
    steps = "its own optimizers" if optimizer else "AdamW"
    said = [f"model: {_model_said(choice)}", f"inputs: {inputs}", f"training: {'; '.join(chosen.said)}; {steps}"]
    parts = [*([] if _is_own(chosen) else ["loss"]), *(["axes"] if _is_tied(guesses) else [])]
    return Assumption(section=section, said=said, parts=["data", "loop", *parts])


def _is_own(chosen: Objective) -> bool:
    return all(loss["name"] in (OWN_OUTPUT, OWN_STEP) for loss in chosen.losses)


def _words(guess: Guess, batch: int) -> str:
    shape = list(guess.shape)
    if guess.batch_axis is not None:
        shape.insert(guess.batch_axis, batch)
    kind = f"whole numbers below {guess.classes}" if guess.classes else "normal numbers"
    return f"of shape ({', '.join(map(str, shape))}), {kind}"


def _data(guesses: Guesses, chosen: Objective, batch: int) -> dict[str, Any]:
    inputs = [guess.settings() for _, guess in guesses]
    for number, said in enumerate(inputs):
        if chosen.in_unit_range and {"input": number} in chosen.targets:
            said["range"] = [0, 1]
    targets = {"targets": _one_or_all(chosen.targets)} if chosen.targets else {}
    return {"inputs": _one_or_all(inputs)} | targets | {"batch_size": batch}


def _one_or_all(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts
