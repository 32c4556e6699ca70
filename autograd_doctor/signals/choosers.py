"""What frameworks choose by a metric: which model is kept as the best, and whether training goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from math import inf
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from autograd_doctor.reading.arriving import on_import
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_Function = Callable[..., Any]
_LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


@dataclass(eq=False, slots=True)
class Choice:
    """A metric was judged: whether it is better than those before.

    chooser: who is given the metrics of one run. told: what was told, by an argument, which way is better. kind: the
    class whose argument that is. monitor: what the metric is called, "" where a function of the program makes it.
    refused: its not being better has a consequence: a model is not kept, or training ends.
    """

    chooser: Any
    told: Any
    kind: str
    argument: str
    monitor: str
    mode: str
    metric: Any
    refused: bool


@dataclass(eq=False, slots=True)
class Predicted:
    """What a model said of a whole set, and the labels: arrays of NumPy, or several of them."""

    predictions: Any
    labels: Any


class _EntryPoint(NamedTuple):
    """A method of a class in a module of a framework, and what is to be called in its place."""

    kind: str
    method: str
    wrapping: Callable[[_Function], _Function]


class Choosers(Seam):
    """`made`, with what was told which way is better, `chose`, and `predicted`. No framework is imported for that."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.made: Signal[object] = Signal(guard, self)
        self.chose: Signal[Choice] = Signal(guard, self)
        self.predicted: Signal[Predicted] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        watched = self._entry_points()

        def arrived(module: ModuleType) -> None:
            for kind, method, wrapping in watched[module.__name__]:
                owner = vars(module).get(kind)
                original = vars(owner).get(method) if isinstance(owner, type) else None
                if isinstance(original, FunctionType):
                    patches.replace(owner, method, wraps(original)(wrapping(original)))

        patches.callback(on_import(dict.fromkeys(watched, arrived)))

    def _entry_points(self) -> Mapping[str, Sequence[_EntryPoint]]:
        """By the modules that define them."""
        found: dict[str, Sequence[_EntryPoint]] = {
            "transformers.training_args": [_EntryPoint("TrainingArguments", "__post_init__", self._making)],
            "transformers.trainer": [_EntryPoint("Trainer", "_determine_best_metric", self._determining_best)],
            "transformers.trainer_utils": [_EntryPoint("EvalPrediction", "__init__", self._predicting)],
        }
        for module, kind in (("early_stopping", "EarlyStopping"), ("checkpoint", "Checkpoint")):
            found[f"ignite.handlers.{module}"] = [
                _EntryPoint(kind, "__init__", self._making),
                _EntryPoint(kind, "__call__", self._scoring),
            ]
        for package in _LIGHTNING:
            found[f"{package}.callbacks.model_checkpoint"] = [
                _EntryPoint("ModelCheckpoint", "__init__", self._making),
                _EntryPoint("ModelCheckpoint", "check_monitor_top_k", self._ranking),
            ]
            found[f"{package}.callbacks.early_stopping"] = [
                _EntryPoint("EarlyStopping", "__init__", self._making),
                _EntryPoint("EarlyStopping", "_evaluate_stopping_criteria", self._stopping),
            ]
        return found

    def _making(self, original: _Function) -> _Function:
        def make(thing: Any, *args: Any, **kwargs: Any) -> None:
            original(thing, *args, **kwargs)
            self.made.send(thing)

        return make

    # ---------------------------------------------------------------------------------------------------- Lightning

    def _ranking(self, original: _Function) -> _Function:
        def check_monitor_top_k(checkpoint: Any, trainer: Any, current: Any = None) -> Any:
            is_kept = original(checkpoint, trainer, current)
            if current is not None:
                self._judged(checkpoint, "ModelCheckpoint", current, refused=not is_kept)
            return is_kept

        return check_monitor_top_k

    def _stopping(self, original: _Function) -> _Function:
        def evaluate_stopping_criteria(stopping: Any, current: Any) -> Any:
            decision = original(stopping, current)
            self._judged(stopping, "EarlyStopping", current, refused=_is_out_of_patience(stopping, "wait_count"))
            return decision

        return evaluate_stopping_criteria

    def _judged(self, callback: Any, kind: str, metric: Any, *, refused: bool) -> None:
        kept = attributes(callback)
        monitor, mode = kept.get("monitor") or "", "max" if kept.get("mode") == "max" else "min"
        self.chose.send(Choice(callback, callback, kind, "mode", monitor, mode, metric, refused))

    # ------------------------------------------------------------------------------------------------- Transformers

    def _determining_best(self, original: _Function) -> _Function:
        def determine_best_metric(trainer: Any, metrics: Any, *args: Any, **kwargs: Any) -> Any:
            is_best = original(trainer, metrics, *args, **kwargs)
            self._determined(trainer, metrics, is_best=is_best)
            return is_best

        return determine_best_metric

    def _determined(self, trainer: Any, metrics: Mapping[str, Any], *, is_best: bool) -> None:
        told = attributes(trainer).get("args")
        kept = attributes(told)
        monitor = f"eval_{str(kept.get('metric_for_best_model')).removeprefix('eval_')}"
        mode = "max" if kept.get("greater_is_better") else "min"
        refused = not is_best and (_keeps_best(kept) or _has_waited(trainer))
        kind, argument = "TrainingArguments", "greater_is_better"
        self.chose.send(Choice(trainer, told, kind, argument, monitor, mode, metrics.get(monitor), refused))

    def _predicting(self, original: _Function) -> _Function:
        def make(prediction: Any, *args: Any, **kwargs: Any) -> None:
            original(prediction, *args, **kwargs)
            kept = attributes(prediction)
            self.predicted.send(Predicted(kept.get("predictions"), kept.get("label_ids")))

        return make

    # ------------------------------------------------------------------------------------------------------- Ignite

    def _scoring(self, original: _Function) -> _Function:
        """The score is kept nowhere: the function that makes it is listened to the next time that it is called."""

        def call(handler: Any, *args: Any, **kwargs: Any) -> Any:
            kept = attributes(handler)
            score_function, saved = kept.get("score_function"), list(kept.get("_saved", ()))
            scores: list[Any] = []
            if score_function is None:
                return original(handler, *args, **kwargs)

            def score(*args: Any, **kwargs: Any) -> Any:
                kept["score_function"] = score_function
                scores.append(score_function(*args, **kwargs))
                return scores[0]

            kept["score_function"] = score
            try:
                result = original(handler, *args, **kwargs)
            finally:
                kept["score_function"] = score_function
            if scores:
                self._scored(handler, scores[0], saved)
            return result

        return call

    def _scored(self, handler: Any, score: Any, saved: Sequence[Any]) -> None:
        """saved: what a checkpoint had kept before."""
        kept, kind = attributes(handler), "EarlyStopping"
        refused, monitor = _is_out_of_patience(handler, "counter"), kept.get("score_name") or ""
        if "_saved" in kept:
            kind, refused = "Checkpoint", kept["_saved"] == saved
        mode, argument = ("min", "mode") if kept.get("mode") == "min" else ("max", "score_function")
        self.chose.send(Choice(handler, handler, kind, argument, monitor, mode, score, refused))


def _keeps_best(told: Mapping[str, Any]) -> bool:
    """Whether arguments of a trainer have it load the best model at the end, or save no other."""
    return bool(told.get("load_best_model_at_end")) or told.get("save_strategy") == "best"


def _has_waited(trainer: Any) -> bool:
    """Whether a callback of it that ends training has run out of patience."""
    callbacks = attributes(attributes(trainer).get("callback_handler")).get("callbacks", ())
    prefix = "early_stopping_patience"
    return any(_is_out_of_patience(callback, f"{prefix}_counter", prefix) for callback in callbacks)


def _is_out_of_patience(callback: object, counter: str, patience: str = "patience") -> bool:
    kept = attributes(callback)
    return bool(kept.get(counter, 0) >= kept.get(patience, inf))
