"""What each recorded program of the tests needs, done once by the server that their processes are forked from."""
# ruff: noqa: F401

from __future__ import annotations

import gc

import numpy
import torch._dynamo
from torch.overrides import get_testing_overrides

import autograd_doctor.runner.entry
import autograd_doctor.runner.run
import tests.harness
from autograd_doctor.instruments.session import all_instruments, needed_for
from autograd_doctor.reading.places import own_modules
from autograd_doctor.runner.started import versions

versions()
list(own_modules())
needed_for(event.__name__ for kind in all_instruments() for event in kind.emits)
get_testing_overrides()
tests.harness.count_shared_modules()
gc.collect()
gc.freeze()  # no collection of a child visits, and thereby copies, what all of them share
