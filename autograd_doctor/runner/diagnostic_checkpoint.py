"""What a training was when something was found: a file that `torch.load` reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_doctor.instruments.session import Session
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.tensor_facts import is_spoiled
from autograd_doctor.reading.variable_names import variable_name


class Trained(NamedTuple):
    """What is trained, under the program's names: models that no other one holds, and optimizers."""

    models: dict[str, nn.Module]
    optimizers: dict[str, Optimizer]


def trained(session: Session) -> Trained:
    """What the instruments of a session know."""
    with session.signals.guard.looking():
        return Trained(dict(_models(session)), dict(_optimizers(session)))


def write(path: Path, what: Trained, about: dict[str, Any]) -> list[str]:
    """Write their states, and what there is to say; returns which weights are not finite any more, from which nobody
    can go on. Raises `OSError`."""
    models = {name: model.state_dict() for name, model in what.models.items()}
    optimizers = {name: optimizer.state_dict() for name, optimizer in what.optimizers.items()}
    # Whoever has replaced `torch.save`, as a polite check does, has not meant this file.
    torch.serialization.save({**about, "models": models, "optimizers": optimizers}, path)
    weights = ((f"{name}.{key}", value) for name, state in models.items() for key, value in state.items())
    return [name for name, value in weights if isinstance(value, torch.Tensor) and is_spoiled(value)]


def _models(session: Session) -> Iterator[tuple[str, nn.Module]]:
    known = session.find(Modules)
    if known is None:
        return
    living = dict(known.living())
    held = {id(inner) for module in living.values() for inner in module.modules() if inner is not module}
    for number, module in living.items():
        if id(module) not in held:
            yield known.name_of(number) or f"{type(module).__name__}-{number}", module


def _optimizers(session: Session) -> Iterator[tuple[str, Optimizer]]:
    known = session.find(Optimizers)
    for number, optimizer in known.living() if known is not None else ():
        yield variable_name(optimizer) or f"{type(optimizer).__name__}-{number}", optimizer
