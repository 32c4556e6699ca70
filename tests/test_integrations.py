"""The doctor in frameworks: one line each, and their trainers, loggers and hooks work as without it."""

from __future__ import annotations

import csv
import importlib
import inspect
import logging
import math
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import autograd_doctor
from autograd_doctor import TrainingStopped
from autograd_doctor.api.watching import under_way
from autograd_doctor.monitoring.folder import rank_folders
from tests.harness import PATIENCE, ROOT, marks
from tests.test_readme import _blocks
from tests.watching import global_state, recording_replacements

accelerate, ignite, lightning, pytorch_lightning, transformers = (
    importlib.import_module(name)
    for name in ("accelerate", "ignite.engine", "lightning.pytorch", "pytorch_lightning", "transformers")
)
MONITORS = {
    name: importlib.import_module(f"autograd_doctor.integrations.{name}").DoctorMonitor
    for name in ("accelerate", "ignite", "lightning", "transformers")
}
BATCH, STEPS, SPOILED = 8, 70, 60
LINES = dict(marks(Path(__file__).read_text(encoding="utf-8")))


class Line(nn.Module):
    """Gives what the Trainer of transformers wants."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        scaled = self.layer(x) / x.abs().sum(1, keepdim=True)  # <- AD401
        return {"loss": (scaled - x.mean(1, keepdim=True)).square().mean()}


class Samples(Dataset[dict[str, Tensor]]):
    """Those that are spoiled are zeros from the batch of the step `SPOILED` on."""

    def __init__(self, *, spoiled: bool) -> None:
        self.x = torch.rand(STEPS * BATCH, 4, generator=torch.Generator().manual_seed(0)) + 0.5
        if spoiled:
            self.x[SPOILED * BATCH :] = 0

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        return {"x": self.x[number]}


class Trained(NamedTuple):
    """What came of a training: weights, random numbers, and what reached the framework's own logger."""

    weights: list[Tensor]
    random: Tensor
    logged: list[dict[str, Any]]


Train = Callable[..., Trained]


def _model() -> Line:
    torch.manual_seed(0)
    return Line()


def _trained(model: nn.Module, logged: list[dict[str, Any]]) -> Trained:
    return Trained([parameter.detach().clone() for parameter in model.parameters()], torch.get_rng_state(), logged)


def _with_lightning(monitor: Any, *, spoiled: bool = False, framework: Any = lightning, others: Any = ()) -> Trained:
    class Module(framework.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.line = _model()

        def training_step(self, batch: dict[str, Tensor], number: int) -> Tensor:
            loss: Tensor = self.line(batch["x"])["loss"]
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    loggers = importlib.import_module(f"{framework.__name__}.loggers")
    logger, module = loggers.CSVLogger("logs"), Module()
    trainer = framework.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        callbacks=[*others, *([monitor] if monitor is not None else [])],
        logger=logger,
        log_every_n_steps=10,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, DataLoader(Samples(spoiled=spoiled), batch_size=BATCH))
    with Path(logger.log_dir, "metrics.csv").open() as file:
        rows = [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
    return _trained(module, rows)


def _with_transformers(monitor: Any, *, spoiled: bool = False, others: Any = ()) -> Trained:
    model = _model()
    arguments = transformers.TrainingArguments(
        output_dir="out",
        use_cpu=True,
        num_train_epochs=1,
        per_device_train_batch_size=BATCH,
        learning_rate=0.01,
        train_sampling_strategy="sequential",
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=10,
    )
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=Samples(spoiled=spoiled),
        callbacks=[*others, *([monitor] if monitor is not None else [])],
    )
    trainer.train()
    return _trained(model, trainer.state.log_history)


def _with_accelerate(monitor: Any, *, spoiled: bool = False, clears: bool = True) -> Trained:
    accelerator = accelerate.Accelerator(cpu=True, log_with=monitor)
    model: nn.Module = _model()
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.01)
    data = DataLoader(Samples(spoiled=spoiled), batch_size=BATCH)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    accelerator.init_trackers("lines")
    logged = []
    for batch in data:
        if clears:
            optimizer.zero_grad()
        accelerator.backward(model(batch["x"])["loss"])
        optimizer.step()  # <- AD101
        logged.append(monitor.metrics() if monitor is not None else {})
    accelerator.end_training()
    return _trained(model, logged)


