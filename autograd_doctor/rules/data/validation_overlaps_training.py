"""AD706: samples that the model is evaluated on were among those that it was trained on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autograd_doctor.events.data import OutputRowsCompared, RowsCompared, TargetsSeen, WindowsShared
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_module: dict[int, list[RowsCompared]] = defaultdict(list)
    for event in trace.of(RowsCompared):
        if not event.teaches:
            by_module[event.module].append(event)
    for module, events in by_module.items():
        if _labels_its_samples(trace, module):
            continue
        for event in sorted(events, key=lambda event: event.split_at is None):
            if _may_tell(event, tunables) and (_share(event) < tunables["whole"] or _is_a_part(event, events)):
                yield _finding(event, trace.module_name(module))
                break
        folds = _folds(events, tunables)
        if folds:
            yield _carried_on(trace, module, folds)
    for shared in trace.of(WindowsShared):
        if shared.shared >= max(tunables["samples"], tunables["ending"] * shared.windows):
            yield _windows(shared, trace.module_name(shared.module))
    of_outputs: dict[int, OutputRowsCompared] = {}
    for rows in trace.of(OutputRowsCompared):
        if _is_leaking(rows, tunables) or (has_ended(trace) and _holds_nothing_out(rows, tunables)):
            of_outputs.setdefault(rows.module, rows)
    for rows in of_outputs.values():
        yield _chosen_rows(rows, trace.module_name(rows.module))


def _is_leaking(event: OutputRowsCompared, tunables: Tunables) -> bool:
    """Whether rows are held out by a set of their own, and mixed with some that were trained on.

    Groups of rows, of which a part was trained on as of all rows, share the others with what is held out elsewhere, or
    cover everything between them.
    """
    unseen, few = event.evaluated - event.shared, max(tunables["samples"], tunables["share"] * event.evaluated)
    is_mixed = event.shared >= few and unseen >= few and event.shared <= tunables["covered"] * event.trained
    is_its_own = event.unseen_too <= tunables["share"] * unseen
    are_groups = not event.held_out and event.covered >= tunables["whole"] * event.rows
    return is_mixed and is_its_own and not are_groups


def _holds_nothing_out(event: OutputRowsCompared, tunables: Tunables) -> bool:
    """Whether rows were split off, all of them are trained on nevertheless, and so is whatever else is evaluated."""
    is_whole = event.shared >= max(tunables["samples"], tunables["whole"] * event.evaluated)
    is_proper = event.is_part and event.shared <= tunables["covered"] * event.trained
    others = event.unseen >= tunables["samples"] or (event.all_too and event.trained < event.rows)
    return is_whole and is_proper and not others


def _chosen_rows(event: OutputRowsCompared, module: str) -> Finding:
    place = event.split_at or event.location
    which = "all" if event.shared == event.evaluated else f"{event.shared:,}"
    return RULE.finding(
        f"of {plural(event.rows, 'sample')} for all of which `{module}` is called at once, {event.evaluated:,} are "
        f"evaluated, and {which} of them are among the {event.trained:,} that the loss is taken of",
        subject=module,
        location=place,
        confidence="high" if event.shared < event.evaluated else "medium",
        help="choose the samples once, without one in two sets; take the loss of those for training only, and evaluate "
        "those that are held out",
        evidence={
            "shared": event.shared,
            "evaluated": event.evaluated,
            "trained": event.trained,
            "share": round(event.shared / max(event.evaluated, 1), 4),
        },
        related=(
            *elsewhere("they are evaluated here", event.location, place),
            *elsewhere("the loss is taken here", event.trained_at, place),
        ),
        step_first=1,
    )


def _windows(event: WindowsShared, module: str) -> Finding:
    drawn = f" from `{event.loader}`" if event.loader else ""
    trained = f" from `{event.trained}`" if event.trained else ""
    return RULE.finding(
        f"of {plural(event.windows, 'window')}{drawn} that `{module}` was evaluated on, {event.shared:,} end with "
        f"moments that lie, to the bit, in the midst of windows{trained} that it had been trained on: overlapping "
        "windows of one series were split at random, and what is to be foretold was seen",
        subject=event.loader or module,
        location=event.split_at or event.location,
        confidence="medium",
        help="split the series in time first, or by what it was measured on, and cut windows of each part then; or "
        "leave a gap of one window between the parts",
        evidence={"windows": event.windows, "shared": event.shared, "share": round(event.shared / event.windows, 4)},
        related=elsewhere(f"`{module}` was evaluated on them here", event.location, event.split_at or event.location),
        step_first=event.step + 1,
    )


def _labels_its_samples(trace: Trace, module: int) -> bool:
    """Whether targets are what the module said itself, as in self-training: what looks like an evaluation made them."""
    mine = set(trace.module_parameters(module))
    return any(not mine.isdisjoint(event.made_of) for event in trace.of(TargetsSeen))


def _folds(events: list[RowsCompared], tunables: Tunables) -> list[RowsCompared]:
    """Sets that one line evaluated one after the other, each once and for all: at first one that was held out, and
    then others that had all been trained on."""
    for held_out in events:
        if held_out.shared or not held_out.complete or held_out.evaluated < tunables["samples"]:
            continue
        folds = [held_out]
        for event in events:
            later = event.location == held_out.location and event.first > folds[-1].last
            if later and not event.again and event.tells_apart and _share(event) >= tunables["whole"]:
                folds.append(event)
        if len(folds) >= tunables["folds"]:
            return folds
    return []


def _carried_on(trace: Trace, module: int, folds: list[RowsCompared]) -> Finding:
    seen = trace.modules.get(module)
    name = trace.module_name(module)
    return RULE.finding(
        f"after a set of {plural(folds[0].evaluated, 'sample')} that had been held out, `{name}` was evaluated here on "
        f"{plural(len(folds) - 1, 'other set')}, one after the other, and had been trained on all of their samples "
        "before: as folds of a cross-validation, only the first one tells anything",
        subject=name,
        location=folds[0].location,
        help="build the model and its optimizer anew for each fold",
        evidence={"sets": len(folds), "samples": sum(fold.evaluated for fold in folds)},
        related=(Related("the model was built here", seen.built_at),) if seen and seen.built_at else (),
        step_first=folds[1].first + 1,
    )


def _share(event: RowsCompared) -> float:
    return event.shared / max(event.evaluated, 1)


def _may_tell(event: RowsCompared, tunables: Tunables) -> bool:
    """Whether all training samples are known, are told apart by their bits, and most of them were not evaluated.

    Where what was evaluated is trained on afterwards, as in a backtest or a stream, what comes again is no leak.
    """
    is_known = event.complete and event.tells_apart and not (event.passed_on or _is_by_nature(event, tunables))
    is_proper = event.shared <= tunables["covered"] * event.trained
    return is_known and is_proper and event.shared >= max(tunables["samples"], tunables["share"] * event.evaluated)


def _is_by_nature(event: RowsCompared, tunables: Tunables) -> bool:
    """Whether samples come again among those of training as well: of what there is only so much of, a part recurs.

    Twice as often between two sets as within one. Copies that were made to balance classes recur far more often.
    """
    if event.copied >= tunables["copied"] * event.shared:
        return False
    return _share(event) <= min(tunables["copies"], tunables["alike"] * event.alike)


def _is_a_part(event: RowsCompared, events: list[RowsCompared]) -> bool:
    """Whether a loader of its own draws from a part of the training samples, and nothing else is evaluated."""
    return event.own_loader and len(events) == 1


def _finding(event: RowsCompared, module: str) -> Finding:
    drawn = f" from `{event.loader}`" if event.loader else ""
    without = event.unlabelled == event.shared
    return RULE.finding(
        f"{event.shared:,} of the {plural(event.evaluated, 'sample')}{drawn} that `{module}` was evaluated on "
        f"({_share(event):.0%}) are, to the bit, among the {event.trained:,} that it had been trained on before"
        f"{', without their targets' if without else ''}",
        subject=event.loader or module,
        location=event.split_at or event.location,
        severity="info" if without else None,
        confidence="high" if _share(event) < 0.9 else "medium",
        help="split the data once, before anything is copied, repeated or augmented, and train on one part only; check "
        "that both parts have no index in common",
        evidence={
            "shared": event.shared,
            "evaluated": event.evaluated,
            "trained": event.trained,
            "share": round(_share(event), 4),
        },
        related=elsewhere(f"`{module}` was evaluated on them here", event.location, event.split_at or event.location),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    order = torch.randperm(120).tolist()
    train = DataLoader(Subset(data, order[:100]), batch_size=20, shuffle=True)
    held_out = DataLoader(Subset(data, order[90:]), batch_size=15)  # <- AD706
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        model.train()
        for inputs, targets in train:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for inputs, targets in held_out:
                nn.functional.mse_loss(model(inputs), targets).item()


def bad_folds_on_one_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for held_out in torch.arange(120).split(30):
        rest = torch.ones(120).index_fill(0, held_out, 0).nonzero().squeeze(1)
        model.train()
        for _ in range(2):
            for rows in rest[torch.randperm(90)].split(30):
                loss = nn.functional.mse_loss(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(x[held_out]), y[held_out]).item()  # <- AD706


def bad_rows_of_one_output() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    nodes = torch.randn(120, 8)
    links = (torch.rand(120, 120) < 0.05).float() + torch.eye(120)
    kinds = (links @ nodes)[:, :3].argmax(1)
    order = torch.randperm(120)
    train, held_out = order[:80], order[60:]  # <- AD706
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(6):
        model.train()
        loss = nn.functional.cross_entropy(model(links @ nodes)[train], kinds[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            found = model(links @ nodes).argmax(1)
            print((found[held_out] == kinds[held_out]).float().mean().item())


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, random_split

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    first, second = random_split(data, [90, 30])
    train, held_out = DataLoader(first, batch_size=18, shuffle=True), DataLoader(second, batch_size=15)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        model.train()
        for inputs, targets in train:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for loader in (train, held_out):
                for inputs, targets in loader:
                    nn.functional.mse_loss(model(inputs), targets).item()


def good_folds() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    for held_out in torch.arange(120).split(30):
        rest = torch.ones(120).index_fill(0, held_out, 0).nonzero().squeeze(1)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(2):
            for rows in rest[torch.randperm(90)].split(30):
                loss = nn.functional.mse_loss(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            nn.functional.mse_loss(model.eval()(x[held_out]), y[held_out]).item()
            nn.functional.mse_loss(model(x[rest]), y[rest]).item()


def good_all_data_and_a_part_of_training() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        model.train()
        for rows in torch.randperm(90).split(18):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(nn.functional.mse_loss(model(x), y).item(), nn.functional.mse_loss(model(x[:30]), y[:30]).item())


def good_rows_of_one_output() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    nodes = torch.randn(120, 8)
    links = (torch.rand(120, 120) < 0.05).float() + torch.eye(120)
    kinds = (links @ nodes)[:, :3].argmax(1)
    order = torch.randperm(120)
    train, held_out = order[:80], order[80:]
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(6):
        model.train()
        loss = nn.functional.cross_entropy(model(links @ nodes)[train], kinds[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(links @ nodes).argmax(1) == kinds
            print(right[train].float().mean().item(), right[held_out].float().mean().item())
            print(right.float().mean().item(), [right[kinds == kind].float().mean().item() for kind in range(3)])


RULE = Rule(
    code="AD706",
    name="validation-overlaps-training",
    severity="warning",
    title="the model is evaluated on samples that it was trained on",
    observes="Samples of evaluation passes that are, bit for bit, among those of earlier training passes, once "
    "training has gone through all of its data; and sets that a line evaluates one after the other, of which only the "
    "first had been held out. And windows of a series that end, with what is to be foretold, in the midst of windows "
    "that were trained on. Where a model answers for all samples at once, as a graph network or a factorisation does: "
    "which rows of its output meet their targets, chosen by masks, indices or slices, in the loss and in evaluations.",
    why="The score on such samples tells how well they were learned by heart, not how well the model works on "
    "new ones.",
    fix="Split the data once, and keep the parts apart.",
    fine="Evaluation on all training samples, or on all there are, a look at a part of them beside a real validation, "
    "a teacher whose outputs go into the loss of another model, and samples so simple that many are equal. Samples "
    "that are trained on once they have been evaluated, as in a backtest, a stream or active learning. Folds for which "
    "all weights are reset, or put back to what they were at first, before the next one is trained on. Samples that "
    "were trained on without targets, as those of the other domain in an adaptation, are only told of: no operation "
    "brought what the model returned for them together with data, up to the loss. Of rows of one output: those of "
    "training and all of them, groups by what they are, parts of training beside some that are held out, losses whose "
    "rows change, other targets, other inputs, and a target that the model is given.",
    needs=(ModuleSeen, OutputRowsCompared, RowsCompared, TargetsSeen, WindowsShared),
    needs_phases=("training", "evaluation"),
    examine=examine,
    bad=(bad, bad_folds_on_one_model, bad_rows_of_one_output),
    good=(good, good_folds, good_all_data_and_a_part_of_training, good_rows_of_one_output),
    tunables={
        "samples": Tunable(
            4,
            "fewest samples that were trained on, and fewest of a set that was held out",
            "chosen: fewer may be alike by chance",
        ),
        "share": Tunable(
            0.02,
            "smallest share of the evaluated samples that were trained on",
            "chosen: less hardly moves what is measured",
        ),
        "whole": Tunable(
            0.98,
            "share of the evaluated samples from which on all of them were trained on",
            "chosen: all but a few that differ by rounding",
        ),
        "covered": Tunable(
            0.9,
            "largest share of the training samples that may be evaluated",
            "chosen: where it is more, the training data themselves are looked at",
        ),
        "folds": Tunable(
            3,
            "fewest sets, one evaluated after the other, that are folds",
            "chosen: two sets may be a validation and a test set",
        ),
        "copies": Tunable(
            0.25,
            "largest share that may be the same by nature",
            "chosen: what is copied to balance classes recurs far more often",
        ),
        "copied": Tunable(
            0.8,
            "smallest share of the shared samples that training has many times, where most are there once",
            "chosen: of a rare class that was copied before the split, nearly all",
        ),
        "alike": Tunable(
            3,
            "how much more often than within the training data samples may come again, as a factor",
            "arithmetic: twice as often, where all come from one source, and some more by chance",
        ),
        "ending": Tunable(
            0.5,
            "smallest share of the evaluated windows that end in the midst of some that were trained on",
            "chosen: of a series that was split in time it is none, of windows split at random nearly all",
        ),
    },
    about="data",
    references=("https://scikit-learn.org/stable/modules/cross_validation.html#cross-validation-of-time-series-data",),
)
