"""Transformers: `Trainer(..., callbacks=[DoctorMonitor()])`, also for the trainers of TRL that derive from it."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import CallbackHandler

from autograd_doctor.integrations.trainings import Monitoring


class DoctorMonitor(Monitoring, TrainerCallback):
    """Monitors each `train()`. Takes what `monitor` takes.

    The numbers of `Monitor.metrics` stand in the logs that the Trainer writes every `logging_steps`, and in
    `log_history`; what is known only of steps that were looked at, once for each look. With `stop_on`,
    `TrainingStopped` passes through `train()`, so that a script does not go on to save or push what is spoiled, as it
    would behind `control.should_training_stop`.

    A Trainer tells its callbacks of no exception. The monitor is over with the process then, with the next `train()`,
    or with `DoctorMonitor.monitor.close()`.
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Who reports is given the logs in the order of the callbacks: this one is to be the first."""
        handler = _handler(sys._getframe(1))
        if handler is not None and self in handler.callbacks:
            handler.callbacks = [self, *(each for each in handler.callbacks if each is not self)]
        self._trainings.begin_alone()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Evaluations have logs as well, which stay as they are."""
        if logs is None or "loss" not in logs:
            return
        metrics = self._trainings.news()
        logs.update(metrics)
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(metrics)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Also where another callback has stopped the training."""
        self._trainings.end()


def _handler(frame: FrameType | None) -> CallbackHandler | None:
    """Who calls the callbacks of the trainer that trains: nothing leads there but its own call."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, CallbackHandler):
            return caller
        frame = frame.f_back
    return None
