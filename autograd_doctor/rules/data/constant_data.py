"""AD704: all inputs or all targets of training are the same, while the other side varies."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import InputsAlike, SamplesMetAgain, TargetsSeen
from autograd_doctor.events.losses import LossSignSeen
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import ADDING, CATALOGUE, JOINS, PRODUCTS, REARRANGEMENTS
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.tape import Tape, Value, numbers_in
from autograd_doctor.trace import Trace
from autograd_doctor.views.directions import driven
from autograd_doctor.views.lines import beside
from autograd_doctor.views.targets import latest_targets
from autograd_doctor.wording import plural, shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    targets = latest_targets(trace)
    enough = tunables["steps"], tunables["samples"]
    found = [event for event in trace.of(InputsAlike) if event.steps >= enough[0] and event.samples >= enough[1]]
    alike = [event for event in found if not event.since]
    late = list(filter(None, (_late_inputs(trace, event, targets, tunables) for event in found if event.since)))
    yield from late
    yield from map(_late_targets, _turned(trace, targets, tunables) if not late else ())
    varies = any(not _is_constant(event) for event in targets) or _compares_with_data(trace)
    if varies:
        has_labels = any(event.class_count > 1 and not event.weighted for event in targets)
        for event in alike:
            if has_labels or not event.read:  # what an environment shows may be the same whenever it is asked
                yield _inputs(trace, event)
    raised = {event.bounded_at for event in trace.of(LossSignSeen) if event.negated}
    raised.update(*map(_raised, trace.tapes))
    beyond_constants = raised.union(*map(_comparing, trace.tapes))
    for one in (each for each in targets if each.location not in beyond_constants) if not alike else ():
        others = (other for other in targets if other.logits == one.logits)
        source = bool(one.source) if one.class_count else one.source == "drawn"
        is_data = source and _steps(one) >= enough[0] and _elements(one) >= enough[1]
        # Of two classes, as of what is real or where it comes from, a line may well have one for itself.
        is_alone = not varies or (one.class_count == 1 and one.logits > 2)
        if is_data and is_alone and all(_is_constant(other) and _value(other) == _value(one) for other in others):
            yield _targets(one, is_whole=not one.in_order or one.elements >= one.rows)


def _value(event: TargetsSeen) -> float | None:
    """The one class, or the one value, of the targets; None where they vary."""
    if event.class_count == 1:
        return next(iter(event.classes))
    return event.low if event.class_count == 0 and event.low == event.high and not event.all_ignored else None


def _elements(event: TargetsSeen) -> int:
    """How many targets there were, without those that a loss over classes ignores."""
    return sum(event.classes.values()) if event.class_count == 1 else event.elements


def _steps(event: TargetsSeen) -> int:
    return event.steps - event.all_ignored


def _is_constant(event: TargetsSeen) -> bool:
    return _value(event) is not None


def _turned(trace: Trace, targets: list[TargetsSeen], tunables: Tunables) -> Iterator[TargetsSeen]:
    """Targets that are all the same since some step: in the next stage of a short run those of other samples may well
    be, not those that the same samples had before."""
    relabelled = {event.location for event in trace.of(SamplesMetAgain) if event.others >= tunables["samples"]}
    for event in targets:
        is_established = event.alike_since >= tunables["established"]
        if (is_established or event.location in relabelled) and _turns_constant(event, tunables):
            yield event


def _turns_constant(event: TargetsSeen, tunables: Tunables) -> bool:
    """Whether the targets of one source differ at first and are all the same since, for longer than a pass takes: in a
    set that is sorted the last ones may well be of one class, unless they have come mixed for long. Those that the
    program made itself may be meant for a while.
    """
    steps = event.step - event.alike_since
    fewest = tunables["steps" if event.alike_source else "steps_if_made"]
    is_enough = event.alike_steps >= fewest and event.alike_elements >= tunables["samples"]
    is_pass = event.alike_steps > 0 and steps * event.alike_elements / event.alike_steps > event.rows
    is_mixed = event.alike_since >= tunables["established"] and not event.in_order
    has_varied = event.varied >= tunables["varied"]
    counts = event.alike is not None and event.alike != event.ignore_index
    return counts and is_enough and has_varied and (is_pass or is_mixed)


def _compares_with_data(trace: Trace) -> bool:
    """Whether a loss is given data on the side of the prediction, as residuals are, which are to be zero."""
    taught = frozenset().union(*trace.optimizer_parameters.values())
    losses = (op for tape in trace.tapes for op in tape.named(*CATALOGUE))
    return any(_has_data_added(op.live[0], taught) for op in losses if op.live)


def _has_data_added(value: Value, taught: frozenset[int]) -> bool:
    """Derivatives are taken with respect to data, which may learn therefore, but by no optimizer."""
    op = value.by
    if op is None or op.name not in ADDING | REARRANGEMENTS:
        return False
    data = (each for each in op.values if each.shape and taught.isdisjoint(numbers_in(each.connected)))
    return (op.name in ADDING and any(data)) or any(_has_data_added(each, taught) for each in op.live)


def _raised(tape: Tape) -> set[Location | None]:
    """The lines of losses that are driven up: one class is what a model is to forget there, and no constant pays."""
    return {op.location for op, sign in driven(tape) if sign < 0 and op.name in CATALOGUE}


def _comparing(tape: Tape) -> set[Location | None]:
    """The lines of losses on what a model says of one thing beside what it says of another: as where those that were
    preferred come first, targets may all be the same, and a constant output solves nothing."""
    return {op.location for op in tape.named(*CATALOGUE) if op.live and _compares_outputs(op.live[0])}


def _compares_outputs(value: Value) -> bool:
    op = value.by
    if op is None or not op.live:
        return False
    if op.name in REARRANGEMENTS or (op.name in PRODUCTS and len(op.live) == 1):
        return _compares_outputs(op.live[0])
    beside = op.name in JOINS and value.shape[:1] == op.live[0].shape[:1]
    of_one = op.live[0].connected & op.live[-1].connected
    return len(op.live) > 1 and bool(of_one) and (beside or op.name == "sub")


def _inputs(trace: Trace, event: InputsAlike) -> Finding:
    """A warning where others tell the samples apart: what is given beside them may be the same for all."""
    what = "" if event.constant is None else f": {event.constant:g} all over"
    return RULE.finding(
        f"`{trace.module_name(event.module)}` was trained on {plural(event.samples, 'sample')} in "
        f"{plural(event.steps, 'step')} that were recorded, and all were the same to the bit{what}, while the targets "
        "differ",
        subject=event.name or "inputs",
        location=event.location,
        severity="warning" if event.beside else "error",
        confidence="medium" if event.read or event.beside else "high",
        help="follow one sample from where it is read to here: an integer division, a wrong index or a normalisation "
        "with the numbers of the sample itself makes all alike",
        evidence={
            "steps": event.steps,
            "samples": event.samples,
            "shape": shape(event.shape),
            "value": "not one value" if event.constant is None else event.constant,
        },
        related=beside(event.location, ("they were made here", event.made_at)),
        step_first=1,
        step_count=event.steps,
    )


def _late_inputs(trace: Trace, event: InputsAlike, targets: list[TargetsSeen], tunables: Tunables) -> Finding | None:
    """An error where targets from data still differ: nothing is left to tell them by. Otherwise batches may be copies
    of one sample on purpose, unless that is one value all over; where each batch is made of another sample, it is to
    have several targets then.
    """
    what = "" if event.constant is None else f": {event.constant:g} all over"
    differ = any(target.source and target.varied_at > event.since for target in targets)
    is_sure = differ and not event.beside
    is_narrow = event.each_its_own and not differ and event.steps >= tunables["steps_of_one"]
    is_told = is_narrow if event.each_its_own else differ or event.constant is not None
    if not event.same_source or event.varied < tunables["varied"] or not is_told:
        return None
    alike = "in each of them all" if event.each_its_own else "all"
    return RULE.finding(
        f"from step {event.since + 1} on, `{trace.module_name(event.module)}` was trained on "
        f"{plural(event.samples, 'sample')} in {plural(event.steps, 'step')} that were looked at, and {alike} were the "
        f"same to the bit{what}{', while the targets differ' if differ else ''}; before, samples differed in each of "
        f"{plural(event.varied, 'batch')}",
        subject=event.name or "inputs",
        location=event.location,
        severity="error" if is_sure else "warning",
        confidence="high" if is_sure else "medium",
        help="look at how a batch is put together: an index that is drawn once for all of it, or that has come to the "
        "end of what it may be"
        if event.each_its_own
        else "look for what writes to the data, or reads past their end, between the two: a buffer that a cache keeps "
        "and that is written over, an array that is changed in place, a stream that has run dry",
        evidence={
            "steps": event.steps,
            "samples": event.samples,
            "batches_before": event.varied,
            "shape": shape(event.shape),
            "value": "not one value" if event.constant is None else event.constant,
        },
        related=beside(event.location, ("they were made here", event.made_at)),
        step_first=event.since + 1,
        step_count=event.steps,
    )


def _late_targets(event: TargetsSeen) -> Finding:
    name = f"`{event.name}`" if event.name else "the targets"
    return RULE.finding(
        f"from step {event.alike_since + 1} on, all {plural(event.alike_elements, 'target')} in {name} that were seen "
        f"in {plural(event.alike_steps, 'step')} are {event.alike:g}; before, they differed in each of "
        f"{plural(event.varied, 'batch')}{' from the same data' if event.alike_source else ''}",
        subject=event.name or "targets",
        location=event.location,
        severity="warning",
        confidence="medium",
        help="look for what writes to the targets between the two",
        evidence={
            "targets": event.alike_elements,
            "steps": event.alike_steps,
            "batches_before": event.varied,
            "value": event.alike if event.alike is not None else "",
        },
        related=beside(event.location, ("they were made here", event.made_at)),
        step_first=event.alike_since + 1,
        step_count=event.alike_steps,
    )


def _targets(event: TargetsSeen, *, is_whole: bool) -> Finding:
    """Of one class only. Numbers may have one value for a while: rewards, or what holds at a boundary."""
    is_sure, value = is_whole and event.class_count == 1, _value(event)
    name = f"`{event.name}`" if event.name else "the targets"
    of = "" if is_whole else f", the first of {event.rows:,} that are read in order"
    return RULE.finding(
        f"all {plural(_elements(event), 'target')} in {name} that were seen in {plural(_steps(event), 'step')} are "
        f"{value:g}{of}: a constant output has no loss",
        subject=event.name or "targets",
        location=event.location,
        severity="error" if is_sure else "warning",
        confidence="high" if is_sure else "medium",
        help="look at how the targets are read and encoded"
        if is_whole
        else "shuffle the training data; if all targets are the same, look at how they are read and encoded",
        evidence={"targets": _elements(event), "steps": _steps(event), "value": value if value is not None else ""},
        related=beside(event.location, ("they were made here", event.made_at)),
        step_first=event.since + 1,
        step_count=_steps(event),
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    pixels = torch.randint(0, 255, (160, 12))
    labels = (pixels.sum(1) > 1530).long()
    loader = DataLoader(TensorDataset(pixels, labels), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model((inputs // 255).float()), targets)  # <- AD704
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_targets() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(160, 12)
    scores = torch.sigmoid(x.sum(1))
    labels = scores.long()
    loader = DataLoader(TensorDataset(x, labels), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model(inputs), targets)  # <- AD704
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_second_stage() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(6, 16), nn.ReLU())

    def fit(head: nn.Linear, x: torch.Tensor, y: torch.Tensor) -> None:
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
        for features, labels in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
            loss = nn.functional.cross_entropy(head(body(features)), labels)  # <- AD704
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    x = torch.randn(192, 6)
    y = x[:, :5].argmax(1)
    fit(nn.Linear(16, 5), x, y)
    numbers = {old: new for new, old in enumerate((1, 3, 4))}
    kept = torch.isin(y, torch.tensor(list(numbers)))
    fit(nn.Linear(16, 3), x[kept], torch.tensor([numbers.get(label, 0) for label in y[kept]]))


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    pixels = torch.randint(0, 255, (160, 12))
    labels = (pixels.sum(1) > 1530).long()
    loader = DataLoader(TensorDataset(pixels, labels), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model(inputs / 255), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_first_class_is_the_positive_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(12, 8)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    data = torch.randn(160, 12)
    zeros = torch.zeros(16, dtype=torch.long)
    for rows in torch.randperm(160).split(16):
        query = nn.functional.normalize(encoder(data[rows]), dim=1)
        keys = nn.functional.normalize(torch.randn(32, 8), dim=1)
        positive = nn.functional.normalize(encoder(data[rows] + 0.1 * torch.randn(16, 12)), dim=1)
        logits = torch.cat([(query * positive).sum(1, keepdim=True), query @ keys.T], dim=1)
        loss = nn.functional.cross_entropy(logits / 0.2, zeros)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_one_domain_per_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    source = TensorDataset(torch.randn(80, 12), torch.zeros(80, dtype=torch.long))
    target = TensorDataset(torch.randn(80, 12) + 0.5, torch.ones(80, dtype=torch.long))
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for (one, first), (other, second) in zip(DataLoader(source, 8), DataLoader(target, 8), strict=True):
        loss = nn.functional.cross_entropy(model(one), first)
        loss = loss + nn.functional.cross_entropy(model(other), second)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD704",
    name="constant-data",
    severity="error",
    title="all samples, or all targets, are the same",
    observes="Inputs from a loader, a tensor or arrays that are the same for all samples, to the bit, while targets "
    "differ; or targets from a loader or a tensor that are all of one class or value. From the start, or from some "
    "step on, after batches of samples that differ; also batches that hold one sample each from then on.",
    why="There is nothing to tell samples apart by, or nothing to tell apart: the model learns a constant, and its "
    "loss looks as if it had converged.",
    fix="Repair how data are read.",
    fine="Labels that a program makes itself, as those of a critic or of a contrastive loss, constants that a model "
    "starts from, tensors that no loss depends on, targets that a loss ignores, and data of one class that a model is "
    "made to forget. Data that the same module is given beside others that differ, as an instruction before each text; "
    "beside another module that tells the samples apart, they are a warning. Zeros that residuals are compared with, "
    "where data are a part of the residual. Targets of losses on the difference of two outputs of one model, or on "
    "such outputs beside one another, as where of each pair the preferred one comes first.",
    needs=(InputsAlike, LossSignSeen, SamplesMetAgain, TapeSealed, TargetsSeen),
    examine=examine,
    folds=("AD410", "AD702", "AD713"),
    bad=(bad, bad_targets, bad_second_stage),
    good=(good, good_first_class_is_the_positive_one, good_one_domain_per_loader),
    tunables={
        "steps": Tunable(4, "fewest steps with the same inputs, or targets", "chosen: fewer may be alike by chance"),
        "steps_if_made": Tunable(
            16, "the same, of targets that the program made itself", "chosen: a stage with others may be short"
        ),
        "steps_of_one": Tunable(
            8, "fewest steps with batches that hold one sample each", "chosen: a chapter of a monitored run shows ten"
        ),
        "established": Tunable(
            1000,
            "steps from which on targets that are all the same are no other stage of a short run",
            "chosen: a tenth of a training of minutes",
        ),
        "varied": Tunable(3, "fewest batches of samples that differ, before those that do not", NO_BEGINNING),
        "samples": Tunable(32, "fewest samples that were the same", "chosen: fewer may be alike by chance"),
    },
    about="data",
)
