"""Samples that loaders read from map-style data sets, in the process of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from torch.utils.data._utils.fetch import _MapDatasetFetcher

from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam


@dataclass(eq=False, slots=True)
class Fetch:
    """A batch is put together. index: one, or a list of them. batch: what came of it, None where it raised.

    keeps: a listener to `began` sets it to be told, when it has ended, the samples that `collate` was given.
    """

    dataset: Any
    index: Any
    collate: Callable[[Any], Any]
    keeps: bool = False
    samples: Any = None
    batch: Any = None
    raised: bool = False


class Fetches(CallSeam[Fetch]):
    """All that reads samples and collates them. Workers are other processes, which are not watched."""

    def patch(self, patches: Patches) -> None:
        patches.replace(_MapDatasetFetcher, "fetch", self._fetching(_MapDatasetFetcher.fetch))

    def _fetching(self, original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @wraps(original)
        def fetch(fetcher: Any, possibly_batched_index: Any) -> Any:
            call = Fetch(fetcher.dataset, possibly_batched_index, fetcher.collate_fn)
            with self.around(call):
                if call.keeps:
                    fetcher.collate_fn = _keeping(call)
                try:
                    call.batch = original(fetcher, possibly_batched_index)
                finally:
                    fetcher.collate_fn = call.collate
            return call.batch

        return fetch


def _keeping(call: Fetch) -> Callable[[Any], Any]:
    def collate(samples: Any) -> Any:
        call.samples = list(samples) if type(samples) is list else None
        return call.collate(samples)

    return collate
