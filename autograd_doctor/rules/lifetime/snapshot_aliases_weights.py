"""AD310: a snapshot of the weights, or an average of them, shares its storage with the weights that go on changing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.lifetime import SnapshotKept, WeightsMetThemselves
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lasting: dict[object, SnapshotKept] = {}
    together: dict[Location | None, int] = {}
    for event in trace.of(SnapshotKept):
        together[event.location] = max(event.together, together.get(event.location, 1))
        is_handle = event.taken_in_step == 0 and not event.computed_with
        lasted = not event.used_at_once and not is_handle and event.step - event.taken_in_step >= tunables["steps"]
        if event.parameters and event.step > event.taken_in_step and (event.loaded_back or lasted):
            lasting[event.holder, event.location] = event
    loaded = {event.location for event in trace.of(SnapshotKept) if event.loaded_back}
    meetings = _meetings(trace, tunables)
    explained = {met[0].kept_at for met in meetings if met[0].how in ("updated", "compared")}
    told: set[object] = set()
    loaded_back: set[int] = set()
    # Several names may hold the one that was taken at a line: the first is told.
    for event in {event.location: event for event in reversed(lasting.values())}.values():
        is_used = event.location in loaded
        are_several = together[event.location] >= tunables["together"]
        is_meant = event.read_in_a_row >= tunables["reads"] or (_is_candidate(trace, event) and not are_several)
        if is_used or (event.location not in explained and (event.met_itself or not is_meant)):
            told.add(event.location)
            loaded_back.update(event.parameters if is_used else ())
            yield _finding(trace, event, is_used=is_used, together=together[event.location] if are_several else 1)
    for met in meetings:
        if met[0].how == "reloaded":
            if not loaded_back.issuperset(met[0].parameters):
                yield _reloaded(trace, met)
        elif met[0].how != "put back" or met[0].kept_at not in told:  # a snapshot that was loaded back
            yield _meeting(trace, met)


def _meetings(trace: Trace, tunables: Tunables) -> list[list[WeightsMetThemselves]]:
    """Those at one line, of which one is enough or that there are several of."""
    by_line: dict[tuple[str, Location | None], list[WeightsMetThemselves]] = {}
    for met in trace.of(WeightsMetThemselves):
        by_line.setdefault((met.how, met.location), []).append(met)
    return [met for met in by_line.values() if _is_enough(met) or _times(met) >= tunables["updates"]]


def _is_enough(meetings: Sequence[WeightsMetThemselves]) -> bool:
    is_known = meetings[0].how == "loaded" and meetings[0].kept_at is not None
    return is_known or any(met.for_good for met in meetings)


def _is_candidate(trace: Trace, event: SnapshotKept) -> bool:
    """Whether it is one of those that are made in any case, and written to a file if they are the best."""
    return event.others_used or (event.regular and has_ended(trace))


def _finding(trace: Trace, event: SnapshotKept, *, is_used: bool, together: int) -> Finding:
    age = event.step - event.taken_in_step
    taken = f"after {plural(event.taken_in_step, 'step')}" if event.taken_in_step else "before the first step"
    return RULE.finding(
        f"`{event.holder}`, taken {taken}, still shares storage with {trace.parameter_names(event.parameters)}, which "
        f"{plural(age, 'later step')} changed",
        subject=event.holder,
        location=event.location,
        help="copy it: `copy.deepcopy(model.state_dict())`, or `{k: v.detach().clone() for k, v in ...}`",
        evidence={"taken_after_steps": event.taken_in_step, "steps_since": age, "parameters": len(event.parameters)},
        severity=None if is_used else "warning",
        confidence="high" if is_used else "medium",
        notes=_notes(event, is_used=is_used, together=together),
        step_first=event.taken_in_step,
        step_count=age,
        parameters=event.parameters,
    )


def _notes(event: SnapshotKept, *, is_used: bool, together: int) -> tuple[str, ...]:
    notes = {
        "loading it back into the model changed nothing": is_used,
        f"{together} such snapshots of different steps are kept at once: all of them are the newest weights": together
        > 1,
        "it was computed with beside the weights, which were the same values": event.met_itself,
    }
    return tuple(note for note, applies in notes.items() if applies)


def _times(meetings: Sequence[WeightsMetThemselves]) -> int:
    """What is told of a line at the end is of a step in which it was told before."""
    return len({met.step for met in meetings}) if meetings[0].how == "put back" else len(meetings)


def _meeting(trace: Trace, meetings: Sequence[WeightsMetThemselves]) -> Finding:
    first = meetings[0]
    line = (Related(f"{first.how} with the same values here", first.location),) if first.location is not None else ()
    times = _times(meetings)
    effects = {
        "updated": f"each of {plural(times, 'update')} averaged the weights with themselves",
        "compared": f"its difference from the weights was exactly 0 in each of {plural(times, 'step')}",
        "loaded": f"loading the weights into it changed nothing, {times} times: it holds the same tensors",
        "put back": f"copying it back changed nothing{'' if times == 1 else f', {times} times'}: the weights keep the "
        "values that they got in between",
    }
    is_put_back = first.how == "put back"
    is_open = first.how in ("put back", "loaded") and first.kept_at is None
    done = "copied back" if is_put_back and first.kept_at is None else "kept"
    return RULE.finding(
        f"what is {done} here is the storage of {trace.parameter_names(first.parameters)} itself, so "
        f"{effects[first.how]}",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.kept_at or first.location,
        help="start from a copy: `parameter.detach().clone()`, or `copy.deepcopy(model)`",
        evidence={"steps": times, "parameters": len(first.parameters)},
        related=line if first.kept_at is not None else (),
        severity="warning" if is_open else None,
        step_first=first.step,
        step_count=times,
        parameters=first.parameters,
    )


def _reloaded(trace: Trace, meetings: Sequence[WeightsMetThemselves]) -> Finding:
    first = meetings[0]
    return RULE.finding(
        "what is loaded here is the state of the module itself, as it is: each of "
        f"{plural(len(meetings), 'load')} left {trace.parameter_names(first.parameters)} as they were",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        help="take the state of the module that this one is to follow: `target.load_state_dict(online.state_dict())`",
        evidence={"loads": len(meetings), "parameters": len(first.parameters)},
        severity="warning",
        step_first=first.step,
        step_count=len(meetings),
        parameters=first.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best, best_state = float("inf"), {}
    for step in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 and loss.item() < best:
            best = loss.item()
            best_state = model.state_dict()  # <- AD310
    model.load_state_dict(best_state)


def bad_early_stopping_attribute() -> None:
    import torch
    from torch import nn

    class EarlyStopping:
        def __init__(self) -> None:
            self.best = float("inf")
            self.weights: dict[str, torch.Tensor] = {}

        def update(self, loss: float, model: nn.Module) -> None:
            if not self.weights:
                self.best = loss
                self.weights = {name: value.detach() for name, value in model.state_dict().items()}  # <- AD310

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    stopping = EarlyStopping()
    for _ in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        stopping.update(loss.item(), model)
    model.load_state_dict(stopping.weights)


def bad_average() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    average = [parameter.detach() for parameter in model.parameters()]  # <- AD310
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average, model.parameters(), strict=True):
                slow.lerp_(fast, 0.1)


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best, best_state = float("inf"), {}
    for _ in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best = loss.item()
            best_state = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)


def good_saved_to_disk_at_once() -> None:
    import tempfile

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    folder = tempfile.mkdtemp()
    for step in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 2:
            checkpoint = {"model": model.state_dict(), "step": step}
            torch.save(checkpoint, f"{folder}/checkpoint.pt")


def good_candidates_for_a_checkpoint() -> None:
    import tempfile

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    path, best = tempfile.mktemp(), float("inf")
    for _ in range(8):
        for _ in range(6):
            x = torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        state, error = {"model": model.state_dict()}, loss.item()
        if error < best:
            best = error
            torch.save(state, path)


RULE = Rule(
    code="AD310",
    name="snapshot-aliases-weights",
    severity="error",
    title="a snapshot, an average or an anchor shares storage with weights that keep changing",
    observes="Living `state_dict()`s that still share storage with parameters which later steps changed. Tensors "
    "that were kept since an earlier step and are updated from their own storage, subtracted from it, or copied back "
    "into it after the weights got other values, if only once at the end. And modules into which the parameters that "
    "they already hold are loaded or averaged, as with a shallow copy, or their own state is, as it is.",
    why='`state_dict()` copies nothing: "the best weights" follow every later step, and loading them in the end '
    "restores the last weights instead.",
    fix="Copy the snapshot when you take it; copy a module with `copy.deepcopy`.",
    fine="Snapshots that are saved to disk at once, copied, or read only in the step in which they were taken; "
    "checkpoint candidates made in each epoch; a view of the weights from which an average or a mirror reads them in "
    "every step; what is itself updated in the place of the weights, as master weights of their own precision; a "
    "snapshot from before the first step that is only saved, copied from or written through, or whose norms are "
    "taken; a module whose own parameters share the storage of others, and get gradients; weights that are swapped by "
    "giving parameters another storage, and get theirs back. If nothing was seen to load the snapshot back, it is a "
    "warning.",
    needs=(SnapshotKept, WeightsMetThemselves, ParameterSeen),
    examine=examine,
    bad=(bad, bad_early_stopping_attribute, bad_average),
    good=(good, good_saved_to_disk_at_once, good_candidates_for_a_checkpoint),
    tunables={
        "steps": Tunable(
            3,
            "fewest steps since a snapshot that was not loaded back",
            "chosen: a snapshot that is used within two steps is not meant to last",
        ),
        "updates": Tunable(2, "fewest updates of weights from themselves", MORE_THAN_ONCE),
        "reads": Tunable(
            3,
            "reads in this many consecutive steps make it a view that is meant to follow the weights",
            "chosen: a snapshot is read at the end, a view in each step",
        ),
        "together": Tunable(
            3,
            "fewest snapshots of one line that are held at once, of which none is the candidate that the next replaces",
            "chosen: a best and a newest one are two",
        ),
    },
)
