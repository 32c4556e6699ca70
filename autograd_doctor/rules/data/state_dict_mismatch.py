"""AD710: `load_state_dict(strict=False)`, or a copy of parameters by hand, left parts of the model as they were."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import OwnStateLoaded, StateLoaded, StatisticsLeft
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_COPY = (
    "copy buffers as well, with `load_state_dict(other.state_dict())`: `parameters()` is without `running_mean` and "
    "`running_var`"
)
_AVERAGE = (
    "copy or average buffers as well, as `AveragedModel(…, use_buffers=True)` does, or pass data through it once in "
    "training mode (`torch.optim.swa_utils.update_bn`): `parameters()` is without `running_mean` and `running_var`"
)

_A_LITTLE = 0.1
"""Of a model's elements: a part whose name is the same by chance, beside all that the model was to be given."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    latest = {event.module: event for event in trace.of(StateLoaded)}
    for event in latest.values():
        share = tunables["loaded_share"]
        is_mismatch = event.missing_keys and event.unexpected_keys and not _is_another_part(event)
        if event.missing_keys and not event.given_keys and not event.unexpected_keys:
            yield _empty(event)
        elif is_mismatch and max(_share_of_model(event), _share_of_state(event)) < share:
            yield _finding(event)
    yield from map(_own_weights, trace.of(OwnStateLoaded))
    for left in trace.of(StatisticsLeft):
        if not left.guessed or _is_far(left, tunables["variance_factor"]):
            yield _left_behind(left)


def _is_another_part(event: StateLoaded) -> bool:
    """Whether some was loaded, and most of what is missing cannot be what is left of the state under another name."""
    return event.loaded_keys > 0 and 2 * max(event.alike, event.fitting) < event.missing_keys


def _share_of_model(event: StateLoaded) -> float:
    return event.loaded_elements / max(event.elements, 1)


def _share_of_state(event: StateLoaded) -> float:
    return event.loaded_elements / max(event.given_elements, 1)


def _empty(event: StateLoaded) -> Finding:
    return RULE.finding(
        f"an empty state was loaded into `{event.name}`, so that all of its {plural(event.keys, 'key')} stayed as they "
        "were",
        subject=event.name,
        location=event.location,
        severity="warning",
        confidence="medium",
        help="look at how the keys of the checkpoint begin, before those are chosen that the model has as well",
        evidence={"loaded_keys": 0, "missing_keys": event.missing_keys, "missing": event.missing},
        step_first=event.step + 1,
    )


def _is_transfer(event: StateLoaded) -> bool:
    """Whether whole parts found what is theirs, and the rest may be meant for something else.

    Not so where one prefix makes all of the rest fit, and is what all but a little was lost to.
    """
    fits = event.fitting == event.unexpected_keys == event.missing_keys
    is_lost = fits and event.loaded_elements <= _A_LITTLE * event.elements
    return bool(event.parts) and not event.shifted and not is_lost


def _finding(event: StateLoaded) -> Finding:
    is_explained = event.fitting > 0 and 2 * event.fitting >= min(event.missing_keys, max(event.given_keys, 1))
    is_transfer = _is_transfer(event)
    is_sure = (is_explained and not is_transfer) or event.loaded_keys == 0
    return RULE.finding(
        f"{event.loaded_keys} of the {plural(event.keys, 'key')} of `{event.name}` were loaded: {event.missing_keys} "
        f"are missing from the state (`{event.missing[0]}` …), and {event.unexpected_keys} of the state's are not the "
        f"model's (`{event.unexpected[0]}` …){_explanation(event) if is_explained else ''}",
        subject=event.name,
        location=event.location,
        severity="error" if is_sure else "info" if event.looked_at or is_transfer else "warning",
        confidence="high" if is_sure else "medium",
        help=_help(event)
        if is_explained
        else "rename the keys of the state so that they match, and load it with "
        "`strict=True`, which names those that do not",
        evidence={
            "loaded_share": round(_share_of_model(event), 4),
            "loaded_keys": event.loaded_keys,
            "missing_keys": event.missing_keys,
            "unexpected_keys": event.unexpected_keys,
            "missing": event.missing,
            "unexpected": event.unexpected,
            "prefix": event.prefix,
        },
        notes=(f"`{event.parts[0]}` was loaded whole: if the rest is of another task, it is right to leave it",)
        if is_transfer
        else (),
        step_first=event.step + 1,
    )


