"""A file that trained nothing, and defines a model: how it is trained after all, or what the person has to say."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from autograd_doctor.config import ModelSection
from autograd_doctor.events.run import ModelAssumed
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Plan, Target
from autograd_doctor.settings import model_section
from autograd_doctor.settings.model_file import look
from autograd_doctor.settings.written import to_fill_in, written
from autograd_doctor.trace import Trace

_BUILDS = ("class", "factory")


class Trained(NamedTuple):
    """The run in model mode: what is run, and the plan for it."""

    target: Target
    plan: Plan


def trained(plan: Plan, trace: Trace) -> Trained | None:
    """How the model is trained that a program defined and did not train itself. Raises `Mistake` if that is not clear.

    The settings that were found go the way of those that a person writes, so that these would give the same run.
    """
    found = next(iter(trace.of(ModelAssumed)), None) if plan.assumes else None
    if found is None:
        return None
    name, assumption = plan.target.name, found.assumption
    if assumption.problem:
        raise Mistake(f"{name}: does not train, and {assumption.problem}", _help(name, to_fill_in(assumption.section)))
    section = assumption.section
    model = model_section.plan(look(name), msgspec.convert(section, ModelSection), "")
    # Where building or calling it fails, there is nothing to say of its training.
    known = section if assumption.parts else {key: section[key] for key in _BUILDS if key in section}
    assumption = msgspec.structs.replace(assumption, settings=written(known))
    target = Target("model", name, plan.target.arguments)
    return Trained(target, msgspec.structs.replace(plan, target=target, model=model, assumes=False, assumed=assumption))


def _help(name: str, settings: str) -> str:
    command = f"doctor check {name} --config model.yaml"
    return f"say how to train it in a settings file, model.yaml, and run `{command}`:\n\n{settings}"
