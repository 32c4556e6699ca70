"""autograd_doctor: finds out what is wrong with a PyTorch training loop.

`check` runs a program as `doctor check` does; `watch` watches a piece of the program that calls it; `assert_healthy` is
for tests; `render` gives a report as text. They are loaded when they are first asked for, so that importing this
package costs nothing.
"""

import importlib

__version__ = "0.1.0"
__all__ = [
    "Mistake",
    "Monitor",
    "Report",
    "TrainingStopped",
    "Watched",
    "assert_healthy",
    "check",
    "monitor",
    "render",
    "watch",
]

_HOMES = {
    "Mistake": "mistakes",
    "Monitor": "api.monitoring",
    "Report": "api.shown_report",
    "TrainingStopped": "api.monitoring",
    "Watched": "api.watching",
    "assert_healthy": "api.asserting",
    "check": "api.checking",
    "monitor": "api.monitoring",
    "render": "api.rendering",
    "watch": "api.watching",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
