"""Lightning: `Trainer(callbacks=[DoctorMonitor()])`, of `lightning` and of `pytorch_lightning`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from autograd_doctor.integrations.trainings import Monitoring

_IS_LOADED_ALONE = "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules
if not _IS_LOADED_ALONE and (find_spec("lightning") or not find_spec("pytorch_lightning")):
    from lightning.pytorch import Callback, LightningModule, Trainer
else:
    from pytorch_lightning import Callback, LightningModule, Trainer  # type: ignore[assignment]


class DoctorMonitor(Monitoring, Callback):
    """Monitors each `fit`, from its setup to its teardown or to what it raises. Takes what `monitor` takes.

    The numbers of `Monitor.metrics` go to all loggers of the trainer, every `log_every_n_steps`; what is known only of
    steps that were looked at, once for each look. With `stop_on`, `TrainingStopped` passes through `fit` as any
    exception of the training does: hooks for exceptions run, and loggers close as failed.
    """

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Each rank comes here in the process in which it trains."""
        if stage == "fit":
            self._trainings.begin()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """As Lightning's own callbacks do, so that all curves have the same steps."""
        if not trainer._logger_connector.should_update_logs:
            return
        metrics = self._trainings.news()
        for logger in trainer.loggers:
            logger.log_metrics(metrics, step=trainer.fit_loop.epoch_loop._batches_that_stepped)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """What stopped the training."""
        self._trainings.end(exception)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """The last that is called of a training."""
        if stage == "fit":
            self._trainings.end()