def _explanation(event: StateLoaded) -> str:
    if event.nested_in:
        return f"; the weights are one level down, in its entry `{event.nested_in}`, where {event.fitting} keys fit"
    lacking = "begin with" if event.renamed == "remove" else "lack"
    return f"; they {lacking} `{event.prefix}`, but for which {event.fitting} of them fit"


def _help(event: StateLoaded) -> str:
    if event.nested_in:
        return f'load `state["{event.nested_in}"]`, with `strict=True`'
    if event.renamed == "remove":
        return f'take the prefix off, `{{key.removeprefix("{event.prefix}"): value for key, value in state.items()}}`'
    return (
        f"load the state into the part of the model that it belongs to, `{event.prefix.rstrip('.')}`, or put the "
        "prefix before its keys"
    )


def _own_weights(event: OwnStateLoaded) -> Finding:
    theirs, ours = (f"`{prefix}`" if prefix else "no prefix" for prefix in (event.theirs, event.ours))
    return RULE.finding(
        f"`{event.name}` was loaded with the weights that it had, and nothing of `{event.at_hand}` went into a model: "
        f"none of its {plural(event.given_keys, 'key')} is the model's; {event.fitting} of them fit with {ours} at the "
        f"beginning, in place of {theirs}",
        subject=event.name,
        location=event.location,
        severity="warning",
        confidence="medium",
        help="rename the keys before those are chosen that the model has as well, or load the state into the part of "
        "the model that it belongs to, with `strict=True`, which names those that do not match",
        evidence={"loaded_keys": 0, "fitting": event.fitting, "prefix": event.theirs, "wanted": event.ours},
        step_first=event.step + 1,
    )


def _is_far(event: StatisticsLeft, factor: float) -> bool:
    """Whether the statistics of the other model are far from those of no data."""
    if event.mean is None or event.lowest is None or event.highest is None:
        return False
    return event.mean >= 1 or event.highest >= factor or event.lowest <= 1 / factor


