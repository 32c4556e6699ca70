"""Whether samples depend on one another: what is tried, what is not, and that nothing is left of the trial."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from autograd_doctor.clock import CLOCK, Clock
from autograd_doctor.events.losses import BatchLeakJudged
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.losses import batch_leaks
from autograd_doctor.instruments.losses.batch_leaks import BatchLeaks
from autograd_doctor.reading import module_copies
from tests.watching import Recorded, watching

LOG: list[int] = []
PLACES = torch.arange(6.0).unsqueeze(1)


class Odd(nn.Module):
    """A layer, and something that the program does with what it makes."""

    def __init__(self, after: Callable[[torch.Tensor], torch.Tensor], **held: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.after = after
        for name, value in held.items():
            setattr(self, name, value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.after(self.layer(x))
        return result


def log_and_go_on(h: torch.Tensor) -> torch.Tensor:
    LOG.append(1)
    return h


class Logging(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        LOG.append(1)
        return super().forward(x)


class Remembering(nn.Linear):
    """Everything that it changes is its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        self.kept = x
        return torch.dropout(super().forward(x), 0.5, self.training)


def train(module: nn.Module, *, steps: int = 3, same: bool = False) -> list[float]:
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    x = torch.randn(6, 4)
    drawn = []
    for _ in range(steps):
        x = x if same else torch.randn(6, 4)
        module(x).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        drawn += [random.random(), float(np.random.rand()), float(torch.rand(1))]
    return drawn


def judged(module: nn.Module, *, steps: int = 3, same: bool = False) -> tuple[BatchLeakJudged, Recorded]:
    with watching(BatchLeaks) as recorded:
        train(module, steps=steps, same=same)
    (event,) = recorded.of(BatchLeakJudged)
    return event, recorded


def test_samples_on_their_own() -> None:
    event, recorded = judged(Remembering(4, 4))
    assert (event.verdict, event.samples, event.varied, event.shape) == ("independent", 6, True, [6, 4])
    assert not event.related
    assert not recorded.of(InstrumentLimited)


@pytest.mark.parametrize(
    ("after", "operation"),
    [
        (lambda h: torch.softmax(h, 0), "softmax"),
        (lambda h: h - h.mean(0), "sub"),
        (lambda h: h + h.flip(0), "flip"),
        (lambda h: h.cumsum(0), "cumsum"),
    ],
)
def test_what_mixes_is_named(after: Callable[[torch.Tensor], torch.Tensor], operation: str) -> None:
    event, _ = judged(nn.Sequential(nn.Linear(4, 4), Odd(after)))
    assert event.verdict == "leaks"
    assert event.operation == operation
    assert event.inner.endswith("1")
    assert event.inner_kind == ""
    assert event.change > 0.01
    assert event.location is not None


def test_what_depends_on_the_place_of_a_sample_is_told_from_what_mixes() -> None:
    event, _ = judged(nn.Sequential(nn.Linear(4, 4), Odd(lambda h: h + PLACES)))
    assert (event.verdict, event.operation) == ("knows places", "add")
    assert event.inner.endswith("1")
    assert event.change > 0.1
    assert event.location is not None


@pytest.mark.parametrize(
    "noise",
    [
        lambda h: torch.randn_like(h),
        lambda h: torch.tensor([[random.gauss(0, 1)] for _ in h]),
        lambda h: torch.from_numpy(np.random.normal(0, 1, h.shape)).float(),
    ],
    ids=["torch", "random", "numpy"],
)
def test_noise_of_each_sample_is_no_place(noise: Callable[[torch.Tensor], torch.Tensor]) -> None:
    event, _ = judged(Odd(lambda h: h + noise(h)))
    assert (event.verdict, event.reason) == ("independent", "")


class Owner:
    """What trains a module, and would be copied with it; it can count the calls that it is told of."""

    def __init__(self) -> None:
        self.parts: list[object] = []
        self.log = io.StringIO()
        self.calls = 0


class Owned(nn.Linear):
    """A module that knows who trains it, as one of Lightning does, and may speak to them in its forward."""

    def __init__(self, *, speaks: bool) -> None:
        super().__init__(4, 4)
        self.owner, self.speaks = Owner(), speaks
        self.owner.parts.append({"model": self})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * (1 + 0 * self.owner.calls) if self.speaks else super().forward(x)


