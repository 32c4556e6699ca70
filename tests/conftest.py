"""What all tests share: a quiet environment, in which neither colours nor threads nor signals depend on the machine."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent.parent))  # for `tests.harness`, also under a bare `pytest`

for _name in ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(_name, None)
for _name in [name for name in os.environ if name.startswith("AUTOGRAD_DOCTOR")]:
    del os.environ[_name]
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["COLUMNS"] = "100"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False  # as for most people: hundreds of processes would each compile the package anew
os.environ["XDG_STATE_HOME"] = os.path.join(tempfile.gettempdir(), "autograd_doctor_tests")

_UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("any machine", deadline=None, suppress_health_check=_UNCHECKED)
settings.load_profile("any machine")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of a job in the background: its children ignore it as well
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write golden files anew; read the difference")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--bless"):
        os.environ["BLESS"] = "1"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: a tenth of the time goes to tests that wait for a limit of time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """As in a check, nobody who asks what refers to a tensor looks at what was there before."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what the torch that is there lacks; `tests.versions` runs the suite with others."""
    for item in items:
        for mark in item.iter_markers("needs_torch"):
            if torch.__version__ < mark.args[0]:  # torch compares releases, not text
                item.add_marker(pytest.mark.skip(reason=f"torch {mark.args[0]}: {mark.args[1]}"))
