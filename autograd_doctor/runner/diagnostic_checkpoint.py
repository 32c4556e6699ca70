"""What a training was when something was found: a file that `torch.load` reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from autograd_doctor.instruments.session import Session
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.variable_names import variable_name


def write(path: Path, session: Session, about: dict[str, Any]) -> None:
    """Write the states of models and optimizers under the program's names, and what there is to say. Raises `OSError`.

    Modules that others hold are in the states of these.
    """
    with session.signals.guard.looking():
        states = {"models": dict(_models(session)), "optimizers": dict(_optimizers(session))}
        # Whoever has replaced `torch.save`, as a polite check does, has not meant this file.
        torch.serialization.save({**about, **states}, path)


def _models(session: Session) -> Iterator[tuple[str, dict[str, Any]]]:
    known = session.find(Modules)
    if known is None:
        return
    living = dict(known.living())
    held = {id(inner) for module in living.values() for inner in module.modules() if inner is not module}
    for number, module in living.items():
        if id(module) not in held:
            yield known.name_of(number) or f"{type(module).__name__}-{number}", module.state_dict()


def _optimizers(session: Session) -> Iterator[tuple[str, dict[str, Any]]]:
    known = session.find(Optimizers)
    for number, optimizer in known.living() if known is not None else ():
        yield variable_name(optimizer) or f"{type(optimizer).__name__}-{number}", optimizer.state_dict()