def test_what_holds_a_module_is_not_copied_with_it() -> None:
    module = Owned(speaks=False)
    event, _ = judged(module)
    assert (event.verdict, event.reason) == ("independent", "")
    assert module.owner.parts == [{"model": module}]


def test_an_optimizer_is_not_copied_with_the_module_that_keeps_it() -> None:
    module = Owned(speaks=False)
    module.optimizer = torch.optim.Adam(module.parameters())
    module.schedule = torch.optim.lr_scheduler.StepLR(module.optimizer, 3)
    event, _ = judged(module)
    assert (event.verdict, event.reason) == ("independent", "")


def test_a_forward_that_needs_what_holds_its_module_is_not_judged() -> None:
    event, _ = judged(Owned(speaks=True))
    assert event.verdict == "not judged"
    assert event.reason.startswith("a copy of it fails: AttributeError: 'NoneType'")


class Weighed(nn.Module):
    """Takes a number for each sample beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, weights: Any) -> torch.Tensor:
        return self.layer(x) * torch.as_tensor(weights).to(x)[:, None]  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [list, tuple])
def test_numbers_of_samples_in_lists_go_with_them(kind: Callable[[list[float]], Any]) -> None:
    module = Weighed()
    with watching(BatchLeaks) as recorded:
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
        for _ in range(3):
            module(torch.randn(6, 4), kind([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).square().sum().backward()
            optimizer.step()
    (event,) = recorded.of(BatchLeakJudged)
    assert (event.verdict, event.reason) == ("independent", "")


class Numbered(nn.Module):
    """Returns where each sample is, beside what it made of it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layer(x), torch.arange(len(x))


def test_places_that_are_returned_as_whole_numbers_are_labels() -> None:
    module = Numbered()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    with watching(BatchLeaks) as recorded:
        for _ in range(3):
            scores, labels = module(torch.randn(4, 4))
            nn.functional.cross_entropy(scores, labels).backward()
            optimizer.step()
    (event,) = recorded.of(BatchLeakJudged)
    assert (event.verdict, event.reason) == ("independent", "")


def test_a_layer_of_torch_is_named_with_its_class() -> None:
    event, _ = judged(nn.Sequential(nn.Unflatten(1, (2, 2)), nn.LSTM(2, 3), Last()))
    assert (event.inner_kind, event.operation, event.time_first, event.axes) == ("LSTM", "lstm", True, 3)
    assert event.location is None  # where the trial takes place is no line of the module's


class Neighbours(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        h = self.layer(x)
        result: torch.Tensor = table @ (h if table.shape[1] == len(x) else h[:4])
        return result


@pytest.mark.parametrize(
    ("table", "verdict", "related"),
    [
        (torch.clone, "leaks", True),
        (torch.Tensor.to_sparse, "not judged", True),
        (torch.Tensor.to_sparse_csr, "not judged", True),
        (lambda pairs: pairs[:, :4] @ torch.ones(4, 4), "leaks", False),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_samples_that_come_with_a_table_of_their_pairs(
    table: Callable[[torch.Tensor], torch.Tensor], verdict: str, related: bool
) -> None:
    module, pairs = Neighbours(), table(torch.ones(6, 6))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    with watching(BatchLeaks) as recorded:
        for _ in range(3):
            module(torch.randn(6, 4), pairs).sum().backward()
            optimizer.step()
    (event,) = recorded.of(BatchLeakJudged)
    assert (event.verdict, event.related) == (verdict, related)


def rarely_dropped(h: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.rand(len(h), 1) < 0.8, h, torch.ones(4))


def test_a_mask_drawn_for_each_sample_is_no_place() -> None:
    event, _ = judged(Odd(rarely_dropped))
    assert event.verdict == "independent"


def test_what_mixes_ahead_of_noise_is_found() -> None:
    event, _ = judged(Odd(lambda h: torch.softmax(h, 0) + torch.randn_like(h)))
    assert (event.verdict, event.operation) == ("leaks", "softmax")


class Last(nn.Module):
    def forward(self, states: Any) -> torch.Tensor:
        last: torch.Tensor = states[0][:, -1]
        return last


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Logging(4, 4), "side effects"),
        (Odd(log_and_go_on), "side effects"),
        (Odd(torch.relu, out=io.StringIO()), "StringIO"),
        (Odd(torch.relu, parts=[nn.Linear(2, 2)]), "does not register"),
        (Odd(torch.relu, kept=torch.ones(2, requires_grad=True) * 2), "with a graph"),
        (Odd(lambda h: h * float(np.random.default_rng().random())), "its result differs from call to call"),
        (Odd(lambda h: h + h[torch.randperm(len(h))]), "its result depends on random numbers"),
        (Odd(lambda h: h if h.requires_grad and h[0, 0] != h[1, 0] else h[h[:, 0] < 9][:, :2]), "shapes"),
    ],
)
def test_what_is_not_judged_says_why(module: nn.Module, reason: str) -> None:
    event, recorded = judged(module)
    assert event.verdict == "not judged"
    assert reason in event.reason
    (limit,) = recorded.of(InstrumentLimited)
    assert reason in limit.reason


