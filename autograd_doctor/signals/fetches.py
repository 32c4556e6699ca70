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
    """A batch is put together. index: one, or a list of them. batch: what came of it, None where it raised."""

    dataset: Any
    index: Any
    batch: Any = None
    raised: bool = False


class Fetches(CallSeam[Fetch]):
    """All that reads samples and collates them. Workers are other processes, which are not watched."""

    def patch(self, patches: Patches) -> None:
        patches.replace(_MapDatasetFetcher, "fetch", self._fetching(_MapDatasetFetcher.fetch))

    def _fetching(self, original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @wraps(original)
        def fetch(fetcher: Any, possibly_batched_index: Any) -> Any:
            call = Fetch(fetcher.dataset, possibly_batched_index)
            with self.around(call):
                call.batch = original(fetcher, possibly_batched_index)
            return call.batch

        return fetch
