"""AD603: give a loss the log-probabilities that it takes, or take the loss that takes what there is."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.losses import LossComputed
from autograd_doctor.fixing.called_layers import called
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.fixing.squashed_outputs import Squashing, squashing
from autograd_doctor.operations import SOFTMAXES
from autograd_doctor.report import Place
from autograd_doctor.views.losses import are_log_probabilities, are_probabilities, sum_to_one


def candidates(case: Case) -> Iterator[Candidate]:
    """By what the loss got: the wrong kind of target, probabilities, or scores."""
    place = case.related("this loss takes") or case.finding.location
    there, event = case.source(place), _event(case, place)
    call = there.at(place, cst.Call) if there is not None else None
    if there is None or call is None or event is None:
        return
    if event.operation == "poisson_nll_loss":
        editing = Editing(there).give(_told(there, call, "PoissonNLLLoss"), "log_input", "False")
        yield case.candidate("pass `log_input=False`: the loss is given rates", editing)
    elif "log_target=True" in case.finding.message:
        yield from _log_target(case, there, call)
    elif not are_probabilities(event.prediction):
        yield from _of_scores(case, there, call, event)
    elif event.prediction.shaping is None or event.prediction.shaping.operation in SOFTMAXES:
        found = squashing(case, case.finding.location)
        if found is not None and found.operation == "softmax" and found.goes_into_losses():
            yield _logarithm_at_once(case, found)
        yield from _wrapped(case, there, call, ".log({} + 1e-8)", "the logarithm")


def _event(case: Case, place: Place | None) -> LossComputed | None:
    return next((each for each in case.trace.of(LossComputed) if case.begins_at(each.location, place)), None)


def _told(there: Source, call: cst.Call, layer: str) -> cst.Call:
    """The call that tells a loss of its options: its own, or the one that built the layer."""
    made = there.value_of(call.func)
    return made if isinstance(made, cst.Call) and called(made) == layer else call


def _log_target(case: Case, there: Source, call: cst.Call) -> Iterator[Candidate]:
    """Tell the loss, or where it was built, of what kind its target is."""
    loss = _told(there, call, "KLDivLoss")
    given = next((each for each in loss.args if each.keyword and each.keyword.value == "log_target"), None)
    if given is not None:
        editing = Editing(there).withhold(loss, given)
        yield case.candidate("leave `log_target=True` out: the target holds probabilities", editing)
    else:
        editing = Editing(there).give(loss, "log_target", "True")
        yield case.candidate("pass `log_target=True`: the target holds log-probabilities", editing)


def _of_scores(case: Case, there: Source, call: cst.Call, event: LossComputed) -> Iterator[Candidate]:
    """For classes, the loss that takes scores; or the log-softmax of them."""
    named = _named(there, call)
    if event.operation == "nll_loss" and named is not None:
        name = "cross_entropy" if named is call else "CrossEntropyLoss"
        editing = Editing(there).replace(named.func, _renamed(there, named, name))
        yield case.candidate(f"use `{name}`, which takes scores", editing)
    dim = -1 if event.operation == "ctc_loss" else event.class_dim
    is_sure = event.operation != "kl_div" or sum_to_one(event.target.sums) or are_log_probabilities(event.target)
    if is_sure and dim is not None:
        yield from _wrapped(case, there, call, f".log_softmax({{}}, dim={dim})", "the log-softmax")


def _named(there: Source, call: cst.Call) -> cst.Call | None:
    """The call that names the loss: its own, or where it was built, if nothing else calls it."""
    made = there.value_of(call.func)
    if called(call) == "nll_loss":
        return call if isinstance(call.func, cst.Attribute) else None
    alike = [each for each in there.all(cst.Call) if there.code(each.func) == there.code(call.func)]
    is_one = isinstance(made, cst.Call) and called(made) == "NLLLoss" and isinstance(made.func, cst.Attribute)
    return made if is_one and isinstance(made, cst.Call) and len(alike) == 1 else None


def _renamed(there: Source, call: cst.Call, name: str) -> str:
    assert isinstance(call.func, cst.Attribute)
    return f"{there.code(call.func.value)}.{name}"


def _wrapped(case: Case, there: Source, call: cst.Call, form: str, what: str) -> Iterator[Candidate]:
    given = there.argument(call, 0, "input") or there.argument(call, 0, "log_probs")
    if given is None:
        return
    editing = Editing(there)
    code = there.code(given.value)
    code = editing.torch() + form.format(operand(code) if "+" in form else code)
    yield case.candidate(f"give the loss {what}: `{code}`", editing.replace(given.value, code))


def _logarithm_at_once(case: Case, found: Squashing) -> Candidate:
    """Make log-probabilities where the probabilities were made."""
    source, call = found.source, found.layer or found.call
    name = "LogSoftmax" if found.layer is not None else "log_softmax"
    code = _renamed(source, call, name) if isinstance(call.func, cst.Attribute) else name
    return case.candidate(f"use `{code}` instead", Editing(source).replace(call.func, code))


FIXER = Fixer(codes=("AD603",), candidates=candidates, of_operation=True)