def _with_ignite(monitor: Any, *, spoiled: bool = False, others: Any = ()) -> Trained:
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    logged: list[dict[str, Any]] = []

    def update(engine: Any, batch: dict[str, Tensor]) -> float:
        optimizer.zero_grad()
        loss = model(batch["x"])["loss"]
        loss.backward()
        optimizer.step()
        return float(loss)

    trainer = ignite.Engine(update)
    trainer.logger.setLevel(logging.CRITICAL)
    if monitor is not None:
        monitor.attach(trainer)
    for event, handler in others:
        trainer.add_event_handler(event, handler)
    trainer.add_event_handler(
        ignite.Events.ITERATION_COMPLETED(every=10), lambda engine: logged.append({**engine.state.metrics})
    )
    trainer.run(DataLoader(Samples(spoiled=spoiled), batch_size=BATCH))
    return _trained(model, logged)


TRAINERS: dict[str, Train] = {
    "accelerate": _with_accelerate,
    "ignite": _with_ignite,
    "lightning": _with_lightning,
    "transformers": _with_transformers,
}
IN_EACH = pytest.mark.parametrize("name", TRAINERS)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty one, with nothing left to watch in it afterwards."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    assert not under_way.locked()


def _told(monitor: Any) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.line) for finding in monitor.monitor.findings]


@IN_EACH
def test_a_healthy_training_goes_as_without_a_monitor_and_its_numbers_reach_the_logger(name: str) -> None:
    plain = TRAINERS[name](None)
    monitor, state = MONITORS[name](), global_state()
    with recording_replacements() as replaced:
        watched = TRAINERS[name](monitor)
    assert replaced
    assert all(vars(owner).get(name) is before for owner, name, before in replaced)
    assert global_state() == state
    assert all(map(torch.equal, plain.weights, watched.weights))
    assert torch.equal(plain.random, watched.random)
    numbers = [each for each in watched.logged if "doctor/gradient_norm" in each]
    assert numbers
    assert all(each["doctor/gradient_norm"] > 0 for each in numbers)
    assert (monitor.monitor.steps, monitor.monitor.findings) == (STEPS, [])
    report = monitor.monitor.report
    assert (report.verdict, report.findings) == ("passed", [])


@IN_EACH
def test_a_loss_that_is_not_finite_is_found_at_its_line(name: str) -> None:
    monitor = MONITORS[name](select=["AD401", "AD403"])
    TRAINERS[name](monitor, spoiled=True)
    assert _told(monitor) == [("AD401", LINES["AD401"])]


@pytest.mark.parametrize("every", [1, 1000], ids=["all that follow", "one"])
def test_a_label_that_is_missing_is_named_once_and_not_what_follows_from_it(every: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(400 * BATCH, 4)
    y = x.sum(1, keepdim=True)
    y[SPOILED * BATCH + 3 :: every] = math.nan
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def update(engine: Any, batch: list[Tensor]) -> None:
        inputs, labels = batch
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), labels).backward()  # <- AD403
        optimizer.step()

    monitor, trainer = MONITORS["ignite"](), ignite.Engine(update)
    monitor.attach(trainer)
    trainer.run(DataLoader(TensorDataset(x, y), batch_size=BATCH))
    assert _told(monitor) == [("AD403", LINES["AD403"])]
    report = monitor.monitor.report
    assert [(finding.code, finding.step_first) for finding in report.findings] == [("AD403", SPOILED + 1)]


@pytest.mark.parametrize("graph", ["as recorded", "as none before"])
@pytest.mark.parametrize("step", [10, SPOILED], ids=["in a light step of a close look", "while it rests"])
def test_a_label_that_is_missing_is_placed_in_the_step_of_a_lightning_module(step: int, graph: str) -> None:
    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def training_step(self, batch: list[Tensor], number: int) -> Tensor:
            x, y = batch
            said = self.layer(x)
            if number == step and graph == "as none before":
                said = said.sinh().tanh().sin()
            return nn.functional.mse_loss(said, y)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    torch.manual_seed(0)
    x = torch.randn(STEPS * BATCH, 4)
    y = x.sum(1, keepdim=True)
    y[step * BATCH + 3] = math.nan
    monitor = MONITORS["lightning"]()
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=1, callbacks=[monitor], enable_model_summary=False, **quiet
    )
    trainer.fit(Module(), DataLoader(TensorDataset(x, y), batch_size=BATCH))
    lines, first = inspect.getsourcelines(Module.training_step)
    assert _told(monitor) == [("AD403", first + len(lines) - 1)]


def test_missing_clearing_is_found_in_a_loop_of_accelerate() -> None:
    monitor = MONITORS["accelerate"]()
    _with_accelerate(monitor, clears=False)
    assert _told(monitor) == [("AD101", LINES["AD101"])]