class Processor:
    """It has no state."""


class Space(NamedTuple):
    size: int


def doubled(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return 2 * nn.functional.linear(x, layer.weight, layer.bias)


def test_what_copying_leaves_alone_may_be_held() -> None:
    net = Odd(torch.tanh, processor=Processor(), space=Space(3), gradients=partial(torch.clamp, min=0.0))
    net.prior = torch.distributions.Normal(torch.zeros(4), torch.ones(4))  # type: ignore[assignment]
    net.handle = net.layer.register_forward_hook(lambda *_: None)  # type: ignore[assignment]
    net.handle.remove()  # type: ignore[union-attr, operator]
    net.layer.forward = MethodType(doubled, net.layer)  # type: ignore[method-assign]
    event, recorded = judged(net)
    assert (event.verdict, event.reason) == ("independent", "")
    assert not recorded.of(InstrumentLimited)


def test_a_method_that_encloses_the_module_is_not_called_again() -> None:
    net = Odd(torch.tanh)
    net.again = MethodType(lambda own, x: net.layer(x), net)  # type: ignore[assignment]
    event, _ = judged(net)
    assert event.verdict == "not judged"
    assert "goes back to the module" in event.reason


def test_modules_in_a_list_that_are_registered_as_well_are_copied_with_it() -> None:
    heads = [nn.Linear(4, 2), nn.Linear(4, 2)]

    class Heads(Odd):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([head(x) for head in self.heads], dim=1)

    module = Heads(torch.relu, heads=heads)
    for number, head in enumerate(heads):
        module.add_module(f"head_{number}", head)
    event, _ = judged(module)
    assert (event.verdict, event.reason) == ("independent", "")


class Enclosing(nn.Module):
    """As blocks of transformers are often written: a function beside the modules that it calls."""

    def __init__(self, mixing: bool, beside: nn.Module | None = None) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({"first": nn.Linear(4, 4), "norm": nn.BatchNorm1d(4), "last": nn.Linear(4, 4)})
        m = beside or self.parts
        normed = (lambda h: h / h.norm(dim=0)) if mixing else self.parts["norm"]
        self.part = lambda x: m["last"](normed(m["first"](x)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.part(x)
        return out


@pytest.mark.parametrize(("mixing", "verdict"), [(True, "leaks"), (False, "independent")])
def test_a_function_is_called_with_the_copies_of_the_modules_that_it_encloses(mixing: bool, verdict: str) -> None:
    module = Enclosing(mixing)
    norm = module.parts["norm"]
    assert isinstance(norm, nn.BatchNorm1d)
    event, _ = judged(module)
    assert (event.verdict, event.reason) == (verdict, "")
    assert norm.num_batches_tracked == (0 if mixing else 3)


def test_a_function_that_encloses_other_modules_is_not_called_again() -> None:
    elsewhere = nn.ModuleDict({"first": nn.Linear(4, 4), "last": nn.Linear(4, 4)})
    event, _ = judged(Enclosing(True, beside=elsewhere))
    assert (event.verdict, event.reason) == ("not judged", "its code has side effects: it calls the module `m['last']`")


def test_a_module_that_the_program_watches_by_a_hook_is_left_alone() -> None:
    module = nn.Linear(4, 4)
    seen: list[torch.Tensor] = []
    module.register_forward_hook(lambda inner, args, output: seen.append(output.detach()))
    event, _ = judged(module)
    assert event.verdict == "not judged"
    assert len(seen) == 3


def test_code_with_side_effects_is_not_called_again() -> None:
    LOG.clear()
    judged(Logging(4, 4))
    assert len(LOG) == 3


def test_nothing_is_left_of_the_trial() -> None:
    """Weights, buffers, attributes, hooks and random numbers are as they are without it."""
    runs = []
    for watched in (False, True):
        torch.manual_seed(1)
        random.seed(1)
        np.random.seed(1)
        module = nn.Sequential(Remembering(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.3))
        if watched:
            with watching(BatchLeaks) as recorded:
                drawn = train(module)
            assert recorded.of(BatchLeakJudged)[0].verdict == "independent"
        else:
            drawn = train(module)
        first = module[0]
        assert isinstance(first, Remembering)
        assert first.calls == 3
        assert not any(inner._forward_hooks for inner in module.modules())
        assert all(inner.training for inner in module.modules())
        runs.append((drawn, {name: value.clone() for name, value in module.state_dict().items()}))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(value, runs[1][1][name]) for name, value in runs[0][1].items())


def test_whether_a_loader_stacked_the_samples_and_whether_they_vary() -> None:
    module = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    with watching(BatchLeaks) as recorded:
        for (x,) in DataLoader(TensorDataset(torch.randn(18, 4)), batch_size=6):
            module(x).sum().backward()
            optimizer.step()
    assert recorded.of(BatchLeakJudged)[0].collated
    event, _ = judged(nn.Linear(4, 4), same=True)
    assert (event.varied, event.collated) == (False, False)


def test_outputs_without_samples_are_not_judged() -> None:
    with watching(BatchLeaks) as recorded:
        train(Odd(lambda h: h.mean()))
    assert not recorded.of(BatchLeakJudged)


# ------------------------------------------------------------------------------------------------- batches in part


def _mean(h: torch.Tensor) -> torch.Tensor:
    return h - h.mean(0)


def _slow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Calls of modules seem to take so long."""
    monkeypatch.setattr(batch_leaks, "CLOCK", Clock(thread_time=lambda: CLOCK.thread_time() + seconds))


@pytest.mark.parametrize(("after", "verdict"), [(_mean, "leaks"), (torch.tanh, "independent")])
def test_of_slow_calls_a_part_of_the_batch_is_tried(
    monkeypatch: pytest.MonkeyPatch, after: Callable[[torch.Tensor], torch.Tensor], verdict: str
) -> None:
    _slow(monkeypatch, 0.25)
    event, recorded = judged(Odd(after))
    assert (event.verdict, event.samples, event.varied) == (verdict, 4, True)
    assert not recorded.of(InstrumentLimited)


def test_calls_of_which_no_part_is_quick_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    _slow(monkeypatch, 1.0)
    event, recorded = judged(Odd(_mean))
    assert (event.verdict, event.reason) == ("not judged", "one call takes 1.0 s")
    assert recorded.of(InstrumentLimited)


@pytest.mark.parametrize("same", [False, True])
def test_of_large_inputs_the_first_samples_are_kept(monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    monkeypatch.setattr(module_copies, "_MOST_INPUT", 6 * 4 * 4 - 1)
    event, _ = judged(Odd(_mean), same=same)
    assert (event.verdict, event.samples, event.varied) == ("leaks", 4, not same)


def test_weights_that_a_hook_of_torch_computes() -> None:
    module = nn.Sequential(nn.utils.spectral_norm(nn.Linear(4, 4)), nn.utils.weight_norm(nn.Linear(4, 4)))
    event, recorded = judged(module)
    assert event.verdict == "independent"
    assert not recorded.of(InstrumentLimited)


@pytest.mark.parametrize(
    ("after", "pairs"),
    [
        (lambda h: (h[:, None] - h[None]).square().sum(1), True),
        (lambda h: (h.unsqueeze(0) * h.unsqueeze(1)).sum(1), True),
        (lambda h: (h[:, :1] - h[:, 0]).sum(1, keepdim=True), False),
        (lambda h: h - h.mean(0), False),
    ],
    ids=["differences", "products", "a column and a row", "a mean"],
)
def test_samples_that_meet_in_pairs(after: Callable[[torch.Tensor], torch.Tensor], pairs: bool) -> None:
    model = Odd(after)
    with watching(BatchLeaks) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            model(torch.randn(6, 4)).sum().backward()
            optimizer.step()
    (event,) = recorded.of(BatchLeakJudged)
    assert (event.verdict, event.pairs) == ("leaks", pairs)
