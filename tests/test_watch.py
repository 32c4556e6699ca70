"""`autograd_doctor.watch`: what it says of a block of this process, and that nothing of it is left behind."""

from __future__ import annotations

import gc
import linecache
import random
import threading
import weakref
from collections.abc import Callable, Generator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import autograd_doctor
from autograd_doctor import Mistake, Report
from autograd_doctor.runner.recorder import Recorder
from tests.harness import summary
from tests.watching import global_state, recording_replacements


class Training:
    """A small regression that draws its data as it goes."""

    def __init__(self, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

    def loss(self) -> torch.Tensor:
        x = torch.randn(16, 4)
        return F.mse_loss(self.model(x), x.sum(1, keepdim=True))

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()

    def piling_up(self) -> None:
        self.loss().backward()
        self.optimizer.step()


def _codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def _line_of(function: Callable[..., Any], text: str) -> int:
    """The line of a function of this file that holds this text."""
    first = function.__code__.co_firstlineno
    lines = linecache.getlines(__file__)[first - 1 : first + 40]
    return first + next(number for number, line in enumerate(lines) if text in line)


# ------------------------------------------------------------------------------------------------------- what it says


def test_what_was_built_before_the_block_is_healthy() -> None:
    training = Training()
    with autograd_doctor.watch() as watched:
        for _ in range(12):
            training.step()
    report = watched.report
    assert report.verdict == "passed", summary(report)
    assert report.findings == []
    assert report.run.steps == 12
    assert [(each.name, each.parameters) for each in report.run.optimizers] == [("training.optimizer", 4)]
    assert report.target.name == f"tests/test_watch.py:{_line_of(_this(), 'with autograd_doctor.watch')}"


def _this() -> Callable[..., Any]:
    return test_what_was_built_before_the_block_is_healthy


def test_a_fault_is_found_at_its_line_under_the_persons_names() -> None:
    training = Training()
    with autograd_doctor.watch() as watched:
        for _ in range(12):
            training.piling_up()
    (finding,) = watched.report.findings
    assert (finding.code, watched.report.verdict) == ("AD101", "faults")
    assert finding.location is not None
    assert finding.location.line == _line_of(Training.piling_up, "self.optimizer.step()")
    assert "self.model.0.weight" in finding.message
    assert str(watched).splitlines()[0] == f"watched {watched.report.target.name}"
    assert "error[AD101]" in str(watched)
    assert repr(watched) == f"<watch at {watched.report.target.name}: faults, 1 finding in 12 steps>"


def test_what_is_built_inside_the_block_is_seen_from_its_beginning() -> None:
    with autograd_doctor.watch() as watched:
        training = Training()
        for _ in range(12):
            training.optimizer = torch.optim.Adam(training.model.parameters(), lr=0.01)
            training.step()
    (finding,) = watched.report.findings
    assert finding.name == "optimizer-recreated"
    assert finding.location is not None
    assert finding.location.line == _line_of(test_what_is_built_inside_the_block_is_seen_from_its_beginning, "Adam(")


def test_gradients_left_from_before_the_block_accuse_nobody() -> None:
    training = Training()
    training.loss().backward()
    with autograd_doctor.watch() as watched:
        for _ in range(8):
            training.step()
    assert watched.report.verdict == "passed", summary(watched.report)


def test_a_step_that_clears_after_itself_may_begin_with_gradients() -> None:
    training = Training()
    training.loss().backward()
    with autograd_doctor.watch() as watched:
        for _ in range(8):
            training.optimizer.step()
            training.optimizer.zero_grad()
            training.loss().backward()
    assert watched.report.verdict == "passed", summary(watched.report)


def test_optimizers_that_step_outside_the_block_accuse_nobody() -> None:
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
    with autograd_doctor.watch(ignore=["AD6"]) as watched:
        for _ in range(12):
            real, made = torch.randn(8, 4), generator(torch.randn(8, 3))
            of_critic.zero_grad()
            (F.softplus(critic(made)).mean() + F.softplus(-critic(real)).mean()).backward()
            of_critic.step()
            of_generator.zero_grad()
    assert watched.report.verdict == "passed", summary(watched.report)
    assert {each.name: each.steps for each in watched.report.run.optimizers} == {"of_generator": 0, "of_critic": 12}


class _Holder:
    def __init__(self, held: object) -> None:
        self.held = held


def test_an_optimizer_out_of_sight_is_known_by_what_it_holds() -> None:
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    stepping = torch.optim.SGD(head.parameters(), lr=0.01)
    out_of_sight = _Holder(_Holder(_Holder(torch.optim.SGD(encoder.parameters(), lr=0.01))))
    with autograd_doctor.watch() as watched:
        for _ in range(12):
            x = torch.randn(16, 4)
            stepping.zero_grad()
            encoder.zero_grad()
            F.mse_loss(head(encoder(x).tanh()), x.sum(1, keepdim=True)).backward()
            stepping.step()
    assert watched.report.verdict == "passed", summary(watched.report)
    assert len(watched.report.run.optimizers) == 2
    del out_of_sight


def test_a_block_without_a_step_is_not_judged() -> None:
    with autograd_doctor.watch() as watched:
        torch.randn(3).sum()
    assert watched.report.verdict == "not-judged"
    assert watched.report.exit_reason == "no training step was seen"


def test_an_exception_passes_and_the_report_says_what_was_seen() -> None:
    training = Training()
    error = ValueError("enough")
    with pytest.raises(ValueError, match="enough") as caught, autograd_doctor.watch() as watched:  # noqa: PT012
        for _ in range(6):
            training.piling_up()
        raise error
    assert caught.value is error
    assert "AD101" in _codes(watched.report)
    assert watched.report.run.stopped_by == "raised"


def test_a_crash_is_explained() -> None:
    training = Training()
    with pytest.raises(RuntimeError, match="inplace"), autograd_doctor.watch() as watched:  # noqa: PT012
        hidden = torch.sigmoid(training.model[0](torch.randn(4, 4)))
        hidden += 1
        training.model[2](hidden).sum().backward()
    assert [finding.explains_crash for finding in watched.report.findings] == [True], summary(watched.report)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_failure_passes_too(raised: type[BaseException]) -> None:
    training = Training()
    with pytest.raises(raised), autograd_doctor.watch() as watched:  # noqa: PT012
        training.step()
        raise raised
    assert _codes(watched.report) == []
    assert watched.report.run.steps == 1


def test_a_cell_of_a_notebook_is_quoted() -> None:
    cells = {
        "<ipython-input-1-ab>": "import torch\nmodel = torch.nn.Linear(3, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n",
        "<ipython-input-2-cd>": "with autograd_doctor.watch() as watched:\n    for _ in range(8):\n"
        "        x = torch.randn(8, 3)\n        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()\n"
        "        loss.backward()\n        optimizer.step()\n",
    }
    namespace: dict[str, Any] = {"__name__": "__main__", "autograd_doctor": autograd_doctor}
    for name, source in cells.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
    report = namespace["watched"].report
    assert _codes(report) == ["AD101"]
    location = report.findings[0].location
    assert (location.path, location.cell, location.line) == ("", 2, 6)
    assert location.snippet == "        optimizer.step()"
    assert "model.weight" in report.findings[0].message


# -------------------------------------------------------------------------------------------------- how long it watches


def test_after_so_many_steps_the_block_goes_on_plainly() -> None:
    training = Training()
    before = global_state()
    with recording_replacements() as replaced, autograd_doctor.watch(steps=3) as watched:
        for _ in range(3):
            training.step()
        assert replaced
        for _ in range(3):
            training.piling_up()
        training.optimizer.zero_grad()
        _assert_restored(replaced)
        assert global_state() == before
        training.step()
    assert watched.report.run.steps < 7
    assert watched.report.run.stopped_by == "steps"


def test_exactly_so_many_steps_are_watched() -> None:
    training = Training()
    with autograd_doctor.watch(steps=4) as watched:
        for _ in range(9):
            training.step()
    assert watched.report.run.steps == 4
    assert watched.report.verdict == "passed", summary(watched.report)


def test_a_hook_of_the_program_after_ours_does_not_mind_that_ours_goes() -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    training, seen = Training(), []
    with autograd_doctor.watch(steps=2) as watched:
        hook = register_optimizer_step_post_hook(lambda *_: seen.append(1))
        for _ in range(5):
            training.step()
    hook.remove()
    assert len(seen) == 5
    assert watched.report.run.steps == 2


# ------------------------------------------------------------------------------------------------------ nothing is left


def _assert_restored(replaced: list[tuple[Any, str, Any]]) -> None:
    for owner, name, before in replaced:
        assert vars(owner).get(name) is before, (owner, name)


def _trained(watching: bool) -> tuple[list[torch.Tensor], torch.Tensor, float]:
    training = Training()
    random.seed(0)
    if watching:
        with autograd_doctor.watch() as watched:
            for _ in range(15):
                training.step()
        assert watched.report.run.steps == 15
    else:
        for _ in range(15):
            training.step()
    return [p.detach() for p in training.model.parameters()], torch.get_rng_state(), random.random()


def test_weights_and_random_numbers_are_the_same_to_the_bit() -> None:
    (plain, torch_plain, python_plain), (watched, torch_watched, python_watched) = _trained(False), _trained(True)
    assert all(map(torch.equal, plain, watched))
    assert torch.equal(torch_plain, torch_watched)
    assert python_plain == python_watched


@pytest.mark.parametrize("fails", [False, True])
def test_torch_and_the_collector_are_as_before(fails: bool) -> None:
    training = Training()
    before, collector = global_state(), (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())
    with recording_replacements() as replaced:
        try:
            with autograd_doctor.watch():
                training.step()
                if fails:
                    raise ValueError
        except ValueError:
            pass
    assert replaced
    _assert_restored(replaced)
    assert global_state() == before
    assert (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()) == collector


def test_nothing_of_the_program_is_kept_alive() -> None:
    training = Training()
    with autograd_doctor.watch() as watched:
        training.step()
    model, optimizer = weakref.ref(training.model), weakref.ref(training.optimizer)
    del training
    gc.collect()
    assert (model(), optimizer()) == (None, None)
    assert watched.report.run.steps == 1


# ------------------------------------------------------------------------------------------------- one after the other


def test_a_second_watch_begins_anew() -> None:
    training = Training()
    reports = []
    for train in (training.piling_up, training.step):
        with autograd_doctor.watch() as watched:
            for _ in range(8):
                train()
        reports.append(watched.report)
    assert [_codes(report) for report in reports] == [["AD101"], []]


def test_a_watch_inside_another_is_not_judged_and_the_outer_one_sees_all() -> None:
    training = Training()
    with autograd_doctor.watch() as outer:
        for _ in range(3):
            training.step()
        with autograd_doctor.watch() as inner:
            for _ in range(5):
                training.step()
    assert inner.report.verdict == "not-judged"
    assert inner.report.exit_reason.startswith("another `watch()` was active")
    assert outer.report.run.steps == 8


def test_a_watch_of_another_thread_is_not_judged_meanwhile() -> None:
    found: list[autograd_doctor.Watched] = []

    def other() -> None:
        with autograd_doctor.watch() as watched:
            Training().step()
        found.append(watched)

    with autograd_doctor.watch():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found[0].report.verdict == "not-judged"
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found[1].report.run.steps == 1


def test_under_doctor_check_a_watch_leaves_it_to_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRAD_DOCTOR", "1")
    with recording_replacements() as replaced, autograd_doctor.watch() as watched:
        Training().step()
    assert not replaced
    assert watched.report.exit_reason.startswith("the whole program runs under `doctor check`")
    assert watched.report.verdict == "not-judged"


def test_a_generator_is_watched_while_it_is_suspended() -> None:
    training = Training()

    def steps() -> Generator[autograd_doctor.Watched, None, None]:
        with autograd_doctor.watch() as watched:
            for _ in range(6):
                yield watched
                training.step()

    watches = list(steps())
    assert watches[0].report.run.steps == 6
    before = global_state()
    abandoned = steps()
    watched = next(abandoned)
    abandoned.close()
    assert global_state() == before
    assert watched.report.verdict == "not-judged"


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"step": 3}, "watch(): step: no such argument; did you mean `steps`?"),
        ({"seconds": 3}, "watch(): seconds: no such argument"),
        ({"steps": 0}, "watch(): steps: expected a whole number above 0 or None, found 0"),
        ({"select": ["AD1000"]}, "watch(): select"),
        ({"select": "AD101"}, "watch(): select: expected a list"),
        ({"fail_on": "errors"}, "watch(): fail_on: expected `error`"),
    ],
)
def test_mistakes_are_said_before_the_block(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(Mistake) as caught:
        autograd_doctor.watch(**settings)
    assert str(caught.value).startswith(said)


def test_settings_choose_rules_and_what_fails() -> None:
    training = Training()
    with autograd_doctor.watch(select=["AD101"], fail_on="never") as watched:
        for _ in range(5):
            training.piling_up()
    assert (watched.report.verdict, _codes(watched.report)) == ("passed", ["AD101"])
    assert watched.report.checks.ran == ["AD101"]


def test_a_watch_is_for_one_block_and_its_report_for_afterwards() -> None:
    watched = autograd_doctor.watch()
    with watched:
        with pytest.raises(Mistake, match="only after the block has ended"):
            _ = watched.report
        assert repr(watched) == str(watched)
        assert repr(watched).endswith("the block has not ended>")
        assert watched._repr_html_() is None
    with pytest.raises(Mistake, match="is for one block"), watched:
        pass


def test_nothing_is_left_if_the_doctor_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Recorder, "__init__", fail)
    with pytest.raises(OSError, match="no room"), autograd_doctor.watch():
        pass
    monkeypatch.undo()
    with autograd_doctor.watch() as watched:
        Training().step()
    assert watched.report.run.steps == 1