def _left_behind(event: StatisticsLeft) -> Finding:
    names = f"`{event.norms[0]}`" + (f" and {event.count - 1} more" if event.count > 1 else "")
    came = "loaded without them" if event.loaded else "averaged" if event.averaged else "copied by hand"
    came = "learned elsewhere" if event.guessed else came
    whose = f", {'as by' if event.guessed else 'those of'} `{event.source}`" if event.source else ""
    theirs = (
        f"; there, means go up to {event.mean:.4g}, and variances from {event.lowest:.4g} to {event.highest:.4g}"
        if event.mean is not None and event.lowest is not None and event.highest is not None
        else ""
    )
    location = event.location or event.used_at
    return RULE.finding(
        f"running statistics were left behind: {names} ran in evaluation mode with weights that were {came}{whose}, "
        f"and with means of 0 and variances of 1, as at first{theirs}",
        subject=event.norms[0],
        location=location,
        severity="error" if event.source and not event.guessed else "warning",
        confidence="high" if event.source and event.location is not None else "medium",
        help=_AVERAGE if event.averaged or event.guessed else _COPY,
        evidence={"normalisations": event.count, "source": event.source},
        related=(Related("used in evaluation mode", event.used_at),) if event.used_at not in (None, location) else (),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def build() -> nn.Sequential:
        return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    saved = nn.ModuleDict({"module": build()}).state_dict()
    model = build()
    model.load_state_dict(saved, strict=False)  # <- AD710
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_whole_checkpoint() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    checkpoint = {"epoch": 3, "model": nn.Linear(8, 1).state_dict(), "best": 0.5}
    model = nn.Linear(8, 1)
    model.load_state_dict(checkpoint, strict=False)  # <- AD710
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_none_chosen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def build(body: str, head: str) -> nn.ModuleDict:
        return nn.ModuleDict({body: nn.Linear(8, 16), head: nn.Linear(16, 1)})

    stored = build("trunk", "decoder").state_dict()
    model = build("body", "head")
    own = model.state_dict()
    own.update({key: value for key, value in stored.items() if key in own})
    model.load_state_dict(own)  # <- AD710
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model["head"](model["body"](x).relu()), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def build() -> nn.Sequential:
        return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    saved = nn.ModuleDict({"module": build()}).state_dict()
    model = build()
    model.load_state_dict({key.removeprefix("module."): value for key, value in saved.items()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_backbone_of_another_head() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def build(classes: int, head: str) -> nn.ModuleDict:
        return nn.ModuleDict({"body": nn.Linear(8, 32), head: nn.Linear(32, classes)})

    model = build(3, "head")
    model.load_state_dict(build(10, "classifier").state_dict(), strict=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.cross_entropy(model["head"](model["body"](x).relu()), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_adapters_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    print(model.load_state_dict({"4.weight": torch.zeros(1, 64)}, strict=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_buffers_left_behind() -> None:
    import torch
    from torch import nn

    def body() -> nn.Sequential:
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())

    torch.manual_seed(0)
    old, first = body(), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*old.parameters(), *first.parameters()], lr=0.05)
    for _ in range(30):
        x = 3 + 2 * torch.randn(16, 8)
        loss = nn.functional.mse_loss(first(old(x)), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    new, head = body(), nn.Linear(16, 1)
    for mine, theirs in zip(new.parameters(), old.parameters(), strict=True):
        mine.data.copy_(theirs.data)  # <- AD710
    new.requires_grad_(False).eval()
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    for _ in range(10):
        x = 3 + 2 * torch.randn(16, 8)
        loss = nn.functional.mse_loss(head(new(x)), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD710",
    name="state-dict-mismatch",
    severity="error",
    title="a model was given only a part of the state that was meant for it",
    observes="What `load_state_dict` gave a value to, as a share of the model and of the state, where keys are missing "
    "and others are left over; and the prefix, or the entry of the checkpoint, that makes them fit. Models that are "
    "loaded with the values they have while another state, which goes to nobody, fits under other keys. Normalisations "
    "that have the weights of others, by a copy or a load, and run in evaluation mode with the statistics of no data. "
    "Where nothing shows whose the weights are, they change without an optimizer that holds them, and another model of "
    "the same class has gathered statistics far from these.",
    why="With `strict=False` keys that do not match are skipped without a word: training starts from random weights "
    "that everybody takes for trained ones. Running statistics are buffers: who copies parameters one by one leaves "
    "them behind, and the same weights compute something else.",
    fix="Make the keys match, load with `strict=True`, and copy buffers where parameters are copied.",
    fine="A backbone that is loaded without its old head or decoder, where what is left has other shapes than what is "
    "missing, a few weights such as adapters, a smaller model that takes its part of a larger state, and loads that "
    "are put right by a second one. Where whole parts were loaded under names of their own, such as a trunk beside a "
    "new head that is built like the old one, it is an `info` that the others differ; so it is where nothing tells how "
    "the keys would fit, and the program goes on with those that `load_state_dict` returned. Copies that gather "
    "statistics of their own in training mode, as averaged encoders and target networks do.",
    needs=(OwnStateLoaded, StateLoaded, StatisticsLeft),
    examine=examine,
    bad=(bad, bad_none_chosen, bad_whole_checkpoint, bad_buffers_left_behind),
    good=(good, good_backbone_of_another_head, good_adapters_only),
    tunables={
        "loaded_share": Tunable(
            0.5,
            "share of the model's elements, or of the state's, below which hardly anything was loaded",
            "chosen: where half of either finds its place, a part was loaded that fits",
        ),
        "variance_factor": Tunable(
            2.0,
            "factor by which the variances that another model has gathered differ from 1, if no mean is above 1",
            "chosen: what is normalised by the statistics of no data comes out at another scale, then",
        ),
    },
)