@IN_EACH
def test_a_stop_reaches_the_caller_and_the_next_training_is_another_run(name: str) -> None:
    monitor = MONITORS[name](stop_on="error")
    with pytest.raises(TrainingStopped) as stopped:
        TRAINERS[name](monitor, spoiled=True)
    assert stopped.value.finding.code == "AD401"
    first = monitor.monitor
    assert first.steps <= SPOILED + 2
    TRAINERS[name](monitor)
    assert monitor.monitor is not first
    assert (monitor.monitor.steps, monitor.monitor.findings) == (STEPS, [])
    assert [finding.code for finding in first.findings] == ["AD401"]
    assert Path("run.trace/earlier/1/rank-0").is_dir()
    folder = rank_folders(Path("run.trace/earlier/1"))[0]
    about = folder.about()
    assert about is not None
    assert about.ended
    assert [found.finding.code for found in folder.found()] == ["AD401"], "a stop is no crash"


@pytest.mark.parametrize("name", ["accelerate", "transformers"])
def test_what_another_object_has_left_open_is_over_when_a_training_begins(name: str) -> None:
    left, monitor = MONITORS[name](stop_on="error"), MONITORS[name]("other.trace")
    with pytest.raises(TrainingStopped):
        TRAINERS[name](left, spoiled=True)
    TRAINERS[name](monitor)
    assert monitor.monitor.report.verdict == "passed"
    assert repr(left.monitor).endswith("over>")


# ------------------------------------------------------------------------------------------------------ one by one


def test_hooks_of_lightning_run_when_a_training_raises() -> None:
    class Fails(lightning.Callback):  # type: ignore[misc]
        heard: BaseException | None = None

        def on_train_batch_start(self, *_: Any) -> None:
            raise ValueError("no batch")

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            self.heard = exception

    fails, monitor = Fails(), MONITORS["lightning"]()
    with pytest.raises(ValueError, match="no batch"):
        _with_lightning(monitor, others=[fails])
    assert isinstance(fails.heard, ValueError)
    about = rank_folders(Path("run.trace"))[0].about()
    assert about is not None
    assert about.how == "ValueError was raised"


def test_the_trainer_of_pytorch_lightning_takes_the_same_callback() -> None:
    monitor = MONITORS["lightning"]()
    trained = _with_lightning(monitor, framework=pytorch_lightning)
    assert monitor.monitor.steps == STEPS
    assert any("doctor/gradient_norm" in each for each in trained.logged)


def test_only_a_fit_is_a_training_of_lightning() -> None:
    class Module(lightning.LightningModule):  # type: ignore[misc]
        def validation_step(self, batch: Any, number: int) -> None:
            pass

    monitor = MONITORS["lightning"]()
    trainer = lightning.Trainer(accelerator="cpu", callbacks=[monitor], logger=False, enable_progress_bar=False)
    trainer.validate(Module(), DataLoader(TensorDataset(torch.ones(3))), verbose=False)
    assert monitor.monitor is None
    assert not Path("run.trace").exists()


def test_who_reports_the_logs_of_transformers_is_given_the_numbers() -> None:
    class Reports(transformers.TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.reported: list[dict[str, Any]] = []

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **others: Any) -> None:
            self.reported.append({**logs})

    reports = Reports()
    _with_transformers(MONITORS["transformers"](), others=[reports])
    losses = [each for each in reports.reported if "loss" in each]
    assert len(losses) == STEPS // 10
    assert all("doctor/loss" in each for each in losses)
    assert not any("doctor/loss" in each for each in reports.reported if each not in losses)


@pytest.mark.parametrize("name", ["lightning", "transformers"])
def test_what_is_known_of_a_look_is_logged_once(name: str) -> None:
    logged = [each for each in TRAINERS[name](MONITORS[name]()).logged if "doctor/loss" in each]
    norms = [each.get("doctor/gradient_norm") for each in logged]
    told = [norm for norm in norms if norm is not None]
    assert 1 <= len(told) < len(norms) == STEPS // 10
    assert len({*told}) == len(told)


def test_a_tracker_of_accelerate_is_found_by_its_name() -> None:
    monitor = MONITORS["accelerate"]()
    accelerator = accelerate.Accelerator(cpu=True, log_with=monitor)
    accelerator.init_trackers("lines", config={"lr": 0.1})
    accelerator.log({"loss": 1.0}, step=1)
    assert accelerator.get_tracker("doctor") is monitor
    assert accelerator.get_tracker("doctor", unwrap=True) is monitor.monitor
    accelerator.end_training()
    assert repr(monitor.monitor).endswith("over>")


def test_an_accelerate_whose_trackers_do_not_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(accelerate.tracking.GeneralTracker, "start")
    monkeypatch.delitem(sys.modules, "autograd_doctor.integrations.accelerate")
    with pytest.raises(ImportError, match=r"trackers of this accelerate have no `start`; update it"):
        importlib.import_module("autograd_doctor.integrations.accelerate")


