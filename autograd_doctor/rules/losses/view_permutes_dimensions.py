"""AD617 view-permutes-dimensions: a view gives the values of one axis to another, where a transpose was needed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import AxesMixed, AxesRestored
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Tape
from autograd_doctor.trace import Trace
from autograd_doctor.views.copies import MixedGroups, mixed_groups
from autograd_doctor.views.tapes import Seen, seen_in_steps
from autograd_doctor.wording import shape

_WHAT = {
    "permuted": "the same sizes in another order, with the values left where they were",
    "samples": "its first axis has the size of the batch, and each of its rows holds values of several samples",
    "channels": "its last axis has the number of channels, and each of its rows holds values of one channel",
    "merged": "axes are merged that lie next to one another only in another order, and none was moved",
    "split": "an axis is split so that its parts lie on both sides of another one, which was not moved",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    if not trace.backwards:
        return
    restored = {event.location for event in trace.of(AxesRestored)}
    places: dict[Location | None, list[AxesMixed]] = {}
    for event in (each for each in trace.of(AxesMixed) if each.location not in restored):
        places.setdefault(event.location, []).append(event)
    for events in places.values():
        is_again = len(events) >= min(int(tunables["minimum_steps"]), trace.steps_taken)
        if is_again or any(map(_brings_channels_first, events)):
            yield _finding(events)
    for seen in seen_in_steps(trace, _groups, tunables["minimum_steps"]):
        if seen.location not in places:
            yield _of_groups(seen)


def _groups(tape: Tape) -> Iterator[tuple[Location | None, MixedGroups]]:
    return ((found.view.location, found) for found in mixed_groups(tape))


def _brings_channels_first(event: AxesMixed) -> bool:
    """Data that were prepared once: samples with their channels last are given the shape of channels first."""
    (samples, *spatial, channels), after = event.before, event.after
    return event.step == 0 and not event.learns and after == [samples, channels, *spatial]


def _finding(events: list[AxesMixed]) -> Finding:
    event = events[0]
    made = f" of `{event.made_by}`" if event.made_by else ""
    elsewhere = event.made_at if event.made_at != event.location else None
    return RULE.finding(
        f"`{event.operation}` makes {shape(event.after)} of the {shape(event.before)}{made}: {_WHAT[event.how]}",
        subject=f"`{event.operation}`",
        location=event.location,
        help="move the axes with `transpose` or `permute` first, and change the shape after that",
        confidence="medium",
        evidence={"before": shape(event.before), "after": shape(event.after), "size": event.size},
        related=(Related(f"`{event.made_by}` made it", elsewhere),) if elsewhere is not None else (),
        step_first=event.step + 1,
        step_count=len(events),
    )


def _of_groups(seen: Seen[MixedGroups]) -> Finding:
    copies, over = seen.found.copies, seen.found.over
    n, k, copied = copies.samples, copies.copies, copies.by.called
    are_outside = copies.first == k
    before = f"{k} times all {n} samples" if are_outside else f"each of {n} samples {k} times in a row"
    instead = f"`repeat_interleave({k}, 0)`" if are_outside else "`repeat`"
    return RULE.finding(
        f"`{copied}` gives {before}, and `{seen.found.view.called}` cuts the {n * k} rows the other way round: "
        f"`{over.called}` is over groups of {k} different samples, not over the {k} copies of one",
        subject=f"`{seen.found.view.called}`",
        location=seen.location,
        help=f"cut the rows in their order, {copies.first} by {copies.second}, and reduce over the axis of {k}; "
        f"or copy with {instead}, and leave the view as it is",
        confidence="medium",
        evidence={"copies": k, "samples": n, "reduced_by": over.called},
        related=(Related(f"`{copied}` made the copies", copies.by.location),) if copies.by.location else (),
        step_first=seen.step + 1,
        step_count=seen.steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(3, 8, num_layers=2)
            self.head = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            _, state = self.rnn(x)
            state = state.view(x.shape[1], 16)  # <- AD617
            value: torch.Tensor = self.head(torch.relu(state))
            return value

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(5, 12, 3)
        loss = nn.functional.mse_loss(model(x), x.mean((0, 2)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(12, 5, 3)
        out, _ = rnn(x.reshape(5, 12, 3))  # <- AD617
        loss = nn.functional.mse_loss(head(out[-1]), x.mean((1, 2)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_pixels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(6, 1, 8, 8)
        labels = (x > 0.5).long() + (x > -0.5).long()
        scores = model(x).view(-1, 3)  # <- AD617
        loss = nn.functional.cross_entropy(scores, labels.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_heads() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.mix(x).view(4, 6, 3, 4, 2).permute(2, 0, 3, 1, 4)
            scores = (q @ k.transpose(2, 3)).softmax(3)
            mixed: torch.Tensor = self.out((scores @ v).reshape(4, 6, 8))  # <- AD617
            return mixed

    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(4, 6, 8)
        loss = (model(x) - x.roll(1, dims=1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_channels_last() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    pictures = np.random.default_rng(0).random((60, 9, 9, 3), dtype=np.float32)
    x = torch.from_numpy(pictures.reshape(60, 3, 9, 9))  # <- AD617
    y = torch.from_numpy(pictures[:, :, :, 0].mean((1, 2)))
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 49, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for rows in torch.arange(60).split(6):
        loss = nn.functional.mse_loss(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_groups() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(10):
        questions = torch.randn(6, 5)
        many = questions.repeat(8, 1)
        answers = torch.distributions.Categorical(logits=policy(many))
        given = answers.sample()
        rewards = (given == many.argmax(1)).float().view(6, 8)  # <- AD617
        gains = rewards - rewards.mean(1, keepdim=True)
        loss = -(gains.flatten() * answers.log_prob(given)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(3, 8, num_layers=2)
            self.head = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            _, state = self.rnn(x)
            state = state.transpose(0, 1).reshape(x.shape[1], 16)
            value: torch.Tensor = self.head(torch.relu(state))
            return value

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(12, 5, 3).transpose(0, 1)
        loss = nn.functional.mse_loss(model(x), x.mean((0, 2)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_heads() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            samples, length, _ = x.shape
            parts = self.mix(x).view(samples, length, 3, 4, 2).permute(2, 0, 3, 1, 4)
            scores = (parts[0] @ parts[1].transpose(2, 3)).softmax(3)
            mixed: torch.Tensor = self.out((scores @ parts[2]).transpose(1, 2).reshape(samples, length, 8))
            return mixed

    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(4, 6, 8)
        folded = model(x).view(24, 8).mul(2).view(4, 6, 8).flatten(1)
        loss = (folded - x.roll(1, dims=1).reshape(4, -1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_pixels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(6, 8, 8, 1).permute(0, 3, 1, 2)
        labels = (x > 0.5).long() + (x > -0.5).long()
        scores = model(x).permute(0, 2, 3, 1).reshape(-1, 3)
        loss = nn.functional.cross_entropy(scores, labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_channels_first() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    pixels = np.random.default_rng(0).random((60, 9 * 9 * 3), dtype=np.float32)
    x = torch.from_numpy(pixels.reshape(60, 9, 9, 3)).permute(0, 3, 1, 2).contiguous()
    y = torch.from_numpy(pixels.reshape(60, -1, 3)[:, :, 0].mean(1))
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
    head = nn.Linear(100, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for rows in torch.arange(60).split(6):
        parts = model(x[rows]).view(6, 2, 2, 5, 5).transpose(1, 2).reshape(6, 4, 25).transpose(1, 2).reshape(6, 100)
        loss = nn.functional.mse_loss(head(parts).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_groups() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(10):
        questions = torch.randn(6, 5)
        many = questions.repeat_interleave(8, 0)
        answers = torch.distributions.Categorical(logits=policy(many))
        given = answers.sample()
        rewards = (given == many.argmax(1)).float().view(6, 8)
        gains = rewards - rewards.mean(1, keepdim=True)
        scores = policy(questions.repeat(8, 1) + 0.1 * torch.randn(48, 5))
        spread, parts = scores.view(8, 6, 4).var(0).mean(), scores.square().sum(1).view(8, 6).mean(1)
        loss = -(gains.flatten() * answers.log_prob(given)).mean() + 0.01 * (spread + parts.mean())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD617",
    name="view-permutes-dimensions",
    severity="warning",
    title="a view mixes the axes of a tensor",
    observes="A `view` or `reshape` whose result has an axis of the size of the batch, the channels or another axis of "
    "its input, but not the values: those are spread over other axes. Heads and positions that are merged or split as "
    "only another order allows, and data with their channels last that get the shape of channels first. Copies of "
    "samples that lie as `repeat` puts them, and are grouped as if `repeat_interleave` had made them, or the other way "
    "round, where something is computed of each group and goes into the loss.",
    why="The program goes on as if each row were one sample, pixel or position. It holds values of several, so that "
    "the model learns from inputs and targets that do not belong together. Where copies are grouped, an advantage, a "
    "bound or an average compares different samples, and not the answers or draws of one.",
    fix="`transpose` or `permute` moves axes; `view` and `reshape` only cut the same sequence of values anew. After "
    "`x.repeat(k, 1)`, `view(k, n)` has the copies on its first axis; after `x.repeat_interleave(k, 0)`, `view(n, k)` "
    "has them on its last.",
    fine="Flattening, splitting heads, folding one axis into another and back, frames or patches that are cut out of "
    "rows and brought back to them, and views after a transpose. Of groups of copies: as many copies as samples; grids "
    "of pairs; shuffled rows; rows that are all alike, learned or written down; copies that are also cut in their "
    "order; groups of which only a total is made, or of which the rows get a feature; and values that were beside "
    "other data, or in Python, after they were copied.",
    needs=(AxesMixed, AxesRestored, BackwardRan, TapeSealed),
    examine=examine,
    bad=(bad, bad_sequence, bad_pixels, bad_heads, bad_channels_last, bad_groups),
    good=(good, good_heads, good_pixels, good_channels_first, good_groups),
    tunables={"minimum_steps": Tunable(2, "fewest times that the line mixed axes", MORE_THAN_ONCE)},
    folds=("AD608",),
)
