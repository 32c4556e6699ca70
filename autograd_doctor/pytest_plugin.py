"""The plugin for pytest: a fixture, and nothing else. pytest loads it in every run, by its entry point.

So it imports neither torch nor the rules: both come with the first use of the fixture.
"""

from __future__ import annotations

from types import ModuleType

import pytest

import autograd_doctor


@pytest.fixture(scope="session")
def doctor() -> ModuleType:
    """autograd_doctor itself: `assert_healthy(train)`, `with watch() as watched:`, `check("train.py")`."""
    return autograd_doctor