def _fails(engine: Any) -> None:
    if engine.state.epoch == 1:
        raise ValueError("no batch")


def test_an_engine_of_ignite_raises_as_without_a_monitor() -> None:
    monitor = MONITORS["ignite"]()
    with pytest.raises(ValueError, match="no batch"):
        _with_ignite(monitor, others=[(ignite.Events.ITERATION_COMPLETED(once=3), _fails)])
    about = rank_folders(Path("run.trace"))[0].about()
    assert about is not None
    assert (about.how, about.steps) == ("ValueError was raised", 3)


def test_what_a_handler_of_ignite_swallows_stays_swallowed() -> None:
    monitor, swallowed = MONITORS["ignite"](), []
    others = [
        (ignite.Events.ITERATION_COMPLETED(once=3), _fails),
        (ignite.Events.EXCEPTION_RAISED, lambda engine, error: swallowed.append(error)),
    ]
    _with_ignite(monitor, others=others)
    assert len(swallowed) == 1
    assert repr(monitor.monitor).endswith("over>")


def test_an_engine_of_ignite_that_is_terminated_is_over() -> None:
    monitor = MONITORS["ignite"]()
    stops = (ignite.Events.ITERATION_COMPLETED(once=20), lambda engine: engine.terminate(skip_completed=True))
    _with_ignite(monitor, others=[stops])
    assert monitor.monitor.steps == 20
    assert repr(monitor.monitor).endswith("over>")


# ------------------------------------------------------------------------------------------------------- all of them


@IN_EACH
def test_mistakes_are_said_where_it_is_made_and_before_anything_is_trained(name: str) -> None:
    with pytest.raises(autograd_doctor.Mistake, match=r"stop_on: expected one of .*; did you mean `error`"):
        MONITORS[name](stop_on="eror")
    with pytest.raises(autograd_doctor.Mistake, match="no such argument"):
        MONITORS[name](every=3)


@IN_EACH
def test_it_can_be_sent_to_another_process_also_while_it_watches(name: str) -> None:
    monitor = MONITORS[name]("sent.trace", ignore=["AD211"])
    monitor._trainings.begin()
    sent = pickle.loads(pickle.dumps(monitor))
    monitor._trainings.end()
    assert sent.monitor is None
    TRAINERS[name](sent)
    assert sent.monitor.steps == STEPS


def test_each_rank_of_lightning_records_its_own(tmp_path: Path) -> None:
    program = """
import lightning, torch
from torch.utils.data import DataLoader
from autograd_doctor.integrations.lightning import DoctorMonitor

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, x, number):
        return (self.layer(x) - x.sum(1, keepdim=True)).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

if __name__ == "__main__":
    off = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    quiet = dict.fromkeys(off, False)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp_fork", max_steps=12, callbacks=[DoctorMonitor()], **quiet
    )
    trainer.fit(Module(), DataLoader(torch.randn(256, 4), batch_size=8))
"""
    (tmp_path / "train.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    abouts = [folder.about() for folder in rank_folders(tmp_path / "run.trace")]
    assert [(about.rank, about.size, about.steps) for about in abouts if about] == [(0, 2, 12), (1, 2, 12)]


def test_without_its_framework_a_module_raises_what_the_framework_would() -> None:
    program = """
import importlib, sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

FRAMEWORKS = ("accelerate", "ignite", "lightning", "pytorch_lightning", "transformers")

class Others:
    @staticmethod
    def find_spec(name, path=None, target=None):
        is_framework = name.partition(".")[0] in FRAMEWORKS
        return None if is_framework else PathFinder.find_spec(name, path, target)

sys.meta_path = [BuiltinImporter, FrozenImporter, Others]
for name in ("accelerate", "ignite", "lightning", "transformers"):
    try:
        importlib.import_module(f"autograd_doctor.integrations.{name}")
    except ModuleNotFoundError as error:
        print(error)
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    missing = [f"No module named '{name}'" for name in ("accelerate", "ignite", "lightning", "transformers")]
    assert done.stdout.splitlines() == [*missing, "False"], done.stderr


# ------------------------------------------------------------------------------------------------------------ the page


PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", _blocks(PAGE, "python"), ids=["lightning", "transformers", "accelerate", "ignite"])
def test_what_the_page_shows_runs_and_is_monitored(block: str, tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(block)
    exec(compile(block, str(tmp_path / "shown.py"), "exec"), {"__name__": "shown"})
    about = rank_folders(Path("run.trace"))[0].about()
    assert about is not None
    assert about.ended
    assert about.steps >= 20
